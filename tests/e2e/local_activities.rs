//! Memory activities that are local: they run within the workflow task, on the workflow's worker.

use std::{collections::BTreeSet, time::Duration};

use notekeeper_workflows::{ActivityQueue, InjectionErrors, MemorySettings};
use serde_json::{Value, json};
use temporalio_client::{WorkflowCancelOptions, errors::WorkflowGetResultError};
use temporalio_common::protos::temporal::api::history::v1::{History, history_event::Attributes};

use crate::support::{
    Bed, Way, Worker, WorkerOptions, activities, activities_of, begin, close, ended, eventually,
    failure_type, history, reply, say, state, tasks_timed_out,
};

/// A turn that adds a line and shows the memory, and one that shows it.
fn turns() -> Value {
    json!([
        {"prompt": "note", "responses": [
            {"tool_calls": [{"id": "call_0", "name": "write_memory", "arguments": {"content": "alpha"}}]},
            {"text": "{{memory}}"},
        ]},
        {"prompt": "show", "responses": [{"text": "{{memory}}"}]},
    ])
}

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
    let mut expected = vec!["describe_memory", "get_messages"];
    for tool in [
        "write_memory",
        "read_memory",
        "search_memory",
        "delete_memory",
    ] {
        expected.extend(["load_snapshot", "call_model", tool, "add_messages"]);
    }
    expected.extend(["load_snapshot", "call_model", "add_messages"]);
    let names: Vec<_> = activities.iter().map(|a| a.name.as_str()).collect();
    assert_eq!(names, expected);
    assert_eq!(remote(&history), ["call_model"; 5]);
    for (activity, number) in activities.iter().zip(1..) {
        assert_eq!(activity.id, format!("{prefix}{number}"));
    }
    let of_tools = activities
        .iter()
        .filter(|a| a.is_local && a.name.ends_with("_memory") && a.name != "describe_memory");
    for activity in of_tools {
        assert_eq!(activity.result()["outcome"], "ok", "{activity:?}");
    }
    assert_eq!(bed.receipts("acme/main").await.len(), 2);
    bed.finish().await;
}

/// A memory on a store of its own, with nothing in its instructions.
fn memory_on(store: &str) -> MemorySettings {
    let mut settings = MemorySettings {
        id: store.to_owned(),
        store: store.to_owned(),
        prefix: store.to_owned(),
        guidance: Some(String::new()),
        injection_errors: InjectionErrors::Raise,
        ..MemorySettings::default()
    };
    settings.activities.queue = ActivityQueue::Local;
    settings
}

/// More than 30 that wait on timers of the workflow would never go on: none may.
#[tokio::test]
async fn a_hundred_at_once_that_all_have_to_be_tried_again_are_done() {
    let bed = Bed::new().await;
    let stores: Vec<_> = (0..100).map(|number| format!("store{number}")).collect();
    let sections = stores
        .iter()
        .map(|store| format!("[stores.{store}]\nkind = \"in_memory\"\n"));
    let config = bed.config(&sections.collect::<String>());
    let turns = json!([{"prompt": "go", "responses": [{"text": "done"}]}]);
    let options = WorkerOptions {
        // The others' first four attempts are fewer: nobody's first one succeeds.
        fault: Some("load_snapshot.after_read=fail:400".to_owned()),
        environment: vec![("NOTEKEEPER_CONFIG", config)],
        ..workflows_alone(&bed, &turns)
    };
    let _worker = Worker::start(&bed, options).await;
    let mut input = bed.input("acme");
    input.memories = stores.iter().map(|store| memory_on(store)).collect();
    let agent = bed.start(input).await;

    let reply = say(&agent, "go").await.expect("a reply");

    assert_eq!((reply.text.as_str(), reply.skipped), ("done", vec![]));
    let history = history(&agent).await;
    let loads = activities_of(&history, "load_snapshot");
    let ids: BTreeSet<_> = loads.iter().map(|load| &load.id).collect();
    assert_eq!((loads.len(), ids.len()), (100, 100));
    for load in &loads {
        assert!(load.is_local && load.attempt >= 2, "{load:?}");
    }
    let timers = history.events.iter().filter(|event| {
        matches!(
            event.attributes,
            Some(Attributes::TimerStartedEventAttributes(_))
        )
    });
    assert_eq!(timers.count(), 0);
    bed.finish().await;
}

