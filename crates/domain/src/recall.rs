//! Recall: free-text search over facts.
//!
//! A store keeps the [`fact_terms`] of each fact in an index, and its [`folded_fact`] beside it. For a
//! [`RecallQuery`] it looks up the facts that have one of the terms, and offers them to a [`Recall`],
//! which looks at each fact's texts, weighs what it has of the query, and answers. So all stores answer
//! the same.
//!
//! Found are words as they are, words that begin with a word of the query, and texts that hold the
//! query or one of its words. Not found are words that are spelt otherwise, other forms of a word, and
//! words that mean the same.

mod classes;
mod fold;
mod matching;
mod query;
mod ranking;
mod terms;

#[cfg(test)]
mod cases;
#[cfg(test)]
mod tests;

use std::{cmp::Reverse, collections::BTreeMap, sync::Arc};

use self::{
    matching::{Matched, Matcher},
    ranking::{Grade, Weights},
    terms::fact_occurrences,
};

pub(crate) use self::{
    fold::folded,
    matching::composed,
    query::{Term, substring_chars_min},
    terms::{Kind, Occurrence, is_dense, occurrences},
};

pub use self::{
    query::{
        RECALL_QUERY_CHARS_MAX, RECALL_SUBSTRINGS_MAX, RECALL_TERMS_MAX, RecallQuery, prefix_end,
    },
    terms::{FACT_TERMS_MAX, TERM_BYTES_MAX, TERM_CHARS_MAX},
};

/// Values that are held at a time, in bytes. When there are more, those go that don't look as if they
/// came into the answer.
const VALUES_BYTES_MAX: usize = 4 * 1024 * 1024;

/// A fact that may match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecallCandidate<'a> {
    /// Path form of the scope that the row belongs to, as whoever keeps it has it. It has no part in the
    /// ranking, and comes back with the fact.
    pub scope: &'a str,
    /// Its key.
    pub key: &'a str,
    /// Its value.
    pub value: &'a str,
    /// Grows with each time that a fact of the store is remembered.
    pub order: i64,
    /// Seconds since it was remembered last.
    pub age_seconds: u64,
}

/// A fact that matches.
#[derive(Debug, Clone, PartialEq)]
pub struct RecalledFact {
    /// Path form of the scope that the row belongs to, as it was offered: who asks compares it.
    pub scope: String,
    /// Its key.
    pub key: String,
    /// Its value.
    pub value: String,
    /// How well it matches, 0 to 1; 0 where nothing was looked for. Above 0.1 where it has a word of
    /// the query or one that begins with it; 1 where its key has all of the query.
    pub score: f64,
    /// Grows with each time that a fact of the store is remembered.
    pub order: i64,
    /// Seconds since it was remembered last.
    pub age_seconds: u64,
}

/// The terms of a fact, by which an index finds it: distinct, ascending by code point, at most
/// [`FACT_TERMS_MAX`], each of at most [`TERM_CHARS_MAX`] characters and [`TERM_BYTES_MAX`] bytes, none
/// with white space or controls in it.
///
/// They are stored, so what this makes of a text can't change without making the terms of all stored
/// facts anew.
///
/// ```
/// use notekeeper_domain::fact_terms;
///
/// assert_eq!(fact_terms("Café", "(pre-edit)"), ["cafe", "edit", "pre", "pre-edit"]);
/// assert_eq!(fact_terms("C++", "東京都"), ["c", "c++", "京都", "東京", "都"]);
/// ```
pub fn fact_terms(key: &str, value: &str) -> Vec<String> {
    let (key, value) = (composed(&folded(key)), composed(&folded(value)));
    let (in_key, in_value) = fact_occurrences(&key, &value);
    let mut terms: Vec<&str> = in_key
        .iter()
        .chain(&in_value)
        .map(|found| found.term)
        .collect();
    terms.sort_unstable();
    terms.dedup();
    terms.into_iter().map(str::to_owned).collect()
}

/// The text of a fact in which [`RecallQuery::substrings`] are looked for: folded key and folded value
/// on a line each. Without controls, U+0000 among them, but for that line end; a character can become
/// as many as seven.
///
/// It is stored, as [`fact_terms`] are.
///
/// ```
/// use notekeeper_domain::folded_fact;
///
/// assert_eq!(folded_fact("Ströme", "A\tB\nc\u{0}"), "strome\na b c");
/// ```
pub fn folded_fact(key: &str, value: &str) -> String {
    format!("{}\n{}", folded(key), folded(value))
}

/// Weighs facts and answers: the best, in order.
///
/// Facts may be offered in any order, those that don't match too, and twice; the answer is the same. All
/// that the index finds have to be offered, and where [`Recall::needs_scan`] says so afterwards, all
/// whose folded text holds one of the substrings. Of two states of one fact the later one counts.
///
/// It holds the keys of all facts that match and the values of some. So before the end those are offered
/// again that [`Recall::unread`] names: mostly none.
///
/// ```
/// use notekeeper_domain::{Recall, RecallCandidate, RecallQuery};
///
/// let facts = [("food", "no peanuts"), ("pet", "a cat, Ada"), ("editor", "concatenates")];
/// let query = RecallQuery::parse("cat");
/// let mut recall = Recall::new(&query, 10);
/// for (order, (key, value)) in (1..).zip(facts) {
///     recall.offer(RecallCandidate { scope: "acme/main", key, value, order, age_seconds: 60 });
/// }
/// assert!(recall.needs_scan(), "fewer than ten have a word of the query");
/// assert!(recall.unread().is_empty());
/// let keys: Vec<String> = recall.finish().into_iter().map(|fact| fact.key).collect();
/// assert_eq!(keys, ["pet", "editor"]);
/// ```
#[derive(Debug)]
pub struct Recall<'q> {
    query: &'q RecallQuery,
    matcher: Matcher<'q>,
    limit: usize,
    facts: BTreeMap<String, Seen>,
    /// Scope of the fact that was offered last: those of one recall are as good as always of one.
    scope: Arc<str>,
    /// Facts with a term.
    with_term: usize,
    values_bytes: usize,
    values_bytes_max: usize,
}

