//! Sizes: what would be too much for Temporal is a typed failure before it gets there.

use notekeeper_contract::Delivery;
use notekeeper_workflows::{MemorySettings, SendMessage};
use serde_json::json;

use crate::support::{Bed, Worker, WorkerOptions, failure_type, say, send, state, transcript};

#[tokio::test]
async fn a_model_request_over_the_bound_fails_its_message_and_no_task() {
    let bed = Bed::new().await;
    let script = json!([{"prompt_contains": "hello", "responses": [{"text": "fine"}]}]);
    // The same notes once more, under another name: memories on one store share a load.
    let config = bed.config(&format!(
        "[stores.again]\nkind = 'postgres'\nurl = '{}'\nschema = '{}'",
        bed.database_url, bed.schema
    ));
    let options = WorkerOptions {
        script: Some(bed.script(&script)),
        environment: vec![("NOTEKEEPER_CONFIG", config)],
        ..WorkerOptions::default()
    };
    let _worker = Worker::start(&bed, options).await;
    let mut input = bed.input("acme");
    // Each block fits the result of its own load; the request that holds both doesn't.
    let memory = |agent_name: &str, prefix: &str| MemorySettings {
        id: agent_name.to_owned(),
        agent_name: agent_name.to_owned(),
        prefix: prefix.to_owned(),
        delivery: Some(Delivery::Inline),
        max_tokens: 250_000,
        max_memory_size: 1_000_000,
        activities: input.memories[0].activities.clone(),
        ..MemorySettings::default()
    };
    let mut apart = memory("b", "b");
    apart.store = "again".to_owned();
    input.memories = vec![memory("a", "a"), apart];
    let line = "x".repeat(900_000);
    bed.put("acme/a", "MEMORY.md", &line).await;
    bed.put("acme/b", "MEMORY.md", &line).await;
    let agent = bed.start(input).await;

    let failure = say(&agent, "hello").await.expect_err("too large");

    assert_eq!(failure_type(&failure), "TooLarge", "{failure:?}");
    assert!(
        failure.message.contains("are allowed"),
        "{}",
        failure.message
    );
    assert_eq!(transcript(&agent).await, []);
    bed.put("acme/b", "MEMORY.md", "short").await;
    assert_eq!(say(&agent, "hello").await.expect("a reply").text, "fine");
    bed.finish().await;
}

#[tokio::test]
async fn a_message_with_an_id_is_answered_once_however_long_its_reply() {
    let bed = Bed::new().await;
    let long = "a long reply ".repeat(1_000);
    let script = json!([{"prompt": "tell", "responses": [{"text": long}]}]);
    let _worker = Worker::serving(&bed, &script).await;
    let agent = bed.start(bed.input("acme")).await;
    let message = || SendMessage {
        text: "tell".to_owned(),
        id: Some("m1".to_owned()),
    };

    let first = send(&agent, message(), None).await.expect("a reply");
    let second = send(&agent, message(), None).await.expect("a reply");

    assert_eq!(first.text, long);
    assert_eq!(first, second);
    assert_eq!(state(&agent).await.steps, 1);
    bed.finish().await;
}
