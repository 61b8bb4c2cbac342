//! The order of facts in an answer.
//!
//! Numbers are integers up to the last step, so they are the same on every machine.

use super::{matching::Matched, query::RecallQuery};

/// Steps of a weight for each doubling of rarity.
const STEPS: u32 = 4;

/// Share of a score that tells facts with a term from those with a substring only.
const SUBSTRING_SCORE_MAX: f64 = 0.1;

/// How much a fact has of a query: the greater, the earlier it comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Grade {
    /// Whether it has a term.
    has_term: bool,
    /// What it has of the terms, or of the substrings, by their weights.
    weight: u32,
    /// Forms of the whole query that it has word for word.
    phrases: u32,
    /// How much of it is in the key.
    in_key: u32,
}

/// What the terms and substrings of a query weigh among the facts that match.
#[derive(Debug)]
pub(super) struct Weights {
    /// For each term: where a fact has it as it is, and where in another form.
    terms: Vec<(u32, u32)>,
    substrings: Vec<u32>,
    /// What a fact weighs that has everything in the best form.
    terms_max: u32,
    substrings_max: u32,
    /// Forms of the whole query that count besides its terms.
    phrases: u32,
}

impl Weights {
    /// Weighs a query by the facts that match it. The fewer have a term, the more it weighs: four
    /// steps for each halving. Finding it as it is counts twice as much as finding another form of it,
    /// or more.
    pub(super) fn of<'m>(query: &RecallQuery, facts: impl Iterator<Item = &'m Matched>) -> Self {
        let mut terms = vec![(0, 0); query.terms().len()];
        let mut substrings = vec![0; query.substrings().len()];
        let (mut with_term, mut without) = (0, 0);
        for fact in facts {
            match fact.has_term() {
                true => with_term += 1,
                false => without += 1,
            }
            for term in bits(fact.whole.into()) {
                terms[term].0 += 1;
            }
            for term in bits((fact.whole | fact.inexact).into()) {
                terms[term].1 += 1;
            }
            for at in bits(fact.substrings) {
                substrings[at] += 1;
            }
        }
        let terms = terms.into_iter();
        let terms: Vec<(u32, u32)> = terms
            .map(|(whole, any)| (2 * weight(with_term, whole), weight(with_term, any)))
            .collect();
        let substrings = substrings.into_iter();
        let substrings: Vec<u32> = substrings.map(|having| weight(without, having)).collect();
        let best = query.terms().iter().zip(&terms);
        Self {
            terms_max: best
                .map(|(term, (whole, inexact))| if term.glued { inexact } else { whole })
                .sum(),
            substrings_max: substrings.iter().sum(),
            terms,
            substrings,
            phrases: small(query.phrases().len()),
        }
    }

    pub(super) fn grade(&self, fact: &Matched) -> Grade {
        let has_term = fact.has_term();
        let whole = bits(fact.whole.into()).map(|term| self.terms[term].0);
        let inexact = bits(fact.inexact.into()).map(|term| self.terms[term].1);
        let substrings = bits(fact.substrings).map(|at| self.substrings[at]);
        let weight = whole.chain(inexact).chain(substrings).sum();
        Grade {
            has_term,
            weight,
            phrases: fact.phrases,
            in_key: fact.in_key,
        }
    }

    /// A grade as a number from 0 to 1, which orders facts as grades do: 1 for a fact whose key has all
    /// of the query, above a tenth for one with a term, up to a tenth for one with substrings only,
    /// 0 where nothing was looked for.
    pub(super) fn score(&self, grade: Grade) -> f64 {
        let (weight_max, count) = match grade.has_term {
            true => (self.terms_max, self.terms.len()),
            false => (self.substrings_max, self.substrings.len()),
        };
        if count == 0 {
            return 0.0;
        }
        let count = small(count);
        // Of two facts with the same weight the whole query counts more than any number of terms in
        // the key, and both together count less than the smallest difference of weights.
        let phrase = count + 1;
        let phrases_max = if grade.has_term { self.phrases } else { 0 };
        let finer = grade.phrases * phrase + grade.in_key;
        let finer_max = phrases_max * phrase + count;
        let step = finer_max + 1;
        let part =
            f64::from(grade.weight * step + finer) / f64::from(weight_max * step + finer_max);
        match grade.has_term {
            true => SUBSTRING_SCORE_MAX + (1.0 - SUBSTRING_SCORE_MAX) * part,
            false => SUBSTRING_SCORE_MAX * part,
        }
    }
}

/// Places of the bits that are set.
fn bits(mut set: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let place = set.trailing_zeros() as usize;
        set &= set.checked_sub(1)?;
        Some(place)
    })
}

/// Terms, substrings or phrases of a query: at most 32.
#[expect(clippy::cast_possible_truncation, reason = "a small number")]
fn small(count: usize) -> u32 {
    count as u32
}

/// Weight of what so many of the facts have: 1 for what all have, [`STEPS`] more for each halving.
/// What none has weighs as much as what one has.
fn weight(facts: u64, having: u64) -> u32 {
    let facts = u128::from(facts.clamp(1, 1 << 23));
    let having = u128::from(having.max(1)).min(facts);
    // The logarithm of a fourth power counts quarters; 7 bits are the fraction.
    let ratio = (facts << 7) / having;
    1 + ratio.pow(STEPS).ilog2() - 7 * STEPS
}
