//! Conversations whose transcript a store keeps.

mod cancelled;
mod chat;
mod erased;
mod failures;
mod history;
mod large_turns;
mod requests;
mod sharing;

use notekeeper_workflows::{AgentInput, ConversationPlace, SendMessage};
use serde_json::{Value, json};

use crate::support::{Agent, Bed, Way, Worker, WorkerOptions, activities_of, history, say};

/// A turn with one answer.
fn turn(prompt: &str, text: &str) -> Value {
    json!({"prompt": prompt, "responses": [{"text": text}]})
}

/// A turn with a call of a tool and an answer.
fn tool_turn(prompt: &str, tool: &str, arguments: Value, text: &str) -> Value {
    json!({"prompt": prompt, "responses": [
        {"tool_calls": [{"id": "call_0", "name": tool, "arguments": arguments}]},
        {"text": text},
    ]})
}

/// The input of a conversation with this id.
fn conversing(bed: &Bed, namespace: &str, id: &str) -> AgentInput {
    AgentInput {
        conversation: ConversationPlace {
            id: Some(id.to_owned()),
            store: None,
        },
        ..bed.input(namespace)
    }
}

/// Says something and gives the reply's text.
async fn heard(agent: &Agent, text: &str) -> String {
    say(agent, text).await.expect("a reply").text
}

/// A message with an id.
fn message(text: &str, id: &str) -> SendMessage {
    SendMessage {
        text: text.to_owned(),
        id: Some(id.to_owned()),
    }
}

/// An input whose activities give up after six seconds.
fn impatient(bed: &Bed, way: Way) -> AgentInput {
    let mut input = bed.input_by(way, "acme");
    input.memories[0].activities.schedule_to_close_ms = 6_000;
    input.memories[0].activities.start_to_close_ms = 3_000;
    input
}

/// A worker that fails at a point so many times.
async fn failing(bed: &Bed, turns: &Value, fault: &str) -> Worker {
    let options = WorkerOptions {
        script: Some(bed.script(turns)),
        fault: Some(fault.to_owned()),
        ..WorkerOptions::default()
    };
    Worker::start(bed, options).await
}

/// What somebody takes away who may.
const LOCK: &str = "create function locked() returns trigger language plpgsql as \
    $$ begin raise insufficient_privilege using message = 'locked'; end $$; \
    create trigger locked before insert on messages for each statement execute function locked()";

/// Who speaks in these messages, and what.
fn said(messages: &[Value]) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let said = messages.iter();
    said.map(|message| (text(&message["role"]), text(&message["content"])))
        .collect()
}

/// What [`said`] gives for these.
fn pairs<const N: usize>(pairs: [(&str, &str); N]) -> Vec<(String, String)> {
    let pairs = pairs.map(|(role, text)| (role.to_owned(), text.to_owned()));
    pairs.into()
}

#[tokio::test]
async fn a_turn_is_stored_with_its_answer_and_nothing_of_it_is_recorded_again() {
    let bed = Bed::new().await;
    let _worker = Worker::serving(
        &bed,
        &json!([
            turn("one", "first of {{message_count}}"),
            turn("two", "second of {{message_count}}"),
        ]),
    )
    .await;
    let agent = bed.start(bed.input("acme")).await;

    assert_eq!(heard(&agent, "one").await, "first of 1");
    assert_eq!(heard(&agent, "two").await, "second of 3");

    let expected = pairs([
        ("user", "one"),
        ("assistant", "first of 1"),
        ("user", "two"),
        ("assistant", "second of 3"),
    ]);
    assert_eq!(said(&bed.messages_of(&agent, "acme").await), expected);
    let history = history(&agent).await;
    let requests = activities_of(&history, "call_model");
    let second = &requests[1].input;
    assert_eq!(
        second["messages"],
        json!([{"role": "user", "content": "two"}])
    );
    assert_eq!(second["conversation"]["from"], 0);
    assert_eq!(second["conversation"]["to"], 2);
    assert_eq!(activities_of(&history, "get_messages").len(), 1);
    assert_eq!(activities_of(&history, "add_messages").len(), 2);
    bed.finish().await;
}

#[tokio::test]
async fn calls_and_their_results_are_stored_together_and_not_sent_along_again() {
    let bed = Bed::new().await;
    let arguments = json!({"content": "- likes tea"});
    let _worker = Worker::serving(
        &bed,
        &json!([tool_turn(
            "note",
            "write_memory",
            arguments,
            "noted, {{message_count}}"
        )]),
    )
    .await;
    let agent = bed.start(bed.input("acme")).await;

    assert_eq!(heard(&agent, "note").await, "noted, 3");

    let messages = bed.messages_of(&agent, "acme").await;
    let roles: Vec<_> = messages.iter().map(|it| it["role"].clone()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "assistant"]);
    assert_eq!(messages[1]["tool_calls"][0]["id"], "call_0");
    assert_eq!(messages[2]["tool_call_id"], "call_0");
    let history = history(&agent).await;
    let batches: Vec<_> = activities_of(&history, "add_messages")
        .iter()
        .map(|it| it.input["messages"].as_array().map(Vec::len))
        .collect();
    assert_eq!(batches, [Some(3), Some(1)]);
    let requests = activities_of(&history, "call_model");
    assert_eq!(requests[1].input["messages"], json!([]));
    bed.finish().await;
}
