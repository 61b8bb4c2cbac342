//! A store that lets rows of another tenant into its answers.

use async_trait::async_trait;
use notekeeper_domain::{
    ConversationId, Fact, FactKey, ItemMetadata, NoteName, Operation, RecallQuery, RecalledFact,
    Scope, StoredMessage, Where,
};
use notekeeper_store::{
    Changes, Chunk, ChunkMark, ChunksKept, Conversations, Expected, FactForgotten, FactKept,
    FactStore, Facts, FoundChunk, InMemoryStore, JournalStore, ListedFact, MessageSelection,
    MessagesAdded, MessagesCleared, MutationError, Names, NotePart, NoteStore, Receipt, Store,
    StoreError, TranscriptPart, TranscriptStore, VectorCollection, VectorStore, WriteRequest,
};

/// Whose rows leak out.
pub(crate) const ELSEWHERE: &str = "elsewhere/main";

/// Which of its answers have rows too many, after the caller's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leak {
    Nothing,
    Notes,
    /// Notes, and they say no scope.
    NotesOfNobody,
    Recalled,
    Listed,
    Messages,
    /// Messages, and they say no scope.
    MessagesOfNobody,
    Conversations,
    Changes,
    Chunks,
}

#[derive(Debug)]
pub(crate) struct LeakyStore {
    pub(crate) inner: InMemoryStore,
    pub(crate) leak: Leak,
}

impl LeakyStore {
    pub(crate) fn new(leak: Leak) -> Self {
        Self {
            inner: InMemoryStore::default(),
            leak,
        }
    }
}

fn elsewhere() -> Scope {
    Scope::parse(ELSEWHERE).expect("a valid scope")
}

#[async_trait]
impl NoteStore for LeakyStore {
    fn kind(&self) -> &'static str {
        "leaky"
    }

    async fn read(
        &self,
        scope: &Scope,
        name: &NoteName,
        chars_max: usize,
    ) -> Result<Option<NotePart>, StoreError> {
        let own = self.inner.read(scope, name, chars_max).await?;
        if own.is_some() {
            return Ok(own);
        }
        let mut other = self.inner.read(&elsewhere(), name, chars_max).await?;
        match self.leak {
            Leak::Notes => {}
            Leak::NotesOfNobody => other.iter_mut().for_each(|note| note.scope.clear()),
            _ => other = None,
        }
        Ok(other)
    }

    async fn write(
        &self,
        scope: &Scope,
        name: &NoteName,
        request: &WriteRequest<'_>,
        operation: Option<&Operation>,
    ) -> Result<Receipt, MutationError> {
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
        let mut names = self.inner.names(scope, names_max).await?;
        if matches!(self.leak, Leak::Notes | Leak::NotesOfNobody) {
            let others = self.inner.names(&elsewhere(), names_max).await?;
            names.names.extend(others.names);
        }
        Ok(names)
    }
}

#[async_trait]
impl FactStore for LeakyStore {
    async fn remember(
        &self,
        scope: &Scope,
        fact: &Fact,
        operation: Option<&Operation>,
    ) -> Result<FactKept, MutationError> {
        self.inner.remember(scope, fact, operation).await
    }

    async fn forget(
        &self,
        scope: &Scope,
        key: &FactKey,
        operation: Option<&Operation>,
    ) -> Result<FactForgotten, MutationError> {
        self.inner.forget(scope, key, operation).await
    }

    async fn recall(
        &self,
        scope: &Scope,
        query: &RecallQuery,
        limit: usize,
    ) -> Result<Vec<RecalledFact>, StoreError> {
        let mut recalled = self.inner.recall(scope, query, limit).await?;
        if self.leak == Leak::Recalled {
            recalled.extend(self.inner.recall(&elsewhere(), query, limit).await?);
        }
        Ok(recalled)
    }

    async fn fact(&self, scope: &Scope, key: &FactKey) -> Result<Option<ListedFact>, StoreError> {
        self.inner.fact(scope, key).await
    }

    async fn facts(
        &self,
        scope: &Scope,
        after: Option<&FactKey>,
        facts_max: usize,
    ) -> Result<Facts, StoreError> {
        let mut facts = FactStore::facts(&self.inner, scope, after, facts_max).await?;
        if self.leak == Leak::Listed {
            let others = FactStore::facts(&self.inner, &elsewhere(), after, facts_max).await?;
            facts.facts.extend(others.facts);
        }
        // So that who lists facts recalls some as well.
        facts.more |= self.leak == Leak::Recalled;
        Ok(facts)
    }
}

