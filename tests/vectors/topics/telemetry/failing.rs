//! A store of which some methods fail.

use std::{collections::BTreeSet, sync::Arc};

use async_trait::async_trait;
use notekeeper_domain::{NoteName, Operation, Scope};
use notekeeper_store::{
    Expected, MutationError, Names, NotePart, NoteStore, Receipt, Store, StoreError, WriteRequest,
};

/// Methods that a case may let fail, by the peer's names.
pub(super) const FAILING: [&str; 6] =
    ["read", "write", "delete", "get_operation", "list", "search"];

/// What fails where a search does: it is made of these.
pub(super) fn of_search() -> BTreeSet<String> {
    BTreeSet::from(["list", "read"].map(str::to_owned))
}

/// A store with the methods that every store must have, and no others: what fails is what the
/// others are made of.
#[derive(Debug)]
pub(super) struct Failing {
    inner: Arc<dyn Store>,
    failing: BTreeSet<String>,
}

impl Failing {
    pub(super) fn new(inner: Arc<dyn Store>, failing: BTreeSet<String>) -> Self {
        Self { inner, failing }
    }

    fn attempt(&self, method: &str) -> Result<(), StoreError> {
        match self.failing.contains(method) {
            true => Err(StoreError::Unexpected("the case says so".to_owned())),
            false => Ok(()),
        }
    }
}

#[async_trait]
impl NoteStore for Failing {
    fn kind(&self) -> &'static str {
        self.inner.kind()
    }

    async fn read(
        &self,
        scope: &Scope,
        name: &NoteName,
        chars_max: usize,
    ) -> Result<Option<NotePart>, StoreError> {
        self.attempt("read")?;
        self.inner.read(scope, name, chars_max).await
    }

    async fn write(
        &self,
        scope: &Scope,
        name: &NoteName,
        request: &WriteRequest<'_>,
        operation: Option<&Operation>,
    ) -> Result<Receipt, MutationError> {
        self.attempt("write")?;
        self.inner.write(scope, name, request, operation).await
    }

    async fn delete(
        &self,
        scope: &Scope,
        name: &NoteName,
        expected: &Expected,
        operation: Option<&Operation>,
    ) -> Result<Receipt, MutationError> {
        // The peer looks for the receipt and the version first.
        for method in ["get_operation", "read", "delete"] {
            self.attempt(method)?;
        }
        self.inner.delete(scope, name, expected, operation).await
    }

    async fn receipt(
        &self,
        scope: &Scope,
        operation: &Operation,
    ) -> Result<Option<Receipt>, MutationError> {
        self.attempt("get_operation")?;
        self.inner.receipt(scope, operation).await
    }

    async fn names(&self, scope: &Scope, names_max: usize) -> Result<Names, StoreError> {
        self.attempt("list")?;
        self.inner.names(scope, names_max).await
    }
}

impl Store for Failing {}
