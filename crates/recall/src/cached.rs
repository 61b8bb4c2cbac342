//! A memory of answers.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use notekeeper_domain::{Item, canonical_json};
use serde_json::Value;
use tokio::time::Instant;

use crate::{
    Answer, InvalidSetting, Source, SourceCall, SourceError, SourceQuery, Verb, WriteOperation,
    Written,
    answer_cache::{AnswerCache, Key},
    setting::check_bounds,
};

/// How long an answer is given again where nothing else is said.
pub const CACHE_TTL_DEFAULT: Duration = Duration::from_secs(60);

/// Longest time that an answer can be given again, in seconds: a day.
pub const CACHE_TTL_SECONDS_MAX: u64 = 24 * 3_600;

/// Most answers that are kept where nothing else is said.
pub const CACHE_ENTRIES_DEFAULT: usize = 1_000;

/// Most answers that can be kept.
pub const CACHE_ENTRIES_MAX: usize = 100_000;

/// Answers the same query for the same scope again without asking the inner source. The guards inside are asked each
/// time, so what they refuse gets no answer that was given before.
///
/// The same is: scope, workspace, text, number of items, conditions and scratchpad. Answers in which a
/// source is missing aren't kept, nor are errors. A write through it forgets the answers of its scope;
/// what changes behind the inner source by another way isn't seen before the time is over. Every call
/// has a scope, so no two tenants share an answer; those without a namespace are one tenant here, so put
/// a guard around it ([`ScopedSource`](crate::ScopedSource)) where there should be none.
///
/// ```
/// # use std::sync::Arc;
/// use std::time::Duration;
/// use notekeeper_recall::{CacheOptions, CachedSource, Source, VectorSource};
///
/// let options = CacheOptions { ttl: Duration::from_secs(30), ..CacheOptions::default() };
/// let cached = CachedSource::new(Arc::new(VectorSource::in_memory("handbook")), options)?;
/// assert_eq!(cached.name(), "handbook");
///
/// let never = CacheOptions { ttl: Duration::ZERO, ..options };
/// let error = CachedSource::new(Arc::new(cached), never).expect_err("it would keep nothing");
/// assert_eq!(error.to_string(), "`ttl_seconds` is `0`; 1 to 86400 are allowed");
/// # Ok::<(), notekeeper_recall::InvalidSetting>(())
/// ```
#[derive(Debug)]
pub struct CachedSource {
    inner: Arc<dyn Source>,
    answers: AnswerCache,
}

/// How long and how many answers are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheOptions {
    /// How long an answer is given again, from when it was asked for: 1 s to [`CACHE_TTL_SECONDS_MAX`].
    pub ttl: Duration,
    /// Most answers, 1 to [`CACHE_ENTRIES_MAX`]; the oldest go first. Together they hold 16 MiB at most.
    pub entries_max: usize,
}

impl Default for CacheOptions {
    fn default() -> Self {
        Self {
            ttl: CACHE_TTL_DEFAULT,
            entries_max: CACHE_ENTRIES_DEFAULT,
        }
    }
}

impl CachedSource {
    /// The inner source with a memory of its answers.
    ///
    /// # Errors
    ///
    /// [`InvalidSetting`].
    pub fn new(inner: Arc<dyn Source>, options: CacheOptions) -> Result<Self, InvalidSetting> {
        check_bounds(
            "ttl_seconds",
            options.ttl.as_secs(),
            1..=CACHE_TTL_SECONDS_MAX,
        )?;
        check_bounds("entries_max", options.entries_max, 1..=CACHE_ENTRIES_MAX)?;
        Ok(Self {
            inner,
            answers: AnswerCache::new(options.ttl, options.entries_max),
        })
    }
}

/// What makes two queries the same.
fn key(query: &SourceQuery, call: &SourceCall<'_>) -> Key {
    let scratchpad = call.scratchpad.clone().into_iter().collect();
    Key {
        scope: call.scope.clone(),
        workspace: call.workspace.map(str::to_owned),
        text: query.text.clone(),
        limit: query.limit,
        condition: query.condition.canonical(),
        scratchpad: canonical_json(&Value::Object(scratchpad)),
    }
}

#[async_trait]
impl Source for CachedSource {
    fn name(&self) -> &str {
        self.inner.name()
    }

    async fn query(
        &self,
        query: &SourceQuery,
        call: &SourceCall<'_>,
    ) -> Result<Answer, SourceError> {
        let key = key(query, call);
        let now = Instant::now();
        if let Some(answer) = self.answers.get(&key, now) {
            // The guards inside may have changed their minds since.
            self.admit(Verb::Query, call).await?;
            return Ok(answer);
        }
        let place = self.answers.reserve(key, now);
        let answer = self.inner.query(query, call).await?;
        if answer.is_whole() {
            place.fill(&answer);
        }
        Ok(answer)
    }

    async fn write(
        &self,
        items: &[Item],
        operation: &WriteOperation,
        call: &SourceCall<'_>,
    ) -> Result<Written, SourceError> {
        // However the write ends: one that fails, or is dropped, may have been kept all the same.
        let _forgetting = (!items.is_empty()).then(|| self.answers.forget_at_end(call.scope));
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
