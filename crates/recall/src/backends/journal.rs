//! The source over the journal of a store.

use std::sync::Arc;

use async_trait::async_trait;
use notekeeper_domain::{Item, RecordIds, Version};
use notekeeper_store::{JournalEntry, ReceiptStatus};
use serde_json::json;

use super::{
    kept_items::{lacks, metadata},
    own_rows,
};
use crate::{
    Answer, OpenStores, Source, SourceCall, SourceError, SourceQuery, WriteOperation, Written,
};

/// Most changes that are looked at for those that match.
const CHANGES_EXAMINED_MAX: usize = 16_384;

/// A source that tells which operations changed notes: the newest first, whatever the query says, and
/// none ranked. A journal is never rewritten, so nothing can be written here.
///
/// Items have `operation:STORE/ID` as id, and `operation`, `note`, `kind`, `status`, `version` and `at` as
/// metadata; `version` is missing of a deletion.
#[derive(Debug)]
pub struct JournalSource {
    name: String,
    stores: Arc<dyn OpenStores>,
    store: String,
    ids: RecordIds,
}

impl JournalSource {
    /// A source over the journal of the store with this name.
    pub fn new(
        name: impl Into<String>,
        stores: Arc<dyn OpenStores>,
        store: impl Into<String>,
    ) -> Self {
        let store = store.into();
        Self {
            name: name.into(),
            stores,
            ids: RecordIds::of_operations(&store),
            store,
        }
    }

    fn item(&self, entry: &JournalEntry) -> Item {
        let mut known = metadata([
            ("operation", json!(entry.operation_id)),
            ("note", json!(entry.note)),
            ("kind", json!(entry.kind)),
            ("status", json!(entry.status.code())),
            ("at", json!(entry.at)),
        ]);
        if let Some(version) = &entry.version {
            known = known.with("version", json!(version.as_str()));
        }
        Item::new(told(entry), &*self.name)
            .with_id(self.ids.id(&entry.operation_id))
            .with_metadata(known)
    }
}

/// A change in words.
fn told(entry: &JournalEntry) -> String {
    let done = match entry.status {
        ReceiptStatus::Created => "was created",
        ReceiptStatus::Appended => "was appended to",
        ReceiptStatus::Updated => "was updated",
        ReceiptStatus::Deleted => "was deleted",
        ReceiptStatus::NotFound => "was to be deleted and wasn't there",
    };
    let version = entry.version.as_ref().map(Version::as_str);
    let version = version.map_or_else(String::new, |version| format!(" (version {version})"));
    format!("{} {} {done}{version}", entry.at, entry.note)
}

#[async_trait]
impl Source for JournalSource {
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
        let journal = store.journal().ok_or_else(|| {
            lacks(
                &*store,
                "can't tell which operations changed notes",
                "name another store",
            )
        })?;
        let mut asked = query.limit;
        loop {
            let newest = journal.newest_changes(call.scope, asked).await?;
            own_rows(
                &self.name,
                call,
                newest.changes.iter().map(|entry| &*entry.scope),
            )?;
            let all = !newest.more || asked >= CHANGES_EXAMINED_MAX;
            let items = newest.changes.iter().map(|entry| self.item(entry));
            let matching = items.filter(|item| query.condition.matches(&item.metadata));
            let items: Vec<Item> = matching.take(query.limit).collect();
            if all || items.len() == query.limit {
                let is_part = newest.more && items.len() < query.limit;
                return Ok(Answer::of(items).looked_in_part(&self.name, is_part));
            }
            asked = asked.saturating_mul(8).min(CHANGES_EXAMINED_MAX);
        }
    }

    async fn write(
        &self,
        items: &[Item],
        _operation: &WriteOperation,
        _call: &SourceCall<'_>,
    ) -> Result<Written, SourceError> {
        Ok(Written::nothing_of(items, &self.name))
    }

    fn accepts_writes(&self) -> bool {
        false
    }
}
