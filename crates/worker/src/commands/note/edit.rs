//! `notekeeper note edit`: edit a note in the user's editor.

use std::{path::Path, process::ExitCode};

use anyhow::bail;
use clap::Args;
use notekeeper_activities::{ExpectedNote, ReplaceWhole};
use notekeeper_contract::{OperationRef, Outcome, ReadMemoryInput, Refused, WrittenMemory};
use notekeeper_domain::{NOTE_CHARS_MAX_DEFAULT, NoteName, Refusal};

use serde_json::json;

use crate::{
    commands::access::{Access, Effect, Via},
    exit::Exit,
    output::{print, print_json},
    random,
};

use super::{
    MetadataArgs, NotebookArgs,
    editor::{self, Draft},
    refused, write,
};

#[derive(Debug, Args)]
#[command(after_help = "\
The editor is $VISUAL, or $EDITOR. The note is made where it isn't there. Nothing is written where \
nothing was changed, and nothing over somebody else's change: then, as with any text that can't be \
written, or of which it isn't known whether it was, yours stays in a file, and the message says \
where.

Examples:
  notekeeper note edit MEMORY --namespace customers/ada
  EDITOR='code --wait' notekeeper note edit plans --namespace customers/ada
  notekeeper note edit MEMORY --metadata updated_by=support --namespace customers/ada")]
pub(crate) struct EditArgs {
    /// Name of the note; `.md` is added where it is missing.
    #[arg(value_name = "NAME")]
    note: String,

    #[command(flatten)]
    metadata: MetadataArgs,

    #[command(flatten)]
    pub(super) notebook: NotebookArgs,
}

pub(super) async fn run(config: Option<&Path>, args: EditArgs) -> anyhow::Result<ExitCode> {
    let EditArgs {
        note,
        metadata,
        notebook,
    } = args;
    let metadata = metadata.checked()?;
    let name = NoteName::from_tool(&note)
        .map_err(|error| refused(&note, Refusal::InvalidName(error).into()))?;
    let scope = notebook.at.scope()?;
    let editor = editor::chosen()?;
    let whole = ReplaceWhole {
        store: notebook.at.store.clone(),
        workspace: notebook.workspace.clone(),
        scope,
        file: name.as_str().to_owned(),
        content: String::new(),
        expected: ExpectedNote::Absent,
        operation: OperationRef { id: random::name() },
        max_memory_size: NOTE_CHARS_MAX_DEFAULT,
        metadata,
    };
    let operation = whole.operation.clone();
    let edited = notebook.making(config, async |notes| {
        edit(notes, whole, &editor, notebook.at.via).await
    });
    match edited.await? {
        Some(answer) => write::report(answer, operation, notebook.at.output.json)?,
        None if notebook.at.output.json => {
            print_json(&json!({"file": name.as_str(), "status": "unchanged"}))?;
        }
        None => print("unchanged; nothing is written\n")?,
    }
    Ok(Exit::Done.into())
}

/// Reads the note, lets the user edit it, and replaces it by what came of that. `None` where
/// nothing was changed.
async fn edit(
    notes: &Access,
    mut whole: ReplaceWhole,
    editor: &str,
    via: Via,
) -> anyhow::Result<Option<WrittenMemory>> {
    let file = whole.file.clone();
    let input = ReadMemoryInput {
        store: whole.store.clone(),
        workspace: whole.workspace.clone(),
        scope: whole.scope.clone(),
        file: file.clone(),
        max_memory_size: readable_chars(via),
        include_write_metadata: false,
    };
    let before = match notes.read(input).await? {
        Outcome::Ok(content) if content.truncated => {
            bail!("the note is too long to be edited through Temporal; leave `--via temporal` out")
        }
        Outcome::Ok(content) => {
            whole.expected = ExpectedNote::Version(content.version);
            content.content
        }
        Outcome::Refused(Refused { reason, .. }) if reason == "not_found" => String::new(),
        Outcome::Refused(why) => return Err(refused(&file, why).into()),
    };

    let draft = Draft::new(&file, &before)?;
    let written = match draft.edited(editor) {
        Ok(after) if after == before => return Ok(None),
        Ok(after) => {
            whole.content = after;
            settled(&file, notes.replace_whole(whole).await)
        }
        Err(error) => Err(error),
    };
    written.map(Some).map_err(|error| {
        let written = written_in_spite_of(&error);
        if draft.differs_from(&before) {
            let kept = draft.keep();
            return error.context(format!(
                "{written}; your text is kept in `{}`",
                kept.display()
            ));
        }
        error.context(written)
    })
}

/// What is known to be written where an edit failed.
fn written_in_spite_of(error: &anyhow::Error) -> &'static str {
    match Effect::of(error) {
        Effect::Nothing => "nothing is written",
        Effect::Unknown => "it isn't known whether it was written",
        Effect::Part => "it is written in part",
    }
}

/// An editor gets the whole note. Through Temporal only what `write_memory` can replace.
fn readable_chars(via: Via) -> usize {
    match via {
        Via::Store => usize::MAX,
        Via::Temporal => NOTE_CHARS_MAX_DEFAULT,
    }
}

fn settled(
    note: &str,
    result: anyhow::Result<Outcome<WrittenMemory>>,
) -> anyhow::Result<WrittenMemory> {
    match result? {
        Outcome::Ok(answer) => Ok(answer),
        Outcome::Refused(why) => Err(refused(note, why).into()),
    }
}
