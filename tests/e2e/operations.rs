//! Operations: whatever runs twice takes effect once.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use notekeeper_activities::{Notebook, NotebookActivities, Stores};
use notekeeper_contract::{FailureType, WriteMemory, WriteMemoryInput};
use notekeeper_store::Store;
use serde_json::{Value, json};
use temporalio_client::{WorkflowGetResultOptions, WorkflowStartOptions};
use temporalio_common::protos::temporal::api::failure::v1::{Failure, failure::FailureInfo};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_workflow::{LocalActivityOptions, WorkflowContext, WorkflowResult};

use crate::support::{
    Activity, Bed, Hosted, Way, Worker, WorkerOptions, activities_of, failure_type, history,
    in_time, payload, say, tasks_timed_out,
};

/// Runs the scripted turn `go` of a conversation in `namespace` while the worker that carries out the
/// memory activities dies at a fault point, and another takes over. Attempts have a second, and
/// workflow tasks five.
async fn go_with_a_worker_killed_at(
    bed: &Bed,
    way: Way,
    namespace: &str,
    point: &str,
    turns: &Value,
) -> crate::support::Agent {
    let queues = match way {
        Way::MemoryQueue => "memory",
        Way::WorkflowQueue | Way::Local => "workflows",
    };
    let _workflows = match way {
        Way::MemoryQueue => {
            let options = WorkerOptions {
                queues: Some("workflows"),
                ..WorkerOptions::default()
            };
            Some(Worker::start(bed, options).await)
        }
        Way::WorkflowQueue | Way::Local => None,
    };
    let script = bed.script(turns);
    let options = |fault: Option<String>| WorkerOptions {
        script: Some(script.clone()),
        queues: Some(queues),
        fault,
        ..WorkerOptions::default()
    };
    let marker = bed.path(&format!("killed-{namespace}"));
    let fault = format!("{point}=kill-once:{}", marker.display());
    let mut killed = Worker::start(bed, options(Some(fault))).await;
    let mut input = bed.input_by(way, namespace);
    input.memories[0].activities.start_to_close_ms = 3_000;
    let agent = bed.start_within(Duration::from_secs(5), input).await;

    let turn = say(&agent, "go");
    let rescue = async {
        let status = killed.ended().await;
        assert_eq!(status.code(), None, "a signal ended it");
        Worker::start(bed, options(None)).await
    };
    let (reply, _rescuer) = futures::future::join(turn, rescue).await;
    reply.expect("a reply");
    agent
}

/// The call that its worker's death repeated. A local one is repeated with its workflow task, which
/// is the task's second attempt and again the call's first.
async fn repeated(agent: &crate::support::Agent, activity: &str) -> Activity {
    let history = history(agent).await;
    let [call] = <[Activity; 1]>::try_from(activities_of(&history, activity)).expect("one call");
    let attempts = if call.is_local {
        (1, 1)
    } else {
        (2, tasks_timed_out(&history))
    };
    assert_eq!((call.attempt, tasks_timed_out(&history)), attempts);
    call
}

#[tokio::test]
async fn a_write_whose_worker_is_killed_after_the_commit_takes_effect_once() {
    let bed = Bed::new().await;
    let turns = json!([{"prompt": "go", "responses": [
        {"tool_calls": [{"id": "call_0", "name": "write_memory", "arguments": {"content": "one line"}}]},
        {"text": "done"},
    ]}]);

    for (way, namespace) in Way::ALL.into_iter().zip(["acme", "umbrella", "initech"]) {
        let point = "write_memory.after_commit";
        let agent = go_with_a_worker_killed_at(&bed, way, namespace, point, &turns).await;

        let write = repeated(&agent, "write_memory").await;
        assert_eq!(write.is_local, way == Way::Local);
        assert_eq!(write.result()["replayed"], true, "{way:?}");
        assert_eq!(write.result()["status"], "created", "{way:?}");
        let scope = format!("{namespace}/main");
        assert_eq!(
            bed.note(&scope, "MEMORY.md").await.as_deref(),
            Some("one line\n"),
            "{way:?}"
        );
        let receipts = bed.receipts(&scope).await;
        assert_eq!(receipts.len(), 1, "{way:?}: {receipts:?}");
    }
    bed.finish().await;
}

#[tokio::test]
async fn a_model_request_whose_worker_is_killed_is_made_again_long_before_its_time_out() {
    let bed = Bed::new().await;
    let turns = json!([{"prompt": "go", "responses": [{"text": "done"}]}]);

    let point = "call_model.before_request";
    let agent = go_with_a_worker_killed_at(&bed, Way::MemoryQueue, "acme", point, &turns).await;

    // The attempt may take two minutes; the test doesn't have that long.
    let request = activities_of(&history(&agent).await, "call_model").remove(0);
    assert_eq!(request.attempt, 2);
    bed.finish().await;
}

