//! `notekeeper note rm`: delete a note.

use std::{path::Path, process::ExitCode};

use clap::Args;
use notekeeper_contract::{DeleteMemoryInput, Outcome};

use crate::{
    commands::access::{Changed, Remedy, already, told_if_unsure},
    exit::Exit,
    output::{CodedError, print, print_json},
};

use super::{ChangeArgs, NotebookArgs, refused};

#[derive(Debug, Args)]
#[command(after_help = "\
Nothing is asked, and a deleted note can't be had back. `MEMORY.md` can't be deleted. A note that \
isn't there is an error (exit code 1), also where a deletion is repeated that found none.

Examples:
  notekeeper note rm plans --namespace customers/ada
  notekeeper note rm plans --namespace customers/ada --expect-version 17 --operation-id clean-up-7")]
pub(crate) struct RmArgs {
    /// Name of the note; `.md` is added where it is missing.
    #[arg(value_name = "NAME")]
    note: String,

    #[command(flatten)]
    change: ChangeArgs,

    #[command(flatten)]
    pub(super) notebook: NotebookArgs,
}

pub(super) async fn run(config: Option<&Path>, args: RmArgs) -> anyhow::Result<ExitCode> {
    let RmArgs {
        note,
        change,
        notebook,
    } = args;
    let operation = change.operation.operation();
    let input = DeleteMemoryInput {
        store: notebook.at.store.clone(),
        workspace: notebook.workspace.clone(),
        scope: notebook.at.scope()?,
        operation: Some(operation.clone()),
        file: note.clone(),
        expected_version: change.expect_version,
    };
    let deleted = notebook
        .using(config, async |notes| notes.delete(input).await)
        .await;
    let answer = match deleted.map_err(|error| told_if_unsure(error, Remedy::Repeat(&operation)))? {
        Outcome::Ok(answer) => answer,
        Outcome::Refused(why) => return Err(refused(&note, why).into()),
    };
    if answer.status == "not_found" {
        return Err(CodedError {
            code: answer.status,
            message: format!("there is no note `{}` in this notebook", answer.file),
        }
        .into());
    }
    if notebook.at.output.json {
        print_json(&Changed { answer, operation })?;
    } else {
        let again = already(answer.replayed);
        print(&format!("{} {}{again}\n", answer.status, answer.file))?;
    }
    Ok(Exit::Done.into())
}
