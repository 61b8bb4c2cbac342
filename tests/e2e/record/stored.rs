//! Conversations whose transcript a store keeps.

use notekeeper_domain::{ConversationId, HistoryPolicy, Scope, SummaryPolicy};
use notekeeper_store::TranscriptStore as _;
use notekeeper_workflows::AgentInput;
use serde_json::json;
use temporalio_client::{WorkflowCancelOptions, errors::WorkflowGetResultError};

use super::{
    Form, Recorder, SCOPE, call, calls, closed, expect, input, input_by, named, run_history, text,
    turn,
};
use crate::support::{
    Bed, Way, Worker, WorkerOptions, ended, eventually, failure_type, history, run_id, say, state,
};

/// The id of these conversations.
const ID: &str = "ticket 7";

fn conversing(input: AgentInput) -> AgentInput {
    let mut input = input;
    input.conversation.id = Some(ID.to_owned());
    input
}

#[tokio::test]
async fn a_stored_conversation_recorded_now_replays() {
    record_stored_transcript(&Recorder::discarding(), Way::MemoryQueue).await;
}

#[tokio::test]
#[ignore = "writes files: `make record`"]
async fn stored_transcript() {
    record_stored_transcript(&Recorder::of("agent_workflow"), Way::MemoryQueue).await;
}

#[tokio::test]
#[ignore = "writes files: `make record`"]
async fn local_stored_transcript() {
    record_stored_transcript(&Recorder::of("agent_workflow"), Way::Local).await;
}

/// A turn with facts and a turn without calls, in a conversation with an id.
async fn record_stored_transcript(recorder: &Recorder, way: Way) {
    let bed = Bed::new().await;
    let remember = json!({"key": "tea", "value": "green"});
    let _worker = Worker::serving(
        &bed,
        &json!([
            turn(
                "I like green tea.",
                [
                    calls([
                        call("remember", remember),
                        call("recall", json!({"query": "tea"}))
                    ]),
                    calls([call("forget", json!({"key": "coffee"}))]),
                    text("Noted."),
                ]
            ),
            turn("Thanks.", [text("You are welcome, {{message_count}}.")]),
        ]),
    )
    .await;
    let mut input = conversing(input_by(way, &bed));
    input.fact_tools = true;
    let agent = bed.start(input).await;

    expect(&agent, "I like green tea.", "Noted.").await;
    expect(&agent, "Thanks.", "welcome, 8").await;

    assert_eq!(bed.messages(SCOPE, ID).await.len(), 9);
    let history = closed(&agent).await;
    recorder
        .write_agent(&named("stored_transcript", way), Form::Json, &history)
        .await;
    bed.finish().await;
}

/// Older messages are summarised once, and the summary goes with the requests after that.
#[tokio::test]
#[ignore = "writes files: `make record`"]
async fn stored_summary() {
    let bed = Bed::new().await;
    let _worker = Worker::serving(
        &bed,
        &json!([
            {"prompt_contains": "<context>", "responses": [{"text": "They counted."}]},
            turn("Go on.", [text("{{message_count}} {{summary}}")]),
        ]),
    )
    .await;
    let mut input = conversing(input(&bed));
    input.history = vec![HistoryPolicy::Summary(SummaryPolicy {
        over_messages: Some(6),
        keep_messages: Some(2),
        ..SummaryPolicy::default()
    })];
    let agent = bed.start(input).await;

    for _ in 0..3 {
        expect(&agent, "Go on.", "").await;
    }
    for _ in 0..2 {
        expect(&agent, "Go on.", "They counted.").await;
    }

    let conversation = state(&agent).await.conversation.expect("it is stored");
    assert_eq!(conversation.summarized_to, Some(4));
    let history = closed(&agent).await;
    Recorder::of("agent_workflow")
        .write_agent("stored_summary", Form::Json, &history)
        .await;
    bed.finish().await;
}

/// Somebody clears the conversation between two messages, and somebody adds to it.
#[tokio::test]
#[ignore = "writes files: `make record`"]
async fn stored_and_cleared_meanwhile() {
    let bed = Bed::new().await;
    let turns = json!([turn("Hello.", [text("Hello, {{message_count}}.")])]);
    let _worker = Worker::serving(&bed, &turns).await;
    let mut input = conversing(input(&bed));
    input.history = vec![HistoryPolicy::Tokens(notekeeper_domain::TokensPolicy {
        max_tokens: 1_000,
    })];
    let agent = bed.start(input).await;
    let place = json!({"scope": {"namespace": super::NAMESPACE}, "conversation": ID});

    expect(&agent, "Hello.", "Hello, 1.").await;
    let scope = Scope::parse(SCOPE).expect("a scope");
    let id = ConversationId::parse(ID).expect("an id");
    let cleared = bed.store.clear_messages(&scope, &id, None).await;
    cleared.expect("clear the conversation");
    expect(&agent, "Hello.", "Hello, 1.").await;
    let mut others = place;
    others["messages"] = json!([{"role": "user", "content": "me too"}]);
    bed.call("add_messages", &others).await.result();
    expect(&agent, "Hello.", "Hello, 3.").await;
    expect(&agent, "Hello.", "Hello, 6.").await;

    let history = closed(&agent).await;
    Recorder::of("agent_workflow")
        .write_agent("stored_and_cleared_meanwhile", Form::Json, &history)
        .await;
    bed.finish().await;
}

