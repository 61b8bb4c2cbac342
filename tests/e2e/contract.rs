//! The requests in `docs/contract.md`, sent to a worker in their order: it answers as the document says.

use std::{fmt::Write as _, path::Path};

use serde_json::{Value, json};
use temporalio_common::protos::temporal::api::failure::v1::failure::FailureInfo;

use crate::support::{Bed, Called, Worker, WorkerOptions, failure_type};

/// A JSON block of the document and the marker before it.
struct Block {
    marker: String,
    json: Value,
}

fn blocks(document: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    for part in document
        .split("```json\n")
        .skip(1)
        .zip(document.split("```json\n"))
    {
        let (block, before) = part;
        let (json, _) = block.split_once("```").expect("a block that ends");
        let marker = before.trim_end().lines().last().expect("a marker");
        let marker = marker
            .strip_prefix("<!-- ")
            .and_then(|rest| rest.strip_suffix(" -->"));
        blocks.push(Block {
            marker: marker.expect("every JSON block has a marker").to_owned(),
            json: serde_json::from_str(json).expect("JSON"),
        });
    }
    blocks
}

/// What a call came to, as the document writes it.
fn shown(called: &Called) -> (&'static str, Value) {
    let failure = match &called.outcome {
        Ok(result) => return ("answer", result.clone()),
        Err(failure) => failure,
    };
    let Some(FailureInfo::ApplicationFailureInfo(info)) = &failure.failure_info else {
        panic!("{failure:?}");
    };
    let shown = json!({
        "type": failure_type(failure),
        "message": failure.message,
        "non_retryable": info.non_retryable,
    });
    ("failure", shown)
}

/// The same, with every time that is written as one at one and the same time, and nothing old.
fn timeless(mut value: Value) -> Value {
    let inner: Box<dyn Iterator<Item = &mut Value>> = match &mut value {
        Value::Array(values) => Box::new(values.iter_mut()),
        Value::Object(fields) => {
            fields
                .entry("age_seconds")
                .and_modify(|age| *age = json!(0));
            Box::new(fields.values_mut())
        }
        Value::String(text) if is_time(text) => return json!("2026-11-30T04:05:06Z"),
        _ => return value,
    };
    for value in inner {
        *value = timeless(value.take());
    }
    value
}

fn is_time(text: &str) -> bool {
    text.replace(|c: char| c.is_ascii_digit(), "0") == "0000-00-00T00:00:00Z"
}

/// The sources that the document speaks of.
const SOURCES: &str = "\
[sources.handbook]
kind = 'vector'
index = 'in_memory'
[sources.registry]
kind = 'read_only'
inner = 'handbook'
";

/// The answers to the document's prompts.
fn turns() -> Value {
    json!([{"prompt": "I moved to Kiel.", "responses": [
        {"tool_calls": [{"id": "call_0", "name": "write_memory", "arguments": {"content": "- lives in Kiel"}}]},
        {"text": "I have noted that you live in Kiel."},
    ]}, {"prompt_contains": "Write the summary now.", "responses": [{"text": "Ada lives in Kiel."}]}])
}

#[tokio::test]
async fn a_worker_answers_the_requests_of_the_document_as_it_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/contract.md");
    let document = std::fs::read_to_string(path).expect("the document");
    let bed = Bed::new().await;
    let options = WorkerOptions {
        script: Some(bed.script(&turns())),
        queues: Some("memory"),
        environment: vec![("NOTEKEEPER_CONFIG", bed.config(SOURCES))],
        ..WorkerOptions::default()
    };
    let _worker = Worker::start(&bed, options).await;

    let mut differing = String::new();
    let mut answered = 0;
    for pair in blocks(&document).chunks(2) {
        let [request, said] = pair else {
            panic!("a request without an answer");
        };
        let activity = request.marker.strip_prefix("request: ").expect("a request");
        let (kind, json) = shown(&bed.call(activity, &request.json).await);
        if (kind, &timeless(json.clone())) != (said.marker.as_str(), &said.json) {
            writeln!(
                differing,
                "{activity} {} came to {kind}:\n{json:#}",
                request.json
            )
            .expect("text");
        }
        answered += 1;
    }
    assert!(differing.is_empty(), "{differing}");
    assert!(answered >= 12, "{answered}");
    bed.finish().await;
}
