//! Keeping the transcript in its store.

use notekeeper_contract::{ChatMessage, FailureType, OperationRef};
use notekeeper_domain::snapshot_digest;
use temporalio_workflow::WorkflowContext;

use super::{AgentHost, Reply, exchange::Exchange, setup::Setup, stored::Stored};
use crate::{CallFailure, Conversation, Step, activity_call::json_bytes};

/// Takes in whether the conversation's store keeps transcripts. Where it does, what a run without it
/// carried is stored first; where it doesn't, the run carries its transcript itself.
pub(super) fn adopt<W: AgentHost>(
    ctx: &WorkflowContext<W>,
    setup: &Setup,
    keeps: bool,
) -> Result<(), CallFailure> {
    let was_stored = ctx.state(|host| host.agent().stored.is_some());
    if !keeps && was_stored {
        return Err(CallFailure::new(
            FailureType::Unsupported,
            "the conversation's transcript is in a store that keeps none any more; a conversation \
             can't move to another store",
        ));
    }
    if keeps && !was_stored {
        ctx.state_mut(|host| {
            let agent = host.agent_mut();
            let mut stored = Stored::new(setup.looks_at_outlines());
            let operation = |number: usize, messages: &[ChatMessage]| {
                operation_of_part(&setup.conversation, number, messages)
            };
            stored.import(agent.transcript.take(), operation);
            agent.stored = Some(stored);
        });
    }
    Ok(())
}

/// Under which operation a part of a carried transcript is stored: one that follows from the messages alone,
/// so that it is the same after a reset to a point before.
pub(super) fn operation_of_part(
    conversation: &Conversation,
    number: usize,
    messages: &[ChatMessage],
) -> OperationRef {
    let text = serde_json::to_string(messages).unwrap_or_default();
    conversation.operation_of(&["import", &number.to_string(), &snapshot_digest(&text)])
}

/// Asks for what isn't known of the transcript. Nothing happens where all is known, or where no store
/// keeps it.
pub(super) async fn catch_up<W: AgentHost>(
    ctx: &WorkflowContext<W>,
    setup: &Setup,
) -> Result<(), CallFailure> {
    // A second question where the store turns out to have been put back to an earlier state.
    while let Some(missing) = ctx.state(|host| {
        let stored = host.agent().stored.as_ref()?;
        stored.missing()
    }) {
        let conversation = &setup.conversation;
        let answer = conversation
            .outlines(ctx, missing.from, missing.limit)
            .await?;
        setup.session.count_heard(json_bytes(&answer));
        with_stored(ctx, |stored| stored.learn(missing, answer));
    }
    Ok(())
}

/// Closes the exchange under way: its messages are stored together, under an operation that lives as
/// long as the model's recorded answer. `reply` is what the turn ends with, and the id of its message.
///
/// Where it can't be stored for now it is kept, and stored before the next message is answered; where
/// it is refused for what it holds it is dropped. Either way the turn fails with it.
pub(super) async fn close_exchange<W: AgentHost>(
    ctx: &WorkflowContext<W>,
    setup: &Setup,
    step: &Step,
    reply: Option<(Option<String>, Reply)>,
) -> Result<(), CallFailure> {
    if ctx.state(|host| host.agent().stored.is_none()) {
        return Ok(());
    }
    let [run_id, number] = step.parts();
    let operation = setup
        .conversation
        .operation_of(&["messages", &run_id, &number]);
    ctx.state_mut(|host| {
        let agent = host.agent_mut();
        let messages = agent.transcript.take();
        if let Some(stored) = &mut agent.stored {
            stored.close_exchange(Exchange {
                operation,
                messages,
                reply,
            });
        }
    });
    let Err(failure) = flush(ctx, setup).await else {
        return Ok(());
    };
    if failure.is_cancelled() || drop_refused(ctx, &failure) {
        return Err(failure);
    }
    Err(CallFailure::new(
        FailureType::Unavailable,
        format!(
            "what was said couldn't be stored yet, which is tried again before the next message; send \
             the message again under its id: {failure}"
        ),
    ))
}

/// Stores what earlier messages left, before one is answered. What is refused for what it holds is dropped,
/// and the message fails with that: nothing is dropped that nobody is told of.
pub(super) async fn store_what_is_left<W: AgentHost>(
    ctx: &WorkflowContext<W>,
    setup: &Setup,
) -> Result<(), CallFailure> {
    let Err(failure) = flush(ctx, setup).await else {
        return Ok(());
    };
    if failure.is_cancelled() || !drop_refused(ctx, &failure) {
        return Err(failure);
    }
    Err(CallFailure::named(
        failure.type_name(),
        format!(
            "a part of what was said before can't be stored and is left out of the conversation from \
             now on; send the message again: {}",
            failure.message()
        ),
    ))
}

