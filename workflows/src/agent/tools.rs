//! The tool calls of one response: of the memories, the facts, the sources and the application.

use std::time::Duration;

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
    growth::{is_for_a_later_message, keeps_bounds, no_further_call},
    request::count_found,
    setup::Setup,
    transcript::encoded_bytes,
    turn::push,
};
use crate::{
    CallFailure, SourceTool, StepCall, ToolResult,
    activity_call::{activity_options, json_bytes},
    tool_call::{NO_SUCH_TOOL, refuse_no_object},
};

/// Text and whether it tells of an error.
type Told = (String, bool);

/// What stands in the place of a result that doesn't fit beside the others. What the call did stands.
const DONE: &str =
    "the call was carried out, and its result is too large beside the others; ask for less";

/// What stands in the place of an error that doesn't fit beside the results.
const NOT_DONE: &str = "failed or refused, and what was said of it is too large beside the results";

/// What closes the calls after one that failed.
const AFTER_A_FAILURE: &str = "not carried out, because an earlier call failed";

/// What stands in the place of a call once calls have brought as much as leaves room for the answer.
const LATER: &str = "not carried out, because earlier calls have brought more than one turn may hold; answer \
     from what there is, and make the call with a later message";

/// What closes the calls that were left when the run could hold no more.
const NO_ROOM: &str =
    "not carried out, because this message took as much as one may; call it again";

/// Results of local activities, in bytes of JSON, after which the workflow task ends that they came in. It
/// tells the server of all of them at once, and the server takes 4 MiB at once.
const TASK_BYTES_MAX: usize = 1024 * 1024;

/// A timer ends a workflow task; how long it is doesn't matter.
const NEXT_TASK: Duration = Duration::from_millis(1);

/// Carries out the calls one after the other, in the model's order: later ones may rest on
/// earlier ones. Each gets its result into the transcript, which has room for at least a word on each that is
/// still open ([`closing_bytes`]). The first failure ends it, and so does a run that may hold no more; the
/// calls that are still open then are closed with an error.
pub(super) async fn carry_out<W: AgentHost>(
    ctx: &WorkflowContext<W>,
    setup: &Setup,
    calls: &[StepCall],
) -> Result<(), AgentFailure> {
    let mut failed: Option<CallFailure> = None;
    let mut closed_with = AFTER_A_FAILURE;
    let mut still_open = closing_bytes(calls);
    let mut in_task = 0;
    for call in calls {
        setup.session.count_heard(json_bytes(&call.call.arguments));
        if failed.is_none() {
            failed = no_further_call(ctx);
            closed_with = failed.as_ref().map_or(AFTER_A_FAILURE, |_| NO_ROOM);
        }
        let (content, is_error) = match &failed {
            Some(_) => (closed_with.to_owned(), true),
            None if is_for_a_later_message(ctx) => (LATER.to_owned(), true),
            None => match carry_out_one(ctx, setup, call).await {
                Ok(told) => told,
                Err(failure) => {
                    let told = (format!("the tool failed: {}", failure.type_name()), true);
                    failed = Some(failure);
                    told
                }
            },
        };
        still_open -= closing_bytes(std::slice::from_ref(call));
        let result = result(call, content, is_error);
        in_task += encoded_bytes(&result);
        close(ctx, result, still_open);
        if setup.calls_are_local() && in_task > TASK_BYTES_MAX && keeps_bounds(ctx) {
            // Whether it is cancelled is for what comes next to find out.
            let _ = ctx.timer(NEXT_TASK).await;
            in_task = 0;
        }
    }
    failed.map_or(Ok(()), |failure| Err(failure.into()))
}

/// Room for the results of these calls, whatever they come to, in bytes of the transcript's JSON.
pub(super) fn closing_bytes(calls: &[StepCall]) -> usize {
    let longest = |call: &StepCall| {
        let closings = [DONE, NOT_DONE, AFTER_A_FAILURE, LATER, NO_ROOM];
        let sizes = closings.map(|text| encoded_bytes(&result(call, text.to_owned(), true)));
        sizes.into_iter().max().unwrap_or_default()
    };
    calls.iter().map(longest).sum()
}

fn result(call: &StepCall, content: String, is_error: bool) -> ChatMessage {
    ChatMessage::Tool {
        tool_call_id: call.call.id.clone(),
        content,
        is_error,
    }
}

/// Puts a result into the transcript, or what stands in its place where it would take the room that is for
/// the calls that are still open. Where the run carries its transcript, which ends the turn then, all of them
/// stay until that is known.
fn close<W: AgentHost>(ctx: &WorkflowContext<W>, result: ChatMessage, still_open: usize) {
    let (fits, fitted_before) = ctx.state(|host| {
        let agent = host.agent();
        agent.setup.iter().for_each(|setup| {
            setup.session.count_heard(encoded_bytes(&result));
        });
        let bytes = agent.transcript.bytes() + encoded_bytes(&result);
        let leaves = |room| agent.stored.is_none() || bytes + room <= TRANSCRIPT_BYTES_MAX;
        (leaves(still_open), leaves(RESERVE_BEFORE))
    });
    let closing = match (fits, fitted_before) {
        (true, true) => result,
        (true, false) if keeps_bounds(ctx) => result,
        (false, _) if keeps_bounds(ctx) => shortened(result),
        (_, true) => result,
        (_, false) => replaced_before(&result),
    };
    push(ctx, closing);
}

/// Room that there was for errors before there were bounds of a message.
const RESERVE_BEFORE: usize = 64 * 1024;

/// What stood in the place of anything that didn't fit, before there were bounds of a message.
fn replaced_before(result: &ChatMessage) -> ChatMessage {
    let ChatMessage::Tool { tool_call_id, .. } = result else {
        return result.clone();
    };
    ChatMessage::Tool {
        tool_call_id: tool_call_id.clone(),
        content: format!("{DONE}, or in fewer calls at once"),
        is_error: true,
    }
}

/// A result that says only whether its call was carried out. What is shorter than that stays as it is, and so
/// does what is no result.
pub(super) fn shortened(message: ChatMessage) -> ChatMessage {
    let ChatMessage::Tool {
        tool_call_id,
        is_error,
        ..
    } = &message
    else {
        return message;
    };
    let content = if *is_error { NOT_DONE } else { DONE };
    let short = ChatMessage::Tool {
        tool_call_id: tool_call_id.clone(),
        content: content.to_owned(),
        is_error: true,
    };
    match encoded_bytes(&short) < encoded_bytes(&message) {
        true => short,
        false => message,
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
    if let Err(refused) = refuse_no_object(ctx, call) {
        return Ok((refused.message, true));
    }
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
