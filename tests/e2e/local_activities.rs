//! Memory activities that are local: they run within the workflow task, on the workflow's worker.

use serde_json::{Value, json};
use temporalio_common::protos::temporal::api::history::v1::History;

use crate::support::{
    Bed, Way, Worker, WorkerOptions, activities, close, ended, history, say, state,
};

/// Options of a worker that has the workflows alone, as it is enough for local activities.
fn workflows_alone(bed: &Bed, turns: &Value) -> WorkerOptions {
    WorkerOptions {
        script: Some(bed.script(turns)),
        queues: Some("workflows"),
        ..WorkerOptions::default()
    }
}

/// The activities that are not local, by type.
fn remote(history: &History) -> Vec<String> {
    let mut activities = activities(history);
    activities.retain(|activity| !activity.is_local);
    activities
        .into_iter()
        .map(|activity| activity.name)
        .collect()
}

#[tokio::test]
async fn every_memory_activity_is_local_and_nothing_else_is() {
    let bed = Bed::new().await;
    let tools = [
        ("write_memory", json!({"content": "sencha", "file": "teas"})),
        ("read_memory", json!({"file": "teas"})),
        ("search_memory", json!({"query": "sencha"})),
        ("delete_memory", json!({"file": "teas"})),
    ];
    let calls = tools.each_ref().map(|(name, arguments)| {
        json!({"tool_calls": [{"id": "call_0", "name": name, "arguments": arguments}]})
    });
    let turns = json!([{"prompt": "go", "responses": [
        calls[0], calls[1], calls[2], calls[3], {"text": "{{last_tool_result}}"},
    ]}]);
    let _worker = Worker::start(&bed, workflows_alone(&bed, &turns)).await;
    let agent = bed.start(bed.input_by(Way::Local, "acme")).await;

    let reply = say(&agent, "go").await.expect("a reply");

    assert!(reply.text.contains("deleted"), "{reply:?}");
    let prefix = format!("nk.{}.", state(&agent).await.scope_hash);
    close(&agent).await;
    ended(&agent).await.expect("a good end");
    let history = history(&agent).await;
    let activities = activities(&history);
    let mut expected = Vec::new();
    for tool in [
        "write_memory",
        "read_memory",
        "search_memory",
        "delete_memory",
    ] {
        expected.extend(["load_snapshot", "call_model", tool]);
    }
    expected.extend(["load_snapshot", "call_model"]);
    let names: Vec<_> = activities.iter().map(|a| a.name.as_str()).collect();
    assert_eq!(names, expected);
    assert_eq!(remote(&history), ["call_model"; 5]);
    for (activity, number) in activities.iter().zip(1..) {
        assert_eq!(activity.id, format!("{prefix}{number}"));
    }
    let of_tools = activities
        .iter()
        .filter(|a| a.is_local && a.name != "load_snapshot");
    for activity in of_tools {
        assert_eq!(activity.result()["outcome"], "ok", "{activity:?}");
    }
    assert_eq!(bed.receipts("acme/main").await.len(), 2);
    bed.finish().await;
}
