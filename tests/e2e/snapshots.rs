//! Snapshots: what the model sees of the memory, and what a history holds of it.

use std::path::Path;

use notekeeper_contract::Delivery;
use notekeeper_workflows::{ActivityQueue, AgentInput, InjectionErrors, MemorySettings};
use serde_json::{Value, json};

use crate::support::{
    Activity, Bed, Worker, WorkerOptions, activities, activities_of, failure_type, history, holds,
    say, state,
};

/// A turn that shows the model's view of the memory, and one that doesn't.
fn turns() -> Value {
    json!([
        {"prompt": "show", "responses": [{"text": "{{memory}}"}]},
        {"prompt": "hide", "responses": [{"text": "nothing to see"}]},
    ])
}

/// What a load of one memory answered.
fn answer(load: &Activity) -> &Value {
    &load.result()["snapshots"][0]
}

#[tokio::test]
async fn a_snapshot_is_loaded_before_every_model_request_also_inside_a_tool_loop() {
    let bed = Bed::new().await;
    let write = |line: &str| json!({"tool_calls": [{"id": "call_0", "name": "write_memory", "arguments": {"content": line}}]});
    let _worker = Worker::serving(
        &bed,
        &json!([{"prompt": "go", "responses": [write("alpha"), write("beta"), {"text": "{{memory}}"}]}]),
    )
    .await;
    let agent = bed.start(bed.input("acme")).await;

    let reply = say(&agent, "go").await.expect("a reply");

    assert!(reply.text.contains("alpha\nbeta"), "{reply:?}");
    let history = history(&agent).await;
    let activities = activities(&history);
    let names: Vec<_> = activities.iter().map(|a| a.name.as_str()).collect();
    let round = [
        "load_snapshot",
        "call_model",
        "write_memory",
        "add_messages",
    ];
    let start = ["describe_memory", "get_messages"];
    let end = ["load_snapshot", "call_model", "add_messages"];
    assert_eq!(names, [&start[..], &round, &round, &end].concat());
    let prefix = format!("nk.{}.", state(&agent).await.scope_hash);
    for (activity, number) in activities.iter().zip(1..) {
        assert_eq!(activity.id, format!("{prefix}{number}"));
    }
    let loads: Vec<_> = activities
        .iter()
        .filter(|a| a.name == "load_snapshot")
        .collect();
    let requests: Vec<_> = activities
        .iter()
        .filter(|a| a.name == "call_model")
        .collect();
    assert_eq!(answer(loads[0])["outcome"], "empty");
    assert_eq!(requests[0].input["memories"], json!([]));
    for (load, request) in loads.iter().zip(&requests).skip(1) {
        assert_eq!(answer(load)["outcome"], "block");
        assert_eq!(
            request.input["memories"][0]["digest"],
            answer(load)["digest"]
        );
        let messages = request.input["messages"].to_string();
        assert!(!messages.contains("<memory"), "{messages}");
    }
    assert_ne!(answer(loads[1])["digest"], answer(loads[2])["digest"]);
    bed.finish().await;
}

#[tokio::test]
async fn an_unchanged_snapshot_costs_a_digest_and_no_text_is_recorded() {
    let bed = Bed::new().await;
    let _worker = Worker::serving(&bed, &turns()).await;
    bed.put("acme/main", "MEMORY.md", "- the marker is OSMIUM\n")
        .await;
    let agent = bed.start(bed.input("acme")).await;

    for _ in 0..3 {
        say(&agent, "hide").await.expect("a reply");
    }
    let recorded = history(&agent).await;
    let loads = activities_of(&recorded, "load_snapshot");
    let outcomes: Vec<_> = loads
        .iter()
        .map(|load| answer(load)["outcome"].clone())
        .collect();
    assert_eq!(outcomes, ["block", "unchanged", "unchanged"]);
    for load in &loads[1..] {
        assert_eq!(answer(load)["digest"], answer(&loads[0])["digest"]);
        assert_eq!(
            load.input["memories"][0]["held_digest"],
            answer(&loads[0])["digest"]
        );
    }
    assert!(!holds(&recorded, "OSMIUM"), "the history holds the block");

    // What is referred to is what the model sees; and a change is noticed.
    let seen = say(&agent, "show").await.expect("a reply").text;
    assert!(seen.contains("OSMIUM"), "{seen}");
    bed.put("acme/main", "MEMORY.md", "- the marker is RHENIUM\n")
        .await;
    let seen = say(&agent, "show").await.expect("a reply").text;
    assert!(
        seen.contains("RHENIUM") && !seen.contains("OSMIUM"),
        "{seen}"
    );
    let loads = activities_of(&history(&agent).await, "load_snapshot");
    assert_eq!(answer(&loads[3])["outcome"], "unchanged");
    assert_eq!(answer(&loads[4])["outcome"], "block");
    bed.finish().await;
}

