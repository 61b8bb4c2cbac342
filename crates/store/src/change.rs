//! How the new text of a note comes about, for stores that read it, change it and write it back.

use notekeeper_domain::Edit;

use crate::{MutationError, ReceiptStatus, WriteRequest, counts::bounded, values::check_content};

/// How the new text of a note comes about.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Change<'a> {
    /// From the current one.
    Edit {
        edit: &'a Edit,
        note_chars_max: usize,
    },
    /// Whatever the current one is.
    Whole(&'a WriteRequest<'a>),
}

/// What to write.
#[derive(Debug)]
pub(crate) struct NewText {
    pub(crate) text: String,
    /// Characters of the text.
    pub(crate) chars: usize,
    pub(crate) status: ReceiptStatus,
}

impl Change<'_> {
    /// As receipts name it.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Edit { .. } => "edit",
            Self::Whole(_) => "write",
        }
    }

    /// How much of the current text the change needs. One character more than the bound shows
    /// that a note is over it.
    pub(crate) fn chars_needed(&self) -> i32 {
        match self {
            Self::Edit { note_chars_max, .. } => bounded(note_chars_max.saturating_add(1)),
            Self::Whole(_) => 0,
        }
    }

    /// The new text, from as much of the current one as the change needs; `None`: no note.
    pub(crate) fn apply(&self, current: Option<&str>) -> Result<NewText, MutationError> {
        let (text, status) = match self {
            Self::Edit {
                edit,
                note_chars_max,
            } => {
                let applied = edit.apply(current, *note_chars_max)?;
                (applied.text, applied.status.into())
            }
            Self::Whole(request) => {
                let status = request.receipt_status(current.is_some());
                (request.content.to_owned(), status)
            }
        };
        // An edit can make a text that neither the note nor the edit was.
        check_content("content", &text)?;
        let chars = text.chars().count();
        Ok(NewText {
            text,
            chars,
            status,
        })
    }
}
