//! `notekeeper note ls`: list the notes of a notebook.

use std::{path::Path, process::ExitCode};

use clap::Args;
use notekeeper_contract::ListMemoryInput;
use notekeeper_domain::LISTED_FILES_MAX_DEFAULT;

use crate::{
    commands::access::at_least_one,
    exit::Exit,
    output::{print, print_json, remark, table},
};

use super::NotebookArgs;

#[derive(Debug, Args)]
#[command(after_help = "\
Notes are listed by name, compared by code point: capitals come first.

Examples:
  notekeeper note ls --namespace customers/ada
  notekeeper note ls --namespace customers/ada --json | jq -r '.files[].file'
  notekeeper note ls --namespace '' --agent-name planner --via temporal")]
pub(crate) struct LsArgs {
    /// Most notes to list.
    #[arg(long, default_value_t = LISTED_FILES_MAX_DEFAULT, value_name = "NOTES", value_parser = at_least_one())]
    limit: usize,

    #[command(flatten)]
    pub(super) notebook: NotebookArgs,
}

pub(super) async fn run(config: Option<&Path>, args: LsArgs) -> anyhow::Result<ExitCode> {
    let notebook = args.notebook;
    let input = ListMemoryInput {
        store: notebook.at.store.clone(),
        workspace: notebook.workspace.clone(),
        scope: notebook.at.scope()?,
        max_files: args.limit,
        include_write_metadata: notebook.at.output.json,
    };
    let listed = notebook
        .using(config, async |notes| notes.list(input).await)
        .await?;
    if notebook.at.output.json {
        print_json(&listed)?;
        return Ok(Exit::Done.into());
    }
    if listed.files.is_empty() {
        remark("no notes");
        return Ok(Exit::Done.into());
    }
    let rows = listed.files.into_iter().map(|file| {
        let updated = file.updated_at.unwrap_or_else(|| "unknown".to_owned());
        [file.file, file.chars.to_string(), file.version, updated]
    });
    print(&table(
        ["NOTE", "CHARS", "VERSION", "UPDATED"],
        &[1, 2],
        rows,
    ))?;
    if listed.truncated {
        remark("there are more; list them with a higher --limit");
    }
    Ok(Exit::Done.into())
}
