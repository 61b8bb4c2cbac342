//! Messages that are known by the id of their update.

use notekeeper_contract::Argument;
use temporalio_workflow::workflow_interceptors::{
    HandleUpdateInput, HandleUpdateResult, WorkflowInterceptor, WorkflowInterceptorConstructor,
    WorkflowInterceptorContext, WorkflowInterceptorFuture, WorkflowNext,
};

use super::SendMessage;

/// Gives each message without an id that of its update. Temporal knows an update id for one run;
/// with this, a conversation answers it once also after it continued as new.
///
/// Register it on the worker, and on the replayer, beside the agent workflows:
/// `.workflow_interceptor(agent_interceptor())`.
pub fn agent_interceptor() -> WorkflowInterceptorConstructor {
    WorkflowInterceptorConstructor::new(|_| UpdateIds)
}

struct UpdateIds;

impl WorkflowInterceptor for UpdateIds {
    fn handle_update<'a>(
        &'a self,
        _ctx: WorkflowInterceptorContext,
        mut input: HandleUpdateInput,
        next: WorkflowNext<
            'a,
            HandleUpdateInput,
            WorkflowInterceptorFuture<'a, HandleUpdateResult>,
        >,
    ) -> WorkflowInterceptorFuture<'a, HandleUpdateResult> {
        // Senders choose ids without a slash at their start, so the two kinds stay apart.
        let id = format!("/update/{}", input.id());
        let message = input.input_mut::<Argument<SendMessage>>();
        if let Some(message) = message.and_then(Argument::as_decoded_mut) {
            message.id.get_or_insert(id);
        }
        next.run(input)
    }
}
