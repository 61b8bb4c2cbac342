//! What requests cost a history, and what they refer to.

use notekeeper_workflows::AgentInput;
use serde_json::{Value, json};

use super::{heard, turn};
use crate::support::{
    Activity, Agent, Bed, Worker, activities_of, eventually, history, run_id, say, state,
};

fn bytes(request: &Activity) -> usize {
    serde_json::to_vec(&request.input).expect("JSON").len()
}

/// Prompts and answers of 2 KB each.
fn long_turn() -> (String, Value) {
    let prompt = format!("tell {}", "me more ".repeat(250));
    let answer = "and then ".repeat(230);
    let turn = json!({"prompt_contains": "tell", "responses": [{"text": answer}]});
    (prompt, turn)
}

#[tokio::test]
async fn a_request_costs_hundreds_of_bytes_whatever_the_transcripts_length() {
    let bed = Bed::new().await;
    let (prompt, turn) = long_turn();
    let _worker = Worker::serving(&bed, &json!([turn])).await;
    bed.put("acme/main", "MEMORY.md", "- likes tea\n").await;
    let agent = bed.start(bed.input("acme")).await;

    for _ in 0..15 {
        heard(&agent, &prompt).await;
    }

    let history = history(&agent).await;
    let requests = activities_of(&history, "call_model");
    let sizes: Vec<_> = requests
        .iter()
        .map(|request| bytes(request) - prompt.len())
        .collect();
    println!("bytes of requests without their prompts: {sizes:?}");
    assert!(sizes[0] > 2_000, "the first one has instructions and tools");
    let later = &sizes[1..];
    assert!(later.iter().all(|size| *size < 1_024), "{later:?}");
    let grown = later[later.len() - 1] - later[0];
    assert!(grown <= 4, "digits of positions alone: {later:?}");
    let kept = activities_of(&history, "call_model")
        .iter()
        .map(|it| it.result()["preamble_kept"].clone())
        .collect::<Vec<_>>();
    assert!(kept.iter().all(|kept| *kept == true), "{kept:?}");
    assert_eq!(bed.messages_of(&agent, "acme").await.len(), 30);
    bed.finish().await;
}

/// Makes the run continue as new, and waits until the next one is there.
async fn continue_as_new(agent: &Agent) {
    let before = run_id(agent).await;
    say(agent, "fill").await.expect("a reply");
    eventually("the conversation has continued as a new run", || async {
        (run_id(agent).await != before).then_some(())
    })
    .await;
}

/// A turn that fills the history.
fn fill() -> Value {
    let reads: Vec<_> = (0..17)
        .map(|n| json!({"id": format!("call_{n}"), "name": "read_memory", "arguments": {"file": "none"}}))
        .collect();
    json!({"prompt": "fill", "responses": [{"tool_calls": reads}, {"text": "filled"}]})
}

#[tokio::test]
async fn a_run_hands_over_positions_and_neither_messages_nor_blocks() {
    let bed = Bed::new().await;
    let _worker = Worker::serving(
        &bed,
        &json!([
            turn("hello", "I am at {{message_count}} with {{memory}}"),
            fill()
        ]),
    )
    .await;
    bed.put("acme/main", "MEMORY.md", "- the marker is OSMIUM\n")
        .await;
    let mut input = bed.input("acme");
    input.continue_as_new_events = Some(100);
    let agent = bed.start(input).await;

    let first = heard(&agent, "hello").await;
    continue_as_new(&agent).await;
    let second = heard(&agent, "hello").await;

    assert!(
        first.contains("at 1") && second.contains("at 23"),
        "{second}"
    );
    assert!(second.contains("OSMIUM"), "{second}");
    let history = history(&agent).await;
    let start = &history.events[0].attributes;
    let start = serde_json::to_value(start).expect("JSON");
    assert!(!start.to_string().contains("OSMIUM"));
    let state = state(&agent).await;
    let conversation = state.conversation.expect("it is stored");
    assert_eq!(conversation.id, *agent.info().workflow_id);
    assert_eq!((conversation.from, conversation.next), (0, 24));
    assert_eq!((state.turns, state.messages), (3, 24));
    let asked = &activities_of(&history, "get_messages")[0].input;
    assert_eq!(asked["limit"], 0);
    bed.finish().await;
}

#[tokio::test]
async fn instructions_and_tools_that_are_not_kept_any_more_are_sent_again() {
    let bed = Bed::new().await;
    let _worker = Worker::serving(&bed, &json!([turn("hello", "hello")])).await;
    let mut input = bed.input("acme");
    input.instructions = "Speak of WOLFRAM.".to_owned();
    let agent = bed.start(input).await;

    heard(&agent, "hello").await;
    heard(&agent, "hello").await;
    bed.execute("delete from snapshots").await;
    heard(&agent, "hello").await;
    heard(&agent, "hello").await;

    let requests = activities_of(&history(&agent).await, "call_model");
    let whole: Vec<_> = requests
        .iter()
        .map(|it| it.input.to_string().contains("WOLFRAM"))
        .collect();
    assert_eq!(whole, [true, false, false, true, false]);
    assert!(requests[2].outcome.as_ref().is_some_and(Result::is_err));
    bed.finish().await;
}

/// What a run of a worker from before there were stored transcripts hands over.
#[tokio::test]
async fn a_transcript_that_an_earlier_run_carried_is_stored_and_goes_on() {
    let bed = Bed::new().await;
    let _worker = Worker::serving(&bed, &json!([turn("hello", "hello, {{message_count}}")])).await;
    let plain = bed.start(bed.input("acme")).await;
    let hash = state(&plain).await.scope_hash;
    let resumed = json!({
        "scope_hash": hash,
        "transcript": [
            {"role": "user", "content": "before"},
            {"role": "assistant", "content": "yes"},
        ],
        "turns": 1,
    });
    let input = AgentInput {
        resumed: serde_json::from_value(resumed).expect("what was handed over"),
        ..bed.input("acme")
    };
    let agent = bed.start(input).await;

    assert_eq!(heard(&agent, "hello").await, "hello, 3");

    let messages = bed.messages_of(&agent, "acme").await;
    assert_eq!(messages.len(), 4);
    assert_eq!(messages[0]["content"], "before");
    assert_eq!(state(&agent).await.turns, 2);
    let request = &activities_of(&history(&agent).await, "call_model")[0].input;
    assert_eq!(request["messages"].as_array().map(Vec::len), Some(1));
    assert_eq!(request["conversation"]["to"], 2);
    bed.finish().await;
}
