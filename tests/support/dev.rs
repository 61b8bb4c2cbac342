//! `notekeeper dev` as a process.

use std::{
    io::{BufRead as _, BufReader, Read},
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

use temporalio_client::Client;

use super::{Ended, bed::connect, eventually, in_time};

/// Lines that a process has said so far.
type Lines = Arc<Mutex<Vec<String>>>;

/// A running `notekeeper dev`. Dropping it kills it.
pub(crate) struct Dev {
    child: Child,
    stdout: Lines,
    stderr: Lines,
}

impl Dev {
    /// Starts it on any ports that are free, and waits until it says that it is ready.
    pub(crate) async fn start(data: &Path, arguments: &[&str]) -> Self {
        let mut command = command(data);
        // A group of its own, as a shell gives each of its jobs.
        command
            .args(["--port", "0"])
            .args(arguments)
            .process_group(0);
        let mut child = command.spawn().expect("start `notekeeper dev`");
        let mut dev = Self {
            stdout: lines(child.stdout.take().expect("piped")),
            stderr: lines(child.stderr.take().expect("piped")),
            child,
        };
        eventually("`notekeeper dev` is ready", || {
            let ended = dev.child.try_wait().expect("look after it");
            assert!(ended.is_none(), "{ended:?}: {:?}", dev.log());
            let ready = dev.said().iter().any(|line| line.contains("Ctrl-C"));
            async move { ready.then_some(()) }
        })
        .await;
        dev
    }

    /// What it has said on standard output.
    pub(crate) fn said(&self) -> Vec<String> {
        copy(&self.stdout)
    }

    /// What it has logged.
    pub(crate) fn log(&self) -> Vec<String> {
        copy(&self.stderr)
    }

    /// What it has said behind `name`.
    pub(crate) fn told(&self, name: &str) -> String {
        let said = self.said();
        let told = said
            .iter()
            .find_map(|line| line.trim().strip_prefix(name))
            .unwrap_or_else(|| panic!("no {name} in {said:?}"));
        told.trim().to_owned()
    }

    /// Where its server listens, `host:port`.
    pub(crate) fn address(&self) -> String {
        let told = self.told("Temporal");
        let (address, _) = told.split_once(',').expect("address and namespace");
        address.to_owned()
    }

    /// A client of its server.
    pub(crate) async fn client(&self) -> Client {
        connect(&self.address(), "default").await
    }

    /// Process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Process id of its server.
    pub(crate) fn server(&self) -> u32 {
        let children = format!("/proc/{0}/task/{0}/children", self.id());
        let children = std::fs::read_to_string(children).expect("it runs");
        children.trim().parse().expect("one child")
    }

    /// Sends a signal to it, or with a `-` before the id to its whole group.
    pub(crate) fn signal(&self, signal: &str, group: bool) {
        let id = self.id();
        let target = if group {
            format!("-{id}")
        } else {
            id.to_string()
        };
        send(signal, &target);
    }

    /// Waits until it has ended.
    pub(crate) async fn ended(&mut self) -> ExitStatus {
        eventually("`notekeeper dev` ends", || {
            let ended = self.child.try_wait().expect("look after it");
            async move { ended }
        })
        .await
    }
}

impl Drop for Dev {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if thread::panicking() {
            println!("log of `notekeeper dev`:");
            for line in self.said().iter().chain(&self.log()) {
                println!("  {line}");
            }
        }
    }
}

/// Runs `notekeeper dev` where it is expected to fail. A variable that is given as empty is not set.
pub(crate) async fn run_dev(
    data: &Path,
    arguments: &[&str],
    environment: &[(&str, &str)],
) -> Ended {
    let mut command = command(data);
    command.args(arguments);
    for (name, value) in environment {
        match *value {
            "" => command.env_remove(name),
            value => command.env(name, value),
        };
    }
    finish(command).await
}

/// Waits for a command's end.
pub(crate) async fn finish(command: Command) -> Ended {
    let mut command = tokio::process::Command::from(command);
    let output = command.kill_on_drop(true).output();
    let output = in_time("the command's end", output).await.expect("run it");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    Ended {
        code: output.status.code(),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

/// Waits until a process is gone.
pub(crate) async fn gone(process: u32) {
    eventually(&format!("process {process} is gone"), || {
        // One that waits to be noticed by its parent has ended.
        let state = std::fs::read_to_string(format!("/proc/{process}/stat"));
        let state = state.ok().and_then(|stat| {
            let (_, rest) = stat.rsplit_once(')')?;
            rest.trim().chars().next()
        });
        async move { state.is_none_or(|state| state == 'Z').then_some(()) }
    })
    .await;
}

/// Sends a signal.
pub(crate) fn send(signal: &str, target: &str) {
    let status = Command::new("kill").args([signal, "--", target]).status();
    assert!(status.expect("run kill").success());
}

/// `notekeeper dev` on a directory, with none of its user's settings.
fn command(data: &Path) -> Command {
    let mut command = super::worker::binary();
    command
        .arg("dev")
        .arg("--data")
        .arg(data)
        // Of no use to it, and no hindrance.
        .env("TEMPORAL_ADDRESS", "elsewhere.invalid:1")
        .env("TEMPORAL_NAMESPACE", "elsewhere")
        .env("TEMPORAL_API_KEY", "key")
        .env("DATABASE_URL", "postgres://elsewhere.invalid/app")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn lines(output: impl Read + Send + 'static) -> Lines {
    let lines = Lines::default();
    let kept = Arc::clone(&lines);
    thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            kept.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(line);
        }
    });
    lines
}

fn copy(lines: &Lines) -> Vec<String> {
    lines.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Longest that a stop may take where nothing is in hand.
pub(crate) const STOP_MAX: Duration = Duration::from_secs(6);
