//! The notes of a store: read, write, delete, list, search.

use std::fmt::Debug;

use async_trait::async_trait;
use notekeeper_domain::{
    NoteName, Notebook, Operation, Scope, SearchAnswer, SearchLimits, SearchQuery,
};

use crate::{
    EditRequest, Expected, Listing, MutationError, Names, NotePart, NoteTexts, NotebookBounds,
    Receipt, StoreError, TextBounds, WriteRequest, fallback, optimistic,
};

/// A store of notes.
///
/// The stores of this crate implement it, and so can others: what follows is all that is asked of
/// one, and the suite of the feature `conformance` checks what can be checked from outside.
/// `examples/custom-store` is a small store that was written against it.
///
/// # Notes and scopes
///
/// A note is found by its scope and its name, both compared as they are written. Only notes
/// directly in a scope belong to it: `acme` has nothing to do with `acme/main`, which is another
/// tenant's or agent's, and no operation sees or changes a note of another scope.
///
/// # Mutations
///
/// [`write`](Self::write), [`delete`](Self::delete) and [`edit`](Self::edit) do this, in this
/// order, as one step that no other mutation of the note or of the operation comes between:
///
/// 1. refuse values that no store takes ([`check_content`](crate::check_content),
///    [`check_operation`](crate::check_operation))
/// 2. look for the operation's receipt in the scope, if there is an operation: with the same
///    fingerprint answer from it ([`Receipt::replayed`]), whatever name, text or expectation was
///    passed; with another it is an [`OperationConflict`](MutationError::OperationConflict)
/// 3. compare the note's version with what the caller expects ([`Expected::is_met_by`]); a
///    deviation is a [`VersionConflict`](MutationError::VersionConflict)
/// 4. change the note, with what is recorded of the write, and keep the receipt: both or neither
///
/// A mutation that fails changes nothing and leaves no receipt, so its id stays free. One without
/// an operation leaves no receipt either, and takes the operation id off the note.
///
/// When a mutation has answered, note and receipt are there for whoever asks next, in whatever
/// process, and survive a crash of the process and of the machine: Temporal records the answer and
/// never asks again. After a crash in the middle both are there, or neither is. The same goes for a
/// call whose future is dropped, as happens where an activity is cancelled or timed out. In either
/// case the caller repeats the operation, and the receipt tells which it was.
///
/// A receipt holds the whole result but [`Receipt::chars`]. It is kept as long as the same
/// operation can come again: as long as the workflow that asked for it may be retried or reset. A
/// store that bounds its receipts counts those of each scope apart, so that no tenant pushes out
/// another's.
///
/// A version is a token that callers compare and don't read. Each successful write of a note has
/// one of its own, which never comes back: not with the same text, and not after the note was
/// deleted and made anew.
///
/// # Errors
///
/// [`StoreError`] is by what the caller may do: [`Unavailable`](StoreError::Unavailable) is what
/// another attempt may help. Its texts end up in histories and logs, so they hold no content, no
/// name of a note and no scope. A store may repeat by itself what failed in passing, a few times;
/// never where it isn't known whether a mutation without operation took effect.
///
/// # What may be left out
///
/// The methods without a body are all that a store must have. The others work on top of them, and
/// a store overrides those that it can do better: an [`edit`](Self::edit) in one step, a
/// [`search`](Self::search) with an index. What can't be made of the rest is asked for:
/// [`keeps_metadata`](Self::keeps_metadata), [`tails`](Self::tails), and the
/// [`snapshots`](crate::Store::snapshots) of [`Store`](crate::Store).
///
/// Calls come from many tasks at once. A method waits for disks and networks without holding up the
/// thread that polls it.
#[async_trait]
pub trait NoteStore: Send + Sync + Debug {
    /// Kind of the store, as configuration and telemetry name it: `in_memory`, `sqlite`,
    /// `postgres`; of one of your own a word of your own.
    fn kind(&self) -> &'static str;

    /// The first `chars_max` characters of a note, with the version of the whole; `None` where
    /// there is no such note. Text, version and what is recorded of the write are of one moment. It
    /// reads no more than it must: a note can be much longer than the bound.
    async fn read(
        &self,
        scope: &Scope,
        name: &NoteName,
        chars_max: usize,
    ) -> Result<Option<NotePart>, StoreError>;

