//! One turn: from a user's message to the model's reply.

use notekeeper_contract::{
    CallModel, CallModelInput, CallModelOutput, ChatMessage, FailureType, MemoryBlock,
};
use temporalio_workflow::WorkflowContext;

use super::{
    AgentFailure, AgentHost, MemorySkip, Reply, TRANSCRIPT_BYTES_MAX, state::Setup, tools,
};
use crate::{
    CallFailure, Snapshot, Step, memory::load_snapshots, settings::ActivityQueue,
    settings::activity_options,
};

/// Answers one message: model requests and tool calls until the model answers with text alone.
///
/// Where it fails before the model answered anything, the transcript is as before. Where a tool
/// failed, the exchange stays, its open calls closed with an error, so that the model knows.
pub(super) async fn take_turn<W: AgentHost>(
    ctx: &WorkflowContext<W>,
    text: &str,
) -> Result<Reply, AgentFailure> {
    let setup = ctx
        .state(|host| host.agent().setup.as_ref().ok().cloned())
        .ok_or_else(|| {
            AgentFailure::new(
                FailureType::InvalidArgument,
                "the workflow's input was refused",
            )
        })?;
    let start = ctx.state(|host| host.agent().transcript.messages().len());
    push(
        ctx,
        ChatMessage::User {
            content: text.to_owned(),
        },
    );
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
    setup: Setup,
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

    /// One model request, with the memory blocks of this moment. Where a block is not kept any
    /// more it is loaded afresh, once.
    async fn request(&mut self) -> Result<(Step, CallModelOutput), AgentFailure> {
        self.check_transcript()?;
        let blocks = self.load_blocks().await?;
        match self.call_model(blocks).await {
            Err(failure) if failure.failure_type() == Some(FailureType::SnapshotMissing) => {
                for memory in &self.setup.memories {
                    memory.forget_snapshot();
                }
                let blocks = self.load_blocks().await?;
                Ok(self.call_model(blocks).await?)
            }
            result => Ok(result?),
        }
    }

    async fn load_blocks(&mut self) -> Result<Vec<MemoryBlock>, AgentFailure> {
        let snapshots = load_snapshots(&self.setup.memories, self.ctx).await?;
        let mut blocks = Vec::with_capacity(snapshots.len());
        for (memory, snapshot) in snapshots.into_iter().enumerate() {
            match snapshot {
                Snapshot::Block(block) => blocks.push(block),
                Snapshot::Empty => {}
                Snapshot::Skipped { error_type } => {
                    let request = self.reply.requests;
                    self.reply.skipped.push(MemorySkip {
                        request,
                        memory,
                        error_type,
                    });
                    self.ctx
                        .state_mut(|host| host.agent_mut().skipped_snapshots += 1);
                }
            }
        }
        Ok(blocks)
    }

    async fn call_model(
        &self,
        memories: Vec<MemoryBlock>,
    ) -> Result<(Step, CallModelOutput), CallFailure> {
        let input = &self.setup.input;
        let step = self.setup.session.next_step(self.ctx);
        let request = CallModelInput {
            model: input.model.clone(),
            instructions: self.setup.instructions.clone(),
            messages: self.ctx.state(|host| host.agent().transcript()),
            memories,
            tools: self.setup.definitions.clone(),
        };
        let options = activity_options(
            self.setup.session.next_activity_id(),
            self.setup.model_queue(),
            input.model_start_to_close_ms,
            input.model_schedule_to_close_ms,
        );
        let output = self
            .ctx
            .execute_activity(CallModel, request, options)
            .await?;
        Ok((step, output))
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
                     send a shorter message or start a new conversation"
                ),
            ));
        }
        Ok(())
    }
}

impl Setup {
    /// The model runs where the first memory's activities run: there its blocks are resolved.
    fn model_queue(&self) -> Option<String> {
        match &self.memories.first()?.settings().activities.queue {
            ActivityQueue::Named(name) => Some(name.clone()),
            ActivityQueue::Workflow => None,
        }
    }
}

pub(super) fn push<W: AgentHost>(ctx: &WorkflowContext<W>, message: ChatMessage) {
    ctx.state_mut(|host| host.agent_mut().transcript.push(message));
}