/// Time for workflow tasks of those that local activities outlast: a fifth of it is the margin in
/// which a busy machine has to ask for more.
const TASK: Duration = Duration::from_secs(5);

/// Completed workflow tasks so far.
fn tasks_completed(history: &History) -> usize {
    let completed = history.events.iter().filter(|event| {
        matches!(
            event.attributes,
            Some(Attributes::WorkflowTaskCompletedEventAttributes(_))
        )
    });
    completed.count()
}

#[tokio::test]
async fn one_that_outlasts_the_workflow_task_is_waited_for_and_queries_and_messages_meanwhile() {
    let bed = Bed::new().await;
    let _worker = Worker::start(&bed, workflows_alone(&bed, &turns())).await;
    let mut input = bed.input_by(Way::Local, "acme");
    input.memories[0].activities.start_to_close_ms = 30_000;
    let agent = bed.start_within(TASK, input).await;
    let mut lock = bed.lock_notes().await;

    let first = begin(&agent, "note").await;
    lock.held_up(1).await;
    let before = tasks_completed(&history(&agent).await);
    let second = begin(&agent, "show").await;
    assert_eq!(state(&agent).await.waiting, 2);
    eventually("the worker has asked for more time", async || {
        (tasks_completed(&history(&agent).await) > before).then_some(())
    })
    .await;
    lock.release().await;

    for pending in [first, second] {
        let reply = reply(pending).await.expect("a reply");
        assert!(reply.text.contains("alpha"), "{reply:?}");
    }
    let history = history(&agent).await;
    let write = activities_of(&history, "write_memory").remove(0);
    assert_eq!(write.result()["replayed"], false);
    assert_eq!(tasks_timed_out(&history), 0);
    assert_eq!(bed.receipts("acme/main").await.len(), 1);
    bed.finish().await;
}

#[tokio::test]
async fn a_cancelled_conversation_does_not_wait_for_one_that_hangs() {
    let bed = Bed::new().await;
    let _worker = Worker::start(&bed, workflows_alone(&bed, &turns())).await;
    let mut input = bed.input_by(Way::Local, "acme");
    input.memories[0].activities.start_to_close_ms = 30_000;
    let agent = bed.start_within(TASK, input).await;
    let mut lock = bed.lock_notes().await;
    let message = begin(&agent, "note").await;
    lock.held_up(1).await;

    let asked = agent.cancel(WorkflowCancelOptions::default()).await;
    asked.expect("ask for the cancellation");

    let failure = reply(message).await.expect_err("no reply");
    assert_eq!(failure_type(&failure), "Cancelled");
    let end = ended(&agent).await;
    assert!(
        matches!(end, Err(WorkflowGetResultError::Cancelled { .. })),
        "{end:?}"
    );
    lock.held_up(1).await;
    lock.release().await;
    bed.finish().await;
}

#[tokio::test]
async fn a_worker_that_is_stopped_lets_one_end_and_the_next_one_finds_it_done() {
    let bed = Bed::new().await;
    let mut first = Worker::start(&bed, workflows_alone(&bed, &turns())).await;
    let agent = bed.start(bed.input_by(Way::Local, "acme")).await;
    let mut lock = bed.lock_notes().await;
    let turn = begin(&agent, "note").await;
    lock.held_up(1).await;

    first.terminate();
    first.wait_until_logged("stopping", 1).await;
    let _second = Worker::start(&bed, workflows_alone(&bed, &turns())).await;
    lock.release().await;

    assert_eq!(first.ended().await.code(), Some(0));
    first.wait_until_logged("worker has drained", 1).await;
    let reply = reply(turn).await.expect("a reply");
    assert!(reply.text.contains("alpha"), "{reply:?}");
    assert_eq!(
        bed.note("acme/main", "MEMORY.md").await.as_deref(),
        Some("alpha\n")
    );
    assert_eq!(bed.receipts("acme/main").await.len(), 1);
    let history = history(&agent).await;
    let write = activities_of(&history, "write_memory").remove(0);
    // The worker went on with the workflow task until that was done, so nobody waited for its time-out.
    assert_eq!(write.result()["replayed"], false);
    assert_eq!(
        write.worker.split('@').next(),
        Some(first.id().to_string().as_str())
    );
    assert_eq!(tasks_timed_out(&history), 0);
    bed.finish().await;
}
