//! A conversation with an agent.

use serde_json::json;

use crate::support::{Bed, Worker, WorkerOptions, close, say, state};

#[tokio::test]
async fn what_the_model_writes_stands_in_the_next_request() {
    let bed = Bed::new().await;
    let script = bed.script(&json!([
        {"prompt": "remember tea", "responses": [
            {"tool_calls": [{"id": "call_0", "name": "write_memory", "arguments": {"content": "- likes tea"}}]},
            {"text": "{{memory}}"},
        ]},
        {"prompt": "what do you know?", "responses": [{"text": "{{memory}}"}]},
    ]));
    let _worker = Worker::start(&bed, WorkerOptions { script: Some(script), ..WorkerOptions::default() }).await;
    let agent = bed.start(bed.input("acme")).await;

    let first = say(&agent, "remember tea").await.expect("a reply");
    let second = say(&agent, "what do you know?").await.expect("a reply");

    assert!(first.text.contains("- likes tea"), "{first:?}");
    assert_eq!(first.text, second.text);
    assert_eq!(first.requests, 2);
    assert_eq!(bed.note("acme/main", "MEMORY.md").await.as_deref(), Some("- likes tea\n"));
    assert_eq!(state(&agent).await.turns, 2);
    close(&agent).await;
    bed.finish().await;
}