#[tokio::test]
async fn a_deletion_whose_worker_is_killed_after_the_commit_is_answered_as_it_was_done() {
    let bed = Bed::new().await;
    let turns = json!([{"prompt": "go", "responses": [
        {"tool_calls": [{"id": "call_0", "name": "delete_memory", "arguments": {"file": "old"}}]},
        {"text": "done"},
    ]}]);

    for (way, namespace) in Way::ALL.into_iter().zip(["acme", "umbrella", "initech"]) {
        let scope = format!("{namespace}/main");
        bed.put(&scope, "old.md", "old\n").await;
        let point = "delete_memory.after_commit";
        let agent = go_with_a_worker_killed_at(&bed, way, namespace, point, &turns).await;

        let delete = repeated(&agent, "delete_memory").await;
        // Without its receipt the second attempt would find nothing to delete.
        assert_eq!(delete.result()["status"], "deleted", "{way:?}");
        assert_eq!(delete.result()["replayed"], true, "{way:?}");
        assert_eq!(bed.note(&scope, "old.md").await, None, "{way:?}");
        let receipts = bed.receipts(&scope).await;
        assert_eq!(receipts.len(), 1, "{way:?}: {receipts:?}");
        assert_eq!(receipts[0].status, "deleted", "{way:?}");
    }
    bed.finish().await;
}

#[tokio::test]
async fn twenty_activities_of_two_workers_that_race_to_create_a_note_lose_no_line() {
    let bed = Bed::new().await;
    // Ten at a time on each worker: all twenty are under way only if both workers are.
    let config = bed.config("[worker]\nactivity_slots = 10\n");
    let memory = || WorkerOptions {
        queues: Some("memory"),
        environment: vec![("NOTEKEEPER_CONFIG", config.clone())],
        ..WorkerOptions::default()
    };
    let _workers =
        futures::future::join(Worker::start(&bed, memory()), Worker::start(&bed, memory())).await;
    let mut lock = bed.lock_notes().await;
    let mut calls = Vec::new();
    for n in 0..20 {
        let input =
            json!({"scope": {"namespace": "acme"}, "content": format!("line {n}"), "file": "race"});
        calls.push(bed.start_call("write_memory", vec![payload(&input)]).await);
    }
    lock.held_up(20).await;
    lock.release().await;

    let mut statuses = HashMap::<String, usize>::new();
    for call in calls {
        // Not asked after its attempts: on a busy machine the lock may outlast a statement.
        let called = call.end().await;
        let status = called.result()["status"]
            .as_str()
            .expect("a status")
            .to_owned();
        *statuses.entry(status).or_default() += 1;
    }
    assert_eq!(
        statuses,
        HashMap::from([("created".to_owned(), 1), ("appended".to_owned(), 19)])
    );
    let note = bed.note("acme/main", "race.md").await.expect("a note");
    let mut lines: Vec<_> = note.lines().map(str::to_owned).collect();
    lines.sort();
    let mut expected: Vec<_> = (0..20).map(|n| format!("line {n}")).collect();
    expected.sort();
    assert_eq!(lines, expected);
    assert_eq!(bed.receipts("acme/main").await.len(), 20);
    bed.finish().await;
}

#[tokio::test]
async fn an_operation_id_with_other_arguments_is_a_conflict_that_is_not_retried() {
    let bed = Bed::new().await;
    let _worker = memory_worker(&bed, None).await;
    let operation = json!({"id": "op-1"});
    let write = |content: &str| json!({"scope": {"namespace": "acme"}, "operation": operation, "content": content});

    let first = bed.call("write_memory", &write("one")).await;
    let same = bed.call("write_memory", &write("one")).await;
    let other = bed.call("write_memory", &write("two")).await;
    let delete = json!({"scope": {"namespace": "acme"}, "operation": operation, "file": "other"});
    let other_kind = bed.call("delete_memory", &delete).await;

    assert_eq!(first.result()["replayed"], false);
    assert_eq!(same.result()["replayed"], true);
    assert_eq!(same.result()["version"], first.result()["version"]);
    for refused in [other, other_kind] {
        assert_refused(refused.failure(), FailureType::OperationConflict);
        assert_eq!(refused.attempts, 1);
    }
    assert_eq!(
        bed.note("acme/main", "MEMORY.md").await.as_deref(),
        Some("one\n")
    );
    assert_eq!(bed.receipts("acme/main").await.len(), 1);
    // Another tenant's operations are its own.
    let elsewhere =
        json!({"scope": {"namespace": "umbrella"}, "operation": operation, "content": "three"});
    assert_eq!(
        bed.call("write_memory", &elsewhere).await.result()["replayed"],
        false
    );
    bed.finish().await;
}

#[tokio::test]
async fn a_version_that_no_longer_holds_is_a_conflict_that_is_not_retried() {
    let bed = Bed::new().await;
    let _worker = memory_worker(&bed, None).await;
    let write = |content: &str, version: &Value| json!({"scope": {"namespace": "acme"}, "content": content, "expected_version": version});

    let first = bed.call("write_memory", &write("one", &Value::Null)).await;
    let version = first.result()["version"].clone();
    let second = bed.call("write_memory", &write("two", &version)).await;
    let stale = bed.call("write_memory", &write("three", &version)).await;

    assert_eq!(second.result()["status"], "appended");
    assert_refused(stale.failure(), FailureType::VersionConflict);
    assert_eq!(stale.attempts, 1);
    assert_eq!(
        bed.note("acme/main", "MEMORY.md").await.as_deref(),
        Some("one\ntwo\n")
    );
    assert_eq!(bed.receipts("acme/main").await.len(), 2);
    bed.finish().await;
}

