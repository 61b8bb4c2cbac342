//! Whose memory a command is about, where it is, and how it is reached.

use clap::{Args, ValueEnum, builder::RangedU64ValueParser};
use notekeeper_contract::{DEFAULT_STORE, OperationRef, ScopeRef};
use notekeeper_domain::AGENT_NAME_DEFAULT;

use crate::{
    arguments::{DatabaseArgs, OutputArgs, TemporalArgs},
    output::CodedError,
    random,
};

/// Whose memory, where it is, and how it is reached.
#[derive(Debug, Args)]
#[command(next_help_heading = "Scope")]
pub(crate) struct ScopeArgs {
    /// Whose memory: the namespace, of one or more segments with `/` between; "" for the memory that
    /// has none.
    #[arg(long, short, value_name = "NAMESPACE")]
    pub(crate) namespace: String,

    /// Agent whose memory it is, inside the namespace.
    #[arg(long, default_value = AGENT_NAME_DEFAULT, value_name = "NAME")]
    pub(crate) agent_name: String,

    /// Which of the configured stores keeps it.
    #[arg(long, default_value = DEFAULT_STORE, value_name = "NAME")]
    pub(crate) store: String,

    /// How it is reached.
    #[arg(long, value_enum, default_value_t, value_name = "WAY")]
    pub(crate) via: Via,

    #[command(flatten)]
    pub(crate) database: DatabaseArgs,

    #[command(flatten)]
    pub(crate) temporal: TemporalArgs,

    #[command(flatten)]
    pub(crate) queue: ActivityArgs,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// Reads how many entries a list may have.
pub(crate) fn at_least_one() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..)
}

/// Where the activities are, with `--via temporal`.
#[derive(Debug, Args)]
#[command(next_help_heading = "Temporal")]
pub(crate) struct ActivityArgs {
    /// Task queue of the activities, with `--via temporal` [default: notekeeper].
    #[arg(long, env = "NOTEKEEPER_TASK_QUEUE", value_name = "NAME")]
    pub(crate) task_queue: Option<String>,

    /// How long a worker may take to begin, with `--via temporal`, in seconds.
    #[arg(long, default_value_t = 30, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) timeout: u64,
}

/// How memory is reached.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Via {
    /// The store itself.
    #[default]
    Store,
    /// The activities of a running worker, each as a standalone activity.
    Temporal,
}

impl ScopeArgs {
    /// The scope that is meant. One that can't be is refused before anything is asked.
    pub(crate) fn scope(&self) -> anyhow::Result<ScopeRef> {
        let scope = ScopeRef {
            namespace: self.namespace.clone(),
            agent_name: self.agent_name.clone(),
        };
        scope.resolve().map_err(|error| CodedError {
            code: "InvalidScope".to_owned(),
            message: error.to_string(),
        })?;
        Ok(scope)
    }
}

/// What tells one change from another.
#[derive(Debug, Args)]
#[command(next_help_heading = "Change")]
pub(crate) struct OperationArgs {
    /// Identity of the change: repeated with the same id and the same arguments it takes effect
    /// once. 1 to 200 printable ASCII characters [default: a new one each time].
    #[arg(long, value_name = "ID")]
    pub(crate) operation_id: Option<String>,
}

impl OperationArgs {
    pub(crate) fn operation(&self) -> OperationRef {
        OperationRef {
            id: self.operation_id.clone().unwrap_or_else(random::name),
        }
    }
}
