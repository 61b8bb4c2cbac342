//! What tests of commands share that work in a store or through the activities of a worker.

use std::{future::Future, process::Stdio};

use tokio::{
    io::AsyncReadExt as _,
    process::{Child, Command},
};

use super::{Agent, Bed, Ended, Worker, WorkerOptions, in_time, run, worker::command};

/// Both ways to what is kept.
pub(crate) const WAYS: [&str; 2] = ["store", "temporal"];

impl Worker {
    /// Starts a worker that serves activities alone.
    pub(crate) async fn of_activities(bed: &Bed) -> Self {
        let options = WorkerOptions {
            queues: Some("memory"),
            ..WorkerOptions::default()
        };
        Self::start(bed, options).await
    }
}

/// Checks that a command did what it was asked, and printed this.
pub(crate) fn assert_done(ended: &Ended, stdout: &str) {
    assert_eq!(
        (ended.code, ended.stdout.as_str()),
        (Some(0), stdout),
        "{ended:?}"
    );
}

/// Checks that a command failed with an exit code, printed nothing, and said all of `parts` on standard
/// error.
pub(crate) fn assert_failed(ended: &Ended, code: i32, parts: &[&str]) {
    assert_eq!(
        (ended.code, ended.stdout.as_str()),
        (Some(code), ""),
        "{ended:?}"
    );
    for part in parts {
        assert!(ended.stderr.contains(part), "`{part}` is not in {ended:?}");
    }
}

/// Runs a command whose reader goes away after the first bytes, and checks those, and that it is no error.
pub(crate) async fn assert_ends_well_unread(bed: &Bed, arguments: &[&str], beginning: &str) {
    let mut child = spawned(bed, arguments);
    let mut stdout = child.stdout.take().expect("piped");
    let mut first = vec![0; beginning.len()];
    in_time("the first line", stdout.read_exact(&mut first))
        .await
        .expect("text");
    drop(stdout);
    let output = in_time("its end", child.wait_with_output())
        .await
        .expect("it ended");
    assert_eq!(String::from_utf8_lossy(&first), beginning);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

/// Runs a command; does something else after its first byte, before anything more of it is read. What it
/// prints must be longer than a pipe holds.
pub(crate) async fn run_and_meanwhile(
    bed: &Bed,
    arguments: &[&str],
    meanwhile: impl Future<Output = ()>,
) -> Ended {
    let mut child = spawned(bed, arguments);
    let mut stdout = child.stdout.take().expect("piped");
    let mut printed = vec![0];
    in_time("the first byte", stdout.read_exact(&mut printed))
        .await
        .expect("text");
    meanwhile.await;
    in_time("the rest", stdout.read_to_end(&mut printed))
        .await
        .expect("text");
    let output = in_time("its end", child.wait_with_output())
        .await
        .expect("it ended");
    Ended {
        code: output.status.code(),
        stdout: String::from_utf8(printed).expect("text"),
        stderr: String::from_utf8(output.stderr).expect("text"),
    }
}

fn spawned(bed: &Bed, arguments: &[&str]) -> Child {
    Command::from(command(bed))
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("start it")
}

/// Replays the history of a run in a process of its own, which knows no database.
pub(crate) async fn assert_replays(bed: &Bed, agent: &Agent, run_id: &str) {
    let workflow_id = &agent.info().workflow_id;
    let arguments = ["replay", "--workflow-id", workflow_id, "--run-id", run_id];
    let nowhere = [("DATABASE_URL", "postgres://127.0.0.1:1/nowhere")];
    let replayed = run(bed, &arguments, &nowhere).await;
    assert_eq!(replayed.code, Some(0), "{replayed:?}");
    assert!(
        replayed
            .stdout
            .ends_with("1 replayed, 0 refused, 0 unreadable\n"),
        "{replayed:?}"
    );
}
