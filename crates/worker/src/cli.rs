//! The command line.

use std::{path::PathBuf, process::ExitCode};

use clap::{Args, Parser, Subcommand};

use crate::{commands, database_url::DatabaseUrl, telemetry};

/// Durable memory for AI agents, as a Temporal activity worker.
///
/// Settings come from flags, then from the environment, then from the file given with --config.
#[derive(Debug, Parser)]
#[command(
    name = "notekeeper",
    version,
    arg_required_else_help = true,
    after_help = "Exit codes: 0 done, 1 failed, 2 arguments that make no sense, 130 interrupted."
)]
pub struct Cli {
    /// TOML file with settings; an unknown key in it is an error.
    #[arg(long, global = true, env = "NOTEKEEPER_CONFIG", value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// What is logged to standard error: `error`, `warn`, `info`, `debug`, or directives such as
    /// `info,notekeeper=debug`.
    #[arg(
        long,
        global = true,
        env = "NOTEKEEPER_LOG",
        default_value = "info",
        value_name = "FILTER"
    )]
    pub(crate) log: String,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a worker: activities for callers in any language, and the workflows.
    Worker(WorkerArgs),
    /// Bring the schema of every configured PostgreSQL store up to date.
    Migrate(MigrateArgs),
    /// Replay recorded histories, with no server and no store.
    Replay(ReplayArgs),
    /// Run a short demonstration against a Temporal server and a PostgreSQL database.
    Demo(DemoArgs),
}

/// Where PostgreSQL is.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct DatabaseArgs {
    /// URL of the PostgreSQL database of the store `default`.
    #[arg(long, env = "DATABASE_URL", value_name = "URL", hide_env_values = true)]
    pub(crate) database_url: Option<DatabaseUrl>,

    /// Schema that holds the tables of the store `default` [default: notekeeper].
    #[arg(long, env = "NOTEKEEPER_SCHEMA", value_name = "NAME")]
    pub(crate) schema: Option<String>,
}

/// Where Temporal is. TLS, API key and profiles come from the variables and the file that
/// Temporal's own tools read (`TEMPORAL_TLS…`, `TEMPORAL_API_KEY`, `TEMPORAL_CONFIG_FILE`,
/// `TEMPORAL_PROFILE`).
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct TemporalArgs {
    /// Address of the Temporal server, as `host:port` or a URL [default: localhost:7233].
    #[arg(
        long = "temporal-address",
        env = "TEMPORAL_ADDRESS",
        value_name = "ADDRESS"
    )]
    pub(crate) address: Option<String>,

    /// Temporal namespace, which must exist [default: default].
    #[arg(
        long = "temporal-namespace",
        env = "TEMPORAL_NAMESPACE",
        value_name = "NAME"
    )]
    pub(crate) namespace: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct WorkerArgs {
    #[command(flatten)]
    pub(crate) database: DatabaseArgs,
    #[command(flatten)]
    pub(crate) temporal: TemporalArgs,

    /// Which queues to serve; both where none is given.
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        env = "NOTEKEEPER_QUEUES",
        value_name = "QUEUES"
    )]
    pub(crate) queues: Vec<Queue>,

    /// Task queue of the activities that callers in any language use [default: notekeeper].
    #[arg(long, env = "NOTEKEEPER_TASK_QUEUE", value_name = "NAME")]
    pub(crate) task_queue: Option<String>,

    /// Task queue of the workflows [default: notekeeper-workflows].
    #[arg(long, env = "NOTEKEEPER_WORKFLOW_TASK_QUEUE", value_name = "NAME")]
    pub(crate) workflow_task_queue: Option<String>,

    /// JSON file with the turns of the scripted model; it becomes the model `default`.
    #[arg(long, env = "NOTEKEEPER_SCRIPT", value_name = "FILE")]
    pub(crate) script: Option<PathBuf>,

    /// Where to stop this process, for tests: `point=kill-once:MARKER` or `point=fail:N`.
    #[cfg(feature = "fault-points")]
    #[arg(long, env = "NOTEKEEPER_FAULT", value_name = "SPEC", hide = true)]
    pub(crate) fault: Option<String>,
}

/// A task queue to serve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub(crate) enum Queue {
    /// Activities only: what callers in any language use, and what is scaled.
    Memory,
    /// The workflows, and the same activities beside them.
    Workflows,
}

#[derive(Debug, Args)]
pub(crate) struct MigrateArgs {
    #[command(flatten)]
    pub(crate) database: DatabaseArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// History files (the SDK's JSON or protobuf binary), or directories of them.
    #[arg(required = true, value_name = "FILE|DIR")]
    pub(crate) paths: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// URL of a PostgreSQL database, in which the demonstration makes a schema of its own and drops
    /// it afterwards.
    #[arg(long, env = "DATABASE_URL", value_name = "URL", hide_env_values = true)]
    pub(crate) database_url: Option<DatabaseUrl>,
    #[command(flatten)]
    pub(crate) temporal: TemporalArgs,

    /// Directory of Markdown notes to begin with; ours where none is given.
    #[arg(long, env = "NOTES", value_name = "DIR")]
    pub(crate) notes: Option<PathBuf>,
}

/// Runs a command to its end and says how the process should exit: 0 done, 1 failed, and 130 where a
/// signal interrupted a demonstration. (2 is for arguments that make no sense.)
pub fn run(cli: Cli) -> ExitCode {
    if let Err(error) = telemetry::start(&cli.log) {
        eprintln!("error: {error:#}");
        return ExitCode::FAILURE;
    }
    let config = cli.config.as_deref();
    let result = match cli.command {
        Command::Worker(args) => commands::worker::run(config, args),
        Command::Migrate(args) => commands::migrate::run(config, args),
        Command::Replay(args) => commands::replay::run(args),
        Command::Demo(args) => commands::demo::run(config, args),
    };
    result.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}