#[async_trait]
impl TranscriptStore for LeakyStore {
    async fn add_messages(
        &self,
        scope: &Scope,
        conversation: &ConversationId,
        messages: &[StoredMessage],
        operation: Option<&Operation>,
    ) -> Result<MessagesAdded, MutationError> {
        let inner = &self.inner;
        inner
            .add_messages(scope, conversation, messages, operation)
            .await
    }

    async fn clear_messages(
        &self,
        scope: &Scope,
        conversation: &ConversationId,
        operation: Option<&Operation>,
    ) -> Result<MessagesCleared, MutationError> {
        let inner = &self.inner;
        inner.clear_messages(scope, conversation, operation).await
    }

    async fn messages(
        &self,
        scope: &Scope,
        conversation: &ConversationId,
        selection: MessageSelection,
        bytes_max: usize,
    ) -> Result<TranscriptPart, StoreError> {
        let inner = &self.inner;
        let part = inner.messages(scope, conversation, selection, bytes_max);
        let mut part = part.await?;
        if matches!(self.leak, Leak::Messages | Leak::MessagesOfNobody) {
            let elsewhere = elsewhere();
            let others = inner.messages(&elsewhere, conversation, selection, bytes_max);
            let others = others.await?;
            part.messages.extend(others.messages);
            part.scopes.extend(others.scopes);
            part.bounds.next += others.bounds.next;
        }
        if self.leak == Leak::MessagesOfNobody {
            part.scopes.clear();
        }
        Ok(part)
    }

    async fn conversations(
        &self,
        scope: &Scope,
        after: Option<&ConversationId>,
        conversations_max: usize,
    ) -> Result<Conversations, StoreError> {
        let inner = &self.inner;
        let mut listed = inner.conversations(scope, after, conversations_max).await?;
        if self.leak == Leak::Conversations {
            let elsewhere = elsewhere();
            let others = inner.conversations(&elsewhere, after, conversations_max);
            listed.conversations.extend(others.await?.conversations);
        }
        Ok(listed)
    }
}

#[async_trait]
impl JournalStore for LeakyStore {
    async fn newest_changes(&self, scope: &Scope, limit: usize) -> Result<Changes, StoreError> {
        let mut newest = self.inner.newest_changes(scope, limit).await?;
        if self.leak == Leak::Changes {
            let others = self.inner.newest_changes(&elsewhere(), limit).await?;
            newest.changes.extend(others.changes);
        }
        Ok(newest)
    }
}

#[async_trait]
impl VectorStore for LeakyStore {
    async fn check_vectors(&self) -> Result<(), StoreError> {
        Ok(())
    }

    async fn keep_chunks(
        &self,
        scope: &Scope,
        collection: &VectorCollection,
        chunks: &[Chunk],
        operation: Option<&Operation>,
    ) -> Result<ChunksKept, MutationError> {
        let inner = &self.inner;
        inner
            .keep_chunks(scope, collection, chunks, operation)
            .await
    }

    async fn chunks_receipt(
        &self,
        scope: &Scope,
        operation: &Operation,
    ) -> Result<Option<ChunksKept>, MutationError> {
        self.inner.chunks_receipt(scope, operation).await
    }

    async fn nearest_chunks(
        &self,
        scope: &Scope,
        collection: &VectorCollection,
        embedding: &[f32],
        condition: &Where,
        limit: usize,
    ) -> Result<Vec<FoundChunk>, StoreError> {
        let inner = &self.inner;
        let found = inner.nearest_chunks(scope, collection, embedding, condition, limit);
        let mut found = found.await?;
        if self.leak == Leak::Chunks {
            found.push(FoundChunk {
                scope: ELSEWHERE.to_owned(),
                id: "1".to_owned(),
                content: "alpha, their secret".to_owned(),
                metadata: ItemMetadata::default(),
                similarity: 0.5,
            });
        }
        Ok(found)
    }

    async fn chunk_marks(
        &self,
        scope: &Scope,
        collection: &VectorCollection,
    ) -> Result<Vec<ChunkMark>, StoreError> {
        self.inner.chunk_marks(scope, collection).await
    }

    async fn remove_chunks(
        &self,
        scope: &Scope,
        collection: &VectorCollection,
        ids: &[String],
    ) -> Result<(), StoreError> {
        self.inner.remove_chunks(scope, collection, ids).await
    }
}

impl Store for LeakyStore {
    fn transcripts(&self) -> Option<&dyn TranscriptStore> {
        Some(self)
    }

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
