//! One turn: from a user's message to the model's reply.

use std::rc::Rc;

use notekeeper_contract::{ChatMessage, FailureType};
use notekeeper_domain::MESSAGES_ADDED_MAX;
use temporalio_workflow::WorkflowContext;

use super::{
    AgentFailure, AgentHost, Reply, SendMessage, TRANSCRIPT_BYTES_MAX,
    exchange::{is_storable, stored_form},
    growth::keeps_bounds,
    keeping::{close_exchange, with_stored},
    setup::Setup,
    stored::Stored,
    tools::{self, closing_bytes, shortened},
    transcript::encoded_bytes,
};
use crate::{Grounded, Grounder, StepCall};

/// Answers one message: model requests and tool calls until the model answers with text alone.
///
/// What the model answers is kept in exchanges: its text alone with the prompt, or calls with their
/// results. Where the turn fails before an exchange is whole, nothing of it is kept. Where a tool
/// failed, the exchange stays, its open calls closed with an error, so that the model knows. Calls for
/// which there would be no room with their answer aren't carried out. Where results would outgrow what
/// there is room for, the exchange stays without them: what its calls did is never missing.
pub(super) async fn take_turn<W: AgentHost>(
    ctx: &WorkflowContext<W>,
    message: &SendMessage,
) -> Result<Reply, AgentFailure> {
    let setup = ctx.state(|host| {
        let setup = host.agent().setup.as_ref();
        setup.map(Rc::clone).map_err(AgentFailure::again)
    })?;
    with_stored(ctx, Stored::begin_turn);
    let keep = carried(ctx);
    push(ctx, ChatMessage::user(message.text.as_str()));
    let had_grounding = setup.grounder.as_ref().and_then(Grounder::held);
    let mut turn = Turn {
        ctx,
        setup,
        message,
        reply: Reply::default(),
        keep,
        asked_to_ground: false,
        kept: false,
    };
    let result = turn.converse().await;
    if result.is_err() {
        ctx.state_mut(|host| host.agent_mut().transcript.truncate(turn.keep));
        with_stored(ctx, Stored::take_back);
        turn.take_grounding_back(had_grounding);
    }
    result.map(|()| turn.reply)
}

/// Messages that the run carries.
fn carried<W: AgentHost>(ctx: &WorkflowContext<W>) -> usize {
    ctx.state(|host| host.agent().transcript.messages().len())
}

pub(super) struct Turn<'c, W> {
    pub(super) ctx: &'c WorkflowContext<W>,
    pub(super) setup: Rc<Setup>,
    pub(super) message: &'c SendMessage,
    pub(super) reply: Reply,
    /// Messages that the run goes on to carry if the turn fails now.
    keep: usize,
    /// Whether the source that grounds the conversation was asked in this turn.
    pub(super) asked_to_ground: bool,
    /// Whether something of the turn is kept.
    kept: bool,
}

