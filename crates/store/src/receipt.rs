//! What a mutation came to.

use notekeeper_domain::{Version, WriteStatus};

/// What a mutation came to, as its receipt keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// What the mutation did.
    pub status: ReceiptStatus,
    /// Version that it made; `None` for a deletion.
    pub version: Option<Version>,
    /// Characters of the text that this call wrote. `None` for a deletion, and for an answer from
    /// a receipt, which doesn't keep it.
    pub chars: Option<usize>,
    /// Whether the note existed before.
    pub existed: bool,
    /// Whether this answer comes from the receipt of an earlier call.
    pub replayed: bool,
}

/// What a mutation did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReceiptStatus {
    /// The note was absent or blank, and now has text.
    Created,
    /// Text was added at the end.
    Appended,
    /// A passage, or the whole text, was replaced.
    Updated,
    /// The note was deleted.
    Deleted,
    /// There was nothing to delete.
    NotFound,
}

impl ReceiptStatus {
    /// Stable code, as it stands in results and receipts.
    pub fn code(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Appended => "appended",
            Self::Updated => "updated",
            Self::Deleted => "deleted",
            Self::NotFound => "not_found",
        }
    }

    /// Reads a stored code.
    pub fn from_code(code: &str) -> Option<Self> {
        [
            Self::Created,
            Self::Appended,
            Self::Updated,
            Self::Deleted,
            Self::NotFound,
        ]
        .into_iter()
        .find(|status| status.code() == code)
    }

    /// What a deletion comes to.
    pub(crate) fn of_deletion(existed: bool) -> Self {
        if existed {
            Self::Deleted
        } else {
            Self::NotFound
        }
    }
}

impl From<WriteStatus> for ReceiptStatus {
    fn from(status: WriteStatus) -> Self {
        match status {
            WriteStatus::Created => Self::Created,
            WriteStatus::Appended => Self::Appended,
            WriteStatus::Updated => Self::Updated,
        }
    }
}
