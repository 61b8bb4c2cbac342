//! Facts as rows of a database hold them.

use futures::{Stream, TryStreamExt as _};
use notekeeper_domain::{
    Fact, FactKey, Recall, RecallCandidate, RecallQuery, RecalledFact, TERM_CHARS_MAX, fact_terms,
    folded_fact, prefix_end,
};

use crate::{Facts, ListedFact, kept_list::ListOfRows};

/// A row of facts, as databases have it: scope, key, value, number, age in seconds.
pub(crate) type FactRow = (String, String, String, i64, i64);

impl ListedFact {
    /// The fact of a row; `None` where no operation accepts such a one.
    pub(crate) fn of_row((scope, key, value, order, age_seconds): FactRow) -> Option<Self> {
        Some(Self {
            scope,
            fact: Fact::new(&key, value).ok()?,
            order,
            age_seconds: u64::try_from(age_seconds).unwrap_or_default(),
        })
    }

    pub(crate) fn candidate(&self) -> RecallCandidate<'_> {
        RecallCandidate {
            scope: &self.scope,
            key: self.fact.key.as_str(),
            value: self.fact.value(),
            order: self.order,
            age_seconds: self.age_seconds,
        }
    }
}

/// The facts of rows. Odd ones, which a person made with a console, are passed over, as odd names of
/// notes are.
fn facts_of(rows: Vec<FactRow>) -> Vec<ListedFact> {
    let rows_count = rows.len();
    let facts: Vec<_> = rows.into_iter().filter_map(ListedFact::of_row).collect();
    warn_of(rows_count - facts.len());
    facts
}

fn warn_of(skipped: usize) {
    if skipped > 0 {
        tracing::warn!(skipped, "the store holds facts that no operation accepts");
    }
}

/// A list of facts while its rows come.
pub(crate) type FactsOfRows = ListOfRows<FactRow, ListedFact>;

impl FactsOfRows {
    /// The first `facts_max` facts after a key.
    pub(crate) fn of_facts(after: Option<&FactKey>, facts_max: usize) -> Self {
        Self::new(after.map(FactKey::as_str), facts_max, |row| {
            let (_, key, ..) = &row;
            (key.clone(), ListedFact::of_row(row))
        })
    }
}

impl From<FactsOfRows> for Facts {
    fn from(list: FactsOfRows) -> Self {
        let (facts, more, skipped) = list.finish();
        warn_of(skipped);
        Self { facts, more }
    }
}

/// What an empty query finds while its rows come: facts as they are, those remembered last first.
#[derive(Debug)]
pub(crate) struct NewestOfRows {
    facts_max: usize,
    rows_max: usize,
}

impl NewestOfRows {
    pub(crate) fn new(facts_max: usize) -> Self {
        Self {
            facts_max,
            rows_max: facts_max,
        }
    }

    /// How many rows to read from the beginning.
    pub(crate) fn rows_max(&self) -> usize {
        self.rows_max
    }

    /// The facts of these rows; `None` where odd ones stand in the place of others, for which more rows
    /// are to be read.
    pub(crate) fn take(&mut self, rows: Vec<FactRow>) -> Option<Vec<RecalledFact>> {
        let is_all = rows.len() < self.rows_max;
        let facts = facts_of(rows);
        if facts.len() < self.facts_max && !is_all {
            self.rows_max = self.rows_max.saturating_mul(2);
            return None;
        }
        let first = facts.into_iter().take(self.facts_max);
        let recalled = first.map(|listed| RecalledFact {
            scope: listed.scope,
            key: listed.fact.key.as_str().to_owned(),
            value: listed.fact.value().to_owned(),
            score: 0.0,
            order: listed.order,
            age_seconds: listed.age_seconds,
        });
        Some(recalled.collect())
    }
}

/// A fact with what it is found by.
#[derive(Debug)]
pub(crate) struct IndexedFact<'a> {
    pub(crate) fact: &'a Fact,
    /// Key and value, folded.
    pub(crate) folded: String,
    pub(crate) terms: Vec<String>,
}

impl<'a> IndexedFact<'a> {
    pub(crate) fn new(fact: &'a Fact) -> Self {
        let (key, value) = (fact.key.as_str(), fact.value());
        Self {
            fact,
            folded: folded_fact(key, value),
            terms: fact_terms(key, value),
        }
    }
}

/// The ranges of terms that begin with one of a query's: each from the first to before the second.
pub(crate) fn term_ranges(query: &RecallQuery) -> (&[String], Vec<String>) {
    let after = query.prefixes().iter().map(|prefix| {
        // After all terms, where none comes after those that begin so.
        prefix_end(prefix).unwrap_or_else(|| char::MAX.to_string().repeat(TERM_CHARS_MAX))
    });
    (query.prefixes(), after.collect())
}

/// Texts that are looked at before other tasks get their turn, in bytes: about as long as the longest
/// fact, which is looked at in one go, and takes a few milliseconds.
const BYTES_BETWEEN_PAUSES: usize = 16 * 1024;

/// Offers of facts, one after the other, between which other tasks get their turn.
#[derive(Debug, Default)]
pub(crate) struct Offers {
    bytes: usize,
    skipped: usize,
}

impl Offers {
    pub(crate) async fn offer(&mut self, recall: &mut Recall<'_>, fact: RecallCandidate<'_>) {
        recall.offer(fact);
        self.bytes += fact.key.len() + fact.value.len();
        if self.bytes > BYTES_BETWEEN_PAUSES {
            self.bytes = 0;
            tokio::task::yield_now().await;
        }
    }

    /// Offers the fact of a row, unless it is an odd one.
    async fn offer_row(&mut self, recall: &mut Recall<'_>, row: FactRow) {
        match ListedFact::of_row(row) {
            Some(listed) => self.offer(recall, listed.candidate()).await,
            None => self.skipped += 1,
        }
    }

    fn finish(self) {
        warn_of(self.skipped);
    }
}

/// Offers what a database finds, as it arrives.
pub(crate) async fn offer_rows<E>(
    mut rows: impl Stream<Item = Result<FactRow, E>> + Unpin,
    recall: &mut Recall<'_>,
) -> Result<(), E> {
    let mut offers = Offers::default();
    while let Some(row) = rows.try_next().await? {
        offers.offer_row(recall, row).await;
    }
    offers.finish();
    Ok(())
}
