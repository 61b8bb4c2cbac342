//! The run of an agent workflow, and its update.

use std::rc::Rc;

use notekeeper_contract::{Argument, FailureType};
use temporalio_workflow::{
    ContinueAsNewOptions, WaitConditionOptions, WorkflowCancellationToken, WorkflowContext,
    WorkflowResult, WorkflowTermination,
};

use super::{
    Agent, AgentFailure, AgentHost, AgentInput, AgentOutput, Reply, Resumed, SendMessage,
    growth::{history_has_grown, is_for_the_next_run},
    keeping,
    setup::Setup,
    stored::Stored,
    turn,
};
use crate::{CallFailure, Grounded, Grounder, activity_call::json_bytes};

/// Runs until the conversation is closed, or continues as new where the history has grown.
///
/// # Errors
///
/// A typed failure where the input can't be used; otherwise only cancellation and
/// continue-as-new end a run this way.
pub async fn run<W: AgentHost>(
    ctx: &mut WorkflowContext<W>,
    continue_as_new: impl Fn(&WorkflowContext<W>, AgentInput) -> WorkflowTermination,
) -> WorkflowResult<AgentOutput> {
    if let Some(failure) = ctx.state(|host| refused_input(host.agent())) {
        return Err(failure.into_application_failure().into());
    }
    start(ctx).await;
    if let Some(failure) = ctx.state(|host| refused_input(host.agent())) {
        handlers_finished(ctx).await;
        return Err(failure.into_application_failure().into());
    }
    let waiting = ctx.clone();
    let ended = ctx
        .wait_condition(move |host: &W| {
            let agent = host.agent();
            (agent.closing || agent.continuing || history_has_grown(&waiting, agent))
                && waiting.all_handlers_finished()
        })
        .await;
    if let Err(cancelled) = ended {
        handlers_finished(ctx).await;
        store_at_last(ctx).await;
        // Messages that came meanwhile.
        handlers_finished(ctx).await;
        return Err(cancelled.into());
    }
    if ctx.state(|host| host.agent().closing) {
        store_the_rest(ctx).await;
    }
    let (output, next) = ctx.state(|host| (output(host.agent()), next_input(host.agent())));
    match next {
        Some(next) => Err(continue_as_new(ctx, next)),
        None => Ok(output),
    }
}

/// Asks how the memories are kept, stores what the run before couldn't, and asks where the transcript
/// ends, before any message is served. A description that can't pass, such as that of a store which isn't
/// there, refuses the input and ends the run; whatever else fails, the next message tries again, and fails
/// with it.
async fn start<W: AgentHost>(ctx: &WorkflowContext<W>) {
    let known = match describe(ctx).await {
        Ok(Some(setup)) => {
            if keeping::flush(ctx, &setup).await.is_ok() {
                // A database that an operator is at work on is no reason to end a conversation.
                let _: Result<(), CallFailure> = keeping::catch_up(ctx, &setup).await;
            }
            Ok(())
        }
        Ok(None) => Ok(()),
        Err(failure) => {
            if failure.ends_the_run() {
                store_at_last(ctx).await;
            }
            Err(failure)
        }
    };
    ctx.state_mut(|host| {
        let agent = host.agent_mut();
        agent.started = true;
        match known {
            Err(failure) if failure.ends_the_run() => agent.setup = Err(failure.into()),
            _ => {}
        }
    });
}

/// Asks how the memories and the transcript are kept, unless that is known.
async fn describe<W: AgentHost>(
    ctx: &WorkflowContext<W>,
) -> Result<Option<Rc<Setup>>, CallFailure> {
    let setup = ctx.state(|host| host.agent().setup.as_ref().ok().map(Rc::clone));
    if let Some(setup) = &setup
        && !ctx.state(|host| host.agent().described)
    {
        let keeps = setup.describe(ctx).await?;
        keeping::adopt(ctx, setup, keeps)?;
        ctx.state_mut(|host| host.agent_mut().described = true);
    }
    Ok(setup)
}

