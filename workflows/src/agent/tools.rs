//! The tool calls of one response: of the memories, the facts, the sources and the application.

use notekeeper_contract::{ChatMessage, DEFAULT_STORE, FailureType, ToolInput};
use serde_json::Value;
use temporalio_common_wasm::{
    UntypedActivity,
    data_converters::{
        GenericPayloadConverter as _, RawValue, SerializationContext, SerializationContextData,
        WorkflowSerializationContext,
    },
};
use temporalio_workflow::WorkflowContext;

use super::{
    AgentFailure, AgentHost, ApplicationTool, SearchErrors, TRANSCRIPT_BYTES_MAX,
    request::count_found, setup::Setup, transcript::encoded_bytes, turn::push,
};
use crate::{
    CallFailure, SourceTool, StepCall, ToolResult, activity_call::activity_options,
    tool_call::NO_SUCH_TOOL,
};

/// Text and whether it tells of an error.
type Told = (String, bool);

/// Carries out the calls one after the other, in the model's order: later ones may rest on
/// earlier ones. Each gets its result into the transcript. The first failure ends it; the calls
/// that are still open then are closed with an error.
pub(super) async fn carry_out<W: AgentHost>(
    ctx: &WorkflowContext<W>,
    setup: &Setup,
    calls: &[StepCall],
) -> Result<(), AgentFailure> {
    let mut failed = None;
    let mut reserve = Reserve::of(ctx, calls);
    for call in calls {
        let (content, is_error) = match &failed {
            Some(_) => (
                "not carried out, because an earlier call failed".to_owned(),
                true,
            ),
            None if is_full(ctx) => (IS_FULL.to_owned(), true),
            None => match carry_out_one(ctx, setup, call).await {
                Ok(told) => count_told(ctx, told),
                Err(failure) => {
                    let told = (format!("the tool failed: {}", failure.type_name()), true);
                    failed = Some(failure);
                    told
                }
            },
        };
        let result = ChatMessage::Tool {
            tool_call_id: call.call.id.clone(),
            content,
            is_error,
        };
        reserve.release(call);
        let fits = ctx.state(|host| {
            let agent = host.agent();
            let bytes = agent.transcript.bytes() + encoded_bytes(&result);
            agent.stored.is_none() || bytes + reserve.bytes() <= TRANSCRIPT_BYTES_MAX
        });
        push(ctx, if fits { result } else { too_large(call) });
    }
    failed.map_or(Ok(()), |failure| Err(failure.into()))
}

/// What a run may have recorded when a call is carried out, in bytes. A call and its result have up to 4 MiB, so
/// that a turn of many large ones leaves some for its model requests, which may come to 32 MiB with what else
/// is counted, and all of it stays below the 50 MiB at which Temporal ends a run.
const CALLED_AT_BYTES_MAX: usize = 24 * 1024 * 1024;

/// What the model is told in place of a call that the run's history has no room for.
const IS_FULL: &str = "not carried out, because earlier calls have brought more than one turn may hold; answer \
     from what there is, and make the call with a later message";

/// Since when the calls of one turn are bounded together.
const BOUNDS_CALLS: &str = "notekeeper-bounds-calls";

/// Whether the run's history has no room for another result. Between two messages the run continues as new long
/// before.
fn is_full<W: AgentHost>(ctx: &WorkflowContext<W>) -> bool {
    let held = ctx.state(|host| {
        let agent = host.agent();
        agent.recorded_bytes.saturating_add(agent.told_bytes)
    });
    // Asked last: a run that is below records nothing.
    held > CALLED_AT_BYTES_MAX && ctx.patched(BOUNDS_CALLS)
}

/// Counts what a call came to.
fn count_told<W: AgentHost>(ctx: &WorkflowContext<W>, told: Told) -> Told {
    ctx.state_mut(|host| {
        let agent = host.agent_mut();
        agent.told_bytes = agent.told_bytes.saturating_add(told.0.len());
    });
    told
}

/// Least room for errors in the place of results that don't fit.
const RESERVE_BYTES: usize = 64 * 1024;

/// Room that is kept for errors in the place of results that don't fit: of each call that has none yet.
struct Reserve(usize);

impl Reserve {
    fn of<W: AgentHost>(ctx: &WorkflowContext<W>, calls: &[StepCall]) -> Self {
        let bytes: usize = calls
            .iter()
            .map(|call| encoded_bytes(&too_large(call)))
            .sum();
        // Older code kept the least room, however many calls there were. Asked last: where that is enough
        // nothing is recorded.
        match bytes > RESERVE_BYTES && ctx.patched(BOUNDS_CALLS) {
            true => Self(bytes),
            false => Self(0),
        }
    }

    fn release(&mut self, call: &StepCall) {
        self.0 = self.0.saturating_sub(encoded_bytes(&too_large(call)));
    }

    fn bytes(&self) -> usize {
        self.0.max(RESERVE_BYTES)
    }
}

/// What the model is told where the results of its calls together outgrow an exchange. What the call did
/// stands.
fn too_large(call: &StepCall) -> ChatMessage {
    ChatMessage::Tool {
        tool_call_id: call.call.id.clone(),
        content: "the call was carried out, and its result is too large beside the others; ask for less, \
                  or in fewer calls at once"
            .to_owned(),
        is_error: true,
    }
}

