//! What is asked of a note.

use notekeeper_domain::{Edit, Version, WriteMetadata, WriteStatus};

use crate::ReceiptStatus;

/// What a caller expects the note to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expected {
    /// Anything.
    Any,
    /// Absent.
    Absent,
    /// At this version.
    Version(Version),
}

impl Expected {
    /// Whether a note at `current` (`None`: absent) is what the caller expects.
    pub fn is_met_by(&self, current: Option<&Version>) -> bool {
        match self {
            Self::Any => true,
            Self::Absent => current.is_none(),
            Self::Version(version) => current == Some(version),
        }
    }
}

/// An edit with its bounds.
#[derive(Debug, Clone)]
pub struct EditRequest<'a> {
    /// The change.
    pub edit: &'a Edit,
    /// Most characters of the note before and after.
    pub note_chars_max: usize,
    /// What the caller expects the note to be.
    pub expected: Expected,
    /// Who writes, for stores that keep it; `None` records none.
    pub metadata: Option<&'a WriteMetadata>,
}

/// A whole text for a note.
#[derive(Debug, Clone)]
pub struct WriteRequest<'a> {
    /// The text.
    pub content: &'a str,
    /// What the caller expects the note to be.
    pub expected: &'a Expected,
    /// Who writes, for stores that keep it; `None` records none.
    pub metadata: Option<&'a WriteMetadata>,
    /// What the caller made of the old text, for the receipt; `None` for a text that owes nothing
    /// to it.
    pub status: Option<WriteStatus>,
}

impl<'a> WriteRequest<'a> {
    /// A text without metadata that owes nothing to the old one.
    pub fn new(content: &'a str, expected: &'a Expected) -> Self {
        Self {
            content,
            expected,
            metadata: None,
            status: None,
        }
    }

    /// What the receipt says, by whether the note existed before.
    pub fn receipt_status(&self, existed: bool) -> ReceiptStatus {
        match self.status {
            Some(status) => status.into(),
            None if existed => ReceiptStatus::Updated,
            None => ReceiptStatus::Created,
        }
    }
}
