//! What is looked for.

use std::cmp::Reverse;

use unicode_normalization::UnicodeNormalization;

use super::{
    classes::{is_han, is_hangul_syllable},
    fold::folded,
    terms::{Kind, Occurrence, has_word, occurrences, trim},
};
use crate::char_prefix;

/// Longest query, in characters. Of a longer one so many from the front count.
pub const RECALL_QUERY_CHARS_MAX: usize = 1_000;

/// Most terms of a query. Of more the first count.
pub const RECALL_TERMS_MAX: usize = 32;

/// Most words of a query that are looked for anywhere in a text, inside of other words as well. Of more
/// the longest count. Each is looked for in all facts of a scope, because no index finds them.
pub const RECALL_SUBSTRINGS_MAX: usize = 8;

/// Shortest word that also finds longer words that begin with it, in characters. Korean ones may have
/// one syllable.
const PREFIX_CHARS_MIN: usize = 3;

/// Run of Han characters from which on it is taken for a sentence, in characters: its characters are
/// looked for one by one as well. A shorter one is taken for a word, all of which is meant.
const SENTENCE_CHARS_MIN: usize = 5;

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
    phrases: Vec<String>,
}

/// A term that is looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Term {
    pub(crate) text: String,
    /// Whether it is found in terms that begin with it.
    pub(crate) prefix: bool,
    /// What a fact has that holds a term that begins with it.
    pub(crate) prefix_is_whole: bool,
    /// Whether finding it whole counts no more than finding what begins with it: it is a part of a
    /// term that is looked for as well, and isn't meant by itself.
    pub(crate) glued: bool,
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
        let phrases = phrases(&whole, &terms);
        let substrings = substrings(whole, &terms);
        Self {
            exact,
            prefixes,
            substrings,
            phrases,
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

    /// Texts that are looked for anywhere in [`folded_fact`](super::folded_fact): the whole query, as
    /// it is and without punctuation around it, and its longest words, at most
    /// [`RECALL_SUBSTRINGS_MAX`], where they have some length. Nothing in them is a pattern.
    pub fn substrings(&self) -> &[String] {
        &self.substrings
    }

    /// The fewest of the [substrings](Self::substrings) by which all texts are found that hold one of
    /// them: whatever holds another one holds one of these.
    ///
    /// ```
    /// use notekeeper_domain::RecallQuery;
    ///
    /// let query = RecallQuery::parse("see src/auth.rs");
    /// assert_eq!(query.substrings(), ["see src/auth.rs", "src/auth.rs", "auth.rs", "auth"]);
    /// assert_eq!(query.fewest_substrings(), ["auth"]);
    /// ```
    pub fn fewest_substrings(&self) -> Vec<String> {
        // None is there twice.
        let holds_another = |text: &String| {
            let mut others = self.substrings.iter().filter(|other| *other != text);
            others.any(|other| text.contains(other.as_str()))
        };
        let fewest = self.substrings.iter().filter(|text| !holds_another(text));
        fewest.cloned().collect()
    }

    /// The whole query, as it is and without punctuation around it: the front of its substrings.
    pub(crate) fn whole(&self) -> &[String] {
        let Some(whole) = self.substrings.first() else {
            return &[];
        };
        &self.substrings[..1 + usize::from(trimmed(whole).is_some())]
    }

    pub(crate) fn terms(&self) -> &[Term] {
        &self.terms
    }

    /// The whole query, as it is and without punctuation around it, where that says more than its
    /// terms.
    pub(crate) fn phrases(&self) -> &[String] {
        &self.phrases
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
    let occurrences = occurrences(composed);
    let mut terms: Vec<Term> = Vec::new();
    for found in occurrences.iter().filter(|found| !is_passed_over(found)) {
        let glued = found.kind == Kind::Glued;
        match terms.iter_mut().find(|term| term.text == found.term) {
            Some(known) => known.glued &= glued,
            None => terms.push(Term {
                text: found.term.to_owned(),
                prefix: is_prefix(found),
                prefix_is_whole: matches!(found.kind, Kind::Tail { .. }),
                glued,
            }),
        }
    }
    for text in characters_of_sentences(&occurrences) {
        if terms.iter().all(|term| term.text != text) {
            terms.push(Term {
                text,
                prefix: true,
                prefix_is_whole: false,
                glued: true,
            });
        }
    }
    terms.truncate(RECALL_TERMS_MAX);
    terms
}

/// Whether a term says nothing beside the others of its text.
fn is_passed_over(found: &Occurrence<'_>) -> bool {
    match found.kind {
        Kind::Glued => found.term.chars().nth(1).is_none(),
        Kind::Tail { alone } => !alone,
        Kind::Whole | Kind::Symbols | Kind::Window => false,
    }
}

/// The Han characters of runs that are sentences.
fn characters_of_sentences(occurrences: &[Occurrence<'_>]) -> Vec<String> {
    let mut characters = Vec::new();
    let in_run = |found: &Occurrence<'_>| matches!(found.kind, Kind::Window | Kind::Tail { .. });
    let ends_run = |found: &Occurrence<'_>| found.term.chars().nth(1).is_none();
    for run in occurrences.split_inclusive(|found| !in_run(found) || ends_run(found)) {
        let firsts = run.iter().filter(|found| in_run(found));
        let firsts: Vec<char> = firsts
            .filter_map(|found| found.term.chars().next())
            .collect();
        if firsts.len() >= SENTENCE_CHARS_MIN {
            let han = firsts.into_iter().filter(|&first| is_han(first));
            characters.extend(han.map(String::from));
        }
    }
    characters
}

fn is_prefix(found: &Occurrence<'_>) -> bool {
    match found.kind {
        Kind::Whole | Kind::Glued => {
            let chars_min = match found.term.starts_with(is_hangul_syllable) {
                true => 1,
                false => PREFIX_CHARS_MIN,
            };
            found.term.chars().count() >= chars_min
        }
        Kind::Tail { .. } => true,
        Kind::Symbols | Kind::Window => false,
    }
}

/// Shortest word that is also found inside of others, in characters: of scripts whose letters have a
/// case, where short words stand inside of many; of Korean; and of the others, which write articles and
/// prepositions without a space. A query as a whole may be shorter.
pub(crate) fn substring_chars_min(term: &str) -> usize {
    let first = term.chars().next().unwrap_or_default();
    match first {
        _ if is_hangul_syllable(first) => 2,
        _ if !first.to_uppercase().eq([first]) => 4,
        _ => 3,
    }
}

/// The whole query, it without punctuation around it, and its longest words, decomposed as folded texts
/// are, in the order of the query.
fn substrings(whole: String, terms: &[Term]) -> Vec<String> {
    if terms.is_empty() {
        return Vec::new();
    }
    let inner = trimmed(&whole).map(str::to_owned);
    let mut substrings = vec![whole];
    substrings.extend(inner);
    let mut words: Vec<(usize, usize, String)> = Vec::new();
    for (at, term) in terms.iter().enumerate() {
        let chars = term.text.chars().count();
        let text: String = term.text.nfd().collect();
        let known = substrings.contains(&text) || words.iter().any(|(.., word)| *word == text);
        if chars >= substring_chars_min(&term.text) && !known {
            words.push((chars, at, text));
        }
    }
    // Of words of one length the first.
    words.sort_unstable_by_key(|(chars, at, _)| (Reverse(*chars), *at));
    words.truncate(RECALL_SUBSTRINGS_MAX);
    words.sort_unstable_by_key(|(_, at, _)| *at);
    substrings.extend(words.into_iter().map(|(.., word)| word));
    substrings
}

/// The whole query without punctuation around it, where there is some.
fn trimmed(whole: &str) -> Option<&str> {
    let has_words = has_word(whole);
    has_words
        .then(|| trim(whole))
        .filter(|inner| *inner != whole)
}

fn phrases(whole: &str, terms: &[Term]) -> Vec<String> {
    let mut phrases = vec![whole];
    phrases.extend(trimmed(whole));
    let says_more = |phrase: &&str| match terms {
        [term] => !term.text.nfd().eq(phrase.chars()),
        _ => !terms.is_empty(),
    };
    phrases
        .into_iter()
        .filter(says_more)
        .map(str::to_owned)
        .collect()
}