/// A last attempt to store what couldn't be stored so far; whoever said it knows that it wasn't.
async fn store_the_rest<W: AgentHost>(ctx: &WorkflowContext<W>) {
    let setup = ctx.state(|host| host.agent().setup.as_ref().ok().map(Rc::clone));
    if let Some(setup) = setup {
        // The output says what is left.
        let stored = keeping::flush(ctx, &setup).await;
        if stored.is_err_and(|failure| failure.is_cancelled()) {
            store_at_last(ctx).await;
        }
        handlers_finished(ctx).await;
    }
}

/// Since when runs that end otherwise than by being closed store what they hold.
const STORES_AT_LAST: &str = "notekeeper-stores-at-last";

/// Stores what a run holds that was cancelled, or that its input ends: after it nobody has these messages. What
/// can't be stored in time is lost; the query `state` says how many exchanges that were. It waits for no message:
/// those that came while a run starts wait for the run.
async fn store_at_last<W: AgentHost>(ctx: &WorkflowContext<W>) {
    let setup = ctx.state(|host| host.agent().setup.as_ref().ok().map(Rc::clone));
    // Asked last: a run with nothing to store records nothing.
    if let Some(setup) = setup
        && keeping::holds_unstored(ctx)
        && ctx.patched(STORES_AT_LAST)
    {
        let _: Result<(), CallFailure> = keeping::flush_at_last(ctx, &setup).await;
    }
}

/// Waits until every message taken has its answer, also after a cancellation: the handlers see it
/// themselves, and end. A run that ended before them would leave their commands behind its own
/// end; the server refuses such a task, and the senders would wait for nothing.
async fn handlers_finished<W: AgentHost>(ctx: &WorkflowContext<W>) {
    let options = WaitConditionOptions::builder()
        .cancellation_token(WorkflowCancellationToken::new())
        .build();
    let waiting = ctx.clone();
    // Nobody cancels this token.
    let _ = ctx
        .wait_condition_with_options(move |_| waiting.all_handlers_finished(), options)
        .await;
}

/// Ends a run by continuing it with `input`.
pub fn continue_with<W>(ctx: &WorkflowContext<W>, input: AgentInput) -> WorkflowTermination
where
    W: temporalio_workflow::__private::macros::WorkflowImplementation,
    <W::Run as temporalio_workflow::common::WorkflowDefinition>::Input: From<AgentInput>,
{
    match ctx.continue_as_new(input.into(), ContinueAsNewOptions::default()) {
        Err(termination) => termination,
    }
}

fn refused_input(agent: &Agent) -> Option<AgentFailure> {
    agent.setup.as_ref().err().map(AgentFailure::again)
}

fn output(agent: &Agent) -> AgentOutput {
    AgentOutput {
        turns: agent.turns,
        messages: agent.messages(),
        unstored: agent.stored.as_ref().map_or(0, Stored::unstored_count),
    }
}

/// The input of the next run; `None` where the conversation is closed.
fn next_input(agent: &Agent) -> Option<AgentInput> {
    let setup = agent.setup.as_ref().ok().filter(|_| !agent.closing)?;
    let stored = agent.stored.as_ref();
    let resumed = Resumed {
        scope_hash: setup.session.scope_hash(),
        transcript: agent.transcript.messages().to_vec(),
        conversation: stored.map(|stored| handed_over(setup, stored)),
        turns: agent.turns,
        skipped_snapshots: agent.skipped_snapshots,
        grounded: agent.grounder().and_then(grounded_to_stay),
        skipped_groundings: agent.skipped_groundings,
        answered: agent.answered.handed_over(),
    };
    Some(AgentInput {
        resumed: Some(resumed),
        ..setup.input.clone()
    })
}

/// What stays of the grounding; where each message asks anew, nothing does.
fn grounded_to_stay(grounder: &Grounder) -> Option<Grounded> {
    match grounder.grounding().reground_every_turn {
        true => None,
        false => grounder.held(),
    }
}

fn handed_over(setup: &Setup, stored: &Stored) -> super::ResumedConversation {
    stored.handed_over(setup.conversation.id().as_str().to_owned())
}

