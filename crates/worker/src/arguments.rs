//! Arguments that several commands share.

use std::{num::NonZeroU64, path::PathBuf};

use clap::Args;

use crate::{
    config::{BaseUrl, Queue},
    database_url::DatabaseUrl,
};

/// How results are printed.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// Print the result, and an error, as JSON on one line.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Where the store `default` is.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Store")]
pub(crate) struct DatabaseArgs {
    /// SQLite file of the store `default`; it is made where it is missing.
    #[arg(long, env = "NOTEKEEPER_SQLITE", value_name = "FILE")]
    pub(crate) sqlite: Option<PathBuf>,

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
#[command(next_help_heading = "Temporal")]
pub(crate) struct TemporalArgs {
    /// Address of the Temporal server, as `host:port` or a URL [default: localhost:7233].
    #[arg(
        id = "temporal_address",
        long = "temporal-address",
        env = "TEMPORAL_ADDRESS",
        value_name = "ADDRESS"
    )]
    pub(crate) address: Option<String>,

    /// Temporal namespace, which must exist [default: default].
    #[arg(
        id = "temporal_namespace",
        long = "temporal-namespace",
        env = "TEMPORAL_NAMESPACE",
        value_name = "NAME"
    )]
    pub(crate) namespace: Option<String>,
}

/// Which queues a worker serves, and their names.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Worker")]
pub(crate) struct QueueArgs {
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
}

/// Which model a worker asks.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Model")]
pub(crate) struct ModelArgs {
    /// JSON file with the turns of the scripted model; it becomes the model `default`.
    #[arg(long, env = "NOTEKEEPER_SCRIPT", value_name = "FILE")]
    pub(crate) script: Option<PathBuf>,

    /// Name of a model behind an OpenAI-compatible endpoint; it becomes the model `default`. Its key
    /// comes from OPENAI_API_KEY.
    #[arg(long, env = "NOTEKEEPER_MODEL", value_name = "NAME")]
    pub(crate) model: Option<String>,

    /// Base URL of that endpoint, such as `http://localhost:8080/v1` [default: OpenAI's own].
    #[arg(
        long,
        env = "OPENAI_BASE_URL",
        value_name = "URL",
        hide_env_values = true
    )]
    pub(crate) model_url: Option<BaseUrl>,
}

/// When a worker ends by itself.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Starting anew")]
pub(crate) struct ExitArgs {
    /// End with 0, after a drain, once so many activities have begun; for a supervisor to start
    /// the worker anew [default: never].
    #[arg(
        long,
        env = "NOTEKEEPER_EXIT_AFTER_ACTIVITIES",
        value_name = "COUNT",
        value_parser = at_least_one
    )]
    pub(crate) exit_after_activities: Option<NonZeroU64>,

    /// End with 0, after a drain, once the process has more than so many megabytes (1,000,000
    /// bytes) of resident memory; for a supervisor to start the worker anew [default: never].
    #[arg(
        long,
        env = "NOTEKEEPER_EXIT_ABOVE_RESIDENT_MB",
        value_name = "MB",
        value_parser = at_least_one
    )]
    pub(crate) exit_above_resident_mb: Option<NonZeroU64>,
}

fn at_least_one(text: &str) -> Result<NonZeroU64, &'static str> {
    text.parse()
        .map_err(|_| "give a whole number of at least 1, or leave the setting out")
}
