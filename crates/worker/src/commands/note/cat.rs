//! `notekeeper note cat`: print a note, exactly.

use std::{path::Path, process::ExitCode};

use clap::Args;
use notekeeper_contract::{Outcome, ReadMemoryInput};

use crate::{
    exit::Exit,
    output::{CodedError, print_foreign, print_json},
};

use super::{NotebookArgs, refused};

#[derive(Debug, Args)]
#[command(after_help = "\
The text is printed as it is, and nothing else; on a terminal with a replacement character for \
everything that would steer the terminal. A note that isn't there is an error (exit code 1), and so \
is one that is too long for a result of Temporal: what fitted is printed.

Examples:
  notekeeper note cat MEMORY --namespace customers/ada
  notekeeper note cat plans.md --namespace customers/ada --json | jq -r .version")]
pub(crate) struct CatArgs {
    /// Name of the note; `.md` is added where it is missing.
    #[arg(value_name = "NAME")]
    note: String,

    #[command(flatten)]
    pub(super) notebook: NotebookArgs,
}

pub(super) async fn run(config: Option<&Path>, args: CatArgs) -> anyhow::Result<ExitCode> {
    let CatArgs { note, notebook } = args;
    let input = ReadMemoryInput {
        store: notebook.at.store.clone(),
        workspace: notebook.workspace.clone(),
        scope: notebook.at.scope()?,
        file: note.clone(),
        max_memory_size: usize::MAX,
        include_write_metadata: notebook.at.output.json,
    };
    let read = notebook
        .using(config, async |notes| notes.read(input).await)
        .await?;
    let content = match read {
        Outcome::Ok(content) => content,
        Outcome::Refused(why) => return Err(refused(&note, why).into()),
    };
    if notebook.at.output.json {
        print_json(&content)?;
    } else {
        print_foreign(&content.content)?;
    }
    if content.truncated {
        return Err(CodedError {
            code: "truncated".to_owned(),
            message: format!("note `{note}` is longer than a result may be; its end is missing"),
        }
        .into());
    }
    Ok(Exit::Done.into())
}
