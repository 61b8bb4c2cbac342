//! Terms: what of a folded text stands in the index.
//!
//! White space parts a text into pieces, and characters of scripts without spaces part a piece from
//! what is beside them. A piece of words and symbols gives terms of several sizes: of `(src/auth.rs)`
//! there are `src/auth.rs`, `src`, `auth.rs`, `auth` and `rs`. A run of Chinese gives its pairs of
//! neighbours, and its last character; one of Thai three characters from each on. So what begins at any
//! character is found, and a single character at the beginning of a pair.

use std::collections::BTreeSet;

use super::classes::{Class, class};

/// Most terms of one fact: about those of the longest value in English, and the first 4,000 characters
/// of one in Chinese. What stands beyond is found as a substring alone.
pub const FACT_TERMS_MAX: usize = 4_096;

/// Longest term, in characters. Of what is longer so many characters from the front are the term.
pub const TERM_CHARS_MAX: usize = 64;

/// Longest term, in bytes: an index row of PostgreSQL has room for 2,704, so beside the longest scope
/// (2,000) and the longest key of a fact (500) there is some left.
pub const TERM_BYTES_MAX: usize = 150;

/// A term where it stands in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Occurrence<'t> {
    pub(crate) term: &'t str,
    pub(crate) kind: Kind,
}

/// What a term is in its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Words, or a word with symbols: `tea`, `src/auth.rs`, `c++`.
    Whole,
    /// A word that isn't meant by itself, such as the `c` of `c++` and the `t` of `don't`.
    Glued,
    /// Symbols alone.
    Symbols,
    /// Neighbours in a run without spaces.
    Window,
    /// Fewer than are looked for together, because the run ends there.
    Tail {
        /// Whether the run begins there as well.
        alone: bool,
    },
}

/// The terms of a fact's folded and composed texts, key first, as far as the bound reaches: those that
/// stand in its key, and those in its value.
pub(super) fn fact_occurrences<'t>(
    key: &'t str,
    value: &'t str,
) -> (Vec<Occurrence<'t>>, Vec<Occurrence<'t>>) {
    let mut in_key = occurrences(key);
    let mut in_value = occurrences(value);
    if in_key.len() + in_value.len() > FACT_TERMS_MAX {
        let mut distinct = BTreeSet::new();
        cut(&mut in_key, &mut distinct);
        cut(&mut in_value, &mut distinct);
    }
    (in_key, in_value)
}

/// Cuts where another distinct term would be one too many.
fn cut<'t>(occurrences: &mut Vec<Occurrence<'t>>, distinct: &mut BTreeSet<&'t str>) {
    let end = occurrences.iter().position(|found| {
        let full = distinct.len() == FACT_TERMS_MAX;
        (full && !distinct.contains(found.term)) || {
            distinct.insert(found.term);
            false
        }
    });
    if let Some(end) = end {
        occurrences.truncate(end);
    }
}

/// All terms of a folded and composed text, in the order in which they stand there.
pub(crate) fn occurrences(text: &str) -> Vec<Occurrence<'_>> {
    let mut found = Found(Vec::new());
    for piece in text.split(' ').filter(|piece| !piece.is_empty()) {
        found.take_piece(piece);
    }
    found.0
}

struct Found<'t>(Vec<Occurrence<'t>>);

impl<'t> Found<'t> {
    fn push(&mut self, term: &'t str, kind: Kind) {
        let term = bounded(term);
        self.0.push(Occurrence { term, kind });
    }

    /// Takes what stands between two spaces.
    fn take_piece(&mut self, mut piece: &'t str) {
        if piece.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return self.push(piece, Kind::Whole);
        }
        while let Some(first) = piece.chars().next() {
            let dense = is_dense(first);
            let end = piece.find(|c| is_dense(c) != dense).unwrap_or(piece.len());
            let (run, rest) = piece.split_at(end);
            match dense {
                true => self.take_dense(run),
                false => self.take_words(run),
            }
            piece = rest;
        }
    }

    /// Takes as many neighbours from each character on as are looked for together.
    fn take_dense(&mut self, run: &'t str) {
        for (start, first) in run.char_indices() {
            let Class::Dense(length) = class(first) else {
                continue;
            };
            let rest = &run[start..];
            match rest.char_indices().nth(length - 1) {
                Some((last, c)) => self.push(&rest[..last + c.len_utf8()], Kind::Window),
                None => self.push(rest, Kind::Tail { alone: start == 0 }),
            }
        }
    }

    /// Takes words, and symbols between them.
    fn take_words(&mut self, run: &'t str) {
        if !has_word(run) {
            return self.push(run, Kind::Symbols);
        }
        let trimmed = trim(run);
        if trimmed.contains(is_separator) {
            self.push(trimmed, Kind::Whole);
        }
        for atom in trimmed.split(is_separator).filter(|atom| has_word(atom)) {
            self.take_atom(trim(atom));
        }
    }

    /// Takes words that are held together by symbols, or one by itself.
    fn take_atom(&mut self, atom: &'t str) {
        self.push(atom, Kind::Whole);
        if atom.chars().all(is_word) {
            return;
        }
        let mut start = 0;
        let mut led = true;
        while let Some(skipped) = atom[start..].find(is_word) {
            let begin = start + skipped;
            let end = atom[begin..]
                .find(|c| !is_word(c))
                .map_or(atom.len(), |length| begin + length);
            let word = &atom[begin..end];
            let first = std::mem::replace(&mut led, false) && begin > 0;
            let last = end < atom.len() && !has_word(&atom[end..]);
            let glued = first || last || word.chars().nth(1).is_none();
            let kind = if glued { Kind::Glued } else { Kind::Whole };
            self.push(word, kind);
            start = end;
        }
    }
}

/// Without quotation marks, brackets, signs of emphasis, ends of sentences and stars behind it. There is a word
/// in it, before and after.
pub(super) fn trim(text: &str) -> &str {
    let mut left = text;
    loop {
        let before = left.len();
        left = left.trim_matches(|c| is_separator(c) || c == '\'');
        left = left.trim_end_matches(['.', '-', '*']);
        if left.starts_with("..") {
            left = left.trim_start_matches('.');
        }
        left = without_emphasis(left);
        if left.len() == before {
            return left;
        }
    }
}

/// Without `*`, `_` and `~` at both ends.
fn without_emphasis(text: &str) -> &str {
    let ends = ['*', '_', '~'];
    let inner = ends
        .iter()
        .find_map(|&end| text.strip_prefix(end)?.strip_suffix(end));
    inner.unwrap_or(text)
}

pub(super) fn has_word(text: &str) -> bool {
    text.contains(is_word)
}

pub(crate) fn is_dense(c: char) -> bool {
    matches!(class(c), Class::Dense(_))
}

fn is_word(c: char) -> bool {
    class(c) == Class::Word
}

fn is_separator(c: char) -> bool {
    class(c) == Class::Separator
}

/// The front of a text that is a term.
fn bounded(text: &str) -> &str {
    if text.len() <= TERM_CHARS_MAX {
        return text;
    }
    let end = text
        .char_indices()
        .nth(TERM_CHARS_MAX)
        .map_or(text.len(), |(end, _)| end);
    &text[..text.floor_char_boundary(end.min(TERM_BYTES_MAX))]
}
