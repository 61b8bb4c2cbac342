//! A conversation whose writes record what the worker says of them.

use notekeeper_contract::MetadataSource;
use notekeeper_domain::{NoteName, Scope};
use notekeeper_store::NoteStore as _;
use serde_json::json;

use super::{Form, Recorder, SCOPE, call, calls, closed, expect, input, text, turn};
use crate::support::{Bed, Worker, WorkerOptions};

/// A write, a person's change, and another write. What the resolver answers is nowhere in it.
#[tokio::test]
#[ignore = "writes files: `make record`"]
async fn write_metadata() {
    let bed = Bed::new().await;
    let turns = json!([
        turn(
            "I like tea.",
            [
                calls([call("write_memory", json!({"content": "- likes tea"}))]),
                text("{{memory}}"),
            ]
        ),
        turn(
            "And cake.",
            [
                calls([call("write_memory", json!({"content": "- likes cake"}))]),
                text("{{memory}}"),
            ]
        ),
    ]);
    let config = "[metadata.agent]\nupdated_by = \"resolved in the worker\"";
    let options = WorkerOptions {
        script: Some(bed.script(&turns)),
        environment: vec![("NOTEKEEPER_CONFIG", bed.config(config))],
        ..WorkerOptions::default()
    };
    let _worker = Worker::start(&bed, options).await;
    let mut input = input(&bed);
    input.memories[0].write_metadata = Some(MetadataSource::Resolver("agent".to_owned()));
    let agent = bed.start(input).await;

    expect(&agent, "I like tea.", "- likes tea").await;
    bed.put(SCOPE, "MEMORY.md", "- likes coffee\n").await;
    expect(&agent, "And cake.", "- likes coffee\n- likes cake").await;

    let scope = Scope::parse(SCOPE).expect("scope");
    let note = bed.store.read(&scope, &NoteName::main(), 1).await;
    let metadata = note.expect("read").expect("a note").metadata;
    let by = metadata.as_ref().and_then(|found| found.get("updated_by"));
    assert_eq!(by, Some("resolved in the worker"));
    let history = closed(&agent).await;
    Recorder::of("agent_workflow")
        .write_agent("write_metadata", Form::Json, &history)
        .await;
    bed.finish().await;
}
