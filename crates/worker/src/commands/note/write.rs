//! `notekeeper note write`: append to a note, replace a passage of it, or replace all of it.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Args;
use notekeeper_activities::ReplaceWhole;
use notekeeper_contract::{OperationRef, Outcome, WriteMemoryInput, WrittenMemory};
use notekeeper_domain::NOTE_CHARS_MAX_DEFAULT;

use crate::{
    commands::{
        access::{Changed, Remedy, Via, already, told_if_unsure},
        given_text::check_no_misspelt_flag,
    },
    exit::Exit,
    output::{UsageError, print, print_json},
};

use super::{
    ChangeArgs, MetadataArgs, NotebookArgs, metadata::fixed, operations::expected, refused, text,
};

#[derive(Debug, Args)]
#[command(after_help = "\
Without --replace and --whole the text is added at the end of the note, which is made where it isn't \
there. What the activity `write_memory` refuses is refused here: names, NUL, notes that would grow \
over 65,536 characters.

Examples:
  notekeeper note write MEMORY '- likes tea' --namespace customers/ada
  notekeeper note write MEMORY coffee --replace tea --namespace customers/ada
  notekeeper note write plans --file plans.md --whole --namespace customers/ada
  notekeeper note write MEMORY '- likes tea' --metadata updated_by=ui --namespace customers/ada
  uptime | notekeeper note write log --namespace team --operation-id \"$(date +%F)\"")]
pub(crate) struct WriteArgs {
    /// Name of the note; `.md` is added where it is missing.
    #[arg(value_name = "NAME")]
    note: String,

    /// The text; standard input where neither it nor --file is given.
    #[arg(
        value_name = "TEXT",
        allow_hyphen_values = true,
        conflicts_with = "file"
    )]
    content: Option<String>,

    /// File that holds the text; `-` for standard input.
    #[arg(long, value_name = "FILE", help_heading = "Change")]
    file: Option<PathBuf>,

    /// Put the text in place of this passage, which must occur once.
    #[arg(
        long,
        value_name = "OLD",
        allow_hyphen_values = true,
        conflicts_with = "whole",
        help_heading = "Change"
    )]
    replace: Option<String>,

    /// Put the text in place of all that the note holds, exactly as it is.
    #[arg(long, help_heading = "Change")]
    whole: bool,

    #[command(flatten)]
    change: ChangeArgs,

    #[command(flatten)]
    metadata: MetadataArgs,

    #[command(flatten)]
    pub(super) notebook: NotebookArgs,
}

pub(super) async fn run(config: Option<&Path>, args: WriteArgs) -> anyhow::Result<ExitCode> {
    check_no_misspelt_flag(args.content.as_deref(), "notekeeper note write")?;
    let notebook = args.notebook;
    let replaces_what_was_read = args.whole && notebook.at.via == Via::Temporal;
    if replaces_what_was_read && args.change.operation.operation_id.is_some() {
        return Err(UsageError(
            "--operation-id can't be given with --whole and `--via temporal`: activities replace \
             what was read before, so a repetition wouldn't be recognised; leave one of them out"
                .to_owned(),
        )
        .into());
    }
    let metadata = args.metadata.checked()?;
    let scope = notebook.at.scope()?;
    let content = text::given(args.content, args.file.as_deref())?;
    let operation = args.change.operation.operation();
    let written = if args.whole {
        let replacement = ReplaceWhole {
            store: notebook.at.store.clone(),
            workspace: notebook.workspace.clone(),
            scope,
            file: args.note.clone(),
            content,
            expected: expected(args.change.expect_version.as_deref()),
            operation: operation.clone(),
            max_memory_size: NOTE_CHARS_MAX_DEFAULT,
            metadata,
        };
        notebook
            .making(config, async |notes| notes.replace_whole(replacement).await)
            .await
    } else {
        let input = WriteMemoryInput {
            store: notebook.at.store.clone(),
            workspace: notebook.workspace.clone(),
            scope,
            operation: Some(operation.clone()),
            content,
            file: args.note.clone(),
            old_text: args.replace,
            expected_version: args.change.expect_version,
            max_memory_size: NOTE_CHARS_MAX_DEFAULT,
            write_metadata: metadata.map(fixed),
        };
        notebook
            .making(config, async |notes| notes.write(input).await)
            .await
    };
    let remedy = match replaces_what_was_read {
        true => Remedy::LookFirst("notekeeper note cat"),
        false => Remedy::Repeat(&operation),
    };
    match written.map_err(|error| told_if_unsure(error, remedy))? {
        Outcome::Ok(answer) => report(answer, operation, notebook.at.output.json)?,
        Outcome::Refused(why) => return Err(refused(&args.note, why).into()),
    }
    Ok(Exit::Done.into())
}

/// Says what became of a write.
pub(super) fn report(
    answer: WrittenMemory,
    operation: OperationRef,
    as_json: bool,
) -> anyhow::Result<()> {
    if as_json {
        return print_json(&Changed { answer, operation });
    }
    let WrittenMemory {
        file,
        version,
        replayed,
        status,
    } = answer;
    print(&format!(
        "{status} {file}, version {version}{}\n",
        already(replayed)
    ))
}