    /// Replaces the whole text of a note, or makes it. A deviation from
    /// [`WriteRequest::expected`] is a [`VersionConflict`](MutationError::VersionConflict). The
    /// receipt says [`WriteRequest::receipt_status`].
    async fn write(
        &self,
        scope: &Scope,
        name: &NoteName,
        request: &WriteRequest<'_>,
        operation: Option<&Operation>,
    ) -> Result<Receipt, MutationError>;

    /// Deletes a note. Where it is absent and that is not unexpected, the receipt says
    /// [`NotFound`](crate::ReceiptStatus::NotFound), and stays so for repetitions.
    async fn delete(
        &self,
        scope: &Scope,
        name: &NoteName,
        expected: &Expected,
        operation: Option<&Operation>,
    ) -> Result<Receipt, MutationError>;

    /// The receipt of an operation, marked as replayed; `None` where it has none. With another
    /// fingerprint it is an [`OperationConflict`](MutationError::OperationConflict).
    async fn receipt(
        &self,
        scope: &Scope,
        operation: &Operation,
    ) -> Result<Option<Receipt>, MutationError>;

    /// The first `names_max` names of the scope, ascending by code point, and whether there are
    /// more. What the store holds under names that [`NoteName::parse`] refuses is passed over, and
    /// should take no other's place.
    async fn names(&self, scope: &Scope, names_max: usize) -> Result<Names, StoreError>;

    /// Edits a note from its current text. A deviation from [`EditRequest::expected`] is a
    /// [`VersionConflict`](MutationError::VersionConflict).
    ///
    /// As it stands here it reads, changes and writes, and begins again where another change came
    /// between; after 16 times it gives up with
    /// [`Refusal::ConflictExhausted`](notekeeper_domain::Refusal::ConflictExhausted). The stores
    /// of this crate never give up.
    async fn edit(
        &self,
        scope: &Scope,
        name: &NoteName,
        request: &EditRequest<'_>,
        operation: &Operation,
    ) -> Result<Receipt, MutationError> {
        optimistic::edit(self, scope, name, request, operation).await
    }

    /// The first `notes_max` notes of the scope, without their text. As it stands here it reads
    /// every one of them.
    async fn list(&self, scope: &Scope, notes_max: usize) -> Result<Listing, StoreError> {
        fallback::list(self, scope, notes_max).await
    }

    /// The main note and the names of the others that end in `.md`. Of a main note over the bound
    /// it has the tail, where the store [reads tails](Self::tails), or else the head.
    async fn notebook(
        &self,
        scope: &Scope,
        bounds: NotebookBounds,
    ) -> Result<Notebook, StoreError> {
        fallback::notebook(self, scope, bounds).await
    }

    /// Searches the first [`SearchLimits::files_max`] notes of the scope, ascending by name. As it
    /// stands here it reads them one after the other, each up to the bound, and yields to other
    /// tasks while it scores them.
    ///
    /// One that a store brings itself answers the same, by the rules of
    /// [`Scan`](notekeeper_domain::Scan), or ranks better, inside the same scope and limits.
    async fn search(
        &self,
        scope: &Scope,
        query: &SearchQuery,
        limits: &SearchLimits,
    ) -> Result<SearchAnswer, StoreError> {
        fallback::search(self, scope, query, limits).await
    }

    /// Notes of the scope after the one with the name `after`, ascending by code point of their names,
    /// with the first `chars_max` characters of each: at most `notes_max`, and none after the one that
    /// takes them beyond `bytes_max` bytes of text. As it stands here it reads them one after the other.
    async fn texts(
        &self,
        scope: &Scope,
        after: Option<&NoteName>,
        bounds: TextBounds,
    ) -> Result<NoteTexts, StoreError> {
        fallback::texts(self, scope, after, bounds).await
    }

    /// Whether the store keeps the metadata of writes. One that doesn't is never given any.
    fn keeps_metadata(&self) -> bool {
        false
    }

    /// Reads of the ends of notes, where the store can do them without reading all.
    fn tails(&self) -> Option<&dyn TailRead> {
        None
    }
}

/// Reads of the ends of notes.
#[async_trait]
pub trait TailRead: Send + Sync {
    /// The last `chars_max` characters of a note.
    async fn read_tail(
        &self,
        scope: &Scope,
        name: &NoteName,
        chars_max: usize,
    ) -> Result<Option<NotePart>, StoreError>;
}
