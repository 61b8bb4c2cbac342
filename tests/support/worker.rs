//! Workers as processes of their own, so that they can be killed.

use std::{
    io::{BufRead as _, BufReader},
    path::PathBuf,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use super::{Bed, eventually};

/// How a worker is started.
#[derive(Default)]
pub(crate) struct WorkerOptions {
    /// The scripted model's turns.
    pub(crate) script: Option<PathBuf>,
    /// Goes to `--fault`.
    pub(crate) fault: Option<String>,
    /// Another way to the database, such as a proxy.
    pub(crate) database_url: Option<String>,
    /// Goes to `--queues`.
    pub(crate) queues: Option<&'static str>,
    /// Further variables.
    pub(crate) environment: Vec<(&'static str, String)>,
}

/// A worker process. Dropping it kills it.
pub(crate) struct Worker {
    child: Child,
    log: Arc<Mutex<Vec<String>>>,
}

impl Worker {
    /// Starts a worker on both queues whose model takes these turns, and waits until it is up.
    pub(crate) async fn serving(bed: &Bed, turns: &serde_json::Value) -> Self {
        let script = Some(bed.script(turns));
        Self::start(
            bed,
            WorkerOptions {
                script,
                ..WorkerOptions::default()
            },
        )
        .await
    }

    /// Starts a worker on the bed's queues and waits until it is up.
    pub(crate) async fn start(bed: &Bed, options: WorkerOptions) -> Self {
        let queues = options.queues.map_or(2, |queues| queues.split(',').count());
        let worker = Self::spawn(bed, options);
        worker.wait_until_logged("worker is up", queues).await;
        worker
    }

    /// Starts a worker and doesn't wait.
    pub(crate) fn spawn(bed: &Bed, options: WorkerOptions) -> Self {
        let mut command = command(bed);
        command.arg("worker");
        if let Some(url) = options.database_url {
            command.env("DATABASE_URL", url);
        }
        command
            .envs(options.script.map(|script| ("NOTEKEEPER_SCRIPT", script)))
            .envs(options.fault.map(|fault| ("NOTEKEEPER_FAULT", fault)))
            .envs(options.queues.map(|queues| ("NOTEKEEPER_QUEUES", queues)))
            .envs(options.environment)
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("start a worker");
        let stderr = BufReader::new(child.stderr.take().expect("piped"));
        let log = Arc::new(Mutex::new(Vec::new()));
        let lines = Arc::clone(&log);
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                lines
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(line);
            }
        });
        Self { child, log }
    }

    /// What it has logged so far.
    pub(crate) fn log(&self) -> Vec<String> {
        self.log
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Waits until so many lines of its log contain `text`.
    pub(crate) async fn wait_until_logged(&self, text: &str, times: usize) {
        eventually(
            &format!("the worker says `{text}` {times} times"),
            || async {
                let said = self.log().iter().filter(|line| line.contains(text)).count();
                (said >= times).then_some(())
            },
        )
        .await;
    }

    /// Process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Kills it the way that leaves no time for anything.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("kill the worker");
        self.child.wait().expect("wait for the worker");
    }

    /// Sends SIGTERM.
    pub(crate) fn terminate(&self) {
        self.signal("-TERM");
    }

    /// Sends SIGINT.
    pub(crate) fn interrupt(&self) {
        self.signal("-INT");
    }

    fn signal(&self, signal: &str) {
        let id = self.child.id().to_string();
        let status = Command::new("kill").args([signal, &id]).status();
        assert!(status.expect("run kill").success());
    }

    /// Waits until it has ended by itself, as long as a test waits for anything.
    pub(crate) async fn ended(&mut self) -> ExitStatus {
        super::in_time("the end of a worker", self.ended_sometime()).await
    }

    /// Waits until it has ended by itself, however long that takes.
    pub(crate) async fn ended_sometime(&mut self) -> ExitStatus {
        loop {
            if let Some(status) = self.child.try_wait().expect("wait for the worker") {
                return status;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            println!("log of worker {}:", self.child.id());
            for line in self.log() {
                println!("  {line}");
            }
        }
    }
}

/// How a command of the binary ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// Exit code; `None` where a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs the binary on the bed until it ends. A variable that is given as empty is not set.
pub(crate) async fn run(bed: &Bed, arguments: &[&str], environment: &[(&str, &str)]) -> Ended {
    let mut command = command(bed);
    command.args(arguments);
    for (name, value) in environment {
        match *value {
            "" => command.env_remove(name),
            value => command.env(name, value),
        };
    }
    super::dev::finish(command).await
}

/// Runs the binary on the bed until it ends, with a text on standard input.
pub(crate) async fn run_fed(bed: &Bed, arguments: &[&str], input: &str) -> Ended {
    let path = bed.path(&format!("input-{:08x}", rand::random::<u32>()));
    std::fs::write(&path, input).expect("write the input");
    let mut command = command(bed);
    command
        .args(arguments)
        .stdin(std::fs::File::open(&path).expect("open the input"));
    super::dev::finish(command).await
}

/// The binary with none of its user's settings.
pub(crate) fn binary() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_notekeeper"));
    // `NOTEKEEPER_SERVICES` stays: by it the servers' script finds what a test leaves behind.
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        let is_ours = name.starts_with("NOTEKEEPER_") && name != "NOTEKEEPER_SERVICES";
        if is_ours || name.starts_with("OPENAI_") || name.starts_with("OTEL_") {
            command.env_remove(&*name);
        }
    }
    command
}

/// The binary with the bed's settings and none of its user's.
pub(crate) fn command(bed: &Bed) -> Command {
    let mut command = binary();
    command
        .env("DATABASE_URL", &bed.database_url)
        .env("NOTEKEEPER_SCHEMA", &bed.schema)
        .env("TEMPORAL_ADDRESS", &bed.temporal_address)
        .env("TEMPORAL_NAMESPACE", &bed.temporal_namespace)
        .env("NOTEKEEPER_TASK_QUEUE", &bed.task_queue)
        .env("NOTEKEEPER_WORKFLOW_TASK_QUEUE", &bed.workflow_task_queue)
        .stdin(Stdio::null());
    command
}
