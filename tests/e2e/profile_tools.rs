//! An application's tools that remember, in Rust and in Python: `examples/profile-tool` and
//! `examples/python/profile_tool.py`, called by the model of a conversation.

use std::{path::Path, sync::Arc};

use notekeeper_activities::{Notebook, Stores, fault};
use notekeeper_domain::{FactKey, Scope};
use notekeeper_example_profile_tool::ProfileTools;
use notekeeper_store::{FactStore as _, Store};
use notekeeper_workflows::ApplicationTool;
use serde_json::{Value, json};
use temporalio_sdk::WorkerOptions as SdkWorkerOptions;

use crate::support::{
    Agent, Bed, Hosted, Worker, WorkerOptions, activities_of, history, python, say,
};

/// Task queue of the application's worker.
fn tool_queue(bed: &Bed) -> String {
    format!("{}-profile", bed.task_queue)
}

/// What the model says: it saves what it is told, and looks it up when it is asked.
fn turns() -> Value {
    let call = |name: &str, arguments: Value| json!({"id": "call_0", "name": name, "arguments": arguments});
    let turn = |prompt: &str, call: Value| {
        json!({"prompt": prompt, "responses": [
            {"tool_calls": [call]}, {"text": "{{last_tool_result}}"},
        ]})
    };
    let preference = json!({"key": "food_preferences", "value": "dietary need: no peanuts"});
    json!([
        turn("I can't eat peanuts.", call("save_preference", preference)),
        turn(
            "What may I eat?",
            call("lookup", json!({"query": "dietary"}))
        ),
        turn("All that you know?", call("lookup", json!({"query": ""}))),
        turn(
            "Save nothing.",
            call("save_preference", json!({"key": " ", "value": "x"}))
        ),
        turn("Save wrongly.", call("save_preference", json!({"key": 7}))),
    ])
}

/// A conversation whose model may call the tools.
async fn talk(bed: &Bed, namespace: &str) -> Agent {
    let tool = |name: &str, parameters: Value| ApplicationTool {
        name: name.to_owned(),
        description: format!("The tool `{name}`."),
        parameters: json!({"type": "object", "properties": parameters}),
        kind: None,
        activity: name.to_owned(),
        task_queue: Some(tool_queue(bed)),
        start_to_close_ms: 30_000,
        schedule_to_close_ms: 60_000,
    };
    let mut input = bed.input(namespace);
    let text = json!({"type": "string"});
    input.tools = vec![
        tool("save_preference", json!({"key": text, "value": text})),
        tool("lookup", json!({"query": text})),
    ];
    bed.start(input).await
}

/// What a tool that is tried twice must leave behind: one fact, of the conversation's own scope, and
/// found by later conversations of the same tenant alone.
async fn a_tool_remembers_once(bed: &Bed) {
    let agent = talk(bed, "acme/ada").await;
    let saved = say(&agent, "I can't eat peanuts.").await.expect("a reply");
    assert_eq!(saved.text, "Saved food_preferences.");
    let tried = &activities_of(&history(&agent).await, "save_preference")[0].attempt;
    assert_eq!(
        *tried, 2,
        "the first attempt failed after it had remembered"
    );

    let scope = Scope::parse("acme/ada/main").expect("a scope");
    let key = FactKey::parse("food_preferences").expect("a key");
    let fact = bed
        .store
        .fact(&scope, &key)
        .await
        .expect("the store answers");
    let fact = fact.expect("it is kept");
    assert_eq!(fact.fact.value(), "dietary need: no peanuts");
    let receipts = bed.receipts("acme/ada/main").await;
    let of_tool: Vec<_> = receipts
        .iter()
        .filter(|receipt| receipt.id.ends_with("/save"))
        .collect();
    assert_eq!(of_tool.len(), 1, "{receipts:?}");

    let later = talk(bed, "acme/ada").await;
    let found = say(&later, "What may I eat?").await.expect("a reply");
    assert_eq!(found.text, json!(["dietary need: no peanuts"]).to_string());
    let found = say(&later, "All that you know?").await.expect("a reply");
    assert_eq!(found.text, json!(["dietary need: no peanuts"]).to_string());
    let stranger = talk(bed, "acme/grace").await;
    let found = say(&stranger, "All that you know?").await.expect("a reply");
    assert_eq!(found.text, "[]");

    let refused = say(&later, "Save nothing.").await.expect("a reply");
    assert!(
        refused.text.starts_with("Not saved: key must have"),
        "{refused:?}"
    );
    let wrong = say(&later, "Save wrongly.").await.expect("a reply");
    assert!(
        wrong.text.starts_with("The arguments don't fit"),
        "{wrong:?}"
    );
}

#[tokio::test]
async fn a_tool_in_rust_remembers_once_in_the_scope_that_it_receives() {
    let bed = Bed::new().await;
    let _worker = Worker::serving(&bed, &turns()).await;
    let store: Arc<dyn Store> = Arc::new(bed.store.clone());
    let notebook = Notebook::new(Stores::new([("default".to_owned(), store)]));
    let options = SdkWorkerOptions::new(tool_queue(&bed))
        .register_activities(ProfileTools::new(notebook, "default"))
        .build();
    let tools = Hosted::start(bed.client.clone(), options).await;
    // Of this process: the workers of the other tests are processes of their own.
    fault::arm("remember.after_commit=fail:1").expect("a fault point");

    a_tool_remembers_once(&bed).await;

    tools.stop().await;
    bed.finish().await;
}

#[tokio::test]
async fn a_tool_in_python_remembers_once_in_the_scope_that_it_receives() {
    let bed = Bed::new().await;
    let _worker = Worker::start(
        &bed,
        WorkerOptions {
            script: Some(bed.script(&turns())),
            ..WorkerOptions::default()
        },
    )
    .await;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut command = python::command(["tests/python", "examples/python"].map(|at| root.join(at)));
    let _tools = command
        .args(["-m", "failing_profile_tool"])
        .current_dir(&root)
        .env("TEMPORAL_ADDRESS", &bed.temporal_address)
        .env("TEMPORAL_NAMESPACE", &bed.temporal_namespace)
        .env("NOTEKEEPER_TASK_QUEUE", &bed.task_queue)
        .env("PROFILE_TASK_QUEUE", tool_queue(&bed))
        .spawn()
        .expect("run Python");

    a_tool_remembers_once(&bed).await;

    bed.finish().await;
}
