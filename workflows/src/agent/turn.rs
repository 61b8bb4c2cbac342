//! One turn: from a user's message to the model's reply.

use std::{rc::Rc, time::Duration};

use notekeeper_contract::{
    CallModel, CallModelInput, CallModelOutput, ChatMessage, FailureType, MemoryBlock,
};
use temporalio_workflow::WorkflowContext;

use super::{
    AgentFailure, AgentHost, MemorySkip, Reply, TRANSCRIPT_BYTES_MAX, setup::Setup, tools,
};
use crate::{CallFailure, Snapshot, Step, activity_call::activity_options, memory::load_snapshots};

/// Largest model request, in bytes of its JSON. Temporal refuses payloads over 2 MiB by failing the
/// workflow task again and again; a codec and the envelope need room.
const REQUEST_BYTES_MAX: usize = 3 * 512 * 1024;

/// How long a model request may be silent. A worker tells every few seconds that one is under way,
/// so what a dead worker had in hand waits this long and not for its start-to-close time-out.
const MODEL_HEARTBEAT_TIMEOUT: Duration = Duration::from_secs(15);

/// Most that the model requests of one run may put into its history, in bytes. Temporal ends a run
/// whose history passes 50 MiB; results and events need room beside the requests.
const RUN_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Answers one message: model requests and tool calls until the model answers with text alone.
///
/// Where it fails before the model answered anything, the transcript is as before. Where a tool
/// failed, the exchange stays, its open calls closed with an error, so that the model knows. Where
/// an answer or a tool's result would outgrow the transcript, that exchange is dropped, though what
/// its calls did stands.
pub(super) async fn take_turn<W: AgentHost>(
    ctx: &WorkflowContext<W>,
    text: &str,
) -> Result<Reply, AgentFailure> {
    let setup = ctx.state(|host| {
        let setup = host.agent().setup.as_ref();
        setup.map(Rc::clone).map_err(AgentFailure::again)
    })?;
    let start = ctx.state(|host| host.agent().transcript.messages().len());
    push(ctx, ChatMessage::user(text));
    let mut turn = Turn {
        ctx,
        setup,
        reply: Reply::default(),
        keep: start,
    };
    let result = turn.converse().await;
    if result.is_err() {
        ctx.state_mut(|host| host.agent_mut().transcript.truncate(turn.keep));
    }
    result.map(|()| turn.reply)
}

struct Turn<'c, W> {
    ctx: &'c WorkflowContext<W>,
    setup: Rc<Setup>,
    reply: Reply,
    /// Messages of the transcript that stay if the turn fails now.
    keep: usize,
}

impl<W: AgentHost> Turn<'_, W> {
    async fn converse(&mut self) -> Result<(), AgentFailure> {
        while self.reply.requests < self.setup.input.max_requests_per_message {
            self.reply.requests += 1;
            let (step, output) = self.request().await?;
            let calls = step.calls(&output.tool_calls);
            push(
                self.ctx,
                ChatMessage::Assistant {
                    content: output.text.clone(),
                    tool_calls: calls.iter().map(|call| call.call.clone()).collect(),
                },
            );
            if calls.is_empty() {
                self.check_transcript()?;
                self.reply.text = output.text;
                return Ok(());
            }
            let failed = tools::carry_out(self.ctx, &self.setup, &calls).await;
            self.check_transcript()?;
            self.keep = self
                .ctx
                .state(|host| host.agent().transcript.messages().len());
            failed?;
        }
        Err(AgentFailure::new(
            FailureType::TooLarge,
            format!(
                "the model went on calling tools after {} requests; raise \
                 `max_requests_per_message` or change the instructions",
                self.reply.requests
            ),
        ))
    }

    /// One model request, with the memory blocks of this moment.
    ///
    /// Where the activity can't get at a block, all are loaded afresh, once; that is also where a
    /// store that has gone away since is skipped or not, as its memory's settings want it. Where
    /// that doesn't help either, the request goes out without blocks, if all memories allow it.
    async fn request(&mut self) -> Result<(Step, CallModelOutput), AgentFailure> {
        self.check_transcript()?;
        let blocks = self.load_blocks().await?;
        let failure = match self.call_model(blocks).await {
            Err(failure) if failure.failure_type() == Some(FailureType::SnapshotMissing) => failure,
            result => return Ok(result?),
        };
        for memory in &self.setup.memories {
            memory.forget_snapshot();
        }
        let blocks = self.load_blocks().await?;
        if blocks.is_empty() {
            return Ok(self.call_model(blocks).await?);
        }
        match self.call_model(blocks).await {
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
        Ok(self.call_model(Vec::new()).await?)
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

    async fn call_model(
        &self,
        memories: Vec<MemoryBlock>,
    ) -> Result<(Step, CallModelOutput), CallFailure> {
        let input = &self.setup.input;
        let request = CallModelInput {
            model: input.model.clone(),
            instructions: self.setup.instructions.clone(),
            messages: self.ctx.state(|host| host.agent().transcript()),
            memories,
            tools: self.setup.definitions(),
            conversation: None,
            preamble: None,
        };
        self.record(&request)?;
        let step = self.setup.session.next_step(self.ctx);
        let mut options = activity_options(
            self.setup.session.next_activity_id(),
            self.setup.model_queue(),
            input.model_start_to_close_ms,
            input.model_schedule_to_close_ms,
        );
        options.heartbeat_timeout = Some(MODEL_HEARTBEAT_TIMEOUT);
        let output = self
            .ctx
            .execute_activity(CallModel, request, options)
            .await?;
        Ok((step, output))
    }

    /// Measures a request before it goes into the history.
    fn record(&self, request: &CallModelInput) -> Result<(), CallFailure> {
        let too_large = |what| Err(CallFailure::new(FailureType::TooLarge, what));
        let bytes = serde_json::to_vec(request).map_or(usize::MAX, |json| json.len());
        if bytes > REQUEST_BYTES_MAX {
            return too_large(format!(
                "the model request would have {bytes} bytes, {REQUEST_BYTES_MAX} are allowed; lower \
                 `max_tokens` of the memories or deliver their blocks by reference"
            ));
        }
        let recorded = self.ctx.state_mut(|host| {
            let agent = host.agent_mut();
            agent.recorded_bytes = agent.recorded_bytes.saturating_add(bytes);
            agent.recorded_bytes
        });
        if recorded > RUN_BYTES_MAX {
            return too_large(format!(
                "the model requests of this run would have {recorded} bytes, {RUN_BYTES_MAX} are \
                 allowed; send the message again to a run that begins anew, or ask for less at once"
            ));
        }
        Ok(())
    }

    fn check_transcript(&self) -> Result<(), AgentFailure> {
        let (full, bytes) = self.ctx.state(|host| {
            let transcript = &host.agent().transcript;
            (transcript.is_full(), transcript.bytes())
        });
        if full {
            return Err(AgentFailure::new(
                FailureType::TooLarge,
                format!(
                    "the transcript would have {bytes} bytes, {TRANSCRIPT_BYTES_MAX} are allowed; \
                     ask for less at once or start a new conversation"
                ),
            ));
        }
        Ok(())
    }
}

pub(super) fn push<W: AgentHost>(ctx: &WorkflowContext<W>, message: ChatMessage) {
    ctx.state_mut(|host| host.agent_mut().transcript.push(message));
}
