//! Several sources at once.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use futures::{StreamExt as _, stream};
use notekeeper_domain::Item;
use tokio::time::Instant;

use crate::{
    Answer, Candidate, Dedupe, FailedLeg, InvalidSetting, LEG_TIMEOUT_DEFAULT, Reranker, ScoreSort,
    Source, SourceCall, SourceError, SourceQuery, Verb, WriteOperation, Written,
    legs::{Hearing, Legs, check_name},
    patience::{Patience, until},
    setting::check_bounds,
};

/// How many legs are asked at a time where nothing else is said: a composition shouldn't take a pool of
/// connections for itself.
pub const CONCURRENCY_DEFAULT: usize = 8;

/// Most legs that can be asked at a time: all that there may be.
pub const CONCURRENCY_MAX: usize = crate::LEGS_MAX;

/// Asks all of its legs at once, and makes one list of what they find.
///
/// A leg that fails or is late is listed in the answer, and the others' items stand. An error that tells
/// of a boundary between tenants ends the whole query, though, and a policy that refuses the scope does before any
/// leg is asked. When the query is dropped, so are those of the legs. Altogether it takes
/// [`QUERY_TIMEOUT`](crate::QUERY_TIMEOUT), or `leg_timeout` where that is longer: where not all legs are asked at
/// once they share it. A ranker that fails or takes longer than a leg may is listed under the composition's own
/// name, and the items are ranked by score.
///
/// What is written is given to every leg: it goes on where one fails, and the error
/// ([`SourceError::PartialWrite`]) says who kept the items. Each leg has an identity of its own for the
/// write, so whoever repeats it as a whole changes nothing where the items were kept. A leg whose backend tells of
/// another tenant is among those that failed, and those whose turn hasn't come then are left out. Writes have no
/// deadline but the caller's: one that is cut off might have been kept.
///
/// ```
/// # use std::sync::Arc;
/// use notekeeper_domain::{Item, OperationId, Scope};
/// use notekeeper_recall::{
///     CompositeOptions, CompositeSource, ScratchpadSource, Source, SourceCall, SourceEvents, SourceQuery,
///     VectorSource, WriteOperation,
/// };
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let scope = Scope::resolve("acme", "main")?;
/// let events = SourceEvents::default();
/// let scratchpad = [("refunds".to_owned(), "ask finance".into())].into();
/// let call = SourceCall { scope: &scope, workspace: None, scratchpad: &scratchpad, events: &events, upkeep: true };
///
/// let handbook = Arc::new(VectorSource::in_memory("handbook"));
/// let operation = WriteOperation::new(OperationId::parse("seed-1")?);
/// handbook.write(&[Item::new("Refunds are issued within 5 business days.", "")], &operation, &call).await?;
///
/// let legs: Vec<Arc<dyn Source>> = vec![Arc::new(ScratchpadSource::new("scratchpad")), handbook];
/// let both = CompositeSource::new("kb", legs, CompositeOptions::default())?;
/// let answer = both.query(&SourceQuery::new("refunds", 5), &call).await?;
/// let sources: Vec<&str> = answer.items.iter().map(|item| item.source.as_str()).collect();
/// // What has a score comes first; what has none comes last and is never dropped.
/// assert_eq!(sources, ["handbook", "scratchpad"]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct CompositeSource {
    name: String,
    legs: Legs,
    dedupe: Dedupe,
    reranker: Arc<dyn Reranker>,
    concurrency: usize,
}

/// How a composition asks its legs, and what it makes of their lists.
#[derive(Debug, Clone)]
pub struct CompositeOptions {
    /// Which items are the same.
    pub dedupe: Dedupe,
    /// The order of the items.
    pub reranker: Arc<dyn Reranker>,
    /// How long to wait for a leg, from when it is asked: 1 ms to
    /// [`LEG_TIMEOUT_MS_MAX`](crate::LEG_TIMEOUT_MS_MAX).
    pub leg_timeout: Duration,
    /// Most legs that are asked, or written to, at a time: 1 to [`CONCURRENCY_MAX`].
    pub concurrency: usize,
}

impl Default for CompositeOptions {
    fn default() -> Self {
        Self {
            dedupe: Dedupe::default(),
            reranker: Arc::new(ScoreSort),
            leg_timeout: LEG_TIMEOUT_DEFAULT,
            concurrency: CONCURRENCY_DEFAULT,
        }
    }
}

impl CompositeSource {
    /// A composition of these legs: 1 to [`LEGS_MAX`](crate::LEGS_MAX), whose names differ.
    ///
    /// # Errors
    ///
    /// [`InvalidSetting`].
    pub fn new(
        name: &str,
        legs: Vec<Arc<dyn Source>>,
        options: CompositeOptions,
    ) -> Result<Self, InvalidSetting> {
        check_name(name)?;
        check_bounds("concurrency", options.concurrency, 1..=CONCURRENCY_MAX)?;
        Ok(Self {
            name: name.to_owned(),
            legs: Legs::new(legs, options.leg_timeout)?,
            dedupe: options.dedupe,
            reranker: options.reranker,
            concurrency: options.concurrency,
        })
    }

