//! A store that has only what a store must have, for tests of what is built on stores.

use crate::{
    Expected, InMemoryStore, MutationError, Names, NotePart, NoteStore, Receipt, Store, StoreError,
    WriteRequest,
};
use async_trait::async_trait;
use notekeeper_domain::{NoteName, Operation, Scope};

/// The memory store without anything that may be left out: what is made of the rest, and what is
/// asked for, comes from the traits.
///
/// A test of a store needs it not; a test of a program that takes any store does, for this is the
/// least that it can be given.
#[derive(Debug, Default)]
pub struct MinimalStore {
    inner: InMemoryStore,
    /// Whether each call lets others go first, as one over a network would.
    polite: bool,
}

impl MinimalStore {
    /// One whose calls let others go first, so that changes come between reading and writing.
    pub fn polite() -> Self {
        Self {
            polite: true,
            ..Self::default()
        }
    }

    async fn inner(&self) -> &InMemoryStore {
        if self.polite {
            tokio::task::yield_now().await;
        }
        &self.inner
    }
}

#[async_trait]
impl NoteStore for MinimalStore {
    fn kind(&self) -> &'static str {
        "minimal"
    }

    async fn read(
        &self,
        scope: &Scope,
        name: &NoteName,
        chars_max: usize,
    ) -> Result<Option<NotePart>, StoreError> {
        let read = self.inner().await.read(scope, name, chars_max).await?;
        // It keeps no metadata, so it has none to give.
        Ok(read.map(|note| NotePart {
            metadata: None,
            ..note
        }))
    }

    async fn write(
        &self,
        scope: &Scope,
        name: &NoteName,
        request: &WriteRequest<'_>,
        operation: Option<&Operation>,
    ) -> Result<Receipt, MutationError> {
        assert!(
            request.metadata.is_none(),
            "a store that keeps no metadata is given none"
        );
        self.inner()
            .await
            .write(scope, name, request, operation)
            .await
    }

    async fn delete(
        &self,
        scope: &Scope,
        name: &NoteName,
        expected: &Expected,
        operation: Option<&Operation>,
    ) -> Result<Receipt, MutationError> {
        self.inner()
            .await
            .delete(scope, name, expected, operation)
            .await
    }

    async fn receipt(
        &self,
        scope: &Scope,
        operation: &Operation,
    ) -> Result<Option<Receipt>, MutationError> {
        self.inner().await.receipt(scope, operation).await
    }

    async fn names(&self, scope: &Scope, names_max: usize) -> Result<Names, StoreError> {
        self.inner().await.names(scope, names_max).await
    }
}

impl Store for MinimalStore {}
