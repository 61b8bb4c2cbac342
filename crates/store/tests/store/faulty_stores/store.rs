//! A store whose notes are as they should be, with transcripts, facts or vectors that err.

use std::{
    any::Any,
    cell::Cell,
    panic::{self, AssertUnwindSafe},
    sync::{Arc, Once},
};

use async_trait::async_trait;
use futures::FutureExt as _;
use notekeeper_domain::{NoteName, Operation, Scope};
use notekeeper_store::{
    Expected, FactStore, InMemoryStore, MutationError, Names, NotePart, NoteStore, Receipt, Store,
    StoreError, TranscriptStore, VectorStore, WriteRequest,
};

/// A store that does as it should, but for what is put before it.
pub(super) struct Faulty {
    pub(super) inner: Arc<InMemoryStore>,
    pub(super) transcripts: Option<Box<dyn TranscriptStore>>,
    pub(super) facts: Option<Box<dyn FactStore>>,
    pub(super) vectors: Option<Box<dyn VectorStore>>,
}

impl Faulty {
    pub(super) fn with_transcripts(
        inner: Arc<InMemoryStore>,
        transcripts: impl TranscriptStore + 'static,
    ) -> Self {
        Self {
            inner,
            transcripts: Some(Box::new(transcripts)),
            facts: None,
            vectors: None,
        }
    }

    pub(super) fn with_facts(inner: Arc<InMemoryStore>, facts: impl FactStore + 'static) -> Self {
        Self {
            inner,
            transcripts: None,
            facts: Some(Box::new(facts)),
            vectors: None,
        }
    }

    pub(super) fn with_vectors(
        inner: Arc<InMemoryStore>,
        vectors: impl VectorStore + 'static,
    ) -> Self {
        Self {
            inner,
            transcripts: None,
            facts: None,
            vectors: Some(Box::new(vectors)),
        }
    }
}

impl std::fmt::Debug for Faulty {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Faulty")
    }
}

impl Store for Faulty {
    fn transcripts(&self) -> Option<&dyn TranscriptStore> {
        self.transcripts
            .as_deref()
            .or(Store::transcripts(&*self.inner))
    }

    fn facts(&self) -> Option<&dyn FactStore> {
        self.facts.as_deref().or(Store::facts(&*self.inner))
    }

    fn vectors(&self) -> Option<&dyn VectorStore> {
        self.vectors.as_deref()
    }
}

#[async_trait]
impl NoteStore for Faulty {
    fn kind(&self) -> &'static str {
        "faulty"
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

/// What the suite says of a store; `None` where it finds nothing wrong.
async fn complaint(suite: impl Future<Output = ()>) -> Option<String> {
    QUIET.set(true);
    let ended = AssertUnwindSafe(suite).catch_unwind().await;
    QUIET.set(false);
    Some(message(&*ended.err()?))
}

thread_local! {
    /// Whether panics of this thread are meant to be, and no backtrace is to be made of them.
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

fn hush() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let loud = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !QUIET.get() {
                loud(info);
            }
        }));
    });
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.expect("a panic of an assertion has a text").to_owned()
}

/// Runs the suite over a store with each fault, and sees to it that it names the sentence that the
/// fault breaks.
pub(super) async fn assert_found<F: Copy + std::fmt::Debug>(
    faults: &[(F, &str)],
    suite: impl AsyncFn(F),
) {
    hush();
    let mut missed = Vec::new();
    for (fault, sentence) in faults {
        match complaint(suite(*fault)).await {
            Some(complaint) if complaint.contains(sentence) => {}
            complaint => {
                let complaint = complaint.unwrap_or_else(|| "nothing".to_owned());
                let complaint: String = complaint.chars().take(300).collect();
                missed.push(format!(
                    "{fault:?}: expected {sentence:?}, the suite says {complaint:?}"
                ));
            }
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}
