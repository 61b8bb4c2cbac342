//! The order of passages: BM25 over terms, and over words that are like them.
//!
//! Of numbers only sums, products, quotients are taken, so the order is the same on every machine.

use std::{cmp::Ordering, collections::BTreeMap};

use memchr::memmem::Finder;

use super::similar::Grams;
use crate::recall::{
    Kind, Occurrence, RecallQuery, Term, composed, folded, occurrences, substring_chars_min,
};

/// How soon it stops to count that a term stands there again.
const K1: f64 = 1.2;

/// How much it counts against a passage that it is long.
const B: f64 = 0.6;

/// What a term in the title counts against one in the text.
const TITLE_WEIGHT: f64 = 2.0;

/// What a passage gains that has the whole query word for word.
const PHRASE_GAIN: f64 = 1.2;

/// What it counts to hold the whole query.
const WHOLE_WEIGHT: f64 = 0.3;

/// Distinct words whose likeness to the query is kept. Those of more texts are compared again where they
/// stand again.
const WORDS_KEPT_MAX: usize = 100_000;

/// Ranks passages by a query.
///
/// Passages are offered one after the other, and each has the number of its turn. There are two orders:
///
/// - `words`: passages with the query's terms as they are, or at the beginning of a longer word.
/// - `similar`: those with the query's terms, or with words like them: that have at least half of their parts of
///   three characters in common, or a third where one keystroke lies between them (two in words of eight
///   characters and more), or that begin like that; words that hold one of the query's longer words; and, where there
///   is none of these, passages that hold the whole query, inside of words or across them.
///
/// A term counts by how few of the passages have it, by how often it stands there, and by how much of it does.
/// Passages that are as good keep the order in which they were offered.
///
/// ```
/// use notekeeper_domain::{FullText, RecallQuery};
///
/// let query = RecallQuery::parse("postgers migrat");
/// let mut text = FullText::new(&query);
/// for (title, passage) in [
///     ("tea", "Green tea, no sugar."),
///     ("database", "PostgreSQL: run the migration first."),
///     ("deploy", "Postgres is deployed on Mondays."),
/// ] {
///     text.offer(title, passage);
/// }
/// let ranked = text.finish(10);
/// let of = |found: &[notekeeper_domain::RankedText]| found.iter().map(|it| it.index).collect::<Vec<_>>();
/// assert_eq!(of(&ranked.words), [1], "`migrat` begins a word");
/// assert_eq!(of(&ranked.similar), [1, 2]);
/// ```
#[derive(Debug)]
pub struct FullText<'q> {
    query: &'q RecallQuery,
    wanted: Vec<Wanted<'q>>,
    phrases: Vec<Finder<'q>>,
    /// The whole query, as it is and without punctuation around it.
    whole: Vec<Finder<'q>>,
    known: BTreeMap<String, Vec<Match>>,
    matching: Vec<Matching>,
    offered: usize,
    /// Terms of all passages.
    length: u64,
}

/// A passage in an order.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankedText {
    /// Which one was offered: the first is 0.
    pub index: usize,
    /// How good it is: above 0, and at most 1.
    pub score: f64,
}

/// Both orders, best first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RankedTexts {
    /// By terms as they are, or that begin words.
    pub words: Vec<RankedText>,
    /// By these and by words that are like them.
    pub similar: Vec<RankedText>,
}

/// A term of the query.
#[derive(Debug)]
struct Wanted<'q> {
    term: &'q Term,
    chars: usize,
    grams: Option<Grams>,
    /// Whether words are looked into for it.
    inside: bool,
}

/// What a word has of a term of the query.
#[derive(Debug, Clone, Copy)]
struct Match {
    term: usize,
    weight: f64,
    /// Whether it is the term or begins with it.
    is_word: bool,
}

/// A passage that has something of the query.
#[derive(Debug)]
struct Matching {
    index: usize,
    length: u64,
    has_phrase: bool,
    /// For each term of the query that it has something of: how much, by the orders. Behind the last term
    /// comes the whole query.
    counts: Vec<(usize, Counts)>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    words: f64,
    similar: f64,
}

