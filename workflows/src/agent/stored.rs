//! What a run knows of a transcript that its store keeps: positions and outlines, no texts but those
//! that aren't stored yet.

mod resumed;
mod summaries;

use std::collections::{BTreeSet, VecDeque};

use notekeeper_contract::{
    ChatMessage, ConversationRange, ConversationSummary, GetMessagesOutput, OperationRef,
    OutlinedMessage,
};
use notekeeper_domain::{HistoryPlan, HistoryPolicy, HistoryView, MessageOutline, plan};
pub use resumed::ResumedConversation;

use super::{
    Reply,
    exchange::{Exchange, end_of, is_prompt, outlines, parts},
    said::Said,
    summary::{SkippedSummary, Summary},
};
use crate::{CallFailure, Conversation};

/// Outlines of a conversation that a run without a predecessor asks for, from the newest on: some
/// hundred KiB of its history. Policies have no use for more.
pub(super) const OUTLINES_MAX: u64 = 2_000;

/// A stored transcript, as a run sees it.
#[derive(Debug, Default)]
pub(super) struct Stored {
    /// What of it is sent.
    view: HistoryView,
    /// What is sent again where nothing is stored of the turn under way.
    settled: HistoryView,
    /// Position of the oldest message that is there, as far as the run knows.
    oldest: u64,
    /// Position after the newest message that the run knows of.
    next: u64,
    /// Outlines of the messages from the settled view's base on, without gaps; only where policies need
    /// them.
    outlines: Vec<MessageOutline>,
    known: Known,
    /// The exchange that was stored with other results, as its outlines from position 0 on: where it is
    /// found nothing after it is sent in this turn.
    sought: Vec<MessageOutline>,
    /// Whether policies look at outlines.
    outlined: bool,
    /// Exchanges that may not be stored, oldest first.
    unstored: VecDeque<Exchange>,
    /// Position of the prompt that is being answered, once it is stored.
    turn: Option<u64>,
    /// The text of the summary that the view has.
    pub(super) summary: Option<Summary>,
    /// The summary that was due last and couldn't be made.
    skipped: Option<SkippedSummary>,
    /// Digests of the preambles that the store keeps.
    pub(super) preambles: BTreeSet<String>,
    /// Whether the store lost what the run knew of, and no reply has said so.
    lost: bool,
    /// The newest messages of this run's own turns.
    said: Said,
}

/// How much is known of the transcript's end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Known {
    /// Not even where it is.
    #[default]
    Nothing,
    /// Where it is. Others added messages before the run's own whose outlines are missing.
    Positions,
    /// All that is needed.
    All,
}

/// What has to be asked before the next request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Missing {
    /// No messages before this position; the newest ones where it is missing.
    pub(super) from: Option<u64>,
    /// At most so many outlines.
    pub(super) limit: Option<u64>,
}

impl Stored {
    /// A transcript of which nothing is known. `outlined` says whether policies look at outlines.
    pub(super) fn new(outlined: bool) -> Self {
        Self {
            outlined,
            ..Self::default()
        }
    }

    /// What has to be asked before the next request; `None` where enough is known.
    pub(super) fn missing(&self) -> Option<Missing> {
        let from = |from| Missing {
            from: Some(from),
            limit: None,
        };
        let newest = |limit| Missing {
            from: None,
            limit: Some(limit),
        };
        match self.known {
            Known::All => None,
            // Without policies nobody looks at outlines.
            Known::Positions if !self.outlined => None,
            Known::Positions => Some(from(self.known_end())),
            Known::Nothing if self.next == 0 && self.sought.is_empty() => {
                Some(newest(if self.outlined { OUTLINES_MAX } else { 0 }))
            }
            Known::Nothing if self.outlined => Some(from(self.known_end())),
            Known::Nothing if self.sought.is_empty() => Some(newest(0)),
            Known::Nothing => Some(from(self.next)),
        }
    }

    /// Position up to which outlines are known.
    fn known_end(&self) -> u64 {
        let last = self.outlines.last();
        last.map_or(self.view.base, |last| last.position + 1)
    }

