//! A store that lies, or fails when it is told to.

use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use notekeeper_domain::{
    Fact, FactKey, ItemMetadata, NoteName, Operation, RecallQuery, RecalledFact, Scope, Where,
};
use notekeeper_store::{
    Changes, Chunk, ChunkMark, ChunksKept, Expected, FactForgotten, FactKept, FactStore, Facts,
    FoundChunk, InMemoryStore, JournalEntry, JournalStore, ListedFact, MutationError, Names,
    NotePart, NoteStore, Receipt, ReceiptStatus, Store, StoreError, VectorCollection, VectorStore,
    WriteRequest,
};

/// Keeps notes and facts in memory, and finds vectors of another tenant whoever asks.
#[derive(Debug)]
pub(crate) struct OddStore {
    inner: InMemoryStore,
    /// Changes that take effect before one doesn't.
    changes_before_fault: AtomicUsize,
    /// Whether that one never ends; otherwise it fails in passing. Those after it take effect.
    hangs: bool,
    /// Whether its journal tells of one change again and again, and never comes to its beginning.
    endless: bool,
}

impl OddStore {
    pub(crate) fn failing_after(changes: usize) -> Self {
        Self {
            inner: InMemoryStore::default(),
            changes_before_fault: AtomicUsize::new(changes),
            hangs: false,
            endless: false,
        }
    }

    pub(crate) fn hanging_after(changes: usize) -> Self {
        Self {
            hangs: true,
            ..Self::failing_after(changes)
        }
    }

    pub(crate) fn with_endless_journal() -> Self {
        Self {
            endless: true,
            ..Self::failing_after(0)
        }
    }

    async fn change(&self) -> Result<(), StoreError> {
        match self.changes_before_fault.fetch_sub(1, Ordering::SeqCst) {
            0 if self.hangs => std::future::pending().await,
            0 => Err(StoreError::Unavailable("for a moment".to_owned())),
            _ => Ok(()),
        }
    }
}

#[async_trait]
impl NoteStore for OddStore {
    fn kind(&self) -> &'static str {
        "odd"
    }

    async fn read(
        &self,
        scope: &Scope,
        name: &NoteName,
        chars_max: usize,
    ) -> Result<Option<NotePart>, StoreError> {
        self.inner.read(scope, name, chars_max).await
    }

    async fn write(
        &self,
        scope: &Scope,
        name: &NoteName,
        request: &WriteRequest<'_>,
        operation: Option<&Operation>,
    ) -> Result<Receipt, MutationError> {
        self.change().await?;
        self.inner.write(scope, name, request, operation).await
    }

    async fn delete(
        &self,
        scope: &Scope,
        name: &NoteName,
        expected: &Expected,
        operation: Option<&Operation>,
    ) -> Result<Receipt, MutationError> {
        self.inner.delete(scope, name, expected, operation).await
    }

    async fn receipt(
        &self,
        scope: &Scope,
        operation: &Operation,
    ) -> Result<Option<Receipt>, MutationError> {
        self.inner.receipt(scope, operation).await
    }

    async fn names(&self, scope: &Scope, names_max: usize) -> Result<Names, StoreError> {
        self.inner.names(scope, names_max).await
    }
}

#[async_trait]
impl FactStore for OddStore {
    async fn remember(
        &self,
        scope: &Scope,
        fact: &Fact,
        operation: Option<&Operation>,
    ) -> Result<FactKept, MutationError> {
        self.change().await?;
        FactStore::remember(&self.inner, scope, fact, operation).await
    }

    async fn forget(
        &self,
        scope: &Scope,
        key: &FactKey,
        operation: Option<&Operation>,
    ) -> Result<FactForgotten, MutationError> {
        FactStore::forget(&self.inner, scope, key, operation).await
    }

    async fn recall(
        &self,
        scope: &Scope,
        query: &RecallQuery,
        limit: usize,
    ) -> Result<Vec<RecalledFact>, StoreError> {
        FactStore::recall(&self.inner, scope, query, limit).await
    }

    async fn fact(&self, scope: &Scope, key: &FactKey) -> Result<Option<ListedFact>, StoreError> {
        FactStore::fact(&self.inner, scope, key).await
    }

    async fn facts(
        &self,
        scope: &Scope,
        after: Option<&FactKey>,
        facts_max: usize,
    ) -> Result<Facts, StoreError> {
        FactStore::facts(&self.inner, scope, after, facts_max).await
    }
}

#[async_trait]
impl VectorStore for OddStore {
    async fn check_vectors(&self) -> Result<(), StoreError> {
        Ok(())
    }

    async fn keep_chunks(
        &self,
        _scope: &Scope,
        _collection: &VectorCollection,
        _chunks: &[Chunk],
        _operation: Option<&Operation>,
    ) -> Result<ChunksKept, MutationError> {
        Ok(ChunksKept { replayed: false })
    }

    async fn chunks_receipt(
        &self,
        _scope: &Scope,
        _operation: &Operation,
    ) -> Result<Option<ChunksKept>, MutationError> {
        Ok(None)
    }

    /// One of the caller's own, and one of somebody else's after it.
    async fn nearest_chunks(
        &self,
        scope: &Scope,
        _collection: &VectorCollection,
        _embedding: &[f32],
        _condition: &Where,
        _limit: usize,
    ) -> Result<Vec<FoundChunk>, StoreError> {
        let chunk = |scope: &str, content: &str| FoundChunk {
            scope: scope.to_owned(),
            id: "1".to_owned(),
            content: content.to_owned(),
            metadata: ItemMetadata::default(),
            similarity: 0.5,
        };
        Ok(vec![
            chunk(scope.as_str(), "mine"),
            chunk("elsewhere/main", "their secret"),
        ])
    }

    async fn chunk_marks(
        &self,
        _scope: &Scope,
        _collection: &VectorCollection,
    ) -> Result<Vec<ChunkMark>, StoreError> {
        Ok(Vec::new())
    }

    async fn remove_chunks(
        &self,
        _scope: &Scope,
        _collection: &VectorCollection,
        _ids: &[String],
    ) -> Result<(), StoreError> {
        Ok(())
    }
}

#[async_trait]
impl JournalStore for OddStore {
    /// Passes over every other entry, as if somebody had made it with a console.
    async fn newest_changes(&self, scope: &Scope, limit: usize) -> Result<Changes, StoreError> {
        if self.endless {
            let change = JournalEntry {
                scope: scope.as_str().to_owned(),
                operation_id: "1".to_owned(),
                kind: "edit".to_owned(),
                note: "a.md".to_owned(),
                status: ReceiptStatus::Appended,
                version: None,
                at: "2026-11-30T04:05:06Z".to_owned(),
            };
            return Ok(Changes {
                changes: vec![change; limit],
                more: true,
            });
        }
        let newest = self.inner.newest_changes(scope, limit).await?;
        let changes = newest.changes.into_iter().step_by(2).collect();
        Ok(Changes { changes, ..newest })
    }
}

impl Store for OddStore {
    fn facts(&self) -> Option<&dyn FactStore> {
        Some(self)
    }

    fn vectors(&self) -> Option<&dyn VectorStore> {
        Some(self)
    }

    fn journal(&self) -> Option<&dyn JournalStore> {
        Some(self)
    }
}