/// A fact that matches.
#[derive(Debug)]
struct Seen {
    scope: Arc<str>,
    matched: Matched,
    order: i64,
    age_seconds: u64,
    value: Option<String>,
    /// Whether the value is asked for.
    wanted: bool,
}

impl<'q> Recall<'q> {
    /// A recall without facts, which answers with at most `limit`.
    pub fn new(query: &'q RecallQuery, limit: usize) -> Self {
        Self {
            query,
            matcher: Matcher::new(query),
            limit,
            facts: BTreeMap::new(),
            scope: Arc::from(""),
            with_term: 0,
            values_bytes: 0,
            values_bytes_max: VALUES_BYTES_MAX,
        }
    }

    /// Looks at a fact. What that takes grows with its texts alone.
    pub fn offer(&mut self, fact: RecallCandidate<'_>) {
        let known = self.facts.get(fact.key);
        if known.is_some_and(|known| {
            known.order > fact.order || (known.order == fact.order && !known.lacks_wanted())
        }) {
            return;
        }
        let wanted = known.is_some_and(|known| known.wanted);
        let matched = self.matcher.look(fact.key, fact.value);
        if let Some(known) = self.facts.remove(fact.key) {
            self.with_term -= usize::from(known.matched.has_term());
            self.values_bytes -= known.value.map_or(0, |value| value.len());
        }
        if !matched.is_match() && !self.query.is_empty() {
            return;
        }
        self.with_term += usize::from(matched.has_term());
        self.values_bytes += fact.value.len();
        if *self.scope != *fact.scope {
            self.scope = Arc::from(fact.scope);
        }
        let seen = Seen {
            scope: Arc::clone(&self.scope),
            matched,
            order: fact.order,
            age_seconds: fact.age_seconds,
            value: Some(fact.value.to_owned()),
            wanted,
        };
        self.facts.insert(fact.key.to_owned(), seen);
        if self.values_bytes > self.values_bytes_max {
            self.let_go();
            // Where that much is in the answer, the next time is when there is as much again.
            self.values_bytes_max = VALUES_BYTES_MAX.max(2 * self.values_bytes);
        }
    }

    /// Whether facts with a substring only can come into the answer: fewer than its limit have a term.
    /// To be asked after all facts were offered that the index finds.
    pub fn needs_scan(&self) -> bool {
        self.with_term < self.limit
    }

    /// Keys of facts that come into the answer and whose values were let go: they are to be offered
    /// again, until nothing is unread. A fact that was asked for and not offered isn't there any more,
    /// and leaves the answer.
    pub fn unread(&mut self) -> Vec<String> {
        self.facts.retain(|_, seen| {
            let gone = seen.lacks_wanted();
            self.with_term -= usize::from(gone && seen.matched.has_term());
            !gone
        });
        let mut unread = self.let_go();
        unread.retain(|key| {
            let wanted = self.facts.get_mut(key);
            wanted.is_some_and(|seen| {
                seen.wanted = true;
                seen.lacks_wanted()
            })
        });
        unread
    }

    /// The answer: best first.
    pub fn finish(mut self) -> Vec<RecalledFact> {
        let weights = self.weights();
        let best = self.best(&weights);
        let best = best.into_iter().map(|(grade, key)| (grade, key.to_owned()));
        let best: Vec<(Grade, String)> = best.collect();
        let answer = best.into_iter().filter_map(|(grade, key)| {
            let seen = self.facts.remove(&key)?;
            Some(RecalledFact {
                scope: (*seen.scope).to_owned(),
                key,
                value: seen.value?,
                score: weights.score(grade),
                order: seen.order,
                age_seconds: seen.age_seconds,
            })
        });
        answer.collect()
    }

    fn weights(&self) -> Weights {
        Weights::of(self.query, self.facts.values().map(|seen| &seen.matched))
    }

    /// Grades and keys of the best facts, in order.
    fn best(&self, weights: &Weights) -> Vec<(Grade, &str)> {
        let mut graded: Vec<(Reverse<Grade>, Reverse<i64>, &str)> = Vec::new();
        for (key, seen) in &self.facts {
            let grade = weights.grade(&seen.matched);
            graded.push((Reverse(grade), Reverse(seen.order), key));
        }
        if self.limit < graded.len() {
            graded.select_nth_unstable(self.limit);
            graded.truncate(self.limit);
        }
        graded.sort_unstable();
        let best = graded.into_iter();
        best.map(|(grade, _, key)| (grade.0, key)).collect()
    }

    /// Lets go of the values of facts that aren't among the best so far. Keys of those that are.
    fn let_go(&mut self) -> Vec<String> {
        let best = self.best(&self.weights());
        let best: Vec<String> = best.into_iter().map(|(_, key)| key.to_owned()).collect();
        let mut kept: Vec<&str> = best.iter().map(String::as_str).collect();
        kept.sort_unstable();
        self.values_bytes = 0;
        for (key, seen) in &mut self.facts {
            if kept.binary_search(&key.as_str()).is_err() {
                seen.value = None;
                seen.wanted = false;
            }
            self.values_bytes += seen.value.as_ref().map_or(0, String::len);
        }
        best
    }
}

impl Seen {
    fn lacks_wanted(&self) -> bool {
        self.wanted && self.value.is_none()
    }
}
