//! Notes: read, edit, write, delete, list, search.

use std::fmt::Debug;

use async_trait::async_trait;
use notekeeper_domain::{
    Edit, NoteName, Notebook, Operation, Scope, SearchAnswer, SearchLimits, SearchQuery, Version,
    WriteStatus,
};

use crate::{MutationError, StoreError, counts::token};

/// A note, or its first characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotePart {
    /// The text, cut to the bound of the read.
    pub content: String,
    /// Whether anything was cut.
    pub truncated: bool,
    /// Version of the whole note.
    pub version: Version,
    /// Operation of the write that produced this version; `None` where it had none.
    pub operation_id: Option<String>,
}

/// What a mutation came to, as its receipt keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// What the mutation did.
    pub status: ReceiptStatus,
    /// Version that it made; `None` for a deletion.
    pub version: Option<Version>,
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

    /// What replacing the whole text of a note comes to.
    pub(crate) fn of_whole_write(existed: bool) -> Self {
        if existed {
            Self::Updated
        } else {
            Self::Created
        }
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
}

/// Names of notes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    /// Ascending by code point.
    pub names: Vec<NoteName>,
    /// Whether there are more.
    pub more: bool,
}

impl Names {
    /// The first names of a list that goes one further where there are more.
    ///
    /// Nothing but this program writes names, but a person with a console can. One odd name mustn't
    /// take the others with it, so it is passed over.
    pub(crate) fn of_listed(mut listed: Vec<String>, names_max: usize) -> Self {
        let more = listed.len() > names_max;
        listed.truncate(names_max);
        let names: Vec<_> = listed
            .iter()
            .filter_map(|name| NoteName::parse(name).ok())
            .collect();
        let skipped = listed.len() - names.len();
        if skipped > 0 {
            tracing::warn!(skipped, "the store holds names that no operation accepts");
        }
        Self { names, more }
    }
}

/// Notes without their text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    /// Ascending by name, compared by code point.
    pub notes: Vec<ListedNote>,
    /// Whether there are more.
    pub more: bool,
}

/// A note without its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedNote {
    /// Name of the note.
    pub name: NoteName,
    /// Its version.
    pub version: Version,
    /// Characters of its text.
    pub chars: usize,
    /// When it was last changed, in UTC and whole seconds, as `2026-11-30T04:05:06Z`; `None` where
    /// the store keeps no times.
    pub updated_at: Option<String>,
}

/// A row of a listing, as databases have it: name, version, characters, time.
pub(crate) type ListedRow = (String, i64, i32, String);

impl Listing {
    /// The first rows of a list that goes one further where there are more. Odd names are passed
    /// over as by [`Names::of_listed`].
    pub(crate) fn of_rows(rows: Vec<ListedRow>, notes_max: usize) -> Self {
        let listed = rows.iter().map(|(name, ..)| name.clone()).collect();
        let Names { names, more } = Names::of_listed(listed, notes_max);
        let mut names = names.into_iter().peekable();
        let notes = rows
            .into_iter()
            .filter_map(|(name, version, chars, updated_at)| {
                let name = names.next_if(|next| next.as_str() == name)?;
                Some(ListedNote {
                    name,
                    version: token(version),
                    chars: usize::try_from(chars).unwrap_or_default(),
                    updated_at: Some(updated_at),
                })
            });
        Self {
            notes: notes.collect(),
            more,
        }
    }
}

/// Bounds of the view that a snapshot is rendered from.
#[derive(Debug, Clone, Copy)]
pub struct NotebookBounds {
    /// Most characters of the main note.
    pub main_chars_max: usize,
    /// Most names of other notes.
    pub names_max: usize,
}

/// Single notes: bounded reads, and mutations with compare-and-swap and receipts.
///
/// A mutation with an operation looks for the receipt first: with the same fingerprint it answers
/// from the receipt, whatever else was passed; with another it is an
/// [`OperationConflict`](MutationError::OperationConflict). Then it checks what the caller
/// expects, then it changes the note and writes the receipt, both or neither. A mutation that
/// fails leaves no receipt, so its id stays free. After a crash either the note and the receipt
/// are both there, or neither is.
#[async_trait]
pub trait NoteStore: Send + Sync + Debug {
    /// Kind of the store, as configuration and telemetry name it: `in_memory`, `sqlite`,
    /// `postgres`.
    fn kind(&self) -> &'static str;

    /// The first `chars_max` characters of a note.
    async fn read(
        &self,
        scope: &Scope,
        name: &NoteName,
        chars_max: usize,
    ) -> Result<Option<NotePart>, StoreError>;

    /// Edits a note from its current text. Concurrent edits of one note all take effect, one
    /// after the other; none gives up. A deviation from [`EditRequest::expected`] is a
    /// [`VersionConflict`](MutationError::VersionConflict).
    async fn edit(
        &self,
        scope: &Scope,
        name: &NoteName,
        request: &EditRequest<'_>,
        operation: &Operation,
    ) -> Result<Receipt, MutationError>;

    /// Replaces the whole text of a note, or makes it.
    async fn write(
        &self,
        scope: &Scope,
        name: &NoteName,
        content: &str,
        expected: &Expected,
        operation: Option<&Operation>,
    ) -> Result<Receipt, MutationError>;

    /// Deletes a note. Where it is absent and that is not unexpected, the receipt says
    /// [`NotFound`](ReceiptStatus::NotFound), and stays so for repetitions.
    async fn delete(
        &self,
        scope: &Scope,
        name: &NoteName,
        expected: &Expected,
        operation: Option<&Operation>,
    ) -> Result<Receipt, MutationError>;

    /// The receipt of an operation, marked as replayed.
    async fn receipt(
        &self,
        scope: &Scope,
        operation: &Operation,
    ) -> Result<Option<Receipt>, MutationError>;
}

/// Many notes: names, the view for snapshots, search. Only notes directly in the scope count; a
/// scope nested under it is another tenant's or agent's.
#[async_trait]
pub trait NoteIndex: Send + Sync {
    /// The first `names_max` names of the scope.
    async fn names(&self, scope: &Scope, names_max: usize) -> Result<Names, StoreError>;

    /// The first `notes_max` notes of the scope, without their text.
    async fn list(&self, scope: &Scope, notes_max: usize) -> Result<Listing, StoreError>;

    /// The main note and the names of the others that end in `.md`, in one round trip. Of a main
    /// note over the bound it reads the tail.
    async fn notebook(&self, scope: &Scope, bounds: NotebookBounds)
    -> Result<Notebook, StoreError>;

    /// Searches the first [`SearchLimits::files_max`] notes of the scope, ascending by name.
    async fn search(
        &self,
        scope: &Scope,
        query: &SearchQuery,
        limits: &SearchLimits,
    ) -> Result<SearchAnswer, StoreError>;
}
