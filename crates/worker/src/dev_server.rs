//! A Temporal development server that lives and ends with this process.

mod command_line;
mod ports;
mod said;

use std::{
    path::PathBuf,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use anyhow::{Context as _, anyhow, bail};
use rustix::process::{Pid, Signal, kill_process};
use temporalio_client::Client;
use tokio::{
    process::{Child, Command},
    time::Instant,
};

use crate::{
    connection::{TemporalTarget, check_namespace},
    program::own_program,
};

pub(crate) use self::command_line::find_command_line;
use self::{
    ports::{LOOPBACK, Ports},
    said::Said,
};

/// The Temporal namespace that a development server always has.
pub(crate) const NAMESPACE: &str = "default";

/// By default the server hands out 20 tasks a second.
const DYNAMIC_CONFIG: [&str; 2] = [
    "history.transferProcessorMaxPollRPS=2000",
    "history.timerProcessorMaxPollRPS=2000",
];

/// Longest time from the start to the first answer: a second where the machine is idle.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// Longest time that the server gets to end in good order; it takes one to two seconds.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a server that answers may take to say its port, or to end without it.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(2);

/// Between two looks at a server that starts.
const PAUSE: Duration = Duration::from_millis(50);

/// Starts, where another program takes one of the ports meanwhile. Beside those that it is told the
/// server takes several that it chooses itself.
const ATTEMPTS: u32 = 5;

/// How a server is started.
#[derive(Debug, Clone)]
pub(crate) struct DevServerOptions {
    /// The Temporal command line.
    pub(crate) program: PathBuf,
    /// Port of the server; a free one where it is 0.
    pub(crate) port: u16,
    /// Port of the web UI, a free one where it is 0; `None` for no UI.
    pub(crate) ui_port: Option<u16>,
    /// File that keeps its state; `None` for none.
    pub(crate) database: Option<PathBuf>,
}

/// A running server. Dropping it kills it.
pub(crate) struct DevServer {
    child: Child,
    ports: Ports,
    said: Said,
    target: TemporalTarget,
}

impl DevServer {
    /// Starts a server and waits until it answers.
    ///
    /// To be awaited by the runtime's main task: the kernel ends the server with the thread that
    /// started it, and the main thread lives as long as the process.
    pub(crate) async fn start(options: &DevServerOptions) -> anyhow::Result<Self> {
        for attempt in 1.. {
            let ports = Ports::choose(options.port, options.ui_port).await?;
            let mut server = Self::spawn(options, ports)?;
            let ended = match server.ready().await? {
                None => return Ok(server),
                Some(status) => status,
            };
            let tail = server.said.last_lines().await;
            if attempt < ATTEMPTS && tail.iter().any(|line| ports::speaks_of_a_taken_port(line)) {
                continue;
            }
            said::show(&tail);
            bail!(
                "the Temporal server of `{}` didn't start ({ended}): {}",
                options.program.display(),
                tail.last().map_or("it said nothing", String::as_str)
            );
        }
        unreachable!("the last attempt returns")
    }

    fn spawn(options: &DevServerOptions, ports: Ports) -> anyhow::Result<Self> {
        let target = TemporalTarget::local(ports.server, NAMESPACE)?;
        let own = own_program().context("can't find this program's file")?;
        let mut command = Command::new(own);
        command
            .args(["guarded", "--parent", &std::process::id().to_string()])
            .arg(&options.program)
            .args(arguments(options, ports))
            // What the terminal sends on Ctrl-C is for this process, which ends the server in turn.
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        for (name, _) in std::env::vars_os() {
            // Settings of clients lead elsewhere.
            if name.to_string_lossy().starts_with("TEMPORAL_") {
                command.env_remove(name);
            }
        }
        let mut child = command.spawn().context("can't start the Temporal server")?;
        let said = Said::listen(child.stdout.take(), child.stderr.take());
        Ok(Self {
            child,
            ports,
            said,
            target,
        })
    }

    /// Waits until the server answers; gives the status where it ends instead.
    async fn ready(&mut self) -> anyhow::Result<Option<ExitStatus>> {
        let deadline = Instant::now() + START_TIMEOUT;
        loop {
            let error = match self.asked().await {
                Ok(_) => return self.settled().await,
                Err(error) => error,
            };
            if let Some(status) = self.child.try_wait()? {
                return Ok(Some(status));
            }
            if Instant::now() >= deadline {
                said::show(&self.said.last_lines().await);
                return Err(error).with_context(|| {
                    format!("the Temporal server gave no answer within {START_TIMEOUT:?}")
                });
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Whether it is this server that answers: another program may have taken the port since it was
    /// chosen, and be a Temporal server itself. This one says its port once it has it, and ends where
    /// it can't have it. Gives the status of one that ends.
    async fn settled(&mut self) -> anyhow::Result<Option<ExitStatus>> {
        let deadline = Instant::now() + SETTLE_TIMEOUT;
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(Some(status));
            }
            let port = format!(":{}", self.ports.server);
            // A release that words it otherwise is given time to end instead.
            if self.said.has_line(|line| line.ends_with(&port)) || Instant::now() >= deadline {
                return Ok(None);
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// A client, where the server answers and knows its namespace.
    async fn asked(&self) -> anyhow::Result<Client> {
        let client = self.target.connect().await?;
        check_namespace(&client).await?;
        Ok(client)
    }

    /// How to reach it.
    pub(crate) fn target(&self) -> &TemporalTarget {
        &self.target
    }

    /// Its port.
    pub(crate) fn port(&self) -> u16 {
        self.ports.server
    }

    /// Where its web UI is, if it has one.
    pub(crate) fn ui(&self) -> Option<String> {
        self.ports
            .ui
            .map(|port| format!("http://{LOOPBACK}:{port}"))
    }

    /// Waits until the server ends by itself, and says so.
    pub(crate) async fn ended(&mut self) -> anyhow::Error {
        let status = match self.child.wait().await {
            Ok(status) => status.to_string(),
            Err(error) => error.to_string(),
        };
        said::show(&self.said.last_lines().await);
        anyhow!("the Temporal server ended by itself ({status})")
    }

    /// Ends the server in good order, and by force where that takes too long.
    pub(crate) async fn stop(mut self) {
        let id = self.child.id().and_then(|id| i32::try_from(id).ok());
        if let Some(pid) = id.and_then(Pid::from_raw) {
            // It may have ended meanwhile.
            let _ = kill_process(pid, Signal::TERM);
        }
        if tokio::time::timeout(STOP_TIMEOUT, self.child.wait())
            .await
            .is_err()
        {
            tracing::warn!(
                "the Temporal server took more than {STOP_TIMEOUT:?} to end; it is killed"
            );
            let _ = self.child.kill().await;
        }
    }
}

fn arguments(options: &DevServerOptions, ports: Ports) -> Vec<std::ffi::OsString> {
    let mut words: Vec<std::ffi::OsString> = Vec::new();
    let mut add = |flag: &str, value: &dyn AsRef<std::ffi::OsStr>| {
        words.push(flag.into());
        words.push(value.as_ref().to_owned());
    };
    add("server", &"start-dev");
    add("--ip", &LOOPBACK.to_string());
    add("--port", &ports.server.to_string());
    add("--namespace", &NAMESPACE);
    for setting in DYNAMIC_CONFIG {
        add("--dynamic-config-value", &setting);
    }
    if let Some(database) = &options.database {
        add("--db-filename", database);
    }
    match ports.ui {
        Some(port) => add("--ui-port", &port.to_string()),
        None => words.push("--headless".into()),
    }
    words
}
