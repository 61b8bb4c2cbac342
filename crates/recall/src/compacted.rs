//! Shorter items.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use futures::{StreamExt as _, stream};
use notekeeper_domain::{Item, SOURCE_LIMIT_MAX};
use tokio::time::Instant;

use crate::{
    Answer, Compactor, FailedLeg, InvalidSetting, Source, SourceCall, SourceError, SourceQuery,
    WriteOperation, Written,
    backends::marked_cut,
    patience::{Patience, QUERY_TIMEOUT, until},
    setting::check_bounds,
};

/// Most items that are shortened at a time: a model may stand behind the compactor.
const CONCURRENCY: usize = 4;

/// How long shortening may take at least where nobody is waiting: time for one call of a model.
const SHORTENING_TIMEOUT_MIN: Duration = Duration::from_secs(2);

/// Makes the content of what the inner source finds shorter, and the list as well where that is wanted.
/// Ids, scores and metadata stay, but for `truncated`, which every item says whose content isn't what was found:
/// so none takes the place of the whole where it is written back. What is written goes through as it is. Where the compactor fails or isn't
/// ready in time the beginnings of the contents that are left stand for them, and the answer lists the source
/// among those that failed.
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
/// let call = SourceCall { scope: &scope, workspace: None, scratchpad: &scratchpad, events: &events, upkeep: true };
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

    async fn compact(&self, mut item: Item, at: Instant, trouble: &Trouble) -> Item {
        let shorter = self.shorter(&item.content, at, trouble).await;
        if shorter == item.content {
            return item;
        }
        item.content = shorter;
        marked_cut(item)
    }

    async fn shorter(&self, content: &str, at: Instant, trouble: &Trouble) -> String {
        if !trouble.is_there() {
            match until(at, self.compactor.compact(content)).await {
                Some(Ok(shorter)) => return shorter,
                Some(Err(error)) => trouble.tell(error),
                None => trouble.tell(SourceError::Unavailable(
                    "contents weren't shortened in time; their beginnings stand there".to_owned(),
                )),
            }
        }
        self.compactor.beginning(content)
    }
}

/// The first failure of the compactor, after which it isn't asked any more.
#[derive(Default)]
struct Trouble(Mutex<Option<SourceError>>);

impl Trouble {
    fn is_there(&self) -> bool {
        let first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        first.is_some()
    }

    fn tell(&self, error: SourceError) {
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert(error);
    }

    fn into_inner(self) -> Option<SourceError> {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
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
        let patience = Patience::of_query(QUERY_TIMEOUT, Duration::ZERO);
        let inner = self.inner.query(query, call);
        let mut answer = patience.leaving_a_third(inner).await?;
        answer.items.truncate(self.items_max);
        let (at, trouble) = (
            patience.for_rest(SHORTENING_TIMEOUT_MIN),
            Trouble::default(),
        );
        let shorter: Vec<_> = std::mem::take(&mut answer.items)
            .into_iter()
            .enumerate()
            .map(async |(place, item)| (place, self.compact(item, at, &trouble).await))
            .collect();
        let mut shorter: Vec<_> = stream::iter(shorter)
            .buffer_unordered(CONCURRENCY)
            .collect()
            .await;
        shorter.sort_by_key(|(place, _)| *place);
        answer.items = shorter.into_iter().map(|(_, item)| item).collect();
        answer
            .failed
            .extend(trouble.into_inner().map(|error| FailedLeg {
                source: self.name().to_owned(),
                error: Arc::new(error),
            }));
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

    fn members(&self) -> &[Arc<dyn Source>] {
        std::slice::from_ref(&self.inner)
    }
}

#[cfg(test)]
mod tests;
