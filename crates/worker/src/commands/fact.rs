//! `notekeeper fact`: keep and recall facts from the terminal, in a store directly or through the
//! activities of a worker.

mod age;
mod get;
mod ls;
mod operations;
mod recall;
mod rm;
mod set;

use std::{path::Path, process::ExitCode};

use clap::{Args, Subcommand};
use notekeeper_contract::Refused;

use crate::output::CodedError;

use super::access::{Access, Place, Purpose, ScopeArgs};

#[derive(Debug, Args)]
#[command(after_help = "\
A fact is a value under a key. Facts belong to a scope and are seen by all its conversations. The \
store is named as for a worker: --sqlite, --database-url, their variables, or --config. With \
`--via temporal` a running worker does the work, and no store is needed here.

Examples:
  notekeeper fact set food 'no peanuts' --namespace customers/ada --sqlite notes.db
  notekeeper fact recall peanuts --namespace customers/ada --sqlite notes.db
  notekeeper fact ls --namespace customers/ada --via temporal")]
pub(crate) struct FactArgs {
    #[command(subcommand)]
    pub(crate) command: FactCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum FactCommand {
    /// List the facts of a scope.
    Ls(ls::LsArgs),
    /// Print the value of a fact.
    Get(get::GetArgs),
    /// Keep a fact, in place of the one that has its key.
    Set(set::SetArgs),
    /// Remove a fact.
    Rm(rm::RmArgs),
    /// Search the facts of a scope, best match first.
    Recall(recall::RecallArgs),
}

impl FactArgs {
    /// Whether results and errors are for programs.
    pub(crate) fn json(&self) -> bool {
        let at = match &self.command {
            FactCommand::Ls(args) => &args.at,
            FactCommand::Get(args) => &args.at,
            FactCommand::Set(args) => &args.at,
            FactCommand::Rm(args) => &args.at,
            FactCommand::Recall(args) => &args.at,
        };
        at.output.json
    }
}

pub(crate) fn run(config: Option<&Path>, args: FactArgs) -> anyhow::Result<ExitCode> {
    super::block_on(async {
        match args.command {
            FactCommand::Ls(args) => ls::run(config, args).await,
            FactCommand::Get(args) => get::run(config, args).await,
            FactCommand::Set(args) => set::run(config, args).await,
            FactCommand::Rm(args) => rm::run(config, args).await,
            FactCommand::Recall(args) => recall::run(config, args).await,
        }
    })
}

/// Does something with the facts that are there.
async fn using<T>(
    config: Option<&Path>,
    at: &ScopeArgs,
    work: impl AsyncFnOnce(&Access) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let maker = "notekeeper fact set";
    Place::of_transcripts_and_facts(at, Purpose::Use { maker })
        .with_access(config, work)
        .await
}

/// A refusal as an error that names the fact.
fn refused(key: &str, refused: Refused) -> CodedError {
    CodedError {
        code: refused.reason,
        message: format!("fact `{key}`: {}", refused.message),
    }
}

/// The code of what is said of a fact that isn't there.
const NOT_FOUND: &str = "not_found";

fn not_found(key: &str) -> CodedError {
    CodedError {
        code: NOT_FOUND.to_owned(),
        message: format!("there is no fact `{key}` in this scope; `notekeeper fact ls` lists them"),
    }
}
