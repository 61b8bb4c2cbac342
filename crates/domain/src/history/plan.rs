//! The planner: what is sent of a conversation, and when a summary is due.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::{
    policy::{HistoryPolicy, SummaryPolicy, TokensPolicy, WORTH, WindowPolicy},
    summary::{SUMMARISED_MESSAGES_MAX, SUMMARISED_TOKENS_MAX},
    timeline::{Extent, Timeline},
};
use crate::MessageOutline;

/// What is sent of a conversation now. It begins as its default, and only ever moves forward.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HistoryView {
    /// Position of the first message that plans still look at: outlines from here on are needed. It
    /// differs from `from` only where a policy behind a summary holds messages back that the next
    /// summary will cover.
    pub base: u64,
    /// Position of the first message that is sent.
    pub from: u64,
    /// The summary that is sent before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<SummaryMark>,
}

/// What plans know of a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SummaryMark {
    /// It stands for all messages before this position.
    pub through: u64,
    /// Its share of a request, in tokens of four characters.
    pub tokens: u64,
}

/// What to do before the next model request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryPlan<'p> {
    /// What is sent now. It holds whether or not the summary that is asked for can be had.
    pub view: HistoryView,
    /// A summary that is due.
    pub summarize: Option<SummaryOrder<'p>>,
}

/// A summary that is due: of the summary so far, if there is one, and of the messages in `range`.
/// Once it is made, [`HistoryView::summarized`] takes it in, and a further plan is made: where more has
/// gathered than one request holds, that one orders a summary of the next part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SummaryOrder<'p> {
    /// Positions of the messages; some may not be sent any more.
    pub range: Range<u64>,
    /// Whose policy it is: model, length and instructions.
    pub policy: &'p SummaryPolicy,
}

impl HistoryView {
    /// The view once there is a summary of all messages before `through`.
    pub fn summarized(self, through: u64, tokens: u64) -> Self {
        Self {
            base: self.base.max(through),
            from: self.from.max(through),
            summary: Some(SummaryMark { through, tokens }),
        }
    }

    /// The view once it is known that of the messages from [`base`](Self::base) on, the first that
    /// is there is at `first`; where there is none, the next will be.
    ///
    /// Positions are dense, so where the two differ the conversation was cleared since, and the
    /// summary of what was cleared goes as well.
    pub fn starting_at(self, first: u64) -> Self {
        Self {
            base: self.base.max(first),
            from: self.from.max(first),
            summary: self.summary.filter(|_| first <= self.base),
        }
    }
}

/// Decides what of a conversation is sent, and whether a summary is due.
///
/// `outlines` are those of the messages from [`HistoryView::base`] on, ascending; earlier ones are
/// passed over. Equal arguments give equal plans, and a plan on the view of a plan changes nothing
/// while no message comes.
///
/// - What is sent begins at a prompt, if the conversation has one from there on, and never between
///   a call and a result that is in `outlines`. One that comes after the call was left out is left out
///   of requests as well.
/// - All from the latest prompt on is sent, whatever it comes to.
/// - Policies before a summary drop for good; what those behind it hold back is covered by the next
///   summary.
/// - A summary is due when the messages that none covers are over the threshold. It leaves at most
///   three quarters of the threshold, or the current turn, and covers at least a quarter: or the
///   beginning of that, where it is more than 2,000 messages or 75,000 tokens. A single exchange is
///   covered as a whole, whatever it comes to.
pub fn plan<'p>(
    policies: &'p [HistoryPolicy],
    outlines: &[MessageOutline],
    view: &HistoryView,
) -> HistoryPlan<'p> {
    let known = outlines.partition_point(|outline| outline.position < view.base);
    let timeline = Timeline::of(&outlines[known..]);
    let mut planner = Planner {
        base: timeline.index(view.base),
        from: timeline.index(view.from),
        summary_tokens: view.summary.map_or(0, |summary| summary.tokens),
        timeline,
        summarize: None,
    };
    let has_summary = |policies: &[HistoryPolicy]| {
        let mut policies = policies.iter();
        policies.any(|policy| matches!(policy, HistoryPolicy::Summary(_)))
    };
    for (index, policy) in policies.iter().enumerate() {
        let drops = !has_summary(&policies[..index]);
        match policy {
            HistoryPolicy::Window(window) => planner.cut(drops, |rest, _| window.allows(rest)),
            HistoryPolicy::Tokens(tokens) => {
                planner.cut(drops, |rest, summary| tokens.allows(rest, summary));
            }
            HistoryPolicy::Summary(summary) => planner.summarize(summary),
        }
    }
    let at = |index: usize, least: u64| {
        let position = planner.timeline.position(index);
        position.map_or(least, |position| position.max(least))
    };
    let from = at(planner.from, view.from);
    let base = match has_summary(policies) {
        true => at(planner.base, view.base),
        false => from.max(view.base),
    };
    HistoryPlan {
        view: HistoryView {
            base,
            from: from.max(base),
            summary: view.summary,
        },
        summarize: planner.summarize,
    }
}

