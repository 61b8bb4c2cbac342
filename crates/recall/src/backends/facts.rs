//! The source over the facts of a store.

use std::sync::Arc;

use async_trait::async_trait;
use notekeeper_domain::{
    Fact, InvalidFact, Item, RECALL_LIMIT_MAX, RecallQuery, RecalledFact, RecordIds, keyed_text,
    unkeyed_text,
};
use notekeeper_store::{FactStore, Store};
use serde_json::{Value, json};

use super::{
    kept_items::{kept_items, lacks, metadata, of_item, part},
    own_rows,
};
use crate::{
    Answer, OpenStores, Source, SourceCall, SourceError, SourceQuery, WriteOperation, Written,
};

/// A source over facts, found as [`FactStore::recall`] does. A query without a word finds the facts that
/// were remembered last, unranked.
///
/// The item of a fact is [`keyed_text`], with `fact:STORE/KEY` as id, and `key` and `age_seconds` as
/// metadata. Of facts that match the query the best [`RECALL_LIMIT_MAX`] are looked at for those that
/// meet conditions.
///
/// An item that is written is remembered under its id; nothing of its metadata is kept. One that was found
/// here is remembered under its key, without the key before its text, so that a fact that is written back
/// stays as it was; what is a part of one alone is refused.
#[derive(Debug)]
pub struct FactsSource {
    name: String,
    stores: Arc<dyn OpenStores>,
    store: String,
    ids: RecordIds,
}

impl FactsSource {
    /// A source over the facts of the store with this name.
    pub fn new(
        name: impl Into<String>,
        stores: Arc<dyn OpenStores>,
        store: impl Into<String>,
    ) -> Self {
        let store = store.into();
        Self {
            name: name.into(),
            stores,
            ids: RecordIds::of_facts(&store),
            store,
        }
    }

    fn item(&self, fact: &RecalledFact, is_ranked: bool) -> Item {
        let known = metadata([
            ("key", json!(fact.key)),
            ("age_seconds", json!(fact.age_seconds)),
        ]);
        let item = Item::new(keyed_text(&fact.key, &fact.value), &*self.name)
            .with_id(self.ids.id(&fact.key))
            .with_metadata(known);
        match is_ranked {
            true => item.with_score(fact.score),
            false => item,
        }
    }

    /// The fact that an item is to become.
    fn fact_of(&self, index: usize, item: &Item) -> Result<Fact, SourceError> {
        let id = item.id.as_deref().unwrap_or_default();
        let known = item.metadata.get("key").and_then(Value::as_str);
        let (key, is_own) = match (self.ids.record(id), known) {
            (Some(key), _) => (key, true),
            // Under a digest, because the key is long.
            (None, Some(key)) if self.ids.id(key) == id => (key, true),
            (None, None) if self.ids.is_digest(id) => {
                return Err(of_item(
                    index,
                    "has the id of a fact whose key no id can hold, and doesn't tell the key; give it as \
                     `key` in the metadata, as a query does",
                ));
            }
            (None, known) => (id, known == Some(id)),
        };
        let value = match is_own {
            true => unkeyed_text(key, &item.content),
            false => &item.content,
        };
        Fact::new(key, value).map_err(|error| match error {
            InvalidFact::TooLarge { .. } => {
                SourceError::TooLarge(format!("`items[{index}]` can't be a fact: {error}"))
            }
            error => of_item(index, &format!("can't be a fact: {error}")),
        })
    }

    fn facts_of(&self, kept: &[Item]) -> Result<Vec<Fact>, SourceError> {
        let facts = kept.iter().enumerate();
        facts
            .map(|(index, item)| self.fact_of(index, item))
            .collect()
    }
}

fn facts(store: &dyn Store) -> Result<&dyn FactStore, SourceError> {
    store
        .facts()
        .ok_or_else(|| lacks(store, "keeps no facts", "name another store"))
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
        // With conditions, one more than are examined tells whether those are all. Without any, the best are
        // all that is wanted.
        let (examined, asked) = match query.condition.is_empty() {
            true => (query.limit, query.limit),
            false => (RECALL_LIMIT_MAX, RECALL_LIMIT_MAX + 1),
        };
        let found = facts(&*store)?.recall(call.scope, &wanted, asked).await?;
        own_rows(&self.name, call, found.iter().map(|fact| &*fact.scope))?;
        let is_ranked = !wanted.is_empty();
        let items = found.iter().take(examined);
        let items = items.map(|fact| self.item(fact, is_ranked));
        let matching = items.filter(|item| query.condition.matches(&item.metadata));
        let items: Vec<Item> = matching.take(query.limit).collect();
        // Where there are as many as are wanted, none of the others would come before them.
        let is_part = found.len() > examined && items.len() < query.limit;
        Ok(Answer::of(items).looked_in_part(&self.name, is_part))
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
        let to_remember = self.facts_of(&kept)?;
        let store = self.stores.open(&self.store, call).await?;
        let facts = facts(&*store)?;
        for (index, fact) in to_remember.iter().enumerate() {
            let operation = part(operation.part(index), &self.name, &kept);
            facts.remember(call.scope, fact, Some(&operation)).await?;
        }
        Ok(Written::accepted_by(&self.name))
    }

    fn check_items(&self, items: &[Item], operation: &WriteOperation) -> Result<(), SourceError> {
        self.facts_of(&kept_items(items, operation)?).map(drop)
    }
}
