//! `notekeeper messages`: transcripts from the terminal, in a store directly or through the
//! activities of a worker.

mod add;
mod clear;
mod given;
mod ls;
mod operations;
mod rendered;
mod show;

use std::{path::Path, process::ExitCode};

use clap::{Args, Subcommand};
use notekeeper_contract::FailureType;
use notekeeper_domain::ConversationId;

use crate::output::CodedError;

use super::access::{Access, Place, Purpose, ScopeArgs};

#[derive(Debug, Args)]
#[command(after_help = "\
A conversation is found by scope and id. `notekeeper chat` keeps each under the id that it is called \
by, in the namespace `chat` where none is given. The store is named as for a worker: --sqlite, \
--database-url, their variables, or --config. With `--via temporal` a running worker does the work, \
and no store is needed here.

Examples:
  notekeeper messages ls --namespace customers/ada --sqlite notes.db
  notekeeper messages show travel --last 10 --namespace customers/ada --sqlite notes.db
  notekeeper messages show chat --namespace chat --via temporal")]
pub(crate) struct MessagesArgs {
    #[command(subcommand)]
    pub(crate) command: MessagesCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum MessagesCommand {
    /// List the conversations of a scope.
    Ls(ls::LsArgs),
    /// Print the messages of a conversation.
    Show(show::ShowArgs),
    /// Add messages at the end of a conversation.
    Add(add::AddArgs),
    /// Remove all messages of a conversation.
    Clear(clear::ClearArgs),
}

impl MessagesArgs {
    /// Whether results and errors are for programs.
    pub(crate) fn json(&self) -> bool {
        match &self.command {
            MessagesCommand::Ls(args) => args.at.output.json,
            MessagesCommand::Show(args) => args.json(),
            MessagesCommand::Add(args) => args.at.output.json,
            MessagesCommand::Clear(args) => args.at.output.json,
        }
    }
}

pub(crate) fn run(config: Option<&Path>, args: MessagesArgs) -> anyhow::Result<ExitCode> {
    super::block_on(async {
        match args.command {
            MessagesCommand::Ls(args) => ls::run(config, args).await,
            MessagesCommand::Show(args) => show::run(config, args).await,
            MessagesCommand::Add(args) => add::run(config, args).await,
            MessagesCommand::Clear(args) => clear::run(config, args).await,
        }
    })
}

/// Does something with the transcripts that are there.
async fn using<T>(
    config: Option<&Path>,
    at: &ScopeArgs,
    work: impl AsyncFnOnce(&Access) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let maker = "notekeeper messages add";
    Place::of_transcripts_and_facts(at, Purpose::Use { maker })
        .with_access(config, work)
        .await
}

/// Refuses an id that can't be one before anything is asked.
fn check_conversation(id: &str) -> anyhow::Result<()> {
    ConversationId::parse(id).map_err(|error| CodedError {
        code: FailureType::InvalidArgument.as_str().to_owned(),
        message: error.to_string(),
    })?;
    Ok(())
}

fn not_found(conversation: &str) -> CodedError {
    CodedError {
        code: "not_found".to_owned(),
        message: format!(
            "there is no conversation `{conversation}` in this scope; `notekeeper messages ls` lists \
             them"
        ),
    }
}

/// A number of messages, in words.
fn messages(count: u64) -> String {
    match count {
        1 => "1 message".to_owned(),
        count => format!("{count} messages"),
    }
}
