//! What a measurement stands on: a schema of its own, a directory, queues, worker processes.

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
};

use anyhow::{Context as _, ensure};
use clap::Args;
use notekeeper_store::{PostgresOptions, PostgresStore};
use sqlx::{Connection as _, PgConnection};
use temporalio_client::Client;

use crate::{
    host::{self, UP},
    process::Watched,
};

/// The servers, as `scripts/services.py` names them.
#[derive(Debug, Clone, Args)]
pub(crate) struct Servers {
    /// URL of a PostgreSQL database, in which schemas are made and dropped.
    #[arg(long, env = "DATABASE_URL", hide_env_values = true)]
    pub(crate) database_url: String,
    /// Host and port of Temporal.
    #[arg(long, env = "TEMPORAL_ADDRESS")]
    pub(crate) temporal_address: String,
    /// Temporal namespace.
    #[arg(long, env = "TEMPORAL_NAMESPACE", default_value = "default")]
    pub(crate) temporal_namespace: String,
    /// Directory of PostgreSQL's programs, for pgbench; those on PATH where it isn't given.
    #[arg(long, env = "NOTEKEEPER_POSTGRES_BIN")]
    pub(crate) postgres_bin: Option<PathBuf>,
    /// Path of the Temporal command line, whose version is reported.
    #[arg(long, env = "TEMPORAL_CLI")]
    pub(crate) temporal_cli: Option<PathBuf>,
}

/// The stage.
pub(crate) struct Stage {
    pub(crate) servers: Servers,
    pub(crate) schema: String,
    pub(crate) peer_schema: String,
    pub(crate) directory: PathBuf,
    pub(crate) store: Arc<PostgresStore>,
    pub(crate) client: Client,
    unique: String,
}

impl Stage {
    /// Makes the schemas and the directory, and connects.
    pub(crate) async fn set(servers: Servers) -> anyhow::Result<Self> {
        let unique = format!("{:08x}", rand::random::<u32>());
        let schema = format!("bench_{unique}");
        let peer_schema = format!("bench_peer_{unique}");
        let store = Arc::new(PostgresStore::connect_lazy(&PostgresOptions {
            schema: schema.clone(),
            ..PostgresOptions::new(&servers.database_url)
        })?);
        store.migrate().await?;
        execute(
            &servers.database_url,
            &format!("create schema {peer_schema}"),
        )
        .await?;
        let directory = std::env::temp_dir().join(format!("notekeeper-bench-{unique}"));
        std::fs::create_dir(&directory)
            .with_context(|| format!("can't make `{}`", directory.display()))?;
        let client = host::connect(&servers.temporal_address, &servers.temporal_namespace).await?;
        Ok(Self {
            servers,
            schema,
            peer_schema,
            directory,
            store,
            client,
            unique,
        })
    }

    /// How to reach the product's tables.
    pub(crate) fn options(&self) -> PostgresOptions {
        PostgresOptions {
            schema: self.schema.clone(),
            ..PostgresOptions::new(&self.servers.database_url)
        }
    }

    /// The name of a task queue that nobody else has.
    pub(crate) fn queue(&self, name: &str) -> String {
        format!("bench-{name}-{}", self.unique)
    }

    /// Drops the schemas and removes the directory.
    pub(crate) async fn clear(self) -> anyhow::Result<()> {
        self.store.close().await;
        for schema in [&self.schema, &self.peer_schema] {
            let drop = format!("drop schema if exists {schema} cascade");
            execute(&self.servers.database_url, &drop).await?;
        }
        std::fs::remove_dir_all(&self.directory)?;
        Ok(())
    }

    /// Starts a worker of our own, which knows the activity that does nothing.
    pub(crate) async fn host(&self, queue: &str, workflows: bool) -> anyhow::Result<Watched> {
        let mut command = Command::new(std::env::current_exe()?);
        command
            .args(["host", "--queue", queue])
            .args(["--temporal", &self.servers.temporal_address])
            .args(["--namespace", &self.servers.temporal_namespace])
            .args(["--database-url", &self.servers.database_url])
            .args(["--schema", &self.schema]);
        if workflows {
            command.arg("--workflows");
        }
        Watched::start(command, UP, 1).await
    }

    /// Starts the product's binary as a worker.
    pub(crate) async fn binary(&self, worker: BinaryWorker<'_>) -> anyhow::Result<Watched> {
        let program = binary()?;
        let mut command = Command::new(program);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("NOTEKEEPER_") {
                command.env_remove(&name);
            }
        }
        command
            .arg("worker")
            .env("DATABASE_URL", &self.servers.database_url)
            .env("NOTEKEEPER_SCHEMA", &self.schema)
            .env("TEMPORAL_ADDRESS", &self.servers.temporal_address)
            .env("TEMPORAL_NAMESPACE", &self.servers.temporal_namespace)
            .env("NOTEKEEPER_TASK_QUEUE", worker.queue)
            .env_remove("RUST_LOG");
        let mut served = 1;
        match worker.workflow_queue {
            Some(queue) => {
                served = 2;
                command.env("NOTEKEEPER_WORKFLOW_TASK_QUEUE", queue);
            }
            None => {
                command.env("NOTEKEEPER_QUEUES", "memory");
            }
        }
        if let Some(script) = worker.script {
            command.env("NOTEKEEPER_SCRIPT", script);
        }
        if let Some(config) = worker.config {
            command.env("NOTEKEEPER_CONFIG", config);
        }
        Watched::start(command, "worker is up", served).await
    }
}

/// How the product's binary is started.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct BinaryWorker<'a> {
    /// Queue of the memory activities.
    pub(crate) queue: &'a str,
    /// Queue of the workflows; without one it serves activities alone.
    pub(crate) workflow_queue: Option<&'a str>,
    /// Script of its model.
    pub(crate) script: Option<&'a Path>,
    /// Its configuration file.
    pub(crate) config: Option<&'a Path>,
}

/// The product's binary, which is built beside this one.
pub(crate) fn binary() -> anyhow::Result<PathBuf> {
    let program = std::env::current_exe()?.with_file_name("notekeeper");
    ensure!(
        program.is_file(),
        "`{}` is missing; `make bench-quick` builds it",
        program.display()
    );
    Ok(program)
}

async fn execute(url: &str, statement: &str) -> anyhow::Result<()> {
    let mut connection = PgConnection::connect(url).await?;
    // The names in it were made here.
    sqlx::raw_sql(sqlx::AssertSqlSafe(statement.to_owned()))
        .execute(&mut connection)
        .await?;
    connection.close().await?;
    Ok(())
}
