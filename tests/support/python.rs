//! Running Python, with Temporal's own SDK for it.

use std::{
    path::PathBuf,
    process::{Output, Stdio},
    time::Duration,
};

use tokio::process::Command;

/// Python, which finds Temporal's SDK and what is in `modules`.
pub(crate) fn command(modules: impl IntoIterator<Item = PathBuf>) -> Command {
    let sdk = PathBuf::from(variable("NOTEKEEPER_PYTHONPATH"));
    let paths = std::env::join_paths([sdk].into_iter().chain(modules));
    let mut command = Command::new(variable("NOTEKEEPER_PYTHON"));
    command
        .args(["-B", "-u"])
        .env("PYTHONPATH", paths.expect("paths without colons"))
        .stdin(Stdio::null())
        .kill_on_drop(true);
    command
}

/// A variable that `services.py run --python-sdk` sets.
fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| {
        panic!("{name} is not set; run the tests with `make test`, or with `services.py run --python-sdk`")
    })
}

/// Runs it to its end, within `patience`. Fails with what it said where it ends with another code
/// than 0.
///
/// That a signal ended it may pass here: threads of the SDK can crash the interpreter when it has done
/// everything and shuts down. So its output has to be checked to the last line.
pub(crate) async fn run(mut command: Command, patience: Duration) -> Output {
    let output = tokio::time::timeout(patience, command.output()).await;
    let output = output
        .unwrap_or_else(|_| panic!("{command:?} did not end"))
        .expect("run Python");
    let code = output.status.code().unwrap_or_default();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(code, 0, "{command:?}:\n{said}");
    output
}
