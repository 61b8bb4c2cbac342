//! Facts as rows of a database hold them.

use notekeeper_domain::{
    Fact, Recall, RecallCandidate, RecallQuery, RecalledFact, TERM_CHARS_MAX, fact_terms,
    folded_fact, prefix_end,
};

use crate::{Facts, ListedFact};

/// A row of facts, as databases have it: key, value, number, age in seconds.
pub(crate) type FactRow = (String, String, i64, i64);

impl ListedFact {
    /// The fact of a row; `None` where no operation accepts such a one.
    pub(crate) fn of_row((key, value, order, age_seconds): FactRow) -> Option<Self> {
        Some(Self {
            fact: Fact::new(&key, value).ok()?,
            order,
            age_seconds: u64::try_from(age_seconds).unwrap_or_default(),
        })
    }
}

impl Facts {
    /// The first rows of a list that goes one further where there are more. Odd facts are passed
    /// over, as odd names of notes are.
    pub(crate) fn of_rows(mut rows: Vec<FactRow>, facts_max: usize) -> Self {
        let more = rows.len() > facts_max;
        rows.truncate(facts_max);
        let listed = rows.len();
        let facts: Vec<_> = rows.into_iter().filter_map(ListedFact::of_row).collect();
        let skipped = listed - facts.len();
        if skipped > 0 {
            tracing::warn!(skipped, "the store holds facts that no operation accepts");
        }
        Self { facts, more }
    }
}

/// What an empty query finds: a fact as it is.
pub(crate) fn recalled((key, value, order, age_seconds): FactRow) -> RecalledFact {
    RecalledFact {
        key,
        value,
        score: 0.0,
        order,
        age_seconds: u64::try_from(age_seconds).unwrap_or_default(),
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

/// Texts that are looked at before other tasks get their turn, in bytes: fractions of a millisecond.
const BYTES_BETWEEN_PAUSES: usize = 16 * 1024;

/// Offers of facts, one after the other, that keep no other task waiting.
#[derive(Debug, Default)]
pub(crate) struct Offers {
    bytes: usize,
}

impl Offers {
    pub(crate) async fn offer(&mut self, recall: &mut Recall<'_>, row: &FactRow) {
        let (key, value, order, age_seconds) = row;
        recall.offer(RecallCandidate {
            key,
            value,
            order: *order,
            age_seconds: u64::try_from(*age_seconds).unwrap_or_default(),
        });
        self.bytes += key.len() + value.len();
        if self.bytes > BYTES_BETWEEN_PAUSES {
            self.bytes = 0;
            tokio::task::yield_now().await;
        }
    }
}
