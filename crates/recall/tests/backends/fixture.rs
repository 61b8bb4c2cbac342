//! Calls, writes and stores of tests.

use std::sync::Arc;

use async_trait::async_trait;
use notekeeper_domain::{Fingerprint, Item, ItemMetadata, Operation, OperationId, Scope, Where};
use notekeeper_recall::{
    Answer, OpenStores, Scratchpad, Source, SourceCall, SourceError, SourceEvents, SourceQuery,
    WriteOperation, Written,
};
use notekeeper_store::Store;
use serde_json::Value;

/// One store, whatever its name is, in every workspace.
#[derive(Debug)]
pub(crate) struct OneStore(pub(crate) Arc<dyn Store>);

#[async_trait]
impl OpenStores for OneStore {
    async fn open(
        &self,
        _store: &str,
        _call: &SourceCall<'_>,
    ) -> Result<Arc<dyn Store>, SourceError> {
        Ok(Arc::clone(&self.0))
    }
}

/// The store as sources are given theirs.
pub(crate) fn opening(store: &Arc<dyn Store>) -> Arc<dyn OpenStores> {
    Arc::new(OneStore(Arc::clone(store)))
}

pub(crate) fn scope(namespace: &str) -> Scope {
    Scope::resolve(namespace, "main").expect("a valid scope")
}

pub(crate) fn metadata(entries: Value) -> ItemMetadata {
    ItemMetadata::of_value(entries).expect("an object")
}

pub(crate) fn item(content: &str, entries: Value) -> Item {
    Item::new(content, "given").with_metadata(metadata(entries))
}

pub(crate) fn wanting(conditions: Value) -> Where {
    Where::of_value(conditions).expect("an object")
}

pub(crate) fn operation(id: &str) -> WriteOperation {
    WriteOperation::new(OperationId::parse(id).expect("a valid id"))
}

/// An operation as indexes are given theirs.
pub(crate) fn whole(id: &str, fingerprint: &str) -> Operation {
    Operation {
        id: OperationId::parse(id).expect("a valid id"),
        fingerprint: Fingerprint::new(fingerprint),
    }
}

/// A tenant who calls.
#[derive(Debug)]
pub(crate) struct Tenant {
    pub(crate) scope: Scope,
    pub(crate) scratchpad: Scratchpad,
    events: SourceEvents,
}

impl Tenant {
    pub(crate) fn of(namespace: &str) -> Self {
        Self {
            scope: scope(namespace),
            scratchpad: Scratchpad::new(),
            events: SourceEvents::default(),
        }
    }

    pub(crate) fn call(&self) -> SourceCall<'_> {
        SourceCall {
            scope: &self.scope,
            workspace: None,
            scratchpad: &self.scratchpad,
            events: &self.events,
            upkeep: true,
        }
    }

    /// Writes as a leg of a composition: sources share the receipts of a store.
    pub(crate) async fn write(
        &self,
        source: &dyn Source,
        items: &[Item],
        id: &str,
    ) -> Result<Written, SourceError> {
        let leg = operation(id).leg(source.name());
        source.write(items, &leg, &self.call()).await
    }

    pub(crate) async fn query(
        &self,
        source: &dyn Source,
        text: &str,
        limit: usize,
    ) -> Result<Answer, SourceError> {
        let query = SourceQuery::new(text, limit);
        source.query(&query, &self.call()).await
    }

    /// The items of an answer that is whole.
    pub(crate) async fn found(&self, source: &dyn Source, text: &str, limit: usize) -> Vec<Item> {
        let answer = self.query(source, text, limit).await.expect("an answer");
        assert!(answer.is_whole(), "{answer:?}");
        answer.items
    }

    /// The items that meet conditions.
    pub(crate) async fn found_where(
        &self,
        source: &dyn Source,
        text: &str,
        limit: usize,
        conditions: Value,
    ) -> Vec<Item> {
        let query = SourceQuery::new(text, limit).with_condition(wanting(conditions));
        let answer = source.query(&query, &self.call()).await;
        answer.expect("an answer").items
    }
}
