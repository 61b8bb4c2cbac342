//! Shorter items.

use std::sync::Arc;

use async_trait::async_trait;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use notekeeper_domain::{Item, SOURCE_LIMIT_MAX};

use crate::{
    Answer, Compactor, InvalidSetting, Source, SourceCall, SourceError, SourceQuery,
    WriteOperation, Written, setting::check_bounds,
};

/// Most items that are shortened at a time: a model may stand behind the compactor.
const CONCURRENCY: usize = 4;

/// Makes the content of what the inner source finds shorter, and the list as well where that is wanted.
/// Ids, scores and metadata stay. What is written goes through as it is.
///
/// ```
/// # use std::sync::Arc;
/// use notekeeper_domain::Scope;
/// use notekeeper_recall::{
///     CompactedSource, HeadCompactor, ScratchpadSource, Source, SourceCall, SourceEvents, SourceQuery,
/// };
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let head = HeadCompactor::new(24)?;
/// let short = CompactedSource::new(Arc::new(ScratchpadSource::new("plan")), Arc::new(head), Some(1))?;
///
/// let scope = Scope::resolve("acme", "main")?;
/// let scratchpad = [("steps".to_owned(), "First read the incident report of last week.".into())].into();
/// let events = SourceEvents::default();
/// let call = SourceCall { scope: &scope, workspace: None, scratchpad: &scratchpad, events: &events };
/// let found = short.query(&SourceQuery::new("incident", 5), &call).await?;
/// assert!(found.items[0].content.ends_with('…'));
/// assert!(found.items[0].content.chars().count() <= 24);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct CompactedSource {
    inner: Arc<dyn Source>,
    compactor: Arc<dyn Compactor>,
    items_max: usize,
}

impl CompactedSource {
    /// The inner source with shorter items: at most `items_max`, the best, 1 to
    /// [`SOURCE_LIMIT_MAX`]; `None` for as many as it finds.
    ///
    /// # Errors
    ///
    /// [`InvalidSetting`].
    pub fn new(
        inner: Arc<dyn Source>,
        compactor: Arc<dyn Compactor>,
        items_max: Option<usize>,
    ) -> Result<Self, InvalidSetting> {
        let items_max = items_max.unwrap_or(SOURCE_LIMIT_MAX);
        check_bounds("max_items", items_max, 1..=SOURCE_LIMIT_MAX)?;
        Ok(Self {
            inner,
            compactor,
            items_max,
        })
    }

    async fn compact(&self, mut item: Item) -> Result<Item, SourceError> {
        item.content = self.compactor.compact(&item.content).await?;
        Ok(item)
    }
}

#[async_trait]
impl Source for CompactedSource {
    fn name(&self) -> &str {
        self.inner.name()
    }

    async fn query(
        &self,
        query: &SourceQuery,
        call: &SourceCall<'_>,
    ) -> Result<Answer, SourceError> {
        let mut answer = self.inner.query(query, call).await?;
        answer.items.truncate(self.items_max);
        let shorter: Vec<_> = std::mem::take(&mut answer.items)
            .into_iter()
            .map(|item| self.compact(item))
            .collect();
        answer.items = stream::iter(shorter)
            .buffered(CONCURRENCY)
            .try_collect()
            .await?;
        Ok(answer)
    }

    async fn write(
        &self,
        items: &[Item],
        operation: &WriteOperation,
        call: &SourceCall<'_>,
    ) -> Result<Written, SourceError> {
        self.inner.write(items, operation, call).await
    }

    fn accepts_writes(&self) -> bool {
        self.inner.accepts_writes()
    }

    async fn admit_write(&self, call: &SourceCall<'_>) -> Result<(), SourceError> {
        self.inner.admit_write(call).await
    }

    fn members(&self) -> &[Arc<dyn Source>] {
        std::slice::from_ref(&self.inner)
    }
}

#[cfg(test)]
mod tests;
