//! Edits by compare-and-swap alone, for stores that don't edit in one step.

use notekeeper_domain::{NoteName, Operation, Refusal, Scope};

use crate::{
    EditRequest, Expected, MutationError, NoteStore, Receipt, WriteRequest,
    values::{check_content, check_edit},
};

/// Most times that an edit begins anew because another change came between.
const ATTEMPTS_MAX: u32 = 16;

/// Reads, changes, writes; from the start again where another change came between.
pub(crate) async fn edit<S: NoteStore + ?Sized>(
    store: &S,
    scope: &Scope,
    name: &NoteName,
    request: &EditRequest<'_>,
    operation: &Operation,
) -> Result<Receipt, MutationError> {
    check_edit(request.edit)?;
    for _ in 0..ATTEMPTS_MAX {
        // Each time: where this operation's other call is what came between, it has the answer.
        if let Some(receipt) = store.receipt(scope, operation).await? {
            return Ok(receipt);
        }
        // One character more than the bound shows that a note is over it.
        let chars_max = request.note_chars_max.saturating_add(1);
        let current = store.read(scope, name, chars_max).await?;
        let version = current.as_ref().map(|note| &note.version);
        if !request.expected.is_met_by(version) {
            return settle_conflict(store, scope, operation).await;
        }
        let text = current.as_ref().map(|note| note.content.as_str());
        let applied = request.edit.apply(text, request.note_chars_max)?;
        check_content("content", &applied.text)?;
        let expected = version.map_or(Expected::Absent, |version| {
            Expected::Version(version.clone())
        });
        let write = WriteRequest {
            content: &applied.text,
            expected: &expected,
            metadata: request.metadata,
            status: Some(applied.status),
        };
        match store.write(scope, name, &write, Some(operation)).await {
            Err(MutationError::VersionConflict) => {}
            Ok(receipt) if !receipt.replayed => {
                // Whatever the store says of it, or doesn't.
                let chars = Some(applied.text.chars().count());
                return Ok(Receipt { chars, ..receipt });
            }
            result => return result,
        }
    }
    Err(Refusal::ConflictExhausted.into())
}

/// The answer where the note isn't what the caller insists on: the operation's receipt, if its
/// other call is what made it so, or else the conflict.
async fn settle_conflict<S: NoteStore + ?Sized>(
    store: &S,
    scope: &Scope,
    operation: &Operation,
) -> Result<Receipt, MutationError> {
    let receipt = store.receipt(scope, operation).await?;
    receipt.ok_or(MutationError::VersionConflict)
}
