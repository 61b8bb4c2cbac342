//! Search: query rules, scoring, order and snippets of `search_memory`.

use crate::Refusal;

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
    /// # Errors
    ///
    /// [`Refusal::Nul`], [`Refusal::QueryTooLong`], [`Refusal::QueryEmpty`],
    /// [`Refusal::QueryTooManyTerms`].
    pub fn parse(query: &str) -> Result<Self, Refusal> {
        let _ = query;
        todo!()
    }

    /// The distinct terms, lower-cased, in first-seen order.
    pub fn lowered_terms(&self) -> &[String] {
        &self.lowered
    }
}

/// Collects candidates and answers. A store may leave out candidates that can't match; what it
/// examined in all it says at the end.
#[derive(Debug)]
pub struct Scan<'q> {
    query: &'q SearchQuery,
    limits: SearchLimits,
}

impl<'q> Scan<'q> {
    /// A scan without candidates.
    pub fn new(query: &'q SearchQuery, limits: SearchLimits) -> Self {
        Self { query, limits }
    }

    /// Scores one note. `content` may be longer than the bound; only the bounded prefix counts.
    /// A note whose name tools can't address is passed over.
    pub fn add(&mut self, name: &str, content: &str) {
        let _ = (name, content, self.query, self.limits);
        todo!()
    }

    /// Orders the matches and cuts them to the bounds. `scanned`: notes examined, odd names
    /// included; `incomplete`: there were more notes than the bound, or one was longer than the
    /// bound.
    pub fn finish(self, scanned: usize, incomplete: bool) -> SearchAnswer {
        let _ = (scanned, incomplete);
        todo!()
    }
}
