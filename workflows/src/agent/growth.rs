//! How much a run puts into its history, and how much it may.

use notekeeper_contract::FailureType;
use temporalio_workflow::WorkflowContext;

use super::{Agent, AgentHost};
use crate::CallFailure;

/// Most that one run may put into its history, in bytes of JSON. Temporal ends a run whose history passes
/// 50 MiB; what events have beside their payloads, and the exchange under way, need the rest.
const RUN_BYTES_MAX: usize = 32 * 1024 * 1024;

/// What a run may hold when a call is carried out, in bytes of JSON: the rest is for the model requests that make
/// an answer of what calls brought.
const CALLED_AT_BYTES_MAX: usize = 24 * 1024 * 1024;

/// Most activities of one run. One takes at most six events, three of its own and three of the workflow task
/// that hears its result, so these take 36,000, and Temporal ends a run after 51,200; messages and tasks that
/// failed take some as well. Counted here, for what Temporal tells of a history's length between two local
/// activities of one workflow task can be another in a replay.
const RUN_CALLS_MAX: u64 = 6_000;

/// Bytes of model requests and stored exchanges at which a run continues as new although Temporal, which
/// counts anew with each workflow task only, has not suggested it yet. It warns at 10 MiB of history.
const CONTINUE_AT_BYTES: usize = 8 * 1024 * 1024;

/// Marks a run that was over one of the bounds since there have been bounds of a message. A run from before
/// then goes on as it did.
const PATCH: &str = "notekeeper-bounds-calls";

/// What a run has put into its history so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Growth {
    bytes: usize,
    calls: u64,
}

impl Growth {
    fn of(agent: &Agent) -> Self {
        let session = agent.setup.as_ref().ok().map(|setup| &setup.session);
        let heard = session.map_or(0, crate::Session::heard_bytes);
        Self {
            bytes: agent.recorded_bytes.saturating_add(heard),
            calls: session.map_or(0, crate::Session::calls),
        }
    }

    /// Whether the run may hold no more.
    fn is_full(self) -> bool {
        self.bytes > RUN_BYTES_MAX || self.calls > RUN_CALLS_MAX
    }

    /// Whether the next message is for another run. One that begins here has as much again for itself.
    fn is_half_full(self) -> bool {
        self.bytes > RUN_BYTES_MAX / 2 || self.calls > RUN_CALLS_MAX / 2
    }
}

/// Whether the run is to keep to the bounds of a message, asked where it is over one of them.
pub(super) fn keeps_bounds<W>(ctx: &WorkflowContext<W>) -> bool {
    ctx.patched(PATCH)
}

/// Whether the history is so long that a new run is to go on.
pub(super) fn history_has_grown<W>(ctx: &WorkflowContext<W>, agent: &Agent) -> bool {
    let setup = agent.setup.as_ref().ok();
    let events_max = setup.and_then(|setup| setup.input.continue_as_new_events);
    ctx.continue_as_new_suggested()
        || agent.recorded_bytes > CONTINUE_AT_BYTES
        || events_max.is_some_and(|events_max| ctx.history_length() >= events_max)
}

/// Whether a message that was taken is for the next run.
pub(super) fn is_for_the_next_run<W: AgentHost>(ctx: &WorkflowContext<W>) -> bool {
    let (sent, growth) = ctx.state(|host| {
        let agent = host.agent();
        (agent.recorded_bytes, Growth::of(agent))
    });
    sent > CONTINUE_AT_BYTES || (growth.is_half_full() && keeps_bounds(ctx))
}

/// Counts what is about to be sent.
///
/// # Errors
///
/// `TooLarge` where the run may hold no more.
pub(super) fn count_sent<W: AgentHost>(
    ctx: &WorkflowContext<W>,
    bytes: usize,
) -> Result<(), CallFailure> {
    let (sent, growth) = ctx.state_mut(|host| {
        let agent = host.agent_mut();
        agent.recorded_bytes = agent.recorded_bytes.saturating_add(bytes);
        (agent.recorded_bytes, Growth::of(agent))
    });
    match sent > RUN_BYTES_MAX || (growth.is_full() && keeps_bounds(ctx)) {
        true => Err(too_much(
            "nothing more was asked of the model; what was done before is in the conversation",
        )),
        false => Ok(()),
    }
}

/// Whether a call waits for a later message, while the model may still answer this one.
pub(super) fn is_for_a_later_message<W: AgentHost>(ctx: &WorkflowContext<W>) -> bool {
    let growth = ctx.state(|host| Growth::of(host.agent()));
    growth.bytes > CALLED_AT_BYTES_MAX && keeps_bounds(ctx)
}

/// Why no further call of the model is carried out in this run; `None` where one may be.
pub(super) fn no_further_call<W: AgentHost>(ctx: &WorkflowContext<W>) -> Option<CallFailure> {
    let growth = ctx.state(|host| Growth::of(host.agent()));
    (growth.is_full() && keeps_bounds(ctx)).then(|| {
        too_much(
            "the calls that were left weren't carried out; what was done before is in the \
             conversation",
        )
    })
}

fn too_much(what_became_of_it: &str) -> CallFailure {
    let mib = RUN_BYTES_MAX / (1024 * 1024);
    CallFailure::new(
        FailureType::TooLarge,
        format!(
            "one run holds {mib} MiB of requests and results, and {RUN_CALLS_MAX} activities, and this \
             message took it beyond: {what_became_of_it}; send a message to go on in a new run, and ask for \
             less at once"
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_full_beyond_its_bounds_and_a_message_has_half_of_it_for_itself() {
        let of = |bytes, calls| Growth { bytes, calls };
        assert!(!of(RUN_BYTES_MAX, RUN_CALLS_MAX).is_full());
        assert!(of(RUN_BYTES_MAX + 1, 0).is_full());
        assert!(of(0, RUN_CALLS_MAX + 1).is_full());
        assert!(!of(RUN_BYTES_MAX / 2, RUN_CALLS_MAX / 2).is_half_full());
        assert!(of(RUN_BYTES_MAX / 2 + 1, 0).is_half_full());
        assert!(of(0, RUN_CALLS_MAX / 2 + 1).is_half_full());
    }
}
