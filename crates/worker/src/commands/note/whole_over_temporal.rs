//! Replacing a whole text by the means that activities have: the text that is there is read, and is
//! the passage that is replaced. Where there is none, the text is added first, which may change its
//! end, and then put in place of what came of that.

use notekeeper_activities::{ExpectedNote, ReplaceWhole};
use notekeeper_contract::{
    FailureType, MemoryContent, OperationRef, Outcome, ReadMemory, ReadMemoryInput, Refused,
    WriteMemory, WriteMemoryInput, WrittenMemory,
};
use notekeeper_domain::{Edit, NOTE_CHARS_MAX_DEFAULT, Refusal};

use crate::{
    commands::access::{INCOMPLETE, OverTemporal},
    output::CodedError,
    random,
};

use super::metadata::fixed;

/// Status of a text that was added to a note that had some.
const APPENDED: &str = "appended";

/// How often a whole text is put in place of one that keeps changing meanwhile.
const REPLACE_ATTEMPTS: u32 = 5;

/// A worker's activities, by which a whole text is replaced.
pub(super) struct WholeOverTemporal<'a>(pub(super) &'a OverTemporal);

impl WholeOverTemporal<'_> {
    /// Replaces a whole text, or makes the note.
    pub(super) async fn replace_whole(
        &self,
        mut input: ReplaceWhole,
    ) -> anyhow::Result<Outcome<WrittenMemory>> {
        let mut attempt = 1;
        loop {
            let result = self.try_replace(&input).await;
            match &result {
                // Somebody else was faster, and whatever they wrote is to go as well.
                Err(error)
                    if input.expected == ExpectedNote::Any
                        && attempt < REPLACE_ATTEMPTS
                        && is_version_conflict(error) =>
                {
                    attempt += 1;
                    // A part of the attempt may have taken effect under the first one.
                    input.operation = another();
                }
                _ => return result,
            }
        }
    }

    async fn try_replace(&self, input: &ReplaceWhole) -> anyhow::Result<Outcome<WrittenMemory>> {
        let current = match self.current(input).await? {
            Outcome::Ok(current) => current,
            Outcome::Refused(refused) => return Ok(Outcome::Refused(refused)),
        };
        let version = match (&input.expected, &current) {
            (ExpectedNote::Absent, Some(_)) => return Err(version_conflict().into()),
            (ExpectedNote::Version(version), _) => Some(version.clone()),
            (ExpectedNote::Any | ExpectedNote::Absent, current) => {
                current.as_ref().map(|note| note.version.clone())
            }
        };
        let text = current.map(|note| note.content).unwrap_or_default();
        let mut write = write_of(input);
        write.expected_version = version;
        if text.is_empty() {
            return self.add_then_replace(input, write).await;
        }
        write.old_text = Some(text);
        self.0.call(WriteMemory, write).await
    }

    /// The note; `None` where there is none. One that can't be replaced in this way is refused.
    async fn current(
        &self,
        input: &ReplaceWhole,
    ) -> anyhow::Result<Outcome<Option<MemoryContent>>> {
        let reading = ReadMemoryInput {
            store: input.store.clone(),
            workspace: input.workspace.clone(),
            scope: input.scope.clone(),
            file: input.file.clone(),
            max_memory_size: NOTE_CHARS_MAX_DEFAULT,
            include_write_metadata: false,
        };
        Ok(match self.0.call(ReadMemory, reading).await? {
            Outcome::Ok(note) if note.truncated => {
                let too_large = Refusal::ExistingTooLarge {
                    chars_max: NOTE_CHARS_MAX_DEFAULT,
                };
                Outcome::Refused(too_large.into())
            }
            Outcome::Ok(note) => Outcome::Ok(Some(note)),
            Outcome::Refused(Refused { reason, .. }) if reason == "not_found" => Outcome::Ok(None),
            Outcome::Refused(refused) => Outcome::Refused(refused),
        })
    }

    /// Nothing can be put in place of nothing, but it can be added to it.
    async fn add_then_replace(
        &self,
        input: &ReplaceWhole,
        add: WriteMemoryInput,
    ) -> anyhow::Result<Outcome<WrittenMemory>> {
        // As the worker makes it; what can't be added it refuses itself.
        let made = Edit::new(input.content.clone(), None)
            .and_then(|edit| edit.apply(None, usize::MAX))
            .map(|applied| applied.text);
        let added = match self.0.call(WriteMemory, add).await? {
            Outcome::Ok(added) => added,
            Outcome::Refused(refused) => return Ok(Outcome::Refused(refused)),
        };
        check_made(&added, &input.expected)?;
        match made {
            Ok(made) if made != input.content => self.make_exact(input, added, made).await,
            _ => Ok(Outcome::Ok(added)),
        }
    }

    async fn make_exact(
        &self,
        input: &ReplaceWhole,
        added: WrittenMemory,
        made: String,
    ) -> anyhow::Result<Outcome<WrittenMemory>> {
        let mut exact = write_of(input);
        exact.operation = Some(another());
        exact.old_text = Some(made);
        exact.expected_version = Some(added.version);
        match self.0.call(WriteMemory, exact).await {
            Ok(Outcome::Ok(written)) => Ok(Outcome::Ok(WrittenMemory {
                status: added.status,
                ..written
            })),
            Ok(Outcome::Refused(refused)) => Err(inexact(&refused.message).into()),
            Err(error) if input.expected == ExpectedNote::Any && is_version_conflict(&error) => {
                Err(error)
            }
            Err(error) => Err(inexact(&format!("{error:#}")).into()),
        }
    }
}

