//! `notekeeper note`: read and change notes from the terminal, in a store directly or through the
//! activities of a worker.

mod cat;
mod edit;
mod editor;
mod ls;
mod metadata;
mod operations;
mod rm;
mod search;
mod text;
mod whole_over_temporal;
mod write;

use std::{path::Path, process::ExitCode};

use clap::{Args, Subcommand};
use notekeeper_contract::Refused;

use crate::output::CodedError;

use self::metadata::MetadataArgs;

use super::access::{Access, Kept, OperationArgs, Place, Purpose, ScopeArgs};

#[derive(Debug, Args)]
#[command(after_help = "\
The store is named as for a worker: --sqlite, --database-url, their variables, or --config. With \
`--via temporal` a running worker does the work, and no store is needed here.

Examples:
  notekeeper note write MEMORY '- likes tea' --namespace customers/ada --sqlite notes.db
  notekeeper note cat MEMORY --namespace customers/ada --sqlite notes.db
  notekeeper note ls --namespace customers/ada --via temporal")]
pub(crate) struct NoteArgs {
    #[command(subcommand)]
    pub(crate) command: NoteCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum NoteCommand {
    /// List the notes of a notebook.
    Ls(ls::LsArgs),
    /// Print a note.
    Cat(cat::CatArgs),
    /// Append to a note, replace a passage of it, or replace all of it.
    Write(write::WriteArgs),
    /// Edit a note in your editor.
    Edit(edit::EditArgs),
    /// Delete a note.
    Rm(rm::RmArgs),
    /// Search the notes of a notebook for words.
    Search(search::SearchArgs),
}

/// Whose notes, where they are, and how they are reached.
#[derive(Debug, Args)]
pub(crate) struct NotebookArgs {
    #[command(flatten)]
    pub(crate) at: ScopeArgs,

    /// The workspace that the notes are in, for a store that keeps its files in the run's.
    #[arg(long, value_name = "NAME", help_heading = "Scope")]
    pub(crate) workspace: Option<String>,
}

impl NotebookArgs {
    /// Does something with the notes that are there.
    async fn using<T>(
        &self,
        config: Option<&Path>,
        work: impl AsyncFnOnce(&Access) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let maker = "notekeeper note write";
        self.place(Purpose::Use { maker })
            .with_access(config, work)
            .await
    }

    /// Does something that may make notes, and the file that holds them.
    async fn making<T>(
        &self,
        config: Option<&Path>,
        work: impl AsyncFnOnce(&Access) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        self.place(Purpose::Make).with_access(config, work).await
    }

    fn place(&self, purpose: Purpose) -> Place<'_> {
        Place {
            args: &self.at,
            workspace: self.workspace.as_deref(),
            kept: Kept::Notes,
            purpose,
        }
    }
}

/// What changes of a note have in common.
#[derive(Debug, Args)]
#[command(next_help_heading = "Change")]
pub(crate) struct ChangeArgs {
    /// Change the note only if it is at this version.
    #[arg(long, value_name = "VERSION")]
    pub(crate) expect_version: Option<String>,

    #[command(flatten)]
    pub(crate) operation: OperationArgs,
}

impl NoteArgs {
    /// Whether results and errors are for programs.
    pub(crate) fn json(&self) -> bool {
        let notebook = match &self.command {
            NoteCommand::Ls(args) => &args.notebook,
            NoteCommand::Cat(args) => &args.notebook,
            NoteCommand::Write(args) => &args.notebook,
            NoteCommand::Edit(args) => &args.notebook,
            NoteCommand::Rm(args) => &args.notebook,
            NoteCommand::Search(args) => &args.notebook,
        };
        notebook.at.output.json
    }
}

pub(crate) fn run(config: Option<&Path>, args: NoteArgs) -> anyhow::Result<ExitCode> {
    super::block_on(async {
        match args.command {
            NoteCommand::Ls(args) => ls::run(config, args).await,
            NoteCommand::Cat(args) => cat::run(config, args).await,
            NoteCommand::Write(args) => write::run(config, args).await,
            NoteCommand::Edit(args) => edit::run(config, args).await,
            NoteCommand::Rm(args) => rm::run(config, args).await,
            NoteCommand::Search(args) => search::run(config, args).await,
        }
    })
}

/// A refusal as an error that names the note.
fn refused(note: &str, refused: Refused) -> CodedError {
    let Refused { reason, message } = refused;
    let message = match reason.as_str() {
        "not_found" => {
            format!("there is no note `{note}` in this notebook; `notekeeper note ls` lists them")
        }
        _ => format!("note `{note}`: {message}"),
    };
    CodedError {
        code: reason,
        message,
    }
}