    async fn ask_all(
        &self,
        query: &SourceQuery,
        call: &SourceCall<'_>,
        patience: &Patience,
    ) -> Result<Hearing, SourceError> {
        let legs = self.legs.sources();
        let questions: Vec<_> = (0..legs.len())
            .map(|index| async move {
                let turns = (legs.len() - index).div_ceil(self.concurrency);
                let heard = self.legs.ask(index, query, call, (patience, turns));
                (index, heard.await)
            })
            .collect();
        let mut answers = stream::iter(questions).buffer_unordered(self.concurrency);
        let mut heard: Vec<_> = legs.iter().map(|_| None).collect();
        while let Some((index, answer)) = answers.next().await {
            heard[index] = Some(answer?);
        }
        let mut hearing = Hearing::default();
        for (leg, heard) in legs.iter().zip(heard.into_iter().flatten()) {
            hearing.add(leg.as_ref(), heard);
        }
        Ok(hearing)
    }

    /// The candidates in their order: that of the scores where the ranker gives none.
    async fn ranked(
        &self,
        query: &SourceQuery,
        candidates: Vec<Candidate>,
        patience: &Patience,
    ) -> Result<(Vec<Item>, Option<FailedLeg>), SourceError> {
        if !self.reranker.can_fail() {
            return Ok((self.reranker.rerank(query, candidates).await?, None));
        }
        let at = patience
            .for_rest(self.legs.timeout())
            .min(Instant::now() + self.legs.timeout());
        let ranking = self.reranker.rerank(query, candidates.clone());
        let error = match until(at, ranking).await {
            Some(Ok(items)) => return Ok((items, None)),
            Some(Err(error)) if error.is_of_scope() => return Err(error),
            Some(Err(error)) => error,
            None => SourceError::Unavailable(
                "its ranker didn't answer in time; the order is that of the scores".to_owned(),
            ),
        };
        let failed = FailedLeg {
            source: self.name.clone(),
            error: Arc::new(error),
        };
        Ok((ScoreSort::sort(candidates), Some(failed)))
    }
}

#[async_trait]
impl Source for CompositeSource {
    fn name(&self) -> &str {
        &self.name
    }

    async fn query(
        &self,
        query: &SourceQuery,
        call: &SourceCall<'_>,
    ) -> Result<Answer, SourceError> {
        let patience = self.legs.patience();
        self.admit(Verb::Query, call).await?;
        let mut hearing = self.ask_all(query, call, &patience).await?;
        let candidates = self.dedupe.merge(std::mem::take(&mut hearing.lists));
        let mut answer = hearing.answer(&self.name, Vec::new())?;
        let (items, failed) = self.ranked(query, candidates, &patience).await?;
        answer.items = items;
        answer.items.truncate(query.limit);
        answer.failed.extend(failed);
        Ok(answer)
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
        self.admit(Verb::Write, call).await?;
        self.check_items(items, operation)?;
        let is_ended = AtomicBool::new(false);
        let writes: Vec<_> = self
            .legs
            .sources()
            .iter()
            .enumerate()
            .map(async |(index, leg)| {
                let leg = leg.as_ref();
                (
                    index,
                    write_to(leg, items, operation, call, &is_ended).await,
                )
            })
            .collect();
        let mut outcomes: Vec<_> = stream::iter(writes)
            .buffer_unordered(self.concurrency)
            .collect()
            .await;
        outcomes.sort_by_key(|(index, _)| *index);
        let mut written = Written::default();
        for (_, outcome) in outcomes {
            written.add(outcome);
        }
        match written.failed.is_empty() {
            true => Ok(written),
            false => Err(SourceError::PartialWrite(Box::new(written))),
        }
    }

    fn accepts_writes(&self) -> bool {
        self.legs.sources().iter().any(|leg| leg.accepts_writes())
    }

    fn members(&self) -> &[Arc<dyn Source>] {
        self.legs.sources()
    }
}

/// What a leg of a broadcast did. Where it tells of a boundary between tenants the broadcast `is_ended`, and no leg
/// begins any more; those that have begun come to their end, as they may have kept something.
async fn write_to(
    leg: &dyn Source,
    items: &[Item],
    operation: &WriteOperation,
    call: &SourceCall<'_>,
    is_ended: &AtomicBool,
) -> Written {
    let outcome = match is_ended.load(Ordering::Relaxed) {
        true => Err(SourceError::Unsupported(
            "it was given nothing, as another source told of a boundary between tenants".to_owned(),
        )),
        false => leg.write(items, &operation.leg(leg.name()), call).await,
    };
    if outcome.as_ref().is_err_and(SourceError::is_of_scope) {
        is_ended.store(true, Ordering::Relaxed);
    }
    match outcome {
        Ok(written) => told_by_marker(leg, written),
        Err(SourceError::PartialWrite(written)) => told_by_marker(leg, *written),
        Err(error) => Written {
            failed: vec![FailedLeg {
                source: leg.name().to_owned(),
                error: Arc::new(error),
            }],
            ..Written::default()
        },
    }
}

/// What a source says that it did with items; one that accepts no writes kept nothing, whatever it says, and
/// where it says nothing it refused them.
pub(crate) fn told_by_marker(leg: &dyn Source, mut written: Written) -> Written {
    if !leg.accepts_writes() {
        written.refused.append(&mut written.accepted);
        if written.refused.is_empty() && written.failed.is_empty() {
            written.refused.push(leg.name().to_owned());
        }
    }
    written
}

#[cfg(test)]
mod tests;