fn write_of(input: &ReplaceWhole) -> WriteMemoryInput {
    WriteMemoryInput {
        store: input.store.clone(),
        workspace: input.workspace.clone(),
        scope: input.scope.clone(),
        operation: Some(input.operation.clone()),
        content: input.content.clone(),
        file: input.file.clone(),
        old_text: None,
        expected_version: None,
        max_memory_size: input.max_memory_size,
        write_metadata: input.metadata.clone().map(fixed),
    }
}

fn another() -> OperationRef {
    OperationRef { id: random::name() }
}

/// That a note is absent can't be expected of an activity. Where somebody else made it meanwhile, the
/// text stands behind theirs.
fn check_made(added: &WrittenMemory, expected: &ExpectedNote) -> anyhow::Result<()> {
    if added.status != APPENDED {
        return Ok(());
    }
    match expected {
        ExpectedNote::Any => Err(version_conflict().into()),
        ExpectedNote::Absent | ExpectedNote::Version(_) => Err(CodedError {
            code: INCOMPLETE.to_owned(),
            message: format!(
                "somebody else wrote `{}` meanwhile, and the text was added at the end of theirs",
                added.file
            ),
        }
        .into()),
    }
}

fn inexact(why: &str) -> CodedError {
    CodedError {
        code: INCOMPLETE.to_owned(),
        message: format!(
            "the text was written, but with one line break in place of the blanks at its end: {why}"
        ),
    }
}

fn version_conflict() -> CodedError {
    CodedError {
        code: FailureType::VersionConflict.as_str().to_owned(),
        message: notekeeper_store::MutationError::VersionConflict.to_string(),
    }
}

/// Whether a change was refused because the note isn't at the expected version.
fn is_version_conflict(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<CodedError>()
        .is_some_and(|coded| coded.code == FailureType::VersionConflict.as_str())
}

#[cfg(test)]
mod tests {
    use crate::commands::access::Effect;

    use super::*;

    fn added(status: &str) -> WrittenMemory {
        WrittenMemory {
            file: "n.md".to_owned(),
            version: "7".to_owned(),
            replayed: false,
            status: status.to_owned(),
        }
    }

    #[test]
    fn a_note_that_somebody_else_made_meanwhile_is_replaced_or_told_never_taken_for_ours() {
        for expected in [ExpectedNote::Any, ExpectedNote::Absent] {
            check_made(&added("created"), &expected).expect("it was absent");
        }
        let again = check_made(&added("appended"), &ExpectedNote::Any).expect_err("theirs");
        assert!(is_version_conflict(&again), "{again}");
        let told = check_made(&added("appended"), &ExpectedNote::Absent).expect_err("theirs");
        assert_eq!(Effect::of(&told), Effect::Part);
        assert!(told.to_string().contains("`n.md`"), "{told}");
    }
}