#[tokio::test]
async fn a_block_that_is_not_kept_any_more_is_loaded_afresh() {
    let bed = Bed::new().await;
    let _worker = Worker::serving(&bed, &turns()).await;
    bed.put("acme/main", "MEMORY.md", "- likes tea\n").await;
    let agent = bed.start(bed.input("acme")).await;

    let before = say(&agent, "show").await.expect("a reply").text;
    bed.execute("delete from snapshots").await;
    let after = say(&agent, "show").await.expect("a reply").text;

    assert!(before.contains("- likes tea"), "{before}");
    assert_eq!(after, before);
    let loads = activities_of(&history(&agent).await, "load_snapshot");
    let outcomes: Vec<_> = loads
        .iter()
        .map(|load| answer(load)["outcome"].clone())
        .collect();
    assert_eq!(outcomes, ["block", "unchanged", "block"]);
    bed.finish().await;
}

/// Texts of snapshots that are kept are gone at once.
const FORGET: &str = "
    create function forget() returns trigger language plpgsql as 'begin return null; end';
    create trigger forget before insert on snapshots for each row execute function forget();
";

#[tokio::test]
async fn a_block_that_is_never_kept_is_left_out_or_fails_the_message_as_the_settings_want() {
    let bed = Bed::new().await;
    let script = json!([{"prompt": "hello", "responses": [{"text": "saw: {{memory}}"}]}]);
    let _worker = Worker::serving(&bed, &script).await;
    bed.put("acme/main", "MEMORY.md", "- likes tea\n").await;
    bed.execute(FORGET).await;
    let mut input = bed.input("acme");
    // What one for the tools alone wants doesn't count.
    input.memories.push(MemorySettings {
        id: "archive".to_owned(),
        agent_name: "archive".to_owned(),
        prefix: "archive".to_owned(),
        inject_memory: false,
        injection_errors: InjectionErrors::Raise,
        ..input.memories[0].clone()
    });
    let lenient = bed.start(input).await;
    let mut input = bed.input("acme");
    input.memories[0].injection_errors = InjectionErrors::Raise;
    let strict = bed.start(input).await;

    let reply = say(&lenient, "hello").await.expect("a reply");
    let failure = say(&strict, "hello").await.expect_err("a failure");

    assert_eq!(reply.text, "saw: ");
    assert_eq!(reply.skipped.len(), 1, "{reply:?}");
    assert_eq!(reply.skipped[0].error_type, "SnapshotMissing");
    let requests = activities_of(&history(&lenient).await, "call_model").len();
    assert_eq!(requests, 3);
    assert_eq!(failure_type(&failure), "SnapshotMissing", "{failure:?}");
    bed.finish().await;
}

/// The input that docs/calling.md shows, with activities on the queue of the test.
fn documented_input(bed: &Bed) -> AgentInput {
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/calling.md");
    let document = std::fs::read_to_string(document).expect("read the document");
    let (_, after) = document
        .split_once("<!-- input: several memories -->\n```json\n")
        .expect("the input");
    let (json, _) = after.split_once("```").expect("its end");
    let mut input: AgentInput = serde_json::from_str(json).expect("an input");
    let activities = bed.input("").memories.remove(0).activities;
    for memory in &mut input.memories {
        memory.activities = activities.clone();
    }
    input
}

#[tokio::test]
async fn several_memories_come_with_one_load_and_are_written_by_their_own_tools() {
    let bed = Bed::new().await;
    let _worker = Worker::serving(
        &bed,
        &json!([{"prompt": "note", "responses": [
            {"tool_calls": [{"id": "call_0", "name": "company_write_memory", "arguments": {"content": "- new"}}]},
            {"text": "{{memory}}"},
        ]}]),
    )
    .await;
    bed.put("customers/ada/main", "MEMORY.md", "- mine\n").await;
    bed.put("company/main", "MEMORY.md", "- ours\n").await;
    let mut input = documented_input(&bed);
    // What is stated twice is there once.
    input.memories.push(input.memories[1].clone());
    let agent = bed.start(input).await;

    let seen = say(&agent, "note").await.expect("a reply").text;

    let own = "<memory>\n## Your notes\n\n### MEMORY.md\n\n- mine\n</memory>";
    let company = "<memory>\n## The company's notes\n\n### MEMORY.md\n\n- ours\n- new\n</memory>";
    let places = [own, company].map(|block| seen.find(block));
    assert!(places[0].is_some() && places[0] < places[1], "{seen}");
    let history = history(&agent).await;
    let loads = activities_of(&history, "load_snapshot");
    assert_eq!(loads.len(), 2, "one for each model request");
    assert_eq!(
        loads[0].result()["snapshots"].as_array().map(Vec::len),
        Some(2)
    );
    let instructions = &activities_of(&history, "call_model")[0].input["instructions"];
    let instructions = instructions.as_str().expect("text");
    for heading in ["## Your notes\n\n", "## The company's notes\n\n"] {
        assert!(instructions.contains(heading), "{instructions}");
    }
    assert_eq!(activities_of(&history, "write_memory").len(), 1);
    let ours = bed.note("company/main", "MEMORY.md").await;
    let mine = bed.note("customers/ada/main", "MEMORY.md").await;
    assert_eq!(ours.as_deref(), Some("- ours\n- new\n"));
    assert_eq!(mine.as_deref(), Some("- mine\n"));
    bed.finish().await;
}