/// Decides whether a message is taken. A refused one leaves no trace in the history; the sender
/// may send it again where the text says so.
///
/// # Errors
///
/// What is wrong with the message, or why none is taken now.
pub fn admit(agent: &Agent, message: &Argument<SendMessage>) -> Result<(), AgentFailure> {
    let refuse = |why: String| Err(AgentFailure::new(FailureType::InvalidArgument, why));
    let message = match message
        .check_keys()
        .and_then(|()| message.as_decoded().map_err(Clone::clone))
    {
        Ok(message) => message,
        Err(error) => return refuse(format!("message: {error}")),
    };
    if message.text.trim().is_empty() {
        return refuse("message: `text` is empty".to_owned());
    }
    if message.text.contains('\0') {
        return refuse("message: `text` contains a NUL character (U+0000)".to_owned());
    }
    if message
        .id
        .as_ref()
        .is_some_and(|id| id.is_empty() || id.len() > 200 || id.starts_with('/'))
    {
        return refuse("message: `id` must have 1 to 200 bytes and no `/` at its start".to_owned());
    }
    if agent.closing {
        return Err(AgentFailure::new(
            FailureType::Unsupported,
            "the conversation is closed",
        ));
    }
    if agent.continuing {
        return Err(continuing());
    }
    refused_input(agent).map_or(Ok(()), Err)
}

/// What a sender is told whose message comes while the run continues as new.
const CONTINUING: &str = "the conversation is continuing as a new run; send the message again";

fn continuing() -> AgentFailure {
    AgentFailure::new(FailureType::Unavailable, CONTINUING)
}

/// Whether a failed `send_message`, by its type and message, asks to send the message again because
/// the run was continuing as new. A model or a store that is away has the same type.
pub fn is_continuing(type_name: &str, message: &str) -> bool {
    type_name == FailureType::Unavailable.as_str() && message.ends_with(CONTINUING)
}

/// Answers one message. Messages are served in the order of their arrival, one at a time.
///
/// # Errors
///
/// [`AgentFailure`]; the conversation stays usable after it.
pub async fn send_message<W: AgentHost>(
    ctx: &mut WorkflowContext<W>,
    message: Argument<SendMessage>,
) -> Result<Reply, AgentFailure> {
    let message = message
        .decoded()
        .map_err(|error| AgentFailure::new(FailureType::InvalidArgument, error.to_string()))?;
    let growth = ctx.clone();
    let ticket = ctx.state_mut(|host| {
        let agent = host.agent_mut();
        agent.continuing |= history_has_grown(&growth, agent);
        agent.queue.take_ticket()
    });
    let up = ctx
        .wait_condition(|host: &W| host.agent().started && host.agent().queue.is_up(ticket))
        .await;
    let result = match up {
        Ok(()) => answer(ctx, &message).await,
        Err(_) => Err(AgentFailure::cancelled()),
    };
    let is_over = is_for_the_next_run(ctx);
    ctx.state_mut(|host| {
        let agent = host.agent_mut();
        agent.queue.done();
        agent.continuing |= is_over || history_has_grown(&growth, agent);
    });
    result
}

async fn answer<W: AgentHost>(
    ctx: &WorkflowContext<W>,
    message: &SendMessage,
) -> Result<Reply, AgentFailure> {
    if let Some(reply) = known_reply(ctx, message) {
        return Ok(reply);
    }
    if is_for_the_next_run(ctx) {
        return Err(continuing());
    }
    ctx.state(|host| host.agent().count_heard(json_bytes(message)));
    if let Some(setup) = describe(ctx).await? {
        keeping::store_what_is_left(ctx, &setup).await?;
        keeping::catch_up(ctx, &setup).await?;
    }
    // What couldn't be stored before may have been its exchange.
    if let Some(reply) = known_reply(ctx, message) {
        return Ok(reply);
    }
    let reply = turn::take_turn(ctx, message).await?;
    ctx.state_mut(|host| {
        let agent = host.agent_mut();
        agent.count_heard(json_bytes(&reply));
        // A stored exchange brings its reply by itself.
        if agent.stored.is_none() {
            agent.answered(message.id.clone(), reply.clone());
        }
    });
    Ok(reply)
}

fn known_reply<W: AgentHost>(ctx: &WorkflowContext<W>, message: &SendMessage) -> Option<Reply> {
    let id = message.id.as_ref()?;
    ctx.state(|host| host.agent().answered.get(id).cloned())
}