/// An exchange is stored, and nobody hears of it; it is stored again before the next message, once.
#[tokio::test]
#[ignore = "writes files: `make record`"]
async fn stored_unheard() {
    let bed = Bed::new().await;
    let turns = json!([turn("Hello.", [text("Hello, {{message_count}}.")])]);
    let options = WorkerOptions {
        script: Some(bed.script(&turns)),
        fault: Some("add_messages.after_commit=fail:1000".to_owned()),
        ..WorkerOptions::default()
    };
    let mut broken = Worker::start(&bed, options).await;
    let mut input = conversing(input(&bed));
    input.memories[0].activities.schedule_to_close_ms = 2_000;
    let agent = bed.start(input).await;

    let failure = say(&agent, "Hello.").await.expect_err("nobody hears of it");
    broken.terminate();
    broken.ended().await;
    let _worker = Worker::serving(&bed, &turns).await;
    expect(&agent, "Hello.", "Hello, 3.").await;

    assert_eq!(failure_type(&failure), "Unavailable");
    assert_eq!(bed.messages(SCOPE, ID).await.len(), 4);
    let history = closed(&agent).await;
    Recorder::of("agent_workflow")
        .write_agent("stored_unheard", Form::Json, &history)
        .await;
    bed.finish().await;
}

#[tokio::test]
async fn a_cancelled_conversation_recorded_now_replays() {
    record_cancelled_with_unstored(&Recorder::discarding()).await;
}

#[tokio::test]
#[ignore = "writes files: `make record`"]
async fn cancelled_with_unstored() {
    record_cancelled_with_unstored(&Recorder::of("agent_workflow")).await;
}

/// A run is cancelled while it holds an exchange that couldn't be stored, and stores it then.
async fn record_cancelled_with_unstored(recorder: &Recorder) {
    let bed = Bed::new().await;
    let turns = json!([turn("Hello.", [text("Hello, {{message_count}}.")])]);
    let options = WorkerOptions {
        script: Some(bed.script(&turns)),
        fault: Some("add_messages.before_commit=fail:1000".to_owned()),
        ..WorkerOptions::default()
    };
    let mut broken = Worker::start(&bed, options).await;
    let mut input = conversing(input(&bed));
    input.memories[0].activities.schedule_to_close_ms = 8_000;
    let agent = bed.start(input).await;

    let failure = say(&agent, "Hello.").await.expect_err("it can't be stored");
    broken.terminate();
    broken.ended().await;
    let asked = agent.cancel(WorkflowCancelOptions::default()).await;
    asked.expect("ask for the cancellation");
    let _worker = Worker::serving(&bed, &turns).await;

    assert_eq!(failure_type(&failure), "Unavailable");
    let end = ended(&agent).await;
    assert!(
        matches!(end, Err(WorkflowGetResultError::Cancelled { .. })),
        "{end:?}"
    );
    assert_eq!(bed.messages(SCOPE, ID).await.len(), 2);
    recorder
        .write_agent(
            "cancelled_with_unstored",
            Form::Json,
            &history(&agent).await,
        )
        .await;
    bed.finish().await;
}

/// Both runs of a stored conversation: positions are all that the second one has of it.
#[tokio::test]
#[ignore = "writes files: `make record`"]
async fn stored_continue_as_new() {
    let bed = Bed::new().await;
    let turns = json!([turn("Go on.", [text("Yes, {{message_count}}.")])]);
    let _worker = Worker::serving(&bed, &turns).await;
    let mut input = input(&bed);
    input.continue_as_new_events = Some(100);
    let agent = bed.start(input).await;
    let first_run = run_id(&agent).await;

    let mut said = 0;
    while run_history(&bed, &agent, &first_run).await.events.len() < 100 {
        said += 1;
        expect(&agent, "Go on.", &format!("Yes, {}.", 2 * said - 1)).await;
    }
    eventually("the conversation has continued as a new run", async || {
        let new_run = run_id(&agent).await != first_run;
        (new_run && history(&agent).await.events.len() >= 4).then_some(())
    })
    .await;
    expect(&agent, "Go on.", &format!("Yes, {}.", 2 * said + 1)).await;

    let after = closed(&agent).await;
    let before = run_history(&bed, &agent, &first_run).await;
    let recorder = Recorder::of("agent_workflow");
    for (when, history) in [("before", &before), ("after", &after)] {
        recorder
            .write_agent(
                &format!("stored_continue_as_new_{when}"),
                Form::Binary,
                history,
            )
            .await;
    }
    bed.finish().await;
}
