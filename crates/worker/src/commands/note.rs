//! `notekeeper note`: read and change notes from the terminal, in a store directly or through the
//! activities of a worker.

mod access;
mod cat;
mod edit;
mod editor;
mod ls;
mod metadata;
mod over_temporal;
mod rm;
mod search;
mod text;
mod whole_over_temporal;
mod write;

use std::{path::Path, process::ExitCode};

use clap::{Args, Subcommand, ValueEnum};
use notekeeper_contract::{DEFAULT_STORE, FailureType, OperationRef, Refused, ScopeRef};
use notekeeper_domain::AGENT_NAME_DEFAULT;

use crate::{
    arguments::{DatabaseArgs, OutputArgs, TemporalArgs},
    output::CodedError,
    random,
};

use self::{
    access::{Access, Purpose, with_notes},
    metadata::MetadataArgs,
};

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
#[command(next_help_heading = "Notebook")]
pub(crate) struct NotebookArgs {
    /// Whose notes: the namespace, of one or more segments with `/` between; "" for the notes that
    /// have none.
    #[arg(long, short, value_name = "NAMESPACE")]
    pub(crate) namespace: String,

    /// Agent whose notes they are, inside the namespace.
    #[arg(long, default_value = AGENT_NAME_DEFAULT, value_name = "NAME")]
    pub(crate) agent_name: String,

    /// Which of the configured stores keeps the notes.
    #[arg(long, default_value = DEFAULT_STORE, value_name = "NAME")]
    pub(crate) store: String,

    /// The workspace that the notes are in, for a store that keeps its files in the run's.
    #[arg(long, value_name = "NAME")]
    pub(crate) workspace: Option<String>,

    /// How the notes are reached.
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

/// How notes are reached.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Via {
    /// The store itself.
    #[default]
    Store,
    /// The activities of a running worker, each as a standalone activity.
    Temporal,
}

impl NotebookArgs {
    /// The notes that are meant. A scope that can't be is refused before anything is asked.
    fn scope(&self) -> anyhow::Result<ScopeRef> {
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

/// What changes of a note have in common.
#[derive(Debug, Args)]
#[command(next_help_heading = "Change")]
pub(crate) struct ChangeArgs {
    /// Change the note only if it is at this version.
    #[arg(long, value_name = "VERSION")]
    pub(crate) expect_version: Option<String>,

    /// Identity of the change: repeated with the same id and the same arguments it takes effect
    /// once. 1 to 200 printable ASCII characters [default: a new one each time].
    #[arg(long, value_name = "ID")]
    pub(crate) operation_id: Option<String>,
}

impl ChangeArgs {
    fn operation(&self) -> OperationRef {
        OperationRef {
            id: self.operation_id.clone().unwrap_or_else(random::name),
        }
    }
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
        notebook.output.json
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

/// Of calls that ran, perhaps several times, and came to nothing.
const TIMEOUT: &str = "Timeout";

/// Of calls that may have begun, and whose end can't be learnt.
const NO_ANSWER: &str = "NoAnswer";

/// Of changes that took effect in part.
const INCOMPLETE: &str = "Incomplete";

/// What is known of the effect of a change that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    /// There is none.
    Nothing,
    /// There may be one.
    Unknown,
    /// There is one, and not all that was to be done.
    Part,
}

impl Effect {
    fn of(error: &anyhow::Error) -> Self {
        let unknown = [TIMEOUT, NO_ANSWER, FailureType::Unavailable.as_str()];
        match error.downcast_ref::<CodedError>() {
            Some(coded) if coded.code == INCOMPLETE => Self::Part,
            Some(coded) if unknown.contains(&coded.code.as_str()) => Self::Unknown,
            _ => Self::Nothing,
        }
    }
}

/// Says of a failure whether the change may have taken effect nevertheless, and what to do then:
/// repeat it under its identity, where repetitions are recognised.
fn told_if_unsure(error: anyhow::Error, recognised: Option<&OperationRef>) -> anyhow::Error {
    match (Effect::of(&error), recognised) {
        (Effect::Nothing | Effect::Part, _) => error,
        (Effect::Unknown, Some(operation)) => error.context(format!(
            "it isn't known to have taken effect; repeat it with `--operation-id {}`",
            operation.id
        )),
        (Effect::Unknown, None) => error.context(
            "it isn't known to have taken effect; see with `notekeeper note cat` before you repeat it",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(code: &str) -> anyhow::Error {
        let (code, message) = (code.to_owned(), "why".to_owned());
        anyhow::Error::new(CodedError { code, message })
    }

    #[test]
    fn a_change_that_may_have_taken_effect_says_so_and_how_it_can_be_repeated() {
        let operation = OperationRef {
            id: "op-1".to_owned(),
        };
        for code in ["Timeout", "NoAnswer", "Unavailable"] {
            let said = format!("{:#}", told_if_unsure(failed(code), Some(&operation)));
            assert!(said.contains("isn't known"), "{said}");
            assert!(said.contains("--operation-id op-1"), "{said}");
            // The flag would be refused: what repetitions would be told by isn't the same twice.
            let said = format!("{:#}", told_if_unsure(failed(code), None));
            assert!(said.contains("isn't known"), "{said}");
            assert!(!said.contains("--operation-id"), "{said}");
        }
        for code in ["NoWorker", "VersionConflict", "NoStore", "Incomplete"] {
            let said = format!("{:#}", told_if_unsure(failed(code), Some(&operation)));
            assert_eq!(said, "why");
        }
    }
}
