//! What of a query one fact has.

use memchr::memmem::Finder;
use unicode_normalization::UnicodeNormalization;

use super::{
    fold::folded,
    query::{RecallQuery, Term},
    terms::{Kind, Occurrence, fact_occurrences},
};

/// A query made ready for looking at many facts.
#[derive(Debug)]
pub(super) struct Matcher<'q> {
    terms: &'q [Term],
    /// Indices of the terms, ascending by their text.
    by_text: Vec<usize>,
    substrings: Vec<Finder<'q>>,
    phrases: Vec<Finder<'q>>,
}

/// What a fact has of a query.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Matched {
    /// Terms that it has as they are; a bit each.
    pub(super) whole: u32,
    /// Terms that it has in another form: at the beginning of a word, or as a part of a term with
    /// symbols.
    pub(super) inexact: u32,
    /// Substrings that it has. Looked for where there is no term.
    pub(super) substrings: u64,
    /// Terms, or else substrings, that its key has.
    pub(super) in_key: u32,
    /// Forms of the whole query that it has, word for word.
    pub(super) phrases: u32,
}

impl Matched {
    pub(super) fn has_term(&self) -> bool {
        self.whole | self.inexact != 0
    }

    pub(super) fn is_match(&self) -> bool {
        self.has_term() || self.substrings != 0
    }
}

impl<'q> Matcher<'q> {
    pub(super) fn new(query: &'q RecallQuery) -> Self {
        let terms = query.terms();
        let mut by_text: Vec<usize> = (0..terms.len()).collect();
        by_text.sort_by_key(|&term| &terms[term].text);
        let finder = |text: &'q String| Finder::new(text.as_bytes());
        Self {
            terms,
            by_text,
            substrings: query.substrings().iter().map(finder).collect(),
            phrases: query.phrases().iter().map(finder).collect(),
        }
    }

    /// What a fact of this key and value has.
    pub(super) fn look(&self, key: &str, value: &str) -> Matched {
        let (key, value) = (folded(key), folded(value));
        let (composed_key, composed_value) = (composed(&key), composed(&value));
        let (in_key, in_value) = fact_occurrences(&composed_key, &composed_value);
        let mut matched = Matched::default();
        self.mark(&in_key, &mut matched);
        matched.in_key = (matched.whole | matched.inexact).count_ones();
        self.mark(&in_value, &mut matched);
        // What it has as it is says more than what it has besides.
        matched.inexact &= !matched.whole;
        if matched.has_term() {
            for phrase in &self.phrases {
                let has = [&key, &value].map(|text| phrase.find(text.as_bytes()).is_some());
                matched.phrases += u32::from(has.contains(&true));
            }
        } else {
            let in_key = self.substrings_in(&key);
            matched.in_key = in_key.count_ones();
            matched.substrings = in_key | self.substrings_in(&value);
        }
        matched
    }

    /// Marks the terms that stand in a text.
    fn mark(&self, occurrences: &[Occurrence<'_>], matched: &mut Matched) {
        for found in occurrences {
            let same = |&term: &usize| self.terms[term].text.as_str().cmp(found.term);
            if let Ok(at) = self.by_text.binary_search_by(same) {
                let term = self.by_text[at];
                let whole = found.kind != Kind::Glued && !self.terms[term].glued;
                matched.mark(term, whole);
            }
            for (term, wanted) in self.terms.iter().enumerate() {
                if wanted.prefix && found.term.starts_with(&wanted.text) {
                    matched.mark(term, wanted.prefix_is_whole);
                }
            }
        }
    }

    fn substrings_in(&self, text: &str) -> u64 {
        let mut found = 0;
        for (at, substring) in self.substrings.iter().enumerate() {
            if substring.find(text.as_bytes()).is_some() {
                found |= 1 << at;
            }
        }
        found
    }
}

impl Matched {
    fn mark(&mut self, term: usize, whole: bool) {
        match whole {
            true => self.whole |= 1 << term,
            false => self.inexact |= 1 << term,
        }
    }
}

/// A folded text in the form in which terms are made of it: a syllable of Korean is one character.
pub(crate) fn composed(folded: &str) -> String {
    match folded.is_ascii() {
        true => folded.to_owned(),
        false => folded.nfc().collect(),
    }
}
