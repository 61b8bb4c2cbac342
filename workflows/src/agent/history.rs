//! History policies: what of a stored transcript a request sends, and summaries of the rest.

use notekeeper_contract::{
    ConversationRange, FailureType, SummarizeMessages, SummarizeMessagesInput,
    SummarizeMessagesOutput,
};
use notekeeper_domain::{SummaryPolicy, snapshot_digest, summary_text, text_tokens};

use temporalio_common_wasm::ActivityDefinition as _;

use super::{
    AgentFailure, AgentHost,
    keeping::{catch_up, pending, with_stored},
    request::TAKES_STORES_WORD,
    stored::Stored,
    summary::Summary,
    turn::Turn,
};
use crate::{CallFailure, InjectionErrors};

/// Most summaries before one request. One takes in as much as a model reads at once, so that a transcript
/// that was long before it got a policy takes several: so many cover a million tokens. What is left then
/// waits for the next message.
const SUMMARIES_MAX: usize = 16;

/// A summary that is due, apart from the policies.
struct Due {
    range: std::ops::Range<u64>,
    policy: SummaryPolicy,
}

impl<W: AgentHost> Turn<'_, W> {
    /// Decides what of the stored transcript the next request sends, with the summaries that are due made
    /// before. A summary that can't be made fails the turn, or is left for the next one, as the input
    /// wants it.
    pub(super) async fn apply_history(&mut self) -> Result<(), AgentFailure> {
        catch_up(self.ctx, &self.setup).await?;
        if self.setup.input.history.is_empty() {
            return Ok(());
        }
        for _ in 0..SUMMARIES_MAX {
            catch_up(self.ctx, &self.setup).await?;
            let Some(due) = self.take_plan() else {
                return Ok(());
            };
            if self.reply.summary_skipped.is_some() || self.skips_again() {
                return Ok(());
            }
            match self.summarize_from_what_is_kept(&due).await {
                Ok(()) => {}
                // The messages are not there any more, perhaps.
                Err(failure) if failure.failure_type() == Some(FailureType::InvalidArgument) => {
                    let before = with_stored(self.ctx, |stored| stored.ends());
                    with_stored(self.ctx, Stored::forget_end);
                    catch_up(self.ctx, &self.setup).await?;
                    if !self.has_less(before) {
                        self.skip_summary(&due, failure)?;
                    }
                }
                Err(failure) => self.skip_summary(&due, failure)?,
            }
        }
        self.take_plan();
        Ok(())
    }

    /// Takes over what the policies say, and gives the summary that is due.
    fn take_plan(&self) -> Option<Due> {
        let pending = pending(self.ctx);
        let policies = &self.setup.input.history;
        with_stored(self.ctx, |stored| {
            let plan = stored.plan(policies, &pending);
            stored.show(plan.view);
            plan.summarize.map(|order| Due {
                range: order.range,
                policy: order.policy.clone(),
            })
        })?
    }

    /// Whether messages are gone since the transcript had these ends.
    fn has_less(&self, before: Option<(u64, u64)>) -> bool {
        let ends = with_stored(self.ctx, |stored| stored.ends());
        let oldest = |ends: Option<(u64, u64)>| ends.map(|(oldest, _)| oldest);
        let next = |ends: Option<(u64, u64)>| ends.map(|(_, next)| next);
        // Positions go back where the store was put back. Asked last: elsewhere nothing is recorded.
        oldest(ends) != oldest(before)
            || (next(ends) < next(before) && self.ctx.patched(TAKES_STORES_WORD))
    }

    fn ignores_errors(&self) -> bool {
        self.setup.input.summary_errors == InjectionErrors::Ignore
    }

    fn skip_summary(&mut self, due: &Due, failure: CallFailure) -> Result<(), AgentFailure> {
        if failure.is_cancelled() || !self.ignores_errors() {
            return Err(failure.into());
        }
        let error_type = failure.type_name();
        let turns = self.turns();
        with_stored(self.ctx, |stored| {
            stored.skip_summary(error_type, due.range.start, turns);
        });
        self.reply.summary_skipped = Some(error_type.to_owned());
        Ok(())
    }

    /// Whether the summary that is due isn't asked for because it couldn't be made a short while ago.
    fn skips_again(&mut self) -> bool {
        let turns = self.turns();
        let why = with_stored(self.ctx, |stored| {
            stored.skips_summary(turns).map(str::to_owned)
        });
        self.reply.summary_skipped = why.flatten();
        self.reply.summary_skipped.is_some()
    }

    /// Messages answered so far.
    fn turns(&self) -> u64 {
        self.ctx.state(|host| host.agent().turns)
    }

    /// As [`Self::summarize`]. Where the summary so far isn't kept any more, its text is sent along.
    async fn summarize_from_what_is_kept(&self, due: &Due) -> Result<(), CallFailure> {
        match self.summarize(due).await {
            Err(failure) if failure.failure_type() == Some(FailureType::SnapshotMissing) => {
                with_stored(self.ctx, Stored::send_texts);
                self.summarize(due).await
            }
            result => result,
        }
    }

    /// Has a model summarise the messages of the range, and the summary so far with them. What it says is
    /// recorded; from now on that is sent in their place.
    async fn summarize(&self, due: &Due) -> Result<(), CallFailure> {
        let setup = &self.setup;
        let max_tokens = usize::try_from(due.policy.max_tokens()).unwrap_or(usize::MAX);
        let model = due.policy.model.as_ref().unwrap_or(&setup.input.model);
        let range = with_stored(self.ctx, |stored| ConversationRange {
            from: due.range.start,
            to: due.range.end,
            ..stored.range(&setup.conversation)
        });
        let input = SummarizeMessagesInput {
            model: model.clone(),
            conversation: range,
            messages: Vec::new(),
            previous: None,
            instructions: due.policy.instructions.clone(),
            max_tokens,
        };
        self.record(SummarizeMessages.name(), &input)?;
        let options = self.model_options(self.summary_patience_ms());
        let made = self.ctx.execute_activity(SummarizeMessages, input, options);
        let summary = summary(made.await?);
        let tokens = text_tokens(&summary_text(&summary.text));
        with_stored(self.ctx, |stored| {
            stored.summarized(due.range.end, tokens, summary);
        });
        Ok(())
    }

    /// Longest time of a summary with all retries, in milliseconds. Where the message is answered without
    /// it, it waits no longer than a single attempt may take.
    fn summary_patience_ms(&self) -> u64 {
        let input = &self.setup.input;
        match self.ignores_errors() {
            true => input
                .model_start_to_close_ms
                .min(input.model_schedule_to_close_ms),
            false => input.model_schedule_to_close_ms,
        }
    }
}

fn summary(made: SummarizeMessagesOutput) -> Summary {
    Summary {
        kept: made.kept && made.digest == snapshot_digest(&made.text),
        text: made.text,
        digest: made.digest,
    }
}
