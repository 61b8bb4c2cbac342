//! Search: query rules, scoring, order and snippets of `search_memory`.

mod scoring;
mod window;

use std::{cmp::Ordering, collections::BinaryHeap};

use memchr::memmem::Finder;

use self::window::Window;
use crate::{
    QUERY_CHARS_MAX, QUERY_TERMS_MAX, Refusal,
    lowering::lowercase,
    text::{char_prefix, is_space},
};

pub use self::scoring::Scoring;

/// Weight of a hit in the name of a note against one in its text.
const NAME_WEIGHT: u64 = 2;

/// Work between two pauses: bytes of text that are gone through, with what else costs time counted
/// as bytes. Far below a millisecond on any machine that one would run this on.
const SHARE: usize = 128 * 1024;

/// A checked query: distinct terms, lower-cased for matching.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchQuery {
    lowered: Vec<String>,
}

/// Bounds of one search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SearchLimits {
    /// Most matches returned.
    pub results_max: usize,
    /// Most characters of file names and snippets together.
    pub result_chars_max: usize,
    /// Most notes examined.
    pub files_max: usize,
    /// Most characters of one note examined.
    pub note_chars_max: usize,
}

/// One match.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchMatch {
    /// Name of the note.
    pub file: String,
    /// Text around the first hit.
    pub snippet: String,
    /// Hits in the text plus twice the hits in the name.
    pub score: f64,
}

/// The answer to a search.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchAnswer {
    /// Matches, best first.
    pub matches: Vec<SearchMatch>,
    /// Notes examined.
    pub scanned: usize,
    /// Whether bounds left something out.
    pub truncated: bool,
}

impl SearchQuery {
    /// Checks a query and splits it into terms.
    ///
    /// Everything but white space is literal: a query has no operators. Terms that differ only in
    /// case count once.
    ///
    /// # Errors
    ///
    /// [`Refusal::Nul`], [`Refusal::QueryTooLong`], [`Refusal::QueryEmpty`],
    /// [`Refusal::QueryTooManyTerms`].
    pub fn parse(query: &str) -> Result<Self, Refusal> {
        if query.contains('\0') {
            return Err(Refusal::Nul { argument: "query" });
        }
        if char_prefix(query, QUERY_CHARS_MAX).1 {
            return Err(Refusal::QueryTooLong {
                chars: query.chars().count(),
            });
        }
        let mut lowered: Vec<String> = Vec::new();
        for term in query.split(is_space).filter(|term| !term.is_empty()) {
            let term = lowercase(term);
            if lowered.contains(&term) {
                continue;
            }
            if lowered.len() == QUERY_TERMS_MAX {
                return Err(Refusal::QueryTooManyTerms);
            }
            lowered.push(term);
        }
        if lowered.is_empty() {
            return Err(Refusal::QueryEmpty);
        }
        Ok(Self { lowered })
    }

    /// The distinct terms, lower-cased, in first-seen order.
    pub fn lowered_terms(&self) -> &[String] {
        &self.lowered
    }
}

/// Collects candidates and answers. A store may leave out candidates that can't match; what it
/// examined in all it says at the end.
///
/// Candidates may come in any order. Of each it reads the bounded prefix once for every term, and
/// it keeps no more than the best [`SearchLimits::results_max`], with the text around their first
/// hit.
///
/// ```
/// use notekeeper_domain::{Scan, SearchLimits, SearchQuery};
///
/// let query = SearchQuery::parse("tea Paris")?;
/// let limits =
///     SearchLimits { results_max: 10, result_chars_max: 40, files_max: 1_000, note_chars_max: 65_536 };
/// let mut scan = Scan::new(&query, limits);
/// scan.add("MEMORY.md", "- likes tea\n- lives in Lyon\n");
/// scan.add("travel.md", "Paris in May, then Lyon. Tea at noon.");
/// let answer = scan.finish(2, false);
///
/// assert_eq!(answer.matches[0].file, "travel.md");
/// assert_eq!(answer.matches[0].snippet, "Paris in May, then Lyon. Tea...");
/// assert!(answer.truncated, "the snippet of one match takes all the room");
/// # Ok::<(), notekeeper_domain::Refusal>(())
/// ```
#[derive(Debug)]
pub struct Scan<'q> {
    finders: Vec<Finder<'q>>,
    limits: SearchLimits,
    best: BinaryHeap<Candidate>,
    matched: usize,
    over_long: bool,
    /// What is left of the current share, which notes after each other may have together.
    share_left: usize,
}

