//! Search: query rules, scoring, order and snippets of `search_memory`.

use std::{cmp::Ordering, collections::BinaryHeap};

use memchr::memmem::Finder;

use crate::{
    QUERY_CHARS_MAX, QUERY_TERMS_MAX, Refusal,
    note_name::is_tool_name,
    text::{char_prefix, is_space, lowercase},
};

/// Weight of a hit in the name of a note against one in its text.
const NAME_WEIGHT: u64 = 2;

/// Characters at an end of a snippet that become dots where text was cut off.
const CUT_MARK_CHARS: usize = 3;

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
        }
    }

    /// Scores one note. `content` may be longer than the bound; only the bounded prefix counts.
    /// A note whose name breaks the rule for names in tool calls is passed over; one that keeps it
    /// but doesn't end in `.md` is not.
    pub fn add(&mut self, name: &str, content: &str) {
        let (content, cut) = char_prefix(content, self.limits.note_chars_max);
        self.over_long |= cut;
        if !is_tool_name(name) {
            return;
        }
        let (hits_in_name, _) = self.count(&lowercase(name));
        let (hits, first) = self.count(&lowercase(content));
        let score = hits + NAME_WEIGHT * hits_in_name;
        if score == 0 {
            return;
        }
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
        let hit = first.map_or(0, |lowered| original_index(content, lowered));
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

    /// Hits of all terms in lower-cased text, each term's counted without overlap, and the byte
    /// at which the first begins.
    fn count(&self, lowered: &str) -> (u64, Option<usize>) {
        let mut hits = 0;
        let mut first: Option<usize> = None;
        for finder in &self.finders {
            for at in finder.find_iter(lowered.as_bytes()) {
                hits += 1;
                first = Some(first.map_or(at, |earlier| earlier.min(at)));
            }
        }
        (hits, first)
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

/// The part of a note that a snippet can come from, whatever room it will have.
#[derive(Debug)]
struct Window {
    chars: Vec<char>,
    /// Index of the first hit in `chars`.
    hit: usize,
    /// Whether the note has text before and after the part.
    cut_before: bool,
    cut_after: bool,
}

impl Window {
    /// The characters up to `reach` before and after the one at index `hit`.
    fn around(content: &str, hit: usize, reach: usize) -> Self {
        let start = hit.saturating_sub(reach);
        let mut rest = content.chars().skip(start);
        let length = (hit - start).saturating_add(reach);
        let chars: Vec<char> = rest.by_ref().take(length).collect();
        Self {
            chars,
            hit: hit - start,
            cut_before: start > 0,
            cut_after: rest.next().is_some(),
        }
    }

    /// At most `room` characters around the hit, a third of them before it.
    fn snippet(&self, room: usize) -> String {
        let wanted = self.hit.saturating_sub(room / 3);
        let end = self.chars.len().min(wanted.saturating_add(room));
        let start = end.saturating_sub(room);
        let mut chars = self.chars[start..end].to_vec();
        let marked = CUT_MARK_CHARS.min(chars.len());
        let length = chars.len();
        if start > 0 || self.cut_before {
            chars[..marked].fill('.');
        }
        if end < self.chars.len() || self.cut_after {
            chars[length - marked..].fill('.');
        }
        chars.into_iter().collect()
    }
}

/// Index of the character of `content` whose lower-case form holds byte `lowered` of the
/// lower-cased text. Some characters grow or shrink by lower-casing, so the byte can't be used on
/// the original.
fn original_index(content: &str, lowered: usize) -> usize {
    let mut end = 0;
    content
        .chars()
        .take_while(|c| {
            end += if c.is_ascii() {
                1
            } else {
                c.to_lowercase().map(char::len_utf8).sum()
            };
            end <= lowered
        })
        .count()
}

#[cfg(test)]
mod tests;