impl<'q> FullText<'q> {
    /// A ranking without passages.
    pub fn new(query: &'q RecallQuery) -> Self {
        let wanted = |term: &'q Term| {
            let chars = term.text.chars().count();
            Wanted {
                term,
                chars,
                grams: Grams::of(&term.text),
                inside: term.prefix && chars >= substring_chars_min(&term.text),
            }
        };
        let finder = |text: &'q String| Finder::new(text.as_bytes());
        Self {
            query,
            wanted: query.terms().iter().map(wanted).collect(),
            phrases: query.phrases().iter().map(finder).collect(),
            whole: query.whole().iter().map(finder).collect(),
            known: BTreeMap::new(),
            matching: Vec::new(),
            offered: 0,
            length: 0,
        }
    }

    /// Looks at a passage under a title, such as its note's name and its headings. Whether it has anything of
    /// the query: any other isn't in an order.
    pub fn offer(&mut self, title: &str, text: &str) -> bool {
        let index = self.offered;
        self.offered += 1;
        if self.query.is_empty() {
            return false;
        }
        let (title, text) = (folded(title), folded(text));
        let (composed_title, composed_text) = (composed(&title), composed(&text));
        let (in_title, in_text) = (occurrences(&composed_title), occurrences(&composed_text));
        let length = (in_title.len() + in_text.len()) as u64;
        self.length += length;
        let mut counts = vec![Counts::default(); self.wanted.len() + 1];
        for (found, weight) in [(&in_title, TITLE_WEIGHT), (&in_text, 1.0)] {
            for occurrence in found {
                self.count(occurrence, weight, &mut counts);
            }
        }
        let holds = |finder: &Finder<'_>| {
            let within = |text: &String| finder.find(text.as_bytes()).is_some();
            within(&text) || within(&title)
        };
        let has_word = counts.iter().any(|counts| counts.similar > 0.0);
        if !has_word && self.whole.iter().any(holds) {
            counts[self.wanted.len()].similar = WHOLE_WEIGHT;
        }
        let counts: Vec<(usize, Counts)> = counts
            .into_iter()
            .enumerate()
            .filter(|(_, counts)| counts.similar > 0.0)
            .collect();
        let matches = !counts.is_empty();
        if matches {
            self.matching.push(Matching {
                index,
                length,
                has_phrase: self.phrases.iter().any(holds),
                counts,
            });
        }
        matches
    }

    fn count(&mut self, found: &Occurrence<'_>, weight: f64, counts: &mut [Counts]) {
        let compared;
        let matches = match self.known.get(found.term) {
            Some(known) => known,
            None => {
                compared = self.compared(found.term);
                if self.known.len() < WORDS_KEPT_MAX {
                    self.known.entry(found.term.to_owned()).or_insert(compared)
                } else {
                    &compared
                }
            }
        };
        for of_term in matches {
            let glued = found.kind == Kind::Glued && !self.wanted[of_term.term].term.glued;
            let weight = weight * of_term.weight * if glued { 0.5 } else { 1.0 };
            let count = &mut counts[of_term.term];
            count.similar += weight;
            if of_term.is_word {
                count.words += weight;
            }
        }
    }

    /// What a word has of the terms of the query.
    fn compared(&self, word: &str) -> Vec<Match> {
        let chars = word.chars().count();
        let grams = self
            .wanted
            .iter()
            .any(|wanted| wanted.grams.is_some())
            .then(|| Grams::of(word))
            .flatten();
        let mut matches = Vec::new();
        for (term, wanted) in self.wanted.iter().enumerate() {
            let (weight, is_word) = wanted.weight(word, chars, grams.as_ref());
            if weight > 0.0 {
                matches.push(Match {
                    term,
                    weight,
                    is_word,
                });
            }
        }
        matches
    }

    /// Both orders, at most `limit` passages in each.
    pub fn finish(self, limit: usize) -> RankedTexts {
        RankedTexts {
            words: self.ranked(limit, |counts| counts.words),
            similar: self.ranked(limit, |counts| counts.similar),
        }
    }

    fn ranked(&self, limit: usize, of: fn(&Counts) -> f64) -> Vec<RankedText> {
        let rarities = self.rarities(of);
        let best: f64 = rarities.iter().map(|rarity| rarity * (K1 + 1.0)).sum();
        #[expect(clippy::cast_precision_loss, reason = "there are far fewer terms")]
        let mean = (self.length as f64 / self.offered.max(1) as f64).max(1.0);
        let mut ranked: Vec<RankedText> = self
            .matching
            .iter()
            .filter_map(|matching| {
                let score = matching.score(&rarities, mean, of) / (best * PHRASE_GAIN);
                (score > 0.0).then_some(RankedText {
                    index: matching.index,
                    score,
                })
            })
            .collect();
        let order = |one: &RankedText, other: &RankedText| {
            let by_score = other.score.partial_cmp(&one.score);
            by_score
                .unwrap_or(Ordering::Equal)
                .then(one.index.cmp(&other.index))
        };
        if limit < ranked.len() {
            ranked.select_nth_unstable_by(limit, order);
            ranked.truncate(limit);
        }
        ranked.sort_unstable_by(order);
        ranked
    }

    /// What each term weighs: the more, the fewer passages have something of it.
    fn rarities(&self, of: fn(&Counts) -> f64) -> Vec<f64> {
        let mut having = vec![0_usize; self.wanted.len() + 1];
        for matching in &self.matching {
            for (term, counts) in &matching.counts {
                having[*term] += usize::from(of(counts) > 0.0);
            }
        }
        #[expect(clippy::cast_precision_loss, reason = "there are far fewer passages")]
        let rarity = |having: usize| {
            let without = (self.offered - having) as f64 + 0.5;
            log2(1.0 + without / (having as f64 + 0.5))
        };
        having.into_iter().map(rarity).collect()
    }
}

