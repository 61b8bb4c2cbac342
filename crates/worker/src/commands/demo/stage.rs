//! What the demonstration stands on: a schema of its own, worker processes, and the servers.

use std::{
    collections::BTreeMap,
    fs::File as LogFile,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::{Context as _, bail};
use notekeeper_contract::DEFAULT_STORE;
use notekeeper_domain::{NoteName, Scope};
use notekeeper_store::{Expected, NoteIndex as _, NoteStore as _, PostgresOptions, PostgresStore};
use prost::Message as _;
use sqlx::{Connection as _, PgConnection};
use temporalio_client::{Client, NamespacedClient as _};
use temporalio_common::protos::temporal::api::history::v1::History;

use crate::{
    arguments::DatabaseArgs,
    commands::demo::DemoArgs,
    config::{File, StoreConfig},
    connection::{TemporalTarget, check_namespace},
    program::own_program,
};

use super::{notes::Notes, plan};

/// Fault that stops the first worker: the store has committed, Temporal doesn't know yet.
const FAULT_POINT: &str = "write_memory.after_commit";

/// Exit code of `stop-postgres` for a database that was given to us.
const NOT_OURS: i32 = 3;

pub(super) struct Stage {
    pub(super) store: PostgresStore,
    pub(super) client: Client,
    pub(super) task_queue: String,
    pub(super) workflow_task_queue: String,
    target: TemporalTarget,
    database: PostgresOptions,
    database_stopped: bool,
    directory: PathBuf,
    workers: Vec<Child>,
}

impl Stage {
    /// Connects to the server and makes the directory. The database is not touched yet, so that
    /// nothing has to be cleared in it where the server isn't there.
    pub(super) async fn set(file: &File, args: &DemoArgs) -> anyhow::Result<Self> {
        let url = DatabaseArgs {
            database_url: args.database_url.clone(),
            ..DatabaseArgs::default()
        };
        let Some(StoreConfig::Postgres(mut database)) = file.stores(&url)?.remove(DEFAULT_STORE)
        else {
            bail!("the demonstration needs a PostgreSQL database as the store `default`");
        };
        let unique = format!("{}_{}", std::process::id(), since_epoch_ms());
        database.schema = format!("notekeeper_demo_{unique}");
        let store = PostgresStore::connect_lazy(&database)?;
        let target = TemporalTarget::resolve(&file.temporal(&args.temporal))?;
        let client = target.connect().await.with_context(|| {
            format!(
                "Temporal at {} can't be reached; `make demo` starts a server where \
                 TEMPORAL_ADDRESS is not set",
                target.address()
            )
        })?;
        check_namespace(&client).await?;
        let directory = std::env::temp_dir().join(format!("notekeeper-demo-{unique}"));
        std::fs::create_dir(&directory)
            .with_context(|| format!("can't make `{}`", directory.display()))?;
        Ok(Self {
            store,
            client,
            task_queue: format!("demo-memory-{unique}"),
            workflow_task_queue: format!("demo-workflows-{unique}"),
            target,
            database,
            database_stopped: false,
            directory,
            workers: Vec::new(),
        })
    }

    /// Makes what has to be cleared afterwards, also where this fails halfway: the script of the
    /// model, and the schema.
    pub(super) async fn prepare(&self) -> anyhow::Result<()> {
        let script = self.directory.join("script.json");
        std::fs::write(&script, plan::script().to_string())
            .with_context(|| format!("can't write `{}`", script.display()))?;
        self.store.migrate().await.context(
            "the database can't be used; `make demo` starts one where DATABASE_URL is not set",
        )?;
        Ok(())
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
                .write(&scope, name, text, &Expected::Absent, None)
                .await?;
        }
        Ok(())
    }

    /// All notes of a tenant.
    pub(super) async fn notes(&self, tenant: &str) -> anyhow::Result<BTreeMap<NoteName, String>> {
        let scope = Self::scope(tenant)?;
        let mut notes = BTreeMap::new();
        for name in self.store.names(&scope, 100_000).await?.names {
            let note = self.store.read(&scope, &name, usize::MAX >> 33).await?;
            notes.insert(name, note.context("a listed note is gone")?.content);
        }
        Ok(notes)
    }

    /// Starts a worker. The first one is to be killed in the middle of a write.
    pub(super) fn start_worker(&mut self) -> anyhow::Result<()> {
        let number = self.workers.len() + 1;
        let log = LogFile::create(self.directory.join(format!("worker-{number}.log")))?;
        let marker = self.directory.join("killed");
        let child = Command::new(own_program()?)
            .arg("worker")
            .env("DATABASE_URL", &self.database.url)
            .env("NOTEKEEPER_SCHEMA", &self.database.schema)
            .env("TEMPORAL_ADDRESS", self.target.address().as_str())
            .env("TEMPORAL_NAMESPACE", self.client.namespace())
            .env("NOTEKEEPER_TASK_QUEUE", &self.task_queue)
            .env("NOTEKEEPER_WORKFLOW_TASK_QUEUE", &self.workflow_task_queue)
            .env("NOTEKEEPER_SCRIPT", self.directory.join("script.json"))
            .env(
                "NOTEKEEPER_FAULT",
                format!("{FAULT_POINT}=kill-once:{}", marker.display()),
            )
            .env_remove("NOTEKEEPER_CONFIG")
            .env_remove("NOTEKEEPER_QUEUES")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .context("can't start a worker")?;
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

    /// Stops the workers, then the database, and replays the histories in a process that knows
    /// neither database nor server. A database that is ours and can't be stopped is an error.
    pub(super) fn replay_without_database(
        &mut self,
        histories: &[History],
    ) -> anyhow::Result<Replayed> {
        self.stop_workers();
        let directory = self.directory.join("histories");
        std::fs::create_dir(&directory)?;
        for (number, history) in histories.iter().enumerate() {
            std::fs::write(
                directory.join(format!("{number}.binpb")),
                history.encode_to_vec(),
            )?;
        }
        let services = std::env::var_os("NOTEKEEPER_SERVICES").map(PathBuf::from);
        self.database_stopped = stop_database(services.as_deref())?;
        let output = Command::new(own_program()?)
            .arg("replay")
            .arg(&directory)
            .env_remove("DATABASE_URL")
            .env_remove("TEMPORAL_ADDRESS")
            .env_remove("NOTEKEEPER_CONFIG")
            .output()
            .context("can't start the replay")?;
        if !output.status.success() {
            print!("{}", String::from_utf8_lossy(&output.stdout));
        }
        Ok(Replayed {
            all: output.status.success(),
            database_stopped: self.database_stopped,
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
        if !self.database_stopped
            && let Err(error) = drop_schema(&self.database).await
        {
            println!(
                "The schema `{}` is left in the database: {error}",
                self.database.schema
            );
        }
        if went_wrong && !self.workers.is_empty() {
            println!("Logs and histories are in {}.", self.directory.display());
        } else if let Err(error) = std::fs::remove_dir_all(&self.directory) {
            println!("{} is left: {error}", self.directory.display());
        }
    }
}

/// What the replay came to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Replayed {
    pub(super) all: bool,
    /// `false` where the database isn't ours to stop.
    pub(super) database_stopped: bool,
}

/// Stops the database where it was started for us, by the programs in the directory `services`;
/// says whether it was. Anything else is an error: the replay would prove nothing.
fn stop_database(services: Option<&Path>) -> anyhow::Result<bool> {
    let Some(services) = services else {
        return Ok(false);
    };
    let status = Command::new(services.join("stop-postgres"))
        .stdout(Stdio::null())
        .status()
        .context("can't stop the database")?;
    match status.code() {
        Some(0) => Ok(true),
        Some(NOT_OURS) => Ok(false),
        _ => {
            bail!("the database can't be stopped for the replay: stop-postgres ended with {status}")
        }
    }
}

/// Drops the demonstration's own schema.
async fn drop_schema(database: &PostgresOptions) -> Result<(), sqlx::Error> {
    let mut connection = PgConnection::connect(&database.url).await?;
    // The name was made here, of letters, digits and `_`.
    let statement = format!("drop schema if exists \"{}\" cascade", database.schema);
    sqlx::raw_sql(sqlx::AssertSqlSafe(statement))
        .execute(&mut connection)
        .await?;
    connection.close().await
}

fn since_epoch_ms() -> u128 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_millis())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// What comes of a `stop-postgres` that ends with this exit code.
    fn stopped_with(code: i32) -> anyhow::Result<bool> {
        let services = tempfile::tempdir().expect("a directory");
        let program = services.path().join("stop-postgres");
        // In place before it is run, and never open for writing in this process.
        let staged = services.path().join("staged");
        std::fs::write(&staged, format!("#!/bin/sh\nexit {code}\n")).expect("a file");
        std::fs::set_permissions(&staged, std::fs::Permissions::from_mode(0o755)).expect("a mode");
        let copied = Command::new("cp")
            .args(["-p"])
            .arg(&staged)
            .arg(&program)
            .status();
        assert!(copied.expect("run cp").success());
        stop_database(Some(services.path()))
    }

    #[test]
    fn only_a_database_that_is_not_ours_may_go_on_during_the_replay() {
        assert!(stopped_with(0).expect("stopped"));
        assert!(!stopped_with(3).expect("not ours"));
        assert!(!stop_database(None).expect("nobody to ask"));
        for code in [1, 2, 127] {
            let said = stopped_with(code).expect_err("not stopped").to_string();
            assert!(said.contains("can't be stopped"), "{said}");
        }
        let nowhere = Path::new("/nowhere");
        assert!(stop_database(Some(nowhere)).is_err());
    }
}
