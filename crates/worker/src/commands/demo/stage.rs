//! What the demonstration stands on: a database of its own, worker processes, and a server.

mod database;
mod directory;

use std::{
    collections::BTreeMap,
    fs::File as LogFile,
    process::{Child, Command, ExitStatus, Stdio},
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::Context as _;
use notekeeper_domain::{ConversationId, LISTED_MAX, NoteName, Scope};
use notekeeper_store::{Expected, ListedFact, MessageSelection, Store, WriteRequest};
use prost::Message as _;
use temporalio_client::{Client, NamespacedClient as _};
use temporalio_common::protos::temporal::api::history::v1::History;

use crate::{
    commands::demo::{DemoArgs, StoreKind},
    config::File,
    connection::{TemporalTarget, check_namespace},
    dev_server::{DevServer, DevServerOptions, find_command_line},
    program::own_program,
};

pub(super) use self::database::Gone;
use self::{database::Database, directory::Directory};

use super::{notes::Notes, plan};

/// Fault that stops the first worker: the store has committed, Temporal doesn't know yet.
const FAULT_POINT: &str = "write_memory.after_commit";

pub(super) struct Stage {
    pub(super) store: Arc<dyn Store>,
    pub(super) client: Client,
    pub(super) task_queue: String,
    pub(super) workflow_task_queue: String,
    target: TemporalTarget,
    /// Where it is the demonstration's own.
    server: Option<DevServer>,
    database: Database,
    directory: Directory,
    workers: Vec<Child>,
}

impl Stage {
    /// Starts a server of its own or connects to the one that is there, and makes the directory. A
    /// database that is there is not touched yet, so that nothing has to be cleared in it where the
    /// server isn't.
    pub(super) async fn set(file: &File, args: &DemoArgs) -> anyhow::Result<Self> {
        let unique = format!("{}_{}", std::process::id(), since_epoch_ms());
        let directory = Directory::make(&unique)?;
        let database = match args.store {
            StoreKind::Sqlite => Database::sqlite(directory.path()).await?,
            StoreKind::Postgres => Database::postgres(file, args, &unique)?,
        };
        let (server, target) = match args.store {
            StoreKind::Sqlite => {
                let server = start_server(args).await?;
                let target = server.target().clone();
                (Some(server), target)
            }
            StoreKind::Postgres => {
                let target = TemporalTarget::resolve(&file.temporal(&args.temporal))?;
                (None, target)
            }
        };
        let client = target.connect().await.with_context(|| {
            format!(
                "Temporal at {} can't be reached; `make demo STORE=postgres` starts a server where \
                 TEMPORAL_ADDRESS is not set",
                target.address()
            )
        })?;
        check_namespace(&client).await?;
        Ok(Self {
            store: database.store(),
            client,
            task_queue: format!("demo-memory-{unique}"),
            workflow_task_queue: format!("demo-workflows-{unique}"),
            target,
            server,
            database,
            directory,
            workers: Vec::new(),
        })
    }

    /// Makes what has to be cleared afterwards, also where this fails halfway: the script of the
    /// model, and the schema.
    pub(super) async fn prepare(&self) -> anyhow::Result<()> {
        let script = self.directory.path().join("script.json");
        std::fs::write(&script, plan::script().to_string())
            .with_context(|| format!("can't write `{}`", script.display()))?;
        self.database.prepare().await
    }

    /// What the notes are kept in and where Temporal is, for people.
    pub(super) fn describe(&self) -> String {
        let whose = match self.server {
            Some(_) => "a server of the demonstration's own",
            None => "the server",
        };
        let address = self.target.address();
        format!("Notes in {}; {whose} at {address}.", self.database.name())
    }

    /// Whose notes a tenant's are.
    pub(super) fn scope(tenant: &str) -> anyhow::Result<Scope> {
        Ok(Scope::resolve(
            &Self::namespace(tenant),
            notekeeper_domain::AGENT_NAME_DEFAULT,
        )?)
    }

    pub(super) fn namespace(tenant: &str) -> String {
        format!("demo/{tenant}")
    }

    /// Puts the notes into a tenant's notebook.
    pub(super) async fn fill(&self, tenant: &str, notes: &Notes) -> anyhow::Result<()> {
        let scope = Self::scope(tenant)?;
        for (name, text) in notes.by_name() {
            self.store
                .write(
                    &scope,
                    name,
                    &WriteRequest::new(text, &Expected::Absent),
                    None,
                )
                .await?;
        }
        Ok(())
    }

    /// All notes of a tenant.
    /// Id of a tenant's conversation: of its workflow, and of its transcript.
    pub(super) fn conversation(&self, tenant: &str) -> String {
        format!("{}-{tenant}", self.task_queue)
    }

    /// A tenant's facts, by key.
    pub(super) async fn facts(&self, tenant: &str) -> anyhow::Result<Vec<(String, String)>> {
        let facts = self.store.facts().context("the store keeps no facts")?;
        let found = facts.facts(&Self::scope(tenant)?, None, LISTED_MAX).await?;
        let pair = |listed: &ListedFact| {
            let key = listed.fact.key.as_str().to_owned();
            (key, listed.fact.value().to_owned())
        };
        Ok(found.facts.iter().map(pair).collect())
    }

    /// Messages of a tenant's transcript.
    pub(super) async fn transcript_messages(&self, tenant: &str) -> anyhow::Result<usize> {
        let transcripts = self.store.transcripts();
        let transcripts = transcripts.context("the store keeps no transcripts")?;
        let conversation = ConversationId::parse(&self.conversation(tenant))?;
        let part = transcripts
            .messages(
                &Self::scope(tenant)?,
                &conversation,
                MessageSelection::Newest(0),
                0,
            )
            .await?;
        Ok(usize::try_from(part.bounds.next - part.bounds.first)?)
    }

    pub(super) async fn notes(&self, tenant: &str) -> anyhow::Result<BTreeMap<NoteName, String>> {
        let scope = Self::scope(tenant)?;
        let mut notes = BTreeMap::new();
        for name in self.store.names(&scope, 100_000).await?.names {
            let note = self.store.read(&scope, &name, usize::MAX >> 33).await?;
            notes.insert(name, note.context("a listed note is gone")?.content);
        }
        Ok(notes)
    }

    /// This program, with none of its user's settings.
    fn program(&self) -> anyhow::Result<Command> {
        let own_server = self.server.is_some();
        let mut command = Command::new(own_program()?);
        for (name, _) in std::env::vars_os() {
            if is_a_setting(&name.to_string_lossy(), own_server) {
                command.env_remove(name);
            }
        }
        if own_server {
            // An empty profile in place of the user's.
            command.env("TEMPORAL_CONFIG_FILE", "/dev/null");
        }
        Ok(command)
    }

    /// Starts a worker. The first one is to be killed in the middle of a write.
    pub(super) fn start_worker(&mut self) -> anyhow::Result<()> {
        let number = self.workers.len() + 1;
        let directory = self.directory.path();
        let log = LogFile::create(directory.join(format!("worker-{number}.log")))?;
        let marker = directory.join("killed");
        let mut command = self.program()?;
        command
            .arg("worker")
            .env("TEMPORAL_ADDRESS", self.target.address().as_str())
            .env("TEMPORAL_NAMESPACE", self.client.namespace())
            .env("NOTEKEEPER_TASK_QUEUE", &self.task_queue)
            .env("NOTEKEEPER_WORKFLOW_TASK_QUEUE", &self.workflow_task_queue)
            .env("NOTEKEEPER_SCRIPT", directory.join("script.json"))
            .env(
                "NOTEKEEPER_FAULT",
                format!("{FAULT_POINT}=kill-once:{}", marker.display()),
            )
            .envs(self.database.variables())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        let child = command.spawn().context("can't start a worker")?;
        println!("Worker {number} is started (process {}).", child.id());
        self.workers.push(child);
        Ok(())
    }

    /// Waits until the latest worker ends by itself.
    pub(super) async fn worker_ended(&mut self) -> anyhow::Result<ExitStatus> {
        let worker = self.workers.last_mut().context("no worker was started")?;
        loop {
            if let Some(status) = worker.try_wait()? {
                return Ok(status);
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    }

    /// Stops the workers, takes the database away, ends the server that is ours, and replays the
    /// histories in a process that knows none of them.
    pub(super) async fn replay_without_database(
        &mut self,
        histories: &[History],
    ) -> anyhow::Result<Replayed> {
        self.stop_workers();
        let directory = self.directory.path().join("histories");
        std::fs::create_dir(&directory)?;
        for (number, history) in histories.iter().enumerate() {
            std::fs::write(
                directory.join(format!("{number}.binpb")),
                history.encode_to_vec(),
            )?;
        }
        let mut program = self.program()?;
        program.env_remove("TEMPORAL_ADDRESS");
        let database = self.database.take_away().await?;
        if let Some(server) = self.server.take() {
            server.stop().await;
        }
        let output = program
            .arg("replay")
            .arg(&directory)
            .output()
            .context("can't start the replay")?;
        if !output.status.success() {
            print!("{}", String::from_utf8_lossy(&output.stdout));
        }
        Ok(Replayed {
            all: output.status.success(),
            database,
        })
    }

    fn stop_workers(&mut self) {
        for worker in &mut self.workers {
            // It may have ended already; there is nothing left in its hands.
            let _ = worker.kill();
            let _ = worker.wait();
        }
    }

    /// Leaves nothing behind, except the logs of workers where something went wrong.
    pub(super) async fn clear(mut self, went_wrong: bool) {
        self.stop_workers();
        self.database.clear().await;
        if let Some(server) = self.server {
            server.stop().await;
        }
        if went_wrong && !self.workers.is_empty() {
            println!(
                "Logs and histories are in {}.",
                self.directory.path().display()
            );
            self.directory.keep();
        }
    }
}

/// What the replay came to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Replayed {
    pub(super) all: bool,
    pub(super) database: Gone,
}

/// A server that keeps nothing, on any port that is free.
async fn start_server(args: &DemoArgs) -> anyhow::Result<DevServer> {
    DevServer::start(&DevServerOptions {
        program: find_command_line(args.temporal_cli.as_deref())?,
        port: 0,
        ui_port: None,
        database: None,
    })
    .await
}

/// Whether a variable is a setting, which would lead a worker elsewhere, or which it would refuse
/// beside the demonstration's. Those of Temporal's own tools say how the server is reached that they
/// name, and nothing of one of our own.
fn is_a_setting(variable: &str, own_server: bool) -> bool {
    match variable {
        // What is logged, and by which the servers' script finds what is left behind.
        "NOTEKEEPER_LOG" | "NOTEKEEPER_SERVICES" => false,
        "DATABASE_URL" => true,
        name if name.starts_with("TEMPORAL_") => own_server,
        name => ["NOTEKEEPER_", "OPENAI_", "OTEL_"]
            .iter()
            .any(|beginning| name.starts_with(beginning)),
    }
}

fn since_epoch_ms() -> u128 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_millis())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_setting_of_the_user_reaches_a_process_of_the_demonstration_but_the_way_to_its_server() {
        for name in [
            "DATABASE_URL",
            "NOTEKEEPER_MODEL",
            "OPENAI_BASE_URL",
            "OTEL_EXPORTER_OTLP_ENDPOINT",
        ] {
            assert!(
                is_a_setting(name, false) && is_a_setting(name, true),
                "{name}"
            );
        }
        for name in ["PATH", "NOTEKEEPER_LOG", "NOTEKEEPER_SERVICES"] {
            assert!(
                !is_a_setting(name, false) && !is_a_setting(name, true),
                "{name}"
            );
        }
        assert!(is_a_setting("TEMPORAL_API_KEY", true));
        assert!(!is_a_setting("TEMPORAL_API_KEY", false));
    }
}
