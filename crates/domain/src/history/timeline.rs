//! Outlines in their order, and where they may be cut.

use super::pairing::OpenCalls;
use crate::MessageOutline;

/// What a part of a conversation comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) messages: u64,
    pub(super) tokens: u64,
    /// Prompts, and one more where something comes before the first of them.
    pub(super) turns: u64,
}

/// The messages that a plan looks at.
#[derive(Debug)]
pub(super) struct Timeline {
    positions: Vec<u64>,
    /// Tokens and prompts before each message, and before the end.
    tokens: Vec<u64>,
    prompts: Vec<u64>,
    /// Where what is sent may begin, ascending.
    cuts: Vec<usize>,
}

impl Timeline {
    /// Of outlines in ascending order.
    pub(super) fn of(outlines: &[MessageOutline]) -> Self {
        let sums = |of: fn(&MessageOutline) -> u64| {
            let mut sum = 0_u64;
            let sums = outlines.iter().map(|outline| {
                sum = sum.saturating_add(of(outline));
                sum
            });
            std::iter::once(0).chain(sums).collect()
        };
        Self {
            positions: outlines.iter().map(|outline| outline.position).collect(),
            tokens: sums(|outline| outline.tokens),
            prompts: sums(|outline| u64::from(outline.prompt)),
            cuts: cuts(outlines),
        }
    }

    /// Index of the first message at or after a position.
    pub(super) fn index(&self, position: u64) -> usize {
        self.positions.partition_point(|&known| known < position)
    }

    /// Position of a message.
    pub(super) fn position(&self, index: usize) -> Option<u64> {
        self.positions.get(index).copied()
    }

    /// What the messages from one index up to and without another come to.
    pub(super) fn extent(&self, from: usize, upto: usize) -> Extent {
        let upto = upto.max(from);
        let prompts = self.prompts[upto] - self.prompts[from];
        let begins_with_prompt = upto > from && self.prompts[from + 1] > self.prompts[from];
        Extent {
            messages: u64::try_from(upto - from).unwrap_or(u64::MAX),
            tokens: self.tokens[upto] - self.tokens[from],
            turns: prompts + u64::from(upto > from && !begins_with_prompt),
        }
    }

    /// What is left from an index on.
    pub(super) fn rest(&self, from: usize) -> Extent {
        self.extent(from, self.positions.len())
    }

    /// Where what is sent may begin, after `start`, ascending.
    pub(super) fn cuts_after(&self, start: usize) -> &[usize] {
        &self.cuts[self.cuts.partition_point(|&cut| cut <= start)..]
    }

    /// The earliest such place that leaves no more than what fits; where none does, the latest.
    pub(super) fn cut_to(&self, start: usize, fits: impl Fn(Extent) -> bool) -> Option<usize> {
        let cuts = self.cuts_after(start);
        // The later the cut, the less is left.
        let first = cuts.partition_point(|&cut| !fits(self.rest(cut)));
        cuts.get(first).or(cuts.last()).copied()
    }
}

/// Where a conversation may be cut: not between a call and its result, not behind the latest prompt,
/// and at prompts alone. Where there is no prompt, at any message that isn't a result, up to the last
/// of those.
fn cuts(outlines: &[MessageOutline]) -> Vec<usize> {
    let is_held = held_together(outlines);
    let any_prompt = outlines.iter().any(|outline| outline.prompt);
    let leads = |outline: &MessageOutline| match any_prompt {
        true => outline.prompt,
        false => outline.results.is_empty(),
    };
    let indices = (0..outlines.len()).filter(|&index| !is_held[index] && leads(&outlines[index]));
    indices.collect()
}

/// For each message, whether a call before it has its result in it or after it.
fn held_together(outlines: &[MessageOutline]) -> Vec<bool> {
    let mut calls = OpenCalls::default();
    // For each message, the last one that holds a result of its calls.
    let mut answered_at: Vec<usize> = (0..outlines.len()).collect();
    for (index, outline) in outlines.iter().enumerate() {
        for (call, id) in outline.calls.iter().enumerate() {
            calls.call(id, (index, call));
        }
        for id in &outline.results {
            if let Some((message, _)) = calls.result(id) {
                answered_at[message] = answered_at[message].max(index);
            }
        }
        if outline.prompt {
            calls.prompt();
        }
    }
    let mut reach = 0;
    answered_at
        .iter()
        .enumerate()
        .map(|(index, &answered)| {
            let is_held = reach >= index && index > 0;
            reach = reach.max(answered);
            is_held
        })
        .collect()
}
