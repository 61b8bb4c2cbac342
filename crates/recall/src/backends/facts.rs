//! The source over the facts of a store.

use std::sync::Arc;

use async_trait::async_trait;
use notekeeper_domain::{
    Fact, InvalidFact, Item, RECALL_LIMIT_MAX, RecallQuery, RecalledFact, keyed_text,
};
use notekeeper_store::{FactStore, Store};
use serde_json::json;

use super::kept_items::{kept_items, lacks, metadata, of_item, part};
use crate::{
    Answer, OpenStores, Source, SourceCall, SourceError, SourceQuery, WriteOperation, Written,
};

/// A source over facts, found as [`FactStore::recall`] does. A query without a word finds the facts that
/// were remembered last, unranked.
///
/// The item of a fact is [`keyed_text`], with the key as id, and `key` and `age_seconds` as metadata. Of
/// facts that match the query the best [`RECALL_LIMIT_MAX`] are looked at for those that meet conditions.
///
/// An item that is written is remembered under its id; nothing of its metadata is kept.
#[derive(Debug)]
pub struct FactsSource {
    name: String,
    stores: Arc<dyn OpenStores>,
    store: String,
}

impl FactsSource {
    /// A source over the facts of the store with this name.
    pub fn new(
        name: impl Into<String>,
        stores: Arc<dyn OpenStores>,
        store: impl Into<String>,
    ) -> Self {
        Self {
            name: name.into(),
            stores,
            store: store.into(),
        }
    }

    fn item(&self, fact: &RecalledFact, is_ranked: bool) -> Item {
        let known = metadata([
            ("key", json!(fact.key)),
            ("age_seconds", json!(fact.age_seconds)),
        ]);
        let item = Item::new(keyed_text(&fact.key, &fact.value), &*self.name)
            .with_id(fact.key.as_str())
            .with_metadata(known);
        match is_ranked {
            true => item.with_score(fact.score),
            false => item,
        }
    }
}

fn facts(store: &dyn Store) -> Result<&dyn FactStore, SourceError> {
    store
        .facts()
        .ok_or_else(|| lacks(store, "keeps no facts", "name another store"))
}

/// The fact that an item is to become.
fn fact_of(index: usize, item: &Item) -> Result<Fact, SourceError> {
    let key = item.id.as_deref().unwrap_or_default();
    Fact::new(key, item.content.as_str()).map_err(|error| match error {
        InvalidFact::TooLarge { .. } => {
            SourceError::TooLarge(format!("`items[{index}]` can't be a fact: {error}"))
        }
        error => of_item(index, &format!("can't be a fact: {error}")),
    })
}

#[async_trait]
impl Source for FactsSource {
    fn name(&self) -> &str {
        &self.name
    }

    async fn query(
        &self,
        query: &SourceQuery,
        call: &SourceCall<'_>,
    ) -> Result<Answer, SourceError> {
        if query.limit == 0 {
            return Ok(Answer::default());
        }
        let store = self.stores.open(&self.store, call).await?;
        let wanted = RecallQuery::parse(&query.text);
        let examined = match query.condition.is_empty() {
            true => query.limit,
            false => RECALL_LIMIT_MAX,
        };
        let found = facts(&*store)?
            .recall(call.scope, &wanted, examined)
            .await?;
        let items = found.iter().map(|fact| self.item(fact, !wanted.is_empty()));
        let matching = items.filter(|item| query.condition.matches(&item.metadata));
        Ok(Answer::of(matching.take(query.limit).collect()))
    }

    async fn write(
        &self,
        items: &[Item],
        operation: &WriteOperation,
        call: &SourceCall<'_>,
    ) -> Result<Written, SourceError> {
        if items.is_empty() {
            return Ok(Written::default());
        }
        let kept = kept_items(items, operation)?;
        let to_remember: Vec<Fact> = kept
            .iter()
            .enumerate()
            .map(|(index, item)| fact_of(index, item))
            .collect::<Result<_, _>>()?;
        let store = self.stores.open(&self.store, call).await?;
        let facts = facts(&*store)?;
        for (index, fact) in to_remember.iter().enumerate() {
            let operation = part(operation.part(index), &self.name, &kept);
            facts.remember(call.scope, fact, Some(&operation)).await?;
        }
        Ok(Written::accepted_by(&self.name))
    }
}