#[tokio::test]
async fn a_call_without_an_operation_has_one_of_its_own_that_its_retries_share() {
    let bed = Bed::new().await;
    let _worker = memory_worker(&bed, Some("write_memory.after_commit=fail:1")).await;
    let write = json!({"scope": {"namespace": "acme"}, "content": "line"});

    let retried = bed.call("write_memory", &write).await;
    let another = bed.call("write_memory", &write).await;

    assert_eq!(retried.attempts, 2);
    assert_eq!(retried.result()["replayed"], true);
    assert_eq!(another.result()["replayed"], false);
    assert_eq!(
        bed.note("acme/main", "MEMORY.md").await.as_deref(),
        Some("line\nline\n")
    );
    let receipts = bed.receipts("acme/main").await;
    assert_eq!(receipts.len(), 2);
    assert_ne!(receipts[0].id, receipts[1].id);
    bed.finish().await;
}

/// Whether the task that ends a [`TwoWrites`] has failed once.
static FAILED_ONCE: AtomicBool = AtomicBool::new(false);

/// Makes two local calls without an operation. The first such run in this process makes them once
/// more, because its only workflow task fails behind them.
#[workflow]
#[derive(Default)]
struct TwoWrites;

#[workflow_methods]
impl TwoWrites {
    /// Says which of the calls were answered from a receipt.
    #[run(name = "TwoWrites")]
    async fn run(ctx: &mut WorkflowContext<Self>) -> WorkflowResult<Vec<Value>> {
        let mut replayed = Vec::new();
        for _ in 0..2 {
            let options = LocalActivityOptions::builder()
                .start_to_close_timeout(Duration::from_secs(10))
                .build();
            let input: WriteMemoryInput =
                serde_json::from_value(json!({"scope": {"namespace": "acme"}, "content": "line"}))
                    .expect("an input");
            let written = ctx
                .execute_local_activity(WriteMemory, input, options)
                .await?;
            replayed.push(serde_json::to_value(written).expect("JSON")["replayed"].clone());
        }
        if !FAILED_ONCE.swap(true, Ordering::SeqCst) {
            ctx.force_task_fail("as the test wants it".to_owned());
            std::future::pending::<()>().await;
        }
        Ok(replayed)
    }
}

#[tokio::test]
async fn local_calls_without_an_operation_keep_theirs_through_retries_of_call_and_task() {
    let bed = Bed::new().await;
    notekeeper_activities::fault::arm("write_memory.after_commit=fail:1").expect("a fault");
    let stores: [(String, Arc<dyn Store>); 1] =
        [("default".to_owned(), Arc::new(bed.store.clone()))];
    let notebook = NotebookActivities::new(Notebook::new(Stores::new(stores)));
    let mut options = temporalio_sdk::WorkerOptions::new(bed.workflow_task_queue.as_str())
        .register_activities(notebook)
        .build();
    options
        .register_workflow::<TwoWrites>()
        .expect("a new type");
    let hosted = Hosted::start(bed.client.clone(), options).await;
    let run = async |id: String| {
        let start = WorkflowStartOptions::new(&bed.workflow_task_queue, &id).build();
        let started = bed.client.start_workflow(TwoWrites::run, (), start).await;
        let run = started.expect("start the workflow");
        let result = run.get_result(WorkflowGetResultOptions::default());
        in_time("a result", result).await.expect("a result")
    };

    let first = run(format!("{}-first", bed.schema)).await;
    let receipts = bed.receipts("acme/main").await;
    let second = run(format!("{}-second", bed.schema)).await;

    // One effect of each call, whatever was repeated: the call, then the whole task.
    assert_eq!(first, [true, true]);
    assert_eq!(receipts.len(), 2, "{receipts:?}");
    // Another run is another caller.
    assert_eq!(second, [false, false]);
    let receipts = bed.receipts("acme/main").await;
    let ids: HashSet<_> = receipts.iter().map(|receipt| &receipt.id).collect();
    assert_eq!(ids.len(), 4, "{receipts:?}");
    assert_eq!(
        bed.note("acme/main", "MEMORY.md").await,
        Some("line\n".repeat(4))
    );
    hosted.stop().await;
    bed.finish().await;
}

async fn memory_worker(bed: &Bed, fault: Option<&str>) -> Worker {
    let options = WorkerOptions {
        queues: Some("memory"),
        fault: fault.map(str::to_owned),
        ..WorkerOptions::default()
    };
    Worker::start(bed, options).await
}

fn assert_refused(failure: &Failure, kind: FailureType) {
    assert_eq!(failure_type(failure), kind.as_str(), "{failure:?}");
    let Some(FailureInfo::ApplicationFailureInfo(info)) = &failure.failure_info else {
        panic!("{failure:?}");
    };
    assert!(info.non_retryable, "{failure:?}");
}
