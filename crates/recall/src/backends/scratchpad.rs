//! The source over the scratchpad that comes with a call.

use async_trait::async_trait;
use notekeeper_domain::{Item, scratchpad_entry, scratchpad_items};

use super::kept_items::kept_items;
use crate::{Answer, Source, SourceCall, SourceError, SourceQuery, WriteOperation, Written};

/// A source that looks through the workflow's scratchpad, by the rules of
/// [`scratchpad_items`](notekeeper_domain::scratchpad_items). It keeps nothing itself: what is written
/// goes back to the workflow in [`Written::scratchpad`], each item under its id.
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
        for item in kept_items(items, operation)? {
            let entry = scratchpad_entry(&item);
            written
                .scratchpad
                .insert(item.id.unwrap_or_default(), entry);
        }
        Ok(written)
    }
}
