//! The source over the scratchpad that comes with a call.

use async_trait::async_trait;
use notekeeper_domain::{Item, RecordIds, scratchpad_entry, scratchpad_items, unkeyed_text};

use super::kept_items::{is_cut, kept_items, of_item};
use crate::{
    Answer, Scratchpad, Source, SourceCall, SourceError, SourceQuery, WriteOperation, Written,
};

/// A source that looks through the workflow's scratchpad, by the rules of
/// [`scratchpad_items`](notekeeper_domain::scratchpad_items). It keeps nothing itself: what is written
/// goes back to the workflow in [`Written::scratchpad`], each item under its id. One that was found here goes
/// back under its key, without the key before its text, so that an entry that is written back stays as it
/// was.
#[derive(Debug)]
pub struct ScratchpadSource {
    name: String,
}

impl ScratchpadSource {
    /// A source of this name.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into() }
    }
}

/// The items as they can go back, before it is known what stands in the scratchpad.
fn returnable(items: &[Item], operation: &WriteOperation) -> Result<Vec<Item>, SourceError> {
    let kept = kept_items(items, operation)?;
    for (index, item) in kept.iter().enumerate() {
        let id = item.id.as_deref().unwrap_or_default();
        if is_cut(item) && RecordIds::of_scratchpad().record(id).is_some() {
            return Err(of_item(
                index,
                "is the beginning of a longer entry; put the whole of it there, without `truncated` in its metadata",
            ));
        }
    }
    Ok(kept)
}

/// An item, and the key under which it goes back.
fn keyed(mut item: Item, entries: &Scratchpad) -> (String, Item) {
    let ids = RecordIds::of_scratchpad();
    let id = item.id.clone().unwrap_or_default();
    // One that stands there may have a digest for its id, because the key is long.
    let own = match ids.record(&id) {
        Some(key) if key.starts_with("sha256:") => entries.keys().find(|key| ids.id(key) == id),
        _ => None,
    };
    let Some(key) = own.map(String::as_str).or_else(|| ids.record(&id)) else {
        return (id, item);
    };
    item.content = unkeyed_text(key, &item.content).to_owned();
    (key.to_owned(), item)
}

#[async_trait]
impl Source for ScratchpadSource {
    fn name(&self) -> &str {
        &self.name
    }

    async fn query(
        &self,
        query: &SourceQuery,
        call: &SourceCall<'_>,
    ) -> Result<Answer, SourceError> {
        let SourceQuery {
            text,
            limit,
            condition,
        } = query;
        let items = scratchpad_items(&self.name, call.scratchpad, text, condition, *limit);
        Ok(Answer::of(items))
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
        let mut written = Written::accepted_by(&self.name);
        for item in returnable(items, operation)? {
            let (key, item) = keyed(item, call.scratchpad);
            written.scratchpad.insert(key, scratchpad_entry(&item));
        }
        Ok(written)
    }

    fn check_items(&self, items: &[Item], operation: &WriteOperation) -> Result<(), SourceError> {
        returnable(items, operation).map(drop)
    }
}
