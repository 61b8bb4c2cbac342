//! Histories as other tools write them.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use crate::support::{Bed, in_time};

/// What the command line shows of a workflow.
pub(super) async fn shown(bed: &Bed, workflow_id: &str) -> Value {
    let program = std::env::var_os("TEMPORAL_CLI").expect("TEMPORAL_CLI names the command line");
    let mut command = tokio::process::Command::new(program);
    command
        .args(["workflow", "show", "--output", "json"])
        .args(["--workflow-id", workflow_id])
        .args(["--address", &bed.temporal_address])
        .args(["--namespace", &bed.temporal_namespace]);
    let output = in_time("the command line", command.output()).await;
    let output = output.expect("the command line runs");
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).expect("it prints JSON")
}

/// The same as the web UI decodes it for people: the data of a payload as JSON beside its metadata
/// as text, where the data are JSON. What it downloads without decoding is what the command line
/// shows.
pub(super) fn decoded(shown: &Value) -> Value {
    match shown {
        Value::Object(map) if map.contains_key("metadata") && map.contains_key("data") => {
            let text = |value: &Value| {
                let bytes = STANDARD
                    .decode(value.as_str().expect("base64"))
                    .expect("base64");
                String::from_utf8(bytes).expect("text")
            };
            let metadata = map["metadata"].as_object().expect("a map");
            let metadata: Value = metadata
                .iter()
                .map(|(key, value)| (key.clone(), text(value)))
                .collect();
            match serde_json::from_str::<Value>(&text(&map["data"])) {
                Ok(data) => json!({"metadata": metadata, "data": data}),
                Err(_) => shown.clone(),
            }
        }
        Value::Object(map) => map
            .iter()
            .map(|(key, value)| (key.clone(), decoded(value)))
            .collect(),
        Value::Array(items) => items.iter().map(decoded).collect(),
        other => other.clone(),
    }
}
