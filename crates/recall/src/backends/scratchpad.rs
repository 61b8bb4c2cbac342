//! The source over the scratchpad that comes with a call.

use async_trait::async_trait;
use notekeeper_domain::{
    Item, RecordIds, SCRATCHPAD_KEY, scratchpad_entry, scratchpad_items, unkeyed_text,
};
use serde_json::Value;

use super::kept_items::{kept_items, of_item};
use crate::{Answer, Source, SourceCall, SourceError, SourceQuery, WriteOperation, Written};

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

/// The key under which an item goes back, and what goes there.
fn entry(index: usize, mut item: Item) -> Result<(String, Value), SourceError> {
    let ids = RecordIds::of_scratchpad();
    let id = item.id.clone().unwrap_or_default();
    let Some(named) = ids.record(&id) else {
        return Ok((id, scratchpad_entry(&item)));
    };
    let key = match ids.is_digest(&id) {
        true => long_key(index, &ids, &item)?,
        false => named.to_owned(),
    };
    if ids.is_digest(&id) {
        item.metadata = item.metadata.without(&[SCRATCHPAD_KEY]);
    }
    item.content = unkeyed_text(&key, &item.content).to_owned();
    Ok((key, scratchpad_entry(&item)))
}

/// The key of an item whose id has a digest in its place. The scratchpad isn't there when something is
/// written, so the item itself must tell.
fn long_key(index: usize, ids: &RecordIds, item: &Item) -> Result<String, SourceError> {
    let told = item.metadata.get(SCRATCHPAD_KEY).and_then(Value::as_str);
    match told.filter(|key| Some(ids.id(key)) == item.id) {
        Some(key) => Ok(key.to_owned()),
        None => Err(of_item(
            index,
            &format!(
                "has the id of an entry whose key no id can hold, and doesn't tell the key; give it as \
                 `{SCRATCHPAD_KEY}` in the metadata, as a query does"
            ),
        )),
    }
}

fn entries(
    items: &[Item],
    operation: &WriteOperation,
) -> Result<Vec<(String, Value)>, SourceError> {
    let kept = kept_items(items, operation)?.into_iter().enumerate();
    kept.map(|(index, item)| entry(index, item)).collect()
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
        _call: &SourceCall<'_>,
    ) -> Result<Written, SourceError> {
        if items.is_empty() {
            return Ok(Written::default());
        }
        let mut written = Written::accepted_by(&self.name);
        written.scratchpad.extend(entries(items, operation)?);
        Ok(written)
    }

    fn check_items(&self, items: &[Item], operation: &WriteOperation) -> Result<(), SourceError> {
        entries(items, operation).map(drop)
    }
}