impl<'q> Scan<'q> {
    /// A scan without candidates.
    pub fn new(query: &'q SearchQuery, limits: SearchLimits) -> Self {
        let finders = query
            .lowered
            .iter()
            .map(|term| Finder::new(term.as_bytes()))
            .collect();
        Self {
            finders,
            limits,
            best: BinaryHeap::new(),
            matched: 0,
            over_long: false,
            share_left: SHARE,
        }
    }

    /// Scores one note. `content` may be longer than the bound; only the bounded prefix counts.
    /// A note whose name breaks the rule for names in tool calls is passed over; one that keeps it
    /// but doesn't end in `.md` is not.
    pub fn add(&mut self, name: &str, content: &str) {
        let mut scoring = self.begin(name, content);
        while scoring.proceed() {}
    }

    /// Begins to score one note, as [`Scan::add`] does, share by share. For callers who have other
    /// things to do meanwhile: a note can be long, and there can be many.
    ///
    /// ```
    /// use notekeeper_domain::{Scan, SearchLimits, SearchQuery};
    ///
    /// let query = SearchQuery::parse("needle")?;
    /// let limits = SearchLimits {
    ///     results_max: 10, result_chars_max: 40, files_max: 1_000, note_chars_max: 1_000_000,
    /// };
    /// let mut scan = Scan::new(&query, limits);
    /// let mut pauses = 0;
    /// let hay = "hay ".repeat(250_000);
    /// let mut scoring = scan.begin("hay.md", &hay);
    /// while scoring.proceed() {
    ///     pauses += 1; // An asynchronous caller yields here.
    /// }
    /// assert!(pauses > 10, "{pauses}");
    /// # Ok::<(), notekeeper_domain::Refusal>(())
    /// ```
    pub fn begin<'s>(&'s mut self, name: &'s str, content: &'s str) -> Scoring<'s, 'q> {
        Scoring::new(self, name, content)
    }

    /// Takes a match among the best, with the text around byte `hit` of its content, or passes it
    /// over where it is none of them.
    fn take(&mut self, score: u64, name: &str, content: &str, hit: usize) {
        self.matched += 1;
        let rank = Rank {
            score,
            name: name.to_owned(),
        };
        let full = self.best.len() >= self.limits.results_max;
        if full && self.best.peek().is_none_or(|worst| worst.rank <= rank) {
            return;
        }
        if full {
            self.best.pop();
        }
        let window = Window::around(content, hit, self.limits.result_chars_max);
        self.best.push(Candidate { rank, window });
    }

    /// Orders the matches and cuts them to the bounds. `scanned`: notes examined, odd names
    /// included; `incomplete`: there were more notes than the bound, or one was longer than the
    /// bound.
    pub fn finish(self, scanned: usize, incomplete: bool) -> SearchAnswer {
        let mut chars_left = self.limits.result_chars_max;
        let mut matches = Vec::new();
        for Candidate { rank, window } in self.best.into_sorted_vec() {
            let available = chars_left.saturating_sub(rank.name.len());
            if available == 0 {
                break;
            }
            let snippet = window.snippet(available);
            chars_left = available - snippet.chars().count();
            #[expect(
                clippy::cast_precision_loss,
                reason = "hits of one note are far below 2^52"
            )]
            let score = rank.score as f64;
            matches.push(SearchMatch {
                file: rank.name,
                snippet,
                score,
            });
        }
        let truncated = incomplete || self.over_long || self.matched > matches.len();
        SearchAnswer {
            matches,
            scanned,
            truncated,
        }
    }
}

/// Place of a match in the answer: the smaller, the earlier. More hits come first, then names
/// ascending by code point.
#[derive(Debug, PartialEq, Eq)]
struct Rank {
    score: u64,
    name: String,
}

impl Ord for Rank {
    fn cmp(&self, other: &Self) -> Ordering {
        other
            .score
            .cmp(&self.score)
            .then_with(|| self.name.cmp(&other.name))
    }
}

impl PartialOrd for Rank {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A match that may be returned.
#[derive(Debug)]
struct Candidate {
    rank: Rank,
    window: Window,
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.rank == other.rank
    }
}

impl Eq for Candidate {}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank.cmp(&other.rank)
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests;
