//! What the tests share: a store that can be told to fail, and inputs with defaults.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use notekeeper_activities::{Caller, Notebook, Stores};
use notekeeper_contract::Outcome;
use notekeeper_domain::{
    ConversationId, Fact, FactKey, NoteName, Notebook as NotebookView, Operation, RecallQuery,
    RecalledFact, Scope, SearchAnswer, SearchLimits, SearchQuery, StoredMessage,
};
use notekeeper_store::{
    Conversations, EditRequest, Expected, FactForgotten, FactKept, FactStore, Facts, InMemoryStore,
    ListedFact, Listing, MessageSelection, MessagesAdded, MessagesCleared, MutationError, Names,
    NotePart, NoteStore, NotebookBounds, Receipt, SnapshotStore, Store, StoreError, TranscriptPart,
    TranscriptStore, WriteRequest,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// A store in memory that notes which methods were called, and fails if told to.
#[derive(Debug, Default)]
pub(crate) struct Watched {
    pub(crate) inner: InMemoryStore,
    calls: Mutex<Vec<&'static str>>,
    failure: Mutex<Option<fn() -> MutationError>>,
    texts_failure: Mutex<Option<fn() -> MutationError>>,
    bounds: Mutex<Vec<NotebookBounds>>,
    lacks_transcripts: bool,
    lacks_facts: bool,
    change: Mutex<Option<Change>>,
}

/// What somebody else does with a conversation.
#[derive(Debug)]
pub(crate) enum Change {
    Add(StoredMessage),
    Clear,
}

impl Watched {
    /// A store without transcripts and facts.
    pub(crate) fn of_notes_alone() -> Self {
        Self {
            lacks_transcripts: true,
            lacks_facts: true,
            ..Self::default()
        }
    }

    /// A store without facts.
    pub(crate) fn without_facts() -> Self {
        Self {
            lacks_facts: true,
            ..Self::default()
        }
    }

    /// A store without transcripts.
    pub(crate) fn without_transcripts() -> Self {
        Self {
            lacks_transcripts: true,
            ..Self::default()
        }
    }

    /// Once the next read of messages is done, the conversation is changed.
    pub(crate) fn change_after_read(&self, change: Change) {
        *self.change.lock().unwrap() = Some(change);
    }

    /// From now on every call fails with this.
    pub(crate) fn fail_with(&self, failure: fn() -> MutationError) {
        *self.failure.lock().unwrap() = Some(failure);
    }

    /// From now on every call for texts under digests fails with this.
    pub(crate) fn fail_texts_with(&self, failure: fn() -> MutationError) {
        *self.texts_failure.lock().unwrap() = Some(failure);
    }

    /// The methods called since the last time this was asked.
    pub(crate) fn take_calls(&self) -> Vec<&'static str> {
        std::mem::take(&mut *self.calls.lock().unwrap())
    }

    /// The bounds of the notebooks that were read since the last time this was asked.
    pub(crate) fn take_bounds(&self) -> Vec<NotebookBounds> {
        std::mem::take(&mut *self.bounds.lock().unwrap())
    }

    fn call(&self, method: &'static str) -> Result<(), MutationError> {
        self.calls.lock().unwrap().push(method);
        let mut failure = *self.failure.lock().unwrap();
        if method.ends_with("snapshot") {
            failure = failure.or(*self.texts_failure.lock().unwrap());
        }
        failure.map_or(Ok(()), |failure| Err(failure()))
    }

    /// For methods that don't mutate.
    fn ask(&self, method: &'static str) -> Result<(), StoreError> {
        self.call(method).map_err(|error| match error {
            MutationError::Store(error) => error,
            other => panic!("{method} can't fail with {other:?}"),
        })
    }
}