impl Wanted<'_> {
    /// How much of the term a word is, and whether it is the term or begins with it.
    fn weight(&self, word: &str, chars: usize, grams: Option<&Grams>) -> (f64, bool) {
        #[expect(clippy::cast_precision_loss, reason = "words are short")]
        let part = self.chars as f64 / chars.max(1) as f64;
        let text = self.term.text.as_str();
        if word == text {
            return (if self.term.glued { 0.5 } else { 1.0 }, true);
        }
        if self.term.prefix && word.starts_with(text) {
            let weight = if self.term.prefix_is_whole {
                1.0
            } else {
                0.3 + 0.5 * part
            };
            return (weight, true);
        }
        let inside = match self.inside && word.contains(text) {
            true => 0.1 + 0.4 * part,
            false => 0.0,
        };
        let similar = match (&self.grams, grams) {
            (Some(wanted), Some(found)) => wanted.similarity(found),
            _ => 0.0,
        };
        (inside.max(similar * similar), false)
    }
}

impl Matching {
    fn score(&self, rarities: &[f64], mean: f64, of: fn(&Counts) -> f64) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "there are far fewer terms")]
        let length = K1 * (1.0 - B + B * self.length as f64 / mean);
        let sum: f64 = self
            .counts
            .iter()
            .map(|(term, counts)| {
                let count = of(counts);
                rarities[*term] * count * (K1 + 1.0) / (count + length)
            })
            .sum();
        if self.has_phrase {
            sum * PHRASE_GAIN
        } else {
            sum
        }
    }
}

/// About the logarithm to base 2 of a number from 1 on: exact at its powers, straight between them. Those of
/// mathematical libraries differ in the last digit.
fn log2(number: f64) -> f64 {
    let mut power = 1.0;
    let mut exponent = 0.0;
    while power * 2.0 <= number {
        power *= 2.0;
        exponent += 1.0;
    }
    exponent + (number - power) / power
}