impl<W: AgentHost> Turn<'_, W> {
    async fn converse(&mut self) -> Result<(), AgentFailure> {
        while self.reply.requests < self.setup.input.max_requests_per_message {
            self.reply.requests += 1;
            let (step, output) = self.request().await?;
            let calls = step.calls(&output.tool_calls);
            check_calls(calls.len())?;
            let answer = ChatMessage::Assistant {
                content: output.text.clone(),
                tool_calls: calls.iter().map(|call| call.call.clone()).collect(),
            };
            self.check_room(&answer, &calls)?;
            push(self.ctx, answer);
            if calls.is_empty() {
                self.check_transcript()?;
                self.reply.text = output.text;
                self.reply.begun_anew =
                    with_stored(self.ctx, Stored::take_lost).unwrap_or_default();
                let reply = (self.message.id.clone(), self.reply.clone());
                self.kept = true;
                close_exchange(self.ctx, &self.setup, &step, Some(reply)).await?;
                return Ok(());
            }
            let failed = tools::carry_out(self.ctx, &self.setup, &calls).await;
            self.check_exchange()?;
            self.keep = carried(self.ctx);
            self.kept = true;
            let stored = close_exchange(self.ctx, &self.setup, &step, None).await;
            self.keep = carried(self.ctx);
            failed?;
            stored?;
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

    /// The turn failed. Where nothing of it is kept, what it was grounded on isn't either: the next message
    /// asks with its own words.
    fn take_grounding_back(&self, before: Option<Grounded>) {
        if let Some(grounder) = self.setup.grounder.as_ref().filter(|_| !self.kept) {
            grounder.resume(before);
        }
    }

    /// Refuses calls for which there is no room beside their answer, whatever they come to, before any is
    /// carried out.
    fn check_room(&self, answer: &ChatMessage, calls: &[StepCall]) -> Result<(), AgentFailure> {
        if calls.is_empty() {
            return Ok(());
        }
        let (carried, is_stored) = self.ctx.state(|host| {
            let agent = host.agent();
            (agent.transcript.bytes(), agent.stored.is_some())
        });
        let bytes = carried + encoded_bytes(answer) + closing_bytes(calls);
        let is_kept = !is_stored || is_storable(&stored_form(answer));
        if (is_kept && bytes <= TRANSCRIPT_BYTES_MAX) || !keeps_bounds(self.ctx) {
            return Ok(());
        }
        Err(AgentFailure::new(
            FailureType::TooLarge,
            format!(
                "the model's answer with a word on each of its {} calls would have {bytes} bytes, \
                 {TRANSCRIPT_BYTES_MAX} are allowed with what is before it, so none of them was carried out; \
                 ask for less at once",
                calls.len()
            ),
        ))
    }

    /// Checks that there is room for the calls and their results. Where the run carries its transcript and
    /// there is none, the turn fails, and the results are left out: what was done is told all the same.
    fn check_exchange(&mut self) -> Result<(), AgentFailure> {
        let checked = self.check_transcript();
        let is_carried = self.ctx.state(|host| host.agent().stored.is_none());
        if checked.is_err() && is_carried && keeps_bounds(self.ctx) {
            let is_full = self.ctx.state_mut(|host| {
                let transcript = &mut host.agent_mut().transcript;
                transcript.replace_from(self.keep, shortened);
                transcript.is_full()
            });
            if !is_full {
                self.keep = carried(self.ctx);
                self.kept = true;
            }
        }
        checked
    }

    pub(super) fn check_transcript(&self) -> Result<(), AgentFailure> {
        let (full, bytes, is_stored) = self.ctx.state(|host| {
            let agent = host.agent();
            let transcript = &agent.transcript;
            (
                transcript.is_full(),
                transcript.bytes(),
                agent.stored.is_some(),
            )
        });
        let (what, remedy) = match is_stored {
            true => (
                "prompt with its answer, or the calls with their results,",
                "ask for less at once",
            ),
            false => (
                "transcript",
                "ask for less at once or start a new conversation",
            ),
        };
        if full {
            return Err(AgentFailure::new(
                FailureType::TooLarge,
                format!(
                    "the {what} would have {bytes} bytes, {TRANSCRIPT_BYTES_MAX} are allowed; {remedy}"
                ),
            ));
        }
        Ok(())
    }
}

/// Refuses more calls in one answer than can be stored together, before any is carried out.
fn check_calls(calls: usize) -> Result<(), AgentFailure> {
    // Beside the prompt and the answer.
    let most = MESSAGES_ADDED_MAX - 2;
    if calls <= most {
        return Ok(());
    }
    Err(AgentFailure::new(
        FailureType::TooLarge,
        format!("the model made {calls} calls in one answer, {most} are allowed"),
    ))
}

pub(super) fn push<W: AgentHost>(ctx: &WorkflowContext<W>, message: ChatMessage) {
    ctx.state_mut(|host| host.agent_mut().transcript.push(message));
}
