//! A conversation with an agent: turns, their order, their bounds and their ends.

use notekeeper_workflows::SendMessage;
use serde_json::json;
use temporalio_client::{WorkflowCancelOptions, errors::WorkflowGetResultError};

use crate::support::{
    Application, Bed, Worker, activities_of, begin, close, ended, failure_type, history, reply,
    say, send, state, transcript, updates_accepted,
};

#[tokio::test]
async fn what_the_model_writes_stands_in_the_next_request() {
    let bed = Bed::new().await;
    let _worker = Worker::serving(
        &bed,
        &json!([
            {"prompt": "remember tea", "responses": [
                {"tool_calls": [{"id": "call_0", "name": "write_memory", "arguments": {"content": "- likes tea"}}]},
                {"text": "{{memory}}"},
            ]},
            {"prompt": "what do you know?", "responses": [{"text": "{{memory}}"}]},
        ]),
    )
    .await;
    let agent = bed.start(bed.input("acme")).await;

    let first = say(&agent, "remember tea").await.expect("a reply");
    let second = say(&agent, "what do you know?").await.expect("a reply");

    assert!(first.text.contains("- likes tea"), "{first:?}");
    assert_eq!(first.text, second.text);
    assert_eq!((first.requests, second.requests), (2, 1));
    assert_eq!(
        bed.note("acme/main", "MEMORY.md").await.as_deref(),
        Some("- likes tea\n")
    );
    let receipts = bed.receipts("acme/main").await;
    assert_eq!(receipts.len(), 1, "{receipts:?}");
    assert_eq!(receipts[0].status, "created");
    let write = activities_of(&history(&agent).await, "write_memory").remove(0);
    assert_eq!(write.input["operation"]["id"], receipts[0].id.as_str());
    assert_eq!(state(&agent).await.turns, 2);
    close(&agent).await;
    bed.finish().await;
}

#[tokio::test]
async fn messages_are_answered_one_at_a_time_in_the_order_of_their_arrival() {
    let bed = Bed::new().await;
    let application = Application::start(&bed);
    let _worker = Worker::serving(
        &bed,
        &json!([
            {"prompt": "one", "responses": [{"tool_calls": [{"id": "call_0", "name": "gate"}]}, {"text": "first"}]},
            {"prompt": "two", "responses": [{"text": "second of {{message_count}}"}]},
            {"prompt": "three", "responses": [{"text": "third of {{message_count}}"}]},
        ]),
    )
    .await;
    let agent = application.talk(&bed, "acme").await;

    let one = begin(&agent, "one").await;
    application.at_the_gate(1).await;
    let two = begin(&agent, "two").await;
    let three = begin(&agent, "three").await;
    assert_eq!(state(&agent).await.waiting, 3);
    assert_eq!(
        transcript(&agent).await.len(),
        2,
        "only the first is served"
    );
    application.open_the_gate();

    assert_eq!(reply(three).await.expect("a reply").text, "third of 7");
    assert_eq!(reply(two).await.expect("a reply").text, "second of 5");
    assert_eq!(reply(one).await.expect("a reply").text, "first");
    assert_eq!(state(&agent).await.waiting, 0);
    bed.finish().await;
}

#[tokio::test]
async fn the_same_update_id_is_answered_once() {
    let bed = Bed::new().await;
    let _worker = Worker::serving(
        &bed,
        &json!([{"prompt": "add", "responses": [
            {"tool_calls": [{"id": "call_0", "name": "write_memory", "arguments": {"content": "line"}}]},
            {"text": "added"},
        ]}]),
    )
    .await;
    let agent = bed.start(bed.input("acme")).await;
    let message = SendMessage {
        text: "add".to_owned(),
        id: None,
    };

    let both = futures::future::join(
        send(&agent, message.clone(), Some("update-1")),
        send(&agent, message.clone(), Some("update-1")),
    );
    let (first, second) = both.await;
    let third = send(&agent, message, Some("update-1")).await;

    let first = first.expect("a reply");
    assert_eq!(second.expect("a reply"), first);
    assert_eq!(third.expect("a reply"), first);
    assert_eq!(updates_accepted(&history(&agent).await), 1);
    assert_eq!(state(&agent).await.turns, 1);
    assert_eq!(
        bed.note("acme/main", "MEMORY.md").await.as_deref(),
        Some("line\n")
    );
    bed.finish().await;
}