#[async_trait]
impl NoteStore for Watched {
    fn kind(&self) -> &'static str {
        "watched"
    }

    async fn read(
        &self,
        scope: &Scope,
        name: &NoteName,
        chars_max: usize,
    ) -> Result<Option<NotePart>, StoreError> {
        self.ask("read")?;
        self.inner.read(scope, name, chars_max).await
    }

    async fn edit(
        &self,
        scope: &Scope,
        name: &NoteName,
        request: &EditRequest<'_>,
        operation: &Operation,
    ) -> Result<Receipt, MutationError> {
        self.call("edit")?;
        self.inner.edit(scope, name, request, operation).await
    }

    async fn write(
        &self,
        scope: &Scope,
        name: &NoteName,
        request: &WriteRequest<'_>,
        operation: Option<&Operation>,
    ) -> Result<Receipt, MutationError> {
        self.call("write")?;
        self.inner.write(scope, name, request, operation).await
    }

    async fn delete(
        &self,
        scope: &Scope,
        name: &NoteName,
        expected: &Expected,
        operation: Option<&Operation>,
    ) -> Result<Receipt, MutationError> {
        self.call("delete")?;
        self.inner.delete(scope, name, expected, operation).await
    }

    async fn receipt(
        &self,
        scope: &Scope,
        operation: &Operation,
    ) -> Result<Option<Receipt>, MutationError> {
        self.call("receipt")?;
        self.inner.receipt(scope, operation).await
    }

    async fn names(&self, scope: &Scope, names_max: usize) -> Result<Names, StoreError> {
        self.ask("names")?;
        self.inner.names(scope, names_max).await
    }

    async fn list(&self, scope: &Scope, notes_max: usize) -> Result<Listing, StoreError> {
        self.ask("list")?;
        self.inner.list(scope, notes_max).await
    }

    async fn notebook(
        &self,
        scope: &Scope,
        bounds: NotebookBounds,
    ) -> Result<NotebookView, StoreError> {
        self.ask("notebook")?;
        self.bounds.lock().unwrap().push(bounds);
        self.inner.notebook(scope, bounds).await
    }

    async fn search(
        &self,
        scope: &Scope,
        query: &SearchQuery,
        limits: &SearchLimits,
    ) -> Result<SearchAnswer, StoreError> {
        self.ask("search")?;
        self.inner.search(scope, query, limits).await
    }

    fn keeps_metadata(&self) -> bool {
        self.inner.keeps_metadata()
    }
}

impl Store for Watched {
    fn snapshots(&self) -> Option<&dyn SnapshotStore> {
        Some(self)
    }

    fn transcripts(&self) -> Option<&dyn TranscriptStore> {
        (!self.lacks_transcripts).then_some(self)
    }

    fn facts(&self) -> Option<&dyn FactStore> {
        (!self.lacks_facts).then_some(self)
    }
}

#[async_trait]
impl TranscriptStore for Watched {
    async fn add_messages(
        &self,
        scope: &Scope,
        conversation: &ConversationId,
        messages: &[StoredMessage],
        operation: Option<&Operation>,
    ) -> Result<MessagesAdded, MutationError> {
        self.call("add_messages")?;
        let inner = &self.inner;
        let added = inner.add_messages(scope, conversation, messages, operation);
        added.await
    }

    async fn clear_messages(
        &self,
        scope: &Scope,
        conversation: &ConversationId,
        operation: Option<&Operation>,
    ) -> Result<MessagesCleared, MutationError> {
        self.call("clear_messages")?;
        let cleared = self.inner.clear_messages(scope, conversation, operation);
        cleared.await
    }

    async fn messages(
        &self,
        scope: &Scope,
        conversation: &ConversationId,
        selection: MessageSelection,
        bytes_max: usize,
    ) -> Result<TranscriptPart, StoreError> {
        self.ask("messages")?;
        let part = self
            .inner
            .messages(scope, conversation, selection, bytes_max);
        let part = part.await?;
        let change = self.change.lock().unwrap().take();
        match change {
            Some(Change::Add(message)) => {
                let messages = [message];
                let added = self
                    .inner
                    .add_messages(scope, conversation, &messages, None);
                added.await.unwrap();
            }
            Some(Change::Clear) => {
                let cleared = self.inner.clear_messages(scope, conversation, None);
                cleared.await.unwrap();
            }
            None => {}
        }
        Ok(part)
    }

    async fn conversations(
        &self,
        scope: &Scope,
        after: Option<&ConversationId>,
        conversations_max: usize,
    ) -> Result<Conversations, StoreError> {
        self.ask("conversations")?;
        let listed = self.inner.conversations(scope, after, conversations_max);
        listed.await
    }
}

#[async_trait]
impl FactStore for Watched {
    async fn remember(
        &self,
        scope: &Scope,
        fact: &Fact,
        operation: Option<&Operation>,
    ) -> Result<FactKept, MutationError> {
        self.call("remember")?;
        self.inner.remember(scope, fact, operation).await
    }

    async fn forget(
        &self,
        scope: &Scope,
        key: &FactKey,
        operation: Option<&Operation>,
    ) -> Result<FactForgotten, MutationError> {
        self.call("forget")?;
        self.inner.forget(scope, key, operation).await
    }