struct Planner<'p> {
    timeline: Timeline,
    /// Index of the first message that isn't dropped.
    base: usize,
    /// Index of the first message that is sent.
    from: usize,
    summary_tokens: u64,
    summarize: Option<SummaryOrder<'p>>,
}

impl<'p> Planner<'p> {
    /// Moves the beginning of what is sent so that the rest is allowed. What a policy before a summary
    /// leaves out is dropped for good; one behind it acts on what is sent alone.
    fn cut(&mut self, drops: bool, allows: impl Fn(Extent, u64) -> bool) {
        let allows = |rest| allows(rest, self.summary_tokens);
        let start = if drops { self.base } else { self.from };
        if allows(self.timeline.rest(start)) {
            return;
        }
        let start = self.timeline.cut_to(start, allows).unwrap_or(start);
        self.from = self.from.max(start);
        if drops {
            self.base = self.base.max(start);
        }
    }

    /// Asks for a summary if one is due.
    fn summarize(&mut self, policy: &'p SummaryPolicy) {
        if !policy.is_exceeded(self.timeline.rest(self.base)) {
            return;
        }
        let Some(upto) = self.summary_end(policy) else {
            return;
        };
        let upto = self.at_once(upto);
        let ends = self.timeline.position(self.base);
        if let Some((from, upto)) = ends.zip(self.timeline.position(upto)) {
            self.summarize = Some(SummaryOrder {
                range: from..upto,
                policy,
            });
        }
    }

    /// Where the part ends that one summary covers of what is before `upto`: the last place that leaves
    /// no more before it than a request quotes, or the first of all.
    fn at_once(&self, upto: usize) -> usize {
        let cuts = self.timeline.cuts_after(self.base);
        let fitting = cuts.partition_point(|&cut| {
            let part = self.timeline.extent(self.base, cut);
            cut <= upto
                && part.messages <= SUMMARISED_MESSAGES_MAX
                && part.tokens <= SUMMARISED_TOKENS_MAX
        });
        let end = cuts.get(fitting.saturating_sub(1));
        end.copied().unwrap_or(upto)
    }

    /// Where the messages that are kept as they are begin; `None` where it isn't worth while.
    fn summary_end(&self, policy: &SummaryPolicy) -> Option<usize> {
        let kept = |cut: usize| self.timeline.rest(cut);
        let cuts = self.timeline.cuts_after(self.base);
        let keeping = cuts.partition_point(|&cut| kept(cut).messages >= policy.keep_messages());
        let wanted = keeping.checked_sub(1).map(|last| cuts[last]);
        let upto = wanted
            .filter(|&cut| policy.is_relief(kept(cut)))
            .or_else(|| {
                self.timeline
                    .cut_to(self.base, |rest| policy.is_relief(rest))
            })?;
        policy
            .is_worth(self.timeline.extent(self.base, upto))
            .then_some(upto)
    }
}

impl WindowPolicy {
    fn allows(&self, rest: Extent) -> bool {
        self.messages.is_none_or(|most| rest.messages <= most)
            && self.turns.is_none_or(|most| rest.turns <= most)
    }
}

impl TokensPolicy {
    fn allows(&self, rest: Extent, summary_tokens: u64) -> bool {
        rest.tokens.saturating_add(summary_tokens) <= self.max_tokens
    }
}

impl SummaryPolicy {
    /// Whether these messages are over a threshold.
    fn is_exceeded(&self, rest: Extent) -> bool {
        self.over_tokens.is_some_and(|over| rest.tokens > over)
            || self.over_messages.is_some_and(|over| rest.messages > over)
    }

    /// Whether so little is left that some time passes until the next summary.
    fn is_relief(&self, rest: Extent) -> bool {
        let fits = |over: u64, rest| rest <= over - over / WORTH;
        self.over_tokens.is_none_or(|over| fits(over, rest.tokens))
            && self
                .over_messages
                .is_none_or(|over| fits(over, rest.messages))
    }

    /// Whether a summary of so much is worth a model request.
    fn is_worth(&self, range: Extent) -> bool {
        self.over_tokens
            .is_some_and(|over| range.tokens >= over / WORTH)
            || self
                .over_messages
                .is_some_and(|over| range.messages >= over / WORTH)
    }
}
