//! What is looked for.

use unicode_normalization::UnicodeNormalization;

use super::{
    classes::is_hangul_syllable,
    fold::folded,
    terms::{Kind, Occurrence, occurrences},
};
use crate::char_prefix;

/// Longest query, in characters. Of a longer one so many from the front count.
pub const RECALL_QUERY_CHARS_MAX: usize = 1_000;

/// Most terms of a query. Of more the first count.
pub const RECALL_TERMS_MAX: usize = 32;

/// Shortest word that also finds longer words that begin with it, in characters. Korean ones may have
/// one syllable.
const PREFIX_CHARS_MIN: usize = 3;

/// Shortest word that is also found inside of others, in characters. A query as a whole may be shorter.
const SUBSTRING_CHARS_MIN: usize = 3;

/// What is looked for: any text, in which nothing is syntax.
///
/// ```
/// use notekeeper_domain::RecallQuery;
///
/// let query = RecallQuery::parse("Is C++ in src/Auth.rs?");
/// assert_eq!(query.exact(), ["is", "c++", "in", "src/auth.rs", "src", "auth.rs", "auth", "rs"]);
/// assert_eq!(query.prefixes(), ["c++", "src/auth.rs", "src", "auth.rs", "auth"]);
/// assert_eq!(query.substrings()[0], "is c++ in src/auth.rs?");
/// assert!(RecallQuery::parse(" \n").is_empty());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecallQuery {
    terms: Vec<Term>,
    exact: Vec<String>,
    prefixes: Vec<String>,
    substrings: Vec<String>,
}

/// A term that is looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Term {
    pub(super) text: String,
    /// Whether it is found in terms that begin with it.
    pub(super) prefix: bool,
    /// What a fact has that holds a term that begins with it.
    pub(super) prefix_is_whole: bool,
    /// Whether finding it whole counts no more than finding what begins with it: it is a part of a
    /// term that is looked for as well, and isn't meant by itself.
    pub(super) glued: bool,
}

impl RecallQuery {
    /// Takes any text for what it says. Never fails: of a query that is longer than
    /// [`RECALL_QUERY_CHARS_MAX`] characters, or has more than [`RECALL_TERMS_MAX`] terms, the front
    /// counts.
    pub fn parse(text: &str) -> Self {
        let whole = folded(char_prefix(text, RECALL_QUERY_CHARS_MAX).0);
        let composed: String = whole.nfc().collect();
        let terms = terms(&composed);
        let texts = |wanted: fn(&Term) -> bool| {
            let wanted = terms.iter().filter(|term| wanted(term));
            wanted.map(|term| term.text.clone()).collect()
        };
        let exact = texts(|term| !term.prefix_is_whole);
        let prefixes = texts(|term| term.prefix);
        let substrings = substrings(whole, &terms);
        Self {
            exact,
            prefixes,
            substrings,
            terms,
        }
    }

    /// Whether there is nothing to look for: white space, controls and stray marks alone.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Terms that are looked for as they are.
    pub fn exact(&self) -> &[String] {
        &self.exact
    }

    /// Terms that are looked for at the beginning of others: those from `prefix` on, and before
    /// [`prefix_end`] of it, by code point.
    pub fn prefixes(&self) -> &[String] {
        &self.prefixes
    }

    /// Texts that are looked for anywhere in [`folded_fact`](super::folded_fact): the whole query, and
    /// words of some length. Nothing in them is a pattern.
    pub fn substrings(&self) -> &[String] {
        &self.substrings
    }

    pub(super) fn terms(&self) -> &[Term] {
        &self.terms
    }

    /// Whether the whole query, which is the first of the substrings, says more than its one term.
    pub(super) fn is_phrase(&self) -> bool {
        match &*self.terms {
            [] => false,
            [term] => !term.text.nfd().eq(self.substrings[0].chars()),
            _ => true,
        }
    }
}

/// The first string by code point that comes after all that begin with `prefix`; `None` where there
/// is none, because `prefix` is empty or U+10FFFF alone, repeated.
///
/// ```
/// use notekeeper_domain::prefix_end;
///
/// assert_eq!(prefix_end("migrat").as_deref(), Some("migrau"));
/// assert_eq!(prefix_end("a\u{d7ff}").as_deref(), Some("a\u{e000}"), "surrogates are no characters");
/// assert_eq!(prefix_end("a\u{10ffff}").as_deref(), Some("b"));
/// assert_eq!(prefix_end("\u{10ffff}"), None);
/// ```
pub fn prefix_end(prefix: &str) -> Option<String> {
    let front = prefix.trim_end_matches(char::MAX);
    let last = front.chars().next_back()?;
    // A range of characters leaves the surrogates out.
    let next = (last..=char::MAX).nth(1)?;
    Some(format!("{}{next}", &front[..front.len() - last.len_utf8()]))
}

fn terms(composed: &str) -> Vec<Term> {
    let mut terms: Vec<Term> = Vec::new();
    for found in occurrences(composed) {
        if is_passed_over(&found) {
            continue;
        }
        let glued = found.kind == Kind::Glued;
        if let Some(known) = terms.iter_mut().find(|term| term.text == found.term) {
            known.glued &= glued;
            continue;
        }
        if terms.len() < RECALL_TERMS_MAX {
            terms.push(Term {
                text: found.term.to_owned(),
                prefix: is_prefix(&found),
                prefix_is_whole: matches!(found.kind, Kind::Last { .. }),
                glued,
            });
        }
    }
    terms
}

/// Whether a term says nothing beside the others of its text.
fn is_passed_over(found: &Occurrence<'_>) -> bool {
    match found.kind {
        Kind::Glued => found.term.chars().nth(1).is_none(),
        Kind::Last { alone } => !alone,
        Kind::Whole | Kind::Symbols | Kind::Pair => false,
    }
}

fn is_prefix(found: &Occurrence<'_>) -> bool {
    match found.kind {
        Kind::Whole | Kind::Glued => {
            let chars_min = match found.term.chars().next().is_some_and(is_hangul_syllable) {
                true => 1,
                false => PREFIX_CHARS_MIN,
            };
            found.term.chars().count() >= chars_min
        }
        Kind::Last { .. } => true,
        Kind::Symbols | Kind::Pair => false,
    }
}

/// The whole query and its longer words, decomposed as folded texts are.
fn substrings(whole: String, terms: &[Term]) -> Vec<String> {
    if terms.is_empty() {
        return Vec::new();
    }
    let mut substrings = vec![whole];
    for term in terms {
        let long = term.text.chars().count() >= SUBSTRING_CHARS_MIN;
        let text: String = term.text.nfd().collect();
        if long && !substrings.contains(&text) {
            substrings.push(text);
        }
    }
    substrings
}