    /// Takes in what was asked.
    pub(super) fn learn(&mut self, asked: Missing, answer: GetMessagesOutput) {
        if answer.next < self.next {
            // Positions never go back: the store was put back to an earlier state, or lost what it had.
            self.begin_anew();
            return;
        }
        let outlined = (answer.first..).zip(answer.outlines);
        let mut outlines: Vec<_> = outlined
            .map(|(position, outlined)| outline(position, outlined))
            .collect();
        let end = match self.known {
            // Messages that others add after the run's own show with its next exchange.
            Known::Positions => self.next,
            Known::Nothing | Known::All => {
                let sought = std::mem::take(&mut self.sought);
                end_of(&outlines, &sought).unwrap_or(answer.next)
            }
        };
        self.next = end;
        if self.outlined {
            outlines.retain(|it| it.position < end);
            self.outlines.append(&mut outlines);
            if asked.from.is_none() {
                // Of a long conversation the newest part alone is looked at.
                self.start_at(answer.first);
            }
        }
        self.known = Known::All;
        self.cleared(answer.oldest);
    }

    /// Takes in that no message before this position is there any more.
    pub(super) fn cleared(&mut self, oldest: u64) {
        if oldest <= self.oldest {
            return;
        }
        self.oldest = oldest;
        self.skipped = None;
        self.said.forget();
        self.start_at(oldest);
    }

    /// Forgets all but what isn't stored.
    fn begin_anew(&mut self) {
        *self = Self {
            unstored: std::mem::take(&mut self.unstored),
            lost: true,
            ..Self::new(self.outlined)
        };
    }

    fn start_at(&mut self, first: u64) {
        self.view = self.view.starting_at(first);
        self.settled = self.settled.starting_at(first);
        if self.view.summary.is_none() {
            self.summary = None;
        }
        self.forget_outlines();
    }

    fn forget_outlines(&mut self) {
        let base = self.settled.base;
        let before = self.outlines.partition_point(|it| it.position < base);
        self.outlines.drain(..before);
    }

    /// Takes messages that are to be stored together. What the model answered to stays left out.
    pub(super) fn close_exchange(&mut self, exchange: Exchange) {
        self.unstored.push_back(exchange);
        self.settled = self.view;
        self.forget_outlines();
    }

    /// The turn under way failed: what was left out for what isn't kept of it is sent again. A summary that
    /// was made for it stays.
    pub(super) fn take_back(&mut self) {
        self.view = self.settled;
    }

    /// Takes messages that a run without this store carried, in parts that can be stored. `operation` gives
    /// that of a part, from its number and its messages.
    pub(super) fn import(
        &mut self,
        messages: Vec<ChatMessage>,
        operation: impl Fn(usize, &[ChatMessage]) -> OperationRef,
    ) {
        for (number, messages) in parts(messages).into_iter().enumerate() {
            self.unstored.push_back(Exchange {
                operation: operation(number, &messages),
                messages,
                reply: None,
            });
        }
    }

    /// The oldest exchange that may not be stored.
    pub(super) fn unstored(&self) -> Option<&Exchange> {
        self.unstored.front()
    }

    pub(super) fn unstored_count(&self) -> usize {
        self.unstored.len()
    }

    /// The reply to the message with this id, where it is among what may not be stored.
    pub(super) fn unstored_reply(&self, id: &str) -> Option<&Reply> {
        let replies = self.unstored.iter().filter_map(|it| it.reply.as_ref());
        let mut of_message = replies.filter(|(known, _)| known.as_deref() == Some(id));
        of_message.next().map(|(_, reply)| reply)
    }

    /// That exchange is stored, at these positions.
    pub(super) fn stored_at(&mut self, first: u64, next: u64) -> Option<Exchange> {
        let exchange = self.unstored.pop_front()?;
        let is_gapless = self.known == Known::All && first == self.next;
        if is_gapless && self.outlined {
            self.outlines.extend(outlines(first, &exchange.messages));
        } else if !is_gapless && self.known == Known::All {
            self.known = Known::Positions;
        }
        if exchange.messages.first().is_some_and(is_prompt) {
            self.turn = Some(first);
        }
        // One that was stored before says where it was.
        self.next = self.next.max(next);
        self.said.push(&exchange.messages);
        Some(exchange)
    }

