//! The notes of a store: read, write, delete, list, search.

use std::fmt::Debug;

use async_trait::async_trait;
use notekeeper_domain::{
    NoteName, Notebook, Operation, Scope, SearchAnswer, SearchLimits, SearchQuery,
};

use crate::{
    EditRequest, Expected, Listing, MutationError, Names, NotePart, NotebookBounds, Receipt,
    StoreError, WriteRequest, fallback, optimistic,
};

/// A store of notes.
///
/// # Mutations
///
/// A mutation with an operation looks for the receipt first: with the same fingerprint it answers
/// from the receipt, whatever else was passed; with another it is an
/// [`OperationConflict`](MutationError::OperationConflict). Then it checks what the caller
/// expects, then it changes the note and writes the receipt, both or neither. A mutation that
/// fails leaves no receipt, so its id stays free. After a crash either the note and the receipt
/// are both there, or neither is.
///
/// # What may be left out
///
/// The methods without a body are all that a store must have. The others work on top of them, and
/// a store overrides those that it can do better: an [`edit`](Self::edit) in one step, a
/// [`search`](Self::search) with an index. What can't be made of the rest is asked for:
/// [`keeps_metadata`](Self::keeps_metadata), [`tails`](Self::tails).
///
/// Only notes directly in the scope count; a scope nested under it is another tenant's or agent's.
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

    /// The receipt of an operation, marked as replayed.
    async fn receipt(
        &self,
        scope: &Scope,
        operation: &Operation,
    ) -> Result<Option<Receipt>, MutationError>;

    /// The first `names_max` names of the scope, ascending by code point.
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
    /// stands here it reads them one after the other, each up to the bound.
    async fn search(
        &self,
        scope: &Scope,
        query: &SearchQuery,
        limits: &SearchLimits,
    ) -> Result<SearchAnswer, StoreError> {
        fallback::search(self, scope, query, limits).await
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