    async fn recall(
        &self,
        scope: &Scope,
        query: &RecallQuery,
        limit: usize,
    ) -> Result<Vec<RecalledFact>, StoreError> {
        self.ask("recall")?;
        self.inner.recall(scope, query, limit).await
    }

    async fn fact(&self, scope: &Scope, key: &FactKey) -> Result<Option<ListedFact>, StoreError> {
        self.ask("fact")?;
        self.inner.fact(scope, key).await
    }

    async fn facts(
        &self,
        scope: &Scope,
        after: Option<&FactKey>,
        facts_max: usize,
    ) -> Result<Facts, StoreError> {
        self.ask("facts")?;
        FactStore::facts(&self.inner, scope, after, facts_max).await
    }
}

#[async_trait]
impl SnapshotStore for Watched {
    async fn keep_snapshot(
        &self,
        scope: &Scope,
        digest: &str,
        text: &str,
    ) -> Result<(), StoreError> {
        self.ask("keep_snapshot")?;
        self.inner.keep_snapshot(scope, digest, text).await
    }

    async fn snapshot(&self, scope: &Scope, digest: &str) -> Result<Option<String>, StoreError> {
        self.ask("snapshot")?;
        self.inner.snapshot(scope, digest).await
    }
}

/// A notebook over the watched stores `default` and `other`.
pub(crate) struct Bench {
    pub(crate) store: Arc<Watched>,
    pub(crate) other: Arc<Watched>,
    pub(crate) stores: Stores,
    pub(crate) notebook: Notebook,
}

pub(crate) fn bench() -> Bench {
    bench_over(Watched::default())
}

/// A bench with this store as the store `default`.
pub(crate) fn bench_over(store: Watched) -> Bench {
    let store = Arc::new(store);
    let other = Arc::new(Watched::default());
    let named: [(&str, Arc<dyn Store>); 2] = [("default", store.clone()), ("other", other.clone())];
    let stores = Stores::new(named.map(|(name, store)| (name.to_owned(), store)));
    Bench {
        store,
        other,
        notebook: Notebook::new(stores.clone()),
        stores,
    }
}

impl Bench {
    /// Puts a whole note into the store `default`, whatever tools may write.
    pub(crate) async fn put(&self, name: &str, content: &str) {
        let name = NoteName::parse(name).unwrap();
        let scope = scope();
        let request = WriteRequest::new(content, &Expected::Any);
        let put = self.store.inner.write(&scope, &name, &request, None);
        put.await.unwrap();
    }

    /// The whole text of a note in the store `default`.
    pub(crate) async fn text(&self, name: &str) -> Option<String> {
        let name = NoteName::parse(name).unwrap();
        let part = self
            .store
            .inner
            .read(&scope(), &name, usize::MAX >> 1)
            .await
            .unwrap();
        part.map(|part| part.content)
    }
}

/// The scope of every test.
pub(crate) fn scope() -> Scope {
    Scope::resolve("acme/alice", "main").unwrap()
}

/// An input from its fields; the scope is added where it is missing.
pub(crate) fn input<T: DeserializeOwned>(mut fields: Value) -> T {
    let map = fields.as_object_mut().unwrap();
    map.entry("scope")
        .or_insert_with(|| json!({"namespace": "acme/alice"}));
    serde_json::from_value(fields).unwrap()
}

/// A caller whose activity has this id.
pub(crate) fn caller(activity_id: &str) -> Caller {
    Caller {
        temporal_namespace: "default".to_owned(),
        workflow_id: Some("chat-1".to_owned()),
        run_id: "run-1".to_owned(),
        activity_id: activity_id.to_owned(),
        activity_type: "write_memory".to_owned(),
        is_local: false,
    }
}

/// What was done; a refusal fails the test.
pub(crate) fn done<T>(outcome: Outcome<T>) -> T {
    match outcome {
        Outcome::Ok(value) => value,
        Outcome::Refused(refused) => panic!("refused: {}", refused.reason),
    }
}

/// Why it was refused; anything else fails the test.
pub(crate) fn refusal<T>(outcome: Outcome<T>) -> String {
    match outcome {
        Outcome::Ok(_) => panic!("not refused"),
        Outcome::Refused(refused) => refused.reason,
    }
}

pub(crate) fn unavailable() -> MutationError {
    StoreError::Unavailable("connection refused".to_owned()).into()
}

pub(crate) fn unmigrated() -> MutationError {
    StoreError::Unmigrated {
        found: 0,
        needed: 1,
    }
    .into()
}