#[tokio::test]
async fn a_model_that_is_away_is_asked_again_and_one_that_refuses_is_not() {
    let bed = Bed::new().await;
    let _worker = Worker::serving(
        &bed,
        &json!([
            {"prompt": "later", "responses": [{"failure": {"kind": "unavailable", "attempts": 2}, "text": "here I am"}]},
            {"prompt": "never", "responses": [{"failure": {"kind": "refused"}}]},
        ]),
    )
    .await;
    let agent = bed.start(bed.input("acme")).await;

    let later = say(&agent, "later").await.expect("a reply");
    let never = say(&agent, "never").await.expect_err("a failure");
    let again = say(&agent, "later").await.expect("a reply");

    assert_eq!(later.text, "here I am");
    assert_eq!(failure_type(&never), "ModelRefused", "{never:?}");
    assert_eq!(again.text, "here I am");
    let requests = activities_of(&history(&agent).await, "call_model");
    let attempts: Vec<_> = requests.iter().map(|request| request.attempt).collect();
    assert_eq!(attempts, [3, 1, 3]);
    assert_eq!(state(&agent).await.turns, 2);
    assert_eq!(
        transcript(&agent).await.len(),
        4,
        "the message without an answer is not part of the conversation"
    );
    bed.finish().await;
}

#[tokio::test]
async fn a_prompt_over_the_bound_is_a_typed_failure_and_results_over_it_are_errors_for_the_model() {
    let bed = Bed::new().await;
    let reads: Vec<_> = (0..10)
        .map(|n| json!({"id": format!("call_{n}"), "name": "read_memory", "arguments": {"file": "big"}}))
        .collect();
    let _worker = Worker::serving(
        &bed,
        &json!([
            {"prompt": "read a lot", "responses": [{"tool_calls": reads}, {"text": "{{last_tool_result}}"}]},
            {"prompt": "hello", "responses": [{"text": "hello, message {{message_count}}"}]},
        ]),
    )
    .await;
    bed.put("acme/main", "big.md", &"x".repeat(60_000)).await;
    let agent = bed.start(bed.input("acme")).await;

    let long = say(&agent, &"x".repeat(600 * 1024)).await;
    let much = say(&agent, "read a lot").await.expect("a reply");
    let hello = say(&agent, "hello").await.expect("a reply");

    let failure = long.expect_err("a failure");
    assert_eq!(failure_type(&failure), "TooLarge", "{failure:?}");
    assert!(failure.message.contains("524288"), "{}", failure.message);
    assert!(much.text.contains("too large beside"), "{}", much.text);
    let messages = bed.messages_of(&agent, "acme").await;
    let is_error = |message: &&serde_json::Value| message["is_error"] == true;
    let errors = messages.iter().filter(is_error).count();
    assert_eq!(errors, 2, "the other eight fit");
    assert_eq!(hello.text, "hello, message 14");
    let state = state(&agent).await;
    assert_eq!((state.turns, state.messages), (2, 15));
    bed.finish().await;
}

#[tokio::test]
async fn a_message_that_takes_more_model_requests_than_allowed_fails_and_the_next_is_answered() {
    let bed = Bed::new().await;
    let write = |line: &str| json!({"tool_calls": [{"id": "call_0", "name": "write_memory", "arguments": {"content": line}}]});
    let _worker = Worker::serving(
        &bed,
        &json!([
            {"prompt": "loop", "responses": [write("a"), write("b"), write("c"), {"text": "never"}]},
            {"prompt": "hello", "responses": [{"text": "hello"}]},
        ]),
    )
    .await;
    let mut input = bed.input("acme");
    input.max_requests_per_message = 2;
    let agent = bed.start(input).await;

    let failure = say(&agent, "loop").await.expect_err("a failure");
    let hello = say(&agent, "hello").await.expect("a reply");

    assert_eq!(failure_type(&failure), "TooLarge");
    assert!(
        failure.message.contains("max_requests_per_message"),
        "{}",
        failure.message
    );
    assert_eq!(hello.text, "hello");
    assert_eq!(
        bed.note("acme/main", "MEMORY.md").await.as_deref(),
        Some("a\nb\n"),
        "what was done stays done"
    );
    assert_eq!(activities_of(&history(&agent).await, "call_model").len(), 3);
    bed.finish().await;
}

#[tokio::test]
async fn a_cancelled_conversation_ends_as_cancelled_and_leaves_no_sender_waiting() {
    let bed = Bed::new().await;
    let application = Application::start(&bed);
    let _worker = Worker::serving(
        &bed,
        &json!([{"prompt": "wait", "responses": [{"tool_calls": [{"id": "call_0", "name": "gate"}]}, {"text": "never"}]}]),
    )
    .await;
    let agent = application.talk(&bed, "acme").await;

    let waiting = begin(&agent, "wait").await;
    application.at_the_gate(1).await;
    let behind = begin(&agent, "wait").await;
    agent
        .cancel(WorkflowCancelOptions::default())
        .await
        .expect("ask for the cancellation");

    for pending in [waiting, behind] {
        let failure = reply(pending).await.expect_err("a failure");
        assert_eq!(failure_type(&failure), "Cancelled", "{failure:?}");
    }
    let ended = ended(&agent).await;
    assert!(
        matches!(ended, Err(WorkflowGetResultError::Cancelled { .. })),
        "{ended:?}"
    );
    bed.finish().await;
}
