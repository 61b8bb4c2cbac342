//! Real processes: a test starts its own program again, to play another part of the same test.

use std::{
    os::unix::{
        fs::MetadataExt as _,
        process::{CommandExt as _, ExitStatusExt as _},
    },
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::database::PATIENCE;

/// Tells a process which part it plays.
const PART: &str = "NOTEKEEPER_TEST_PART";

/// A user without any rights.
const NOBODY: u32 = 65_534;

/// Stands before what a part says to the test.
const SAYS: &str = "the part says: ";

/// The part that this process plays, where it isn't the test itself.
pub(crate) fn part() -> Option<Value> {
    let part = std::env::var(PART).ok()?;
    Some(serde_json::from_str(&part).expect("a test wrote it"))
}

/// Says something to the test that waits for it.
pub(crate) fn say(text: &str) {
    println!("{SAYS}{text}");
}

/// Runs a part as a user who has no rights in `directory`, and returns what it says.
pub(crate) fn heard_without_rights(test: &str, part: &Value, directory: &Path) -> String {
    let owner = std::fs::metadata(directory).expect("a directory").uid();
    let mut command = command(test, part);
    if owner == 0 {
        // Root may do everything, whatever the permissions are.
        command.uid(NOBODY).gid(NOBODY);
    }
    heard(command)
}

/// Runs a part that can't make files larger than so many KiB, and returns what it says.
pub(crate) fn heard_with_small_files(test: &str, part: &Value, kib_max: u32) -> String {
    let inner = command(test, part);
    let mut outer = Command::new("bash");
    // Ignored, the signal is an error instead, as a full disk is.
    outer.args(["-c", "trap '' XFSZ; ulimit -f \"$0\"; exec \"$@\""]);
    outer.arg(kib_max.to_string());
    outer.arg(std::env::current_exe().expect("this program"));
    outer.args(inner.get_args());
    for (name, value) in inner.get_envs() {
        outer.env(name, value.expect("a part sets variables"));
    }
    heard(outer)
}

fn heard(mut command: Command) -> String {
    let output = command.output().expect("start this program again");
    let printed = String::from_utf8(output.stdout).expect("UTF-8");
    let said = printed.split_once(SAYS).map(|(_, said)| said);
    let said = said.unwrap_or_else(|| panic!("it says nothing: {printed}"));
    said.lines().next().unwrap_or_default().to_owned()
}

fn command(test: &str, part: &Value) -> Command {
    // Through this link a program can start itself again even from where it may not look.
    let itself = Path::new("/proc/self/exe");
    let program = if itself.exists() {
        itself.to_owned()
    } else {
        std::env::current_exe().expect("this program")
    };
    let mut command = Command::new(program);
    command
        .args(["--exact", test, "--nocapture"])
        .env(PART, part.to_string());
    command
}

/// A process that is killed with this value.
#[derive(Debug)]
pub(crate) struct Process(Child);

impl Process {
    /// Starts a test of this program in a part.
    pub(crate) fn start(test: &str, part: &Value) -> Self {
        let child = command(test, part).stdout(Stdio::null()).spawn();
        Self(child.expect("start this program again"))
    }

    /// Ends it at once, whatever it is doing; `false` where it ended by itself before.
    pub(crate) fn kill(&mut self) -> bool {
        let ended = self.0.try_wait().expect("wait");
        if let Some(status) = ended {
            assert!(status.success(), "{status}");
            return false;
        }
        self.0.kill().expect("kill");
        self.0.wait().expect("wait");
        true
    }

    /// Waits until it ends, well or by SIGKILL; whether it was killed.
    pub(crate) fn was_killed(mut self) -> bool {
        until("the process ends", || {
            self.0.try_wait().expect("wait").is_some()
        });
        let status = self.0.wait().expect("wait");
        let killed = status.signal() == Some(9);
        assert!(killed || status.success(), "{status}");
        killed
    }

    /// Waits until it ends well.
    pub(crate) fn end(mut self) {
        until("the process ends", || {
            self.0.try_wait().expect("wait").is_some()
        });
        let status = self.0.wait().expect("wait");
        assert!(status.success(), "{status}");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Neither works with one that has ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits until something is so.
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < PATIENCE, "waited in vain until {what}");
        // Whoever it waits for needs the processor.
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Whole lines of a file that is being written; none where it isn't there yet.
pub(crate) fn lines(path: &PathBuf) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole.lines().map(str::to_owned).collect()
}