async fn carry_out_one<W: AgentHost>(
    ctx: &WorkflowContext<W>,
    setup: &Setup,
    call: &StepCall,
) -> Result<Told, CallFailure> {
    let name = &call.call.name;
    if let Some(memory) = setup.memories.iter().find(|memory| memory.owns_tool(name)) {
        return told(memory.call_tool(ctx, call).await);
    }
    if let Some(facts) = setup.facts().filter(|facts| facts.owns_tool(name)) {
        return told(facts.call_tool(ctx, call).await);
    }
    let mut sources = setup.source_tools.iter().zip(&setup.input.sources);
    if let Some((source, given)) = sources.find(|(tool, _)| tool.name() == name) {
        let result = search(ctx, source, given.errors, call).await;
        count_found(ctx, setup);
        return result;
    }
    match setup.input.tools.iter().find(|tool| tool.name == *name) {
        Some(tool) => call_application(ctx, setup, tool, call).await,
        None => Ok((NO_SUCH_TOOL.to_owned(), true)),
    }
}

/// Longest time of a search with all retries, in milliseconds, where the model goes on without: somebody is
/// waiting for the answer.
const SEARCH_GIVE_UP_MS: u64 = 30_000;

/// Searches a source for the model. That a search failed is for the model to know, where the input allows it;
/// what is wrong with the call itself is no matter of the model's.
async fn search<W>(
    ctx: &WorkflowContext<W>,
    source: &SourceTool,
    errors: SearchErrors,
    call: &StepCall,
) -> Result<Told, CallFailure> {
    let within_ms = source.recall().settings().activities.schedule_to_close_ms;
    if errors == SearchErrors::Fail {
        return told(source.call_tool_within(ctx, call, within_ms).await);
    }
    let searched = source.call_tool_within(ctx, call, within_ms.min(SEARCH_GIVE_UP_MS));
    match searched.await {
        Err(failure) if !failure.is_cancelled() && !failure.is_about_the_call() => Ok((
            format!(
                "the search failed: {}; answer without it, and say so where it matters",
                failure.type_name()
            ),
            true,
        )),
        result => told(result),
    }
}

/// What the model is told of a call of one of our tools.
fn told(result: Result<ToolResult, CallFailure>) -> Result<Told, CallFailure> {
    match result {
        Ok(result) => Ok((result.content, result.refused.is_some())),
        Err(failure) if failure.failure_type() == Some(FailureType::OperationConflict) => Ok((
            "this call's id was already used for another change; make the change with a new call"
                .to_owned(),
            true,
        )),
        Err(failure) => Err(failure),
    }
}

/// Runs an application's tool on the first memory's scope. Arguments that are no JSON at all are the
/// model's to correct: an activity would get a text where it expects an object, and fail.
async fn call_application<W: AgentHost>(
    ctx: &WorkflowContext<W>,
    setup: &Setup,
    tool: &ApplicationTool,
    call: &StepCall,
) -> Result<Told, CallFailure> {
    let unusable = |what: String| CallFailure::new(FailureType::Unsupported, what);
    let memory = setup
        .memories
        .first()
        .ok_or_else(|| unusable("there is no memory".to_owned()))?;
    let operation = call
        .operation(memory.scope())
        .map_err(|error| unusable(error.to_string()))?;
    let arguments = match &call.call.arguments {
        Value::String(text) => match serde_json::from_str(text) {
            Ok(arguments) => arguments,
            Err(error) => return Ok((format!("the arguments are no JSON: {error}"), true)),
        },
        other => other.clone(),
    };
    let input = ToolInput {
        arguments,
        scope: memory.scope_ref(),
        store: named(&memory.settings().store, DEFAULT_STORE),
        facts_store: named(
            &setup.conversation.settings().store,
            &memory.settings().store,
        ),
        workspace: setup.session.workspace().map(str::to_owned),
        operation,
    };
    let converter = ctx.payload_converter().clone();
    let data = SerializationContextData::Workflow(WorkflowSerializationContext::new());
    let conversion = SerializationContext::new(&data, &converter);
    let payloads = converter
        .to_payloads(&conversion, &input)
        .map_err(|error| unusable(format!("arguments can't be encoded: {error}")))?;
    let options = activity_options(
        setup.session.next_activity_id(),
        tool.task_queue.clone(),
        tool.start_to_close_ms,
        tool.schedule_to_close_ms,
    );
    let activity = UntypedActivity::new(tool.activity.as_str());
    let result = ctx
        .execute_activity(activity, RawValue::new(payloads), options)
        .await?;
    let answer: Value = converter
        .from_payloads(&conversion, result.payloads)
        .map_err(|_| unusable("the tool's result is not one JSON value".to_owned()))?;
    Ok((text(answer), false))
}

/// The name of a store, where it isn't the one that is meant without.
fn named(store: &str, otherwise: &str) -> Option<String> {
    (store != otherwise).then(|| store.to_owned())
}

/// What the model reads of a tool's result: a string as it is, anything else as JSON.
fn text(answer: Value) -> String {
    match answer {
        Value::String(text) => text,
        other => other.to_string(),
    }
}