/// Drops the oldest exchange that isn't stored, if this failure is about what it holds.
fn drop_refused<W: AgentHost>(ctx: &WorkflowContext<W>, failure: &CallFailure) -> bool {
    let dropped = with_stored(ctx, |stored| stored.drop_refused(failure));
    dropped.unwrap_or_default()
}

/// Stores the exchanges that may not be stored, oldest first, until one can't be. None is dropped.
pub(super) async fn flush<W: AgentHost>(
    ctx: &WorkflowContext<W>,
    setup: &Setup,
) -> Result<(), CallFailure> {
    while let Some(exchange) = oldest_unstored(ctx) {
        store(ctx, setup, exchange, None).await?;
    }
    Ok(())
}

/// Longest time that a run which is over takes to store what it holds, in milliseconds: enough for a store
/// that is away for a moment, and no longer than somebody who cancels a run looks on.
const LAST_MS: u64 = 30_000;

/// As [`flush`], in a run that is over, though it be cancelled, and for [`LAST_MS`] in all.
pub(super) async fn flush_at_last<W: AgentHost>(
    ctx: &WorkflowContext<W>,
    setup: &Setup,
) -> Result<(), CallFailure> {
    let begun = ctx.workflow_time();
    let spent = || {
        let now = begun.zip(ctx.workflow_time());
        now.and_then(|(begun, now)| now.duration_since(begun).ok())
            .unwrap_or_default()
    };
    while let Some(exchange) = oldest_unstored(ctx) {
        let spent_ms = u64::try_from(spent().as_millis()).unwrap_or(u64::MAX);
        let left_ms = LAST_MS.saturating_sub(spent_ms).max(1);
        store(ctx, setup, exchange, Some(left_ms)).await?;
    }
    Ok(())
}

fn oldest_unstored<W: AgentHost>(ctx: &WorkflowContext<W>) -> Option<Exchange> {
    ctx.state(|host| host.agent().stored.as_ref()?.unstored().cloned())
}

/// Whether the run holds messages that may not be stored.
pub(super) fn holds_unstored<W: AgentHost>(ctx: &WorkflowContext<W>) -> bool {
    with_stored(ctx, |stored| stored.unstored_count() > 0).unwrap_or_default()
}

/// Stores an exchange. `within_ms` is given where the run is over, and this its last attempt.
async fn store<W: AgentHost>(
    ctx: &WorkflowContext<W>,
    setup: &Setup,
    exchange: Exchange,
    within_ms: Option<u64>,
) -> Result<(), CallFailure> {
    let values = exchange.values();
    let bytes = serde_json::to_vec(&values).map_or(0, |json| json.len());
    ctx.state_mut(|host| {
        let agent = host.agent_mut();
        agent.recorded_bytes = agent.recorded_bytes.saturating_add(bytes);
    });
    let conversation = &setup.conversation;
    let added = match within_ms {
        None => conversation.add_as(ctx, values, exchange.operation).await,
        Some(within_ms) => {
            let operation = exchange.operation;
            let added = conversation.add_shielded(ctx, values, operation, within_ms);
            added.await
        }
    };
    let kept = match added {
        Ok(added) => with_stored(ctx, |stored| stored.stored_at(added.first, added.next)),
        // A workflow reset that kept the model's answer ran its tools again, and they answered
        // otherwise: what the first run stored stands.
        Err(failure) if failure.failure_type() == Some(FailureType::OperationConflict) => {
            with_stored(ctx, Stored::stored_otherwise)
        }
        Err(failure) => return Err(failure),
    };
    if let Some((id, reply)) = kept.flatten().and_then(|exchange| exchange.reply) {
        ctx.state_mut(|host| host.agent_mut().answered(id, reply));
    }
    Ok(())
}

/// Does something with the stored transcript, where there is one.
pub(super) fn with_stored<W: AgentHost, T>(
    ctx: &WorkflowContext<W>,
    change: impl FnOnce(&mut Stored) -> T,
) -> Option<T> {
    ctx.state_mut(|host| host.agent_mut().stored.as_mut().map(change))
}

/// The messages of the exchange under way.
pub(super) fn pending<W: AgentHost>(ctx: &WorkflowContext<W>) -> Vec<ChatMessage> {
    ctx.state(|host| host.agent().transcript.messages().to_vec())
}
