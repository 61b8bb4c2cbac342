//! `notekeeper sources`: see, try and use the sources of the settings, directly or through the activities
//! of a worker.

mod check;
mod direct;
mod ls;
mod query;
mod tree;
mod write;

use std::{path::Path, process::ExitCode, time::Duration};

use clap::{Args, Subcommand};
use notekeeper_contract::ScopeRef;
use notekeeper_domain::AGENT_NAME_DEFAULT;

use crate::{
    arguments::{DatabaseArgs, ModelArgs, OutputArgs, TemporalArgs},
    config::File,
    connection::TemporalTarget,
    output::UsageError,
};

use self::direct::Direct;

use super::access::{ActivityArgs, OverTemporal, Via, coded};

#[derive(Debug, Args)]
#[command(after_help = "\
Sources are those of the file that --config names, and `hybrid`, which is there where the store `default` \
keeps facts. What they are made of is named as for a worker. With `--via temporal` a running worker does \
the work, with its own settings.

Examples:
  notekeeper sources ls --config notekeeper.toml
  notekeeper sources check --config notekeeper.toml
  notekeeper sources query handbook 'how long do refunds take' -n acme --config notekeeper.toml")]
pub(crate) struct SourcesArgs {
    #[command(subcommand)]
    command: SourcesCommand,
}

#[derive(Debug, Subcommand)]
enum SourcesCommand {
    /// List the sources, with what each is made of.
    Ls(ls::LsArgs),
    /// Ask each source once, each leg of a composition by itself, and tell what it came to.
    Check(check::CheckArgs),
    /// Ask a source for items.
    Query(query::QueryArgs),
    /// Give items to a source to keep.
    Write(write::WriteArgs),
}

/// What sources are made of.
#[derive(Debug, Args)]
struct MadeOfArgs {
    #[command(flatten)]
    database: DatabaseArgs,

    #[command(flatten)]
    models: ModelArgs,

    #[command(flatten)]
    temporal: TemporalArgs,

    #[command(flatten)]
    output: OutputArgs,
}

/// Whose items, and how the source is reached.
#[derive(Debug, Args)]
#[command(next_help_heading = "Scope")]
struct AtArgs {
    /// Whose items: the namespace, of one or more segments with `/` between; "" for those that have
    /// none.
    #[arg(long, short, value_name = "NAMESPACE")]
    namespace: String,

    /// Agent whose items they are, inside the namespace.
    #[arg(long, default_value = AGENT_NAME_DEFAULT, value_name = "NAME")]
    agent_name: String,

    /// The workspace of the call, for a store that keeps its files in the run's.
    #[arg(long, value_name = "NAME")]
    workspace: Option<String>,

    /// How the source is reached.
    #[arg(long, value_enum, default_value_t, value_name = "WAY")]
    via: Via,

    #[command(flatten)]
    queue: ActivityArgs,

    #[command(flatten)]
    made_of: MadeOfArgs,
}

impl SourcesArgs {
    /// Whether results and errors are for programs.
    pub(crate) fn json(&self) -> bool {
        match &self.command {
            SourcesCommand::Ls(args) => args.made_of.output.json,
            SourcesCommand::Check(args) => args.made_of.output.json,
            SourcesCommand::Query(args) => args.at.made_of.output.json,
            SourcesCommand::Write(args) => args.at.made_of.output.json,
        }
    }
}

impl AtArgs {
    /// The scope that is meant. One that can't be is refused before anything is asked.
    fn scope(&self) -> anyhow::Result<ScopeRef> {
        scope(&self.namespace, &self.agent_name)
    }

    /// The way to a source. What would be kept where no other process sees it, or in a file that isn't
    /// there, is refused unless `may_make`.
    async fn open(&self, config: Option<&Path>, name: &str, may_make: bool) -> anyhow::Result<Way> {
        let file = File::read(config)?;
        let made_of = &self.made_of;
        let target = TemporalTarget::resolve(&file.temporal(&made_of.temporal))?;
        Ok(match self.via {
            Via::Store => {
                let config = file.sources(&made_of.database, &made_of.models)?;
                Way::Direct(Direct::open_one(config, &target, name, may_make).await?)
            }
            Via::Temporal => Way::Temporal(Box::new(OverTemporal {
                client: target.reach().await?,
                task_queue: file.task_queue(self.queue.task_queue.as_deref()),
                begin_within: Duration::from_secs(self.queue.timeout),
            })),
        })
    }
}

/// A way to a source.
enum Way {
    /// In this process.
    Direct(Direct),
    /// A worker's activities.
    Temporal(Box<OverTemporal>),
}

impl Way {
    async fn close(&self) {
        if let Self::Direct(direct) = self {
            direct.close().await;
        }
    }
}

pub(crate) fn run(config: Option<&Path>, args: SourcesArgs) -> anyhow::Result<ExitCode> {
    super::block_on(async {
        match args.command {
            SourcesCommand::Ls(args) => ls::run(config, args),
            SourcesCommand::Check(args) => check::run(config, args).await,
            SourcesCommand::Query(args) => query::run(config, args).await,
            SourcesCommand::Write(args) => write::run(config, args).await,
        }
    })
}

fn scope(namespace: &str, agent_name: &str) -> anyhow::Result<ScopeRef> {
    let scope = ScopeRef {
        namespace: namespace.to_owned(),
        agent_name: agent_name.to_owned(),
    };
    scope
        .resolve()
        .map_err(|error| coded("InvalidScope", error.to_string()))?;
    Ok(scope)
}

/// A JSON object that an option gives.
fn object(
    option: &str,
    text: Option<&str>,
) -> anyhow::Result<serde_json::Map<String, serde_json::Value>> {
    let Some(text) = text else {
        return Ok(serde_json::Map::new());
    };
    // What was given isn't repeated: it may be anything.
    let object = serde_json::from_str(text).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        UsageError(format!(
            "{option} is no JSON object (line {line}, column {column}); give one such as \
             '{{\"tier\": \"public\"}}'"
        ))
    })?;
    Ok(object)
}