    /// That exchange was stored under its operation, though with other results of its tools. Where isn't
    /// known; it is looked for by its calls.
    pub(super) fn stored_otherwise(&mut self) -> Option<Exchange> {
        let exchange = self.unstored.pop_front()?;
        self.known = Known::Nothing;
        self.turn = None;
        self.sought = outlines(0, &exchange.messages).collect();
        Some(exchange)
    }

    /// Drops that exchange, if this failure is about what it holds. Answers whether it is.
    pub(super) fn drop_refused(&mut self, failure: &CallFailure) -> bool {
        let is_refused = self
            .unstored
            .front()
            .is_some_and(|it| it.is_refused(failure));
        if is_refused {
            self.unstored.pop_front();
        }
        is_refused
    }

    /// Whether the store lost what the run knew of, for the reply that says so.
    pub(super) fn take_lost(&mut self) -> bool {
        std::mem::take(&mut self.lost)
    }

    /// Nothing is known of the end any more.
    pub(super) fn forget_end(&mut self) {
        self.known = Known::Nothing;
    }

    /// A new turn begins.
    pub(super) fn begin_turn(&mut self) {
        self.turn = None;
    }

    /// What of the conversation the policies would send now, with these messages after what is stored.
    pub(super) fn plan<'p>(
        &self,
        policies: &'p [HistoryPolicy],
        pending: &[ChatMessage],
    ) -> HistoryPlan<'p> {
        let mut all = self.outlines.clone();
        all.extend(outlines(self.next, pending));
        if let Some(turn) = self.turn {
            // What others asked meanwhile doesn't end the turn.
            let later = all.iter_mut().filter(|it| it.position > turn);
            later.for_each(|it| it.prompt = false);
        }
        plan(policies, &all, &self.view)
    }

    /// From now on this is sent, if something of the turn is kept.
    pub(super) fn show(&mut self, view: HistoryView) {
        self.view = view;
    }

    /// The stored messages that a request sends.
    pub(super) fn range(&self, conversation: &Conversation) -> ConversationRange {
        ConversationRange {
            store: conversation.store(),
            workspace: conversation.workspace(),
            scope: conversation.scope_ref(),
            conversation: conversation.id().as_str().to_owned(),
            from: self.view.from.min(self.next),
            to: self.next,
            summary: self.summary.as_ref().map(|summary| match summary.kept {
                true => ConversationSummary::Reference {
                    digest: summary.digest.clone(),
                },
                false => ConversationSummary::Inline {
                    text: summary.text.clone(),
                },
            }),
        }
    }

    /// What a request referred to isn't kept any more: from now on the texts themselves are sent.
    pub(super) fn send_texts(&mut self) {
        self.preambles.clear();
        if let Some(summary) = &mut self.summary {
            summary.kept = false;
        }
    }

    /// Position of the oldest message that is there, and position after the newest one, as far as the run knows.
    pub(super) fn ends(&self) -> (u64, u64) {
        (self.oldest, self.next)
    }

    pub(super) fn view(&self) -> &HistoryView {
        &self.view
    }

    /// Position after the newest message that the run knows of.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Messages that are there, as far as the run knows.
    pub(super) fn count(&self) -> u64 {
        self.next.saturating_sub(self.oldest)
    }

    /// The newest messages of this run's own turns, word for word.
    pub(super) fn said(&self) -> impl Iterator<Item = &ChatMessage> {
        let unstored = self.unstored.iter().flat_map(|it| &it.messages);
        self.said.messages().chain(unstored)
    }
}

fn outline(position: u64, outlined: OutlinedMessage) -> MessageOutline {
    MessageOutline {
        position,
        role: outlined.role,
        tokens: outlined.tokens,
        calls: outlined.calls,
        results: outlined.results,
        prompt: outlined.prompt,
    }
}

#[cfg(test)]
mod tests;
