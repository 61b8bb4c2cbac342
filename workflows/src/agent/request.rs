//! Model requests of a turn: their memory blocks, their sizes, and what they refer to.

use notekeeper_contract::{
    CallModel, CallModelInput, CallModelOutput, FailureType, MemoryBlock, Preamble, PreambleRef,
};
use serde::Serialize;
use temporalio_common_wasm::ActivityDefinition as _;
use temporalio_workflow::{ActivityOptions, WorkflowContext};

use super::{
    AgentFailure, AgentHost, MemorySkip,
    growth::count_sent,
    keeping::{catch_up, pending, with_stored},
    setup::Setup,
    stored::Stored,
    turn::Turn,
};
use crate::{
    CallFailure, Grounder, Snapshot, Step,
    activity_call::{HEARTBEAT_TIMEOUT, activity_options, check_payload, json_bytes},
    memory::load_snapshots,
};

/// Since when a run also takes the store as it is where texts that a request refers to were missing before,
/// and where a summary was due.
pub(super) const TAKES_STORES_WORD: &str = "notekeeper-takes-stores-word";

/// Whether a request goes out for the first time, or because texts that it refers to were missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Attempt {
    First,
    Later,
}

impl<W: AgentHost> Turn<'_, W> {
    /// One model request, with the memory blocks of this moment.
    ///
    /// Where the activity can't get at a block, or at another text that the request refers to, all are
    /// loaded or sent afresh, once; that is also where a store that has gone away since is skipped or
    /// not, as its memory's settings want it. Where that doesn't help either, the request goes out
    /// without blocks, if all memories allow it.
    pub(super) async fn request(&mut self) -> Result<(Step, CallModelOutput), AgentFailure> {
        self.check_transcript()?;
        self.apply_history().await?;
        self.ground().await?;
        let blocks = self.load_blocks().await?;
        let failure = match self.call_model_where_it_is(blocks, Attempt::First).await {
            Err(failure) if failure.failure_type() == Some(FailureType::SnapshotMissing) => failure,
            result => return Ok(result?),
        };
        for memory in &self.setup.memories {
            memory.forget_snapshot();
        }
        with_stored(self.ctx, Stored::send_texts);
        let blocks = self.load_blocks().await?;
        if blocks.is_empty() {
            return Ok(self.call_model_where_it_is(blocks, Attempt::Later).await?);
        }
        match self.call_model_where_it_is(blocks, Attempt::Later).await {
            Err(again) if again.failure_type() == failure.failure_type() => {}
            result => return Ok(result?),
        }
        for index in 0..self.setup.memories.len() {
            let memory = &self.setup.memories[index];
            if memory.settings().inject_memory {
                let snapshot = memory.settle(failure.clone())?;
                self.take_in(index, snapshot);
            }
        }
        Ok(self
            .call_model_where_it_is(Vec::new(), Attempt::Later)
            .await?)
    }

    async fn load_blocks(&mut self) -> Result<Vec<MemoryBlock>, AgentFailure> {
        let snapshots = load_snapshots(&self.setup.memories, self.ctx).await?;
        let snapshots = snapshots.into_iter().enumerate();
        Ok(snapshots
            .filter_map(|(index, snapshot)| self.take_in(index, snapshot))
            .collect())
    }

    /// The block of a snapshot, if it has one; a skip is noted.
    fn take_in(&mut self, index: usize, snapshot: Snapshot) -> Option<MemoryBlock> {
        match snapshot {
            Snapshot::Block(block) => Some(block),
            Snapshot::Empty => None,
            Snapshot::Skipped { error_type } => {
                let request = self.reply.requests;
                self.reply.skipped.push(MemorySkip {
                    request,
                    memory: self.setup.places[index],
                    error_type,
                });
                self.ctx
                    .state_mut(|host| host.agent_mut().skipped_snapshots += 1);
                None
            }
        }
    }

    /// As [`Self::call_model`]. Where the store doesn't have what the run knows of, because it was put back
    /// to an earlier state, the run takes it as it is, and asks once more.
    async fn call_model_where_it_is(
        &self,
        blocks: Vec<MemoryBlock>,
        attempt: Attempt,
    ) -> Result<(Step, CallModelOutput), CallFailure> {
        let failure = match self.call_model(blocks.clone()).await {
            Err(failure) if failure.failure_type() == Some(FailureType::InvalidArgument) => failure,
            result => return result,
        };
        // Asked last: where nothing was missing before nothing is recorded.
        if attempt == Attempt::Later && !self.ctx.patched(TAKES_STORES_WORD) {
            return Err(failure);
        }
        let before = with_stored(self.ctx, |stored| stored.ends());
        with_stored(self.ctx, Stored::forget_end);
        catch_up(self.ctx, &self.setup).await?;
        if with_stored(self.ctx, |stored| stored.ends()) == before {
            return Err(failure);
        }
        // Without its prompt, which was stored, the turn can't go on.
        if pending(self.ctx).is_empty() {
            return Err(CallFailure::new(
                FailureType::Unavailable,
                "the conversation's store doesn't have any more what was said of this message so far; send \
                 the message again",
            ));
        }
        self.call_model(blocks).await
    }

    async fn call_model(
        &self,
        memories: Vec<MemoryBlock>,
    ) -> Result<(Step, CallModelOutput), CallFailure> {
        let (request, digest) = self.build(memories);
        let refers = request.conversation.is_some();
        self.record(CallModel.name(), &request)?;
        let step = self.setup.session.next_step(self.ctx);
        let options = self.model_options(self.setup.input.model_schedule_to_close_ms);
        let output = self
            .ctx
            .execute_activity(CallModel, request, options)
            .await?;
        self.setup.session.count_heard(json_bytes(&output));
        if refers && output.oldest.is_none() {
            return Err(CallFailure::new(
                FailureType::Unavailable,
                "a worker that is too old to know stored conversations took the model request, and asked \
                 without one; update all workers of its task queue, then send the message again",
            ));
        }
        with_stored(self.ctx, |stored| {
            stored
                .preambles
                .extend(digest.filter(|_| output.preamble_kept));
            if let Some(oldest) = output.oldest {
                stored.cleared(oldest);
            }
        });
        Ok((step, output))
    }

    /// The request, and the digest of its preamble. Of a stored transcript it holds what isn't stored yet,
    /// and says where the rest is; instructions and tools stand in it until the store has kept them, which it
    /// isn't asked to do for those that the next message changes.
    fn build(&self, memories: Vec<MemoryBlock>) -> (CallModelInput, Option<String>) {
        let setup = &self.setup;
        let whole = CallModelInput {
            model: setup.input.model.clone(),
            instructions: self.instructions(),
            messages: pending(self.ctx),
            memories,
            tools: setup.definitions(),
            conversation: None,
            preamble: None,
        };
        let of_stored = with_stored(self.ctx, |stored| {
            let digest = Preamble::new(&whole.instructions, &whole.tools)
                .digest()
                .to_owned();
            (
                stored.range(&setup.conversation),
                stored.preambles.contains(&digest),
                digest,
            )
        });
        let Some((range, is_kept, digest)) = of_stored else {
            return (whole, None);
        };
        let is_empty = whole.instructions.is_empty() && whole.tools.is_empty();
        let preamble = (!is_empty && (is_kept || self.will_be_sent_again())).then(|| PreambleRef {
            store: setup.conversation.store(),
            workspace: setup.conversation.workspace(),
            scope: setup.conversation.scope_ref(),
            digest: digest.clone(),
        });
        let by_reference = is_kept && !is_empty;
        let request = CallModelInput {
            instructions: if by_reference {
                String::new()
            } else {
                whole.instructions
            },
            tools: if by_reference {
                Vec::new()
            } else {
                whole.tools
            },
            conversation: Some(range),
            preamble,
            ..whole
        };
        (request, Some(digest))
    }

    /// Whether a later request is likely to have the same instructions: what grounds one message alone has
    /// its place in the store only once the message turns out to take several requests.
    fn will_be_sent_again(&self) -> bool {
        let grounder = self.setup.grounder.as_ref();
        grounder.is_none_or(Grounder::stays) || self.reply.requests > 1
    }

    /// Options of a request to a model that ends within `schedule_to_close_ms`.
    pub(super) fn model_options(&self, schedule_to_close_ms: u64) -> ActivityOptions {
        let input = &self.setup.input;
        let mut options = activity_options(
            self.setup.session.next_activity_id(),
            self.setup.model_queue(),
            input.model_start_to_close_ms,
            schedule_to_close_ms,
        );
        options.heartbeat_timeout = Some(HEARTBEAT_TIMEOUT);
        options
    }

    /// Measures a request before it goes into the history.
    pub(super) fn record(
        &self,
        activity: &str,
        request: &impl Serialize,
    ) -> Result<(), CallFailure> {
        let remedy = "ask for less at once, shorten instructions and tools, or deliver the blocks of \
                      memories by reference";
        let bytes = check_payload(activity, request, remedy)?;
        count_sent(self.ctx, bytes)
    }
}

/// Adds what sources were asked and found to what this run has recorded.
pub(super) fn count_found<W: AgentHost>(ctx: &WorkflowContext<W>, setup: &Setup) {
    let bytes = setup.session.take_searched_bytes();
    ctx.state_mut(|host| {
        let agent = host.agent_mut();
        agent.recorded_bytes = agent.recorded_bytes.saturating_add(bytes);
    });
}