#[tokio::test]
async fn without_injection_nothing_is_loaded_and_the_tools_still_reach_the_memory() {
    let bed = Bed::new().await;
    let _worker = Worker::serving(
        &bed,
        &json!([{"prompt": "look", "responses": [
            {"tool_calls": [{"id": "call_0", "name": "read_memory", "arguments": {"file": "MEMORY.md"}}]},
            {"text": "block <{{memory}}>, read <{{last_tool_result}}>"},
        ]}]),
    )
    .await;
    bed.put("acme/main", "MEMORY.md", "- likes tea\n").await;
    let mut input = bed.input("acme");
    input.memories[0].inject_memory = false;
    let agent = bed.start(input).await;

    let reply = say(&agent, "look").await.expect("a reply");

    assert_eq!(reply.text, "block <>, read <- likes tea\n>");
    let history = history(&agent).await;
    assert_eq!(activities_of(&history, "load_snapshot").len(), 0);
    bed.finish().await;
}

#[tokio::test]
async fn a_block_is_delivered_inline_where_the_settings_say_so() {
    let bed = Bed::new().await;
    let _worker = Worker::serving(&bed, &turns()).await;
    bed.put("acme/main", "MEMORY.md", "- likes tea\n").await;
    let mut input = bed.input("acme");
    input.memories[0].delivery = Some(Delivery::Inline);
    let agent = bed.start(input).await;

    for _ in 0..2 {
        let seen = say(&agent, "show").await.expect("a reply").text;
        assert!(seen.contains("- likes tea"), "{seen}");
    }

    let history = history(&agent).await;
    let loads = activities_of(&history, "load_snapshot");
    let requests = activities_of(&history, "call_model");
    assert_eq!(answer(&loads[1])["outcome"], "unchanged");
    for request in requests {
        assert_eq!(
            request.input["memories"][0]["text"],
            answer(&loads[0])["text"]
        );
    }
    bed.finish().await;
}

#[tokio::test]
async fn every_activity_has_an_end_that_the_settings_can_move() {
    let bed = Bed::new().await;
    let _worker = Worker::serving(
        &bed,
        &json!([{"prompt": "go", "responses": [
            {"tool_calls": [{"name": "read_memory", "arguments": {"file": "none"}}]},
            {"text": "done"},
        ]}]),
    )
    .await;
    let ends = async |input| {
        let agent = bed.start(input).await;
        say(&agent, "go").await.expect("a reply");
        let activities = activities(&history(&agent).await);
        let ends = activities.into_iter().skip(2).take(3);
        ends.map(|a| (a.name, a.close_ms)).collect::<Vec<_>>()
    };
    let named = |load, model, tool| {
        [
            ("load_snapshot", load),
            ("call_model", model),
            ("read_memory", tool),
        ]
        .map(|(name, close_ms)| (name.to_owned(), close_ms))
    };

    let given = ends(bed.input("acme")).await;
    let mut input = bed.input("umbrella");
    (
        input.model_schedule_to_close_ms,
        input.model_start_to_close_ms,
    ) = (9_000, 8_000);
    let settings = &mut input.memories[0];
    settings.injection_errors = InjectionErrors::Raise;
    (
        settings.activities.schedule_to_close_ms,
        settings.activities.start_to_close_ms,
    ) = (7_000, 6_000);
    let moved = ends(input).await;

    // Where a store that is away is ignored, a load gives up much sooner than a tool.
    assert_eq!(
        given,
        named((10_000, 10_000), (600_000, 120_000), (300_000, 10_000))
    );
    assert_eq!(moved, named((7_000, 6_000), (9_000, 8_000), (7_000, 6_000)));
    bed.finish().await;
}

#[tokio::test]
async fn memory_activities_run_on_the_workflows_own_queue_where_the_settings_say_so() {
    let bed = Bed::new().await;
    let _worker = Worker::start(
        &bed,
        WorkerOptions {
            script: Some(bed.script(&turns())),
            queues: Some("workflows"),
            ..WorkerOptions::default()
        },
    )
    .await;
    bed.put("acme/main", "MEMORY.md", "- likes tea\n").await;
    let mut input = bed.input("acme");
    input.memories[0].activities.queue = ActivityQueue::Workflow;
    let agent = bed.start(input).await;

    let reply = say(&agent, "show").await.expect("a reply");

    assert!(reply.text.contains("- likes tea"), "{reply:?}");
    bed.finish().await;
}
