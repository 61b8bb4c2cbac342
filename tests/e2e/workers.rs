//! Workers: several of them, their ends, and what the next one finds.

use std::{collections::HashSet, time::Duration};

use serde_json::{Value, json};
use temporalio_client::{grpc::WorkflowService as _, tonic::IntoRequest as _};
use temporalio_common::protos::temporal::api::{
    common::v1::WorkflowExecution, workflowservice::v1::ResetStickyTaskQueueRequest,
};

use crate::support::{
    Activity, Agent, Bed, Proxy, Worker, WorkerOptions, activities, activities_of, begin, history,
    payload, reply, say, state, tasks_timed_out,
};

/// Turns that add a line and show the memory.
fn turns() -> Value {
    let write = |line: &str| {
        json!({"prompt": line, "responses": [
            {"tool_calls": [{"id": "call_0", "name": "write_memory", "arguments": {"content": line}}]},
            {"text": "{{memory}}"},
        ]})
    };
    json!([write("alpha"), write("beta")])
}

#[tokio::test]
async fn a_conversation_goes_on_with_a_worker_that_has_never_seen_it() {
    let bed = Bed::new().await;
    let mut first = Worker::serving(&bed, &turns()).await;
    let agent = bed.start(bed.input("acme")).await;
    say(&agent, "alpha").await.expect("a reply");
    first.kill();

    let second = Worker::serving(&bed, &turns()).await;
    forget_worker(&bed, &agent).await;
    let reply = say(&agent, "beta").await.expect("a reply");

    assert!(reply.text.contains("alpha\nbeta"), "{reply:?}");
    assert_eq!(state(&agent).await.turns, 2);
    let workers: Vec<_> = activities(&history(&agent).await)
        .iter()
        .map(process)
        .collect();
    // It asked how the memory is kept, and where the transcript ends, at the start of the run.
    assert_eq!(workers.iter().filter(|w| **w == first.id()).count(), 9);
    assert_eq!(workers.iter().filter(|w| **w == second.id()).count(), 7);
    let receipts = bed.receipts("acme/main").await;
    assert_eq!(receipts.len(), 2, "{receipts:?}");
    bed.finish().await;
}

#[tokio::test]
async fn two_workers_share_the_load() {
    let bed = Bed::new().await;
    let config = bed.config("[worker]\nactivity_slots = 1\n");
    let script = bed.script(&turns());
    let options = || WorkerOptions {
        script: Some(script.clone()),
        environment: vec![("NOTEKEEPER_CONFIG", config.clone())],
        ..WorkerOptions::default()
    };
    let (one, two) = futures::future::join(
        Worker::start(&bed, options()),
        Worker::start(&bed, options()),
    )
    .await;
    let agents = [
        bed.start(bed.input("acme")).await,
        bed.start(bed.input("umbrella")).await,
    ];

    // Each worker has one slot: both writes are under way only if each has taken one.
    let mut lock = bed.lock_notes().await;
    let pending = [
        begin(&agents[0], "alpha").await,
        begin(&agents[1], "alpha").await,
    ];
    lock.held_up(2).await;
    lock.release().await;
    for pending in pending {
        assert!(
            reply(pending)
                .await
                .expect("a reply")
                .text
                .contains("alpha")
        );
    }

    let mut workers = HashSet::new();
    for agent in &agents {
        let write = activities_of(&history(agent).await, "write_memory").remove(0);
        workers.insert(process(&write));
    }
    assert_eq!(workers, HashSet::from([one.id(), two.id()]));
    bed.finish().await;
}

#[tokio::test]
async fn a_stopped_worker_finishes_what_it_does_and_another_goes_on() {
    let bed = Bed::new().await;
    let mut first = Worker::serving(&bed, &turns()).await;
    let agent = bed.start(bed.input("acme")).await;
    let mut lock = bed.lock_notes().await;
    let turn = begin(&agent, "alpha").await;
    lock.held_up(1).await;

    first.terminate();
    first.wait_until_logged("stopping", 1).await;
    let second = Worker::serving(&bed, &turns()).await;
    lock.release().await;

    assert_eq!(first.ended().await.code(), Some(0));
    first.wait_until_logged("worker has drained", 2).await;
    let reply = reply(turn).await.expect("a reply");
    assert!(reply.text.contains("alpha"), "{reply:?}");
    let history = history(&agent).await;
    let write = activities_of(&history, "write_memory").remove(0);
    assert_eq!((write.attempt, process(&write)), (1, first.id()));
    assert_eq!(
        write.outcome.expect("a result").expect("no failure")["replayed"],
        false
    );
    // No workflow task went to the worker that was about to end, to be missed for ten seconds.
    assert_eq!(tasks_timed_out(&history), 0);
    let last = activities_of(&history, "call_model").remove(1);
    assert_eq!((last.attempt, process(&last)), (1, second.id()));
    assert_eq!(
        bed.note("acme/main", "MEMORY.md").await.as_deref(),
        Some("alpha\n")
    );
    bed.finish().await;
}

#[tokio::test]
async fn two_signals_at_once_ask_for_one_drain() {
    let bed = Bed::new().await;
    let mut worker = Worker::serving(&bed, &turns()).await;
    // Of two kinds, because the system makes one of two equal ones that wait.
    worker.terminate();
    worker.interrupt();
    assert_eq!(worker.ended().await.code(), Some(0));
    worker.wait_until_logged("worker has drained", 2).await;
    bed.finish().await;
}

#[tokio::test]
async fn an_interrupt_drains_as_well_and_a_second_signal_ends_the_worker_at_once() {
    let bed = Bed::new().await;
    let mut patient = Worker::serving(&bed, &turns()).await;
    patient.interrupt();
    assert_eq!(patient.ended().await.code(), Some(0));
    patient.wait_until_logged("worker has drained", 2).await;

    let mut hasty = Worker::serving(&bed, &turns()).await;
    let agent = bed.start(bed.input("acme")).await;
    let mut lock = bed.lock_notes().await;
    let turn = begin(&agent, "alpha").await;
    lock.held_up(1).await;
    hasty.interrupt();
    hasty.wait_until_logged("again to stop at once", 1).await;
    hasty.interrupt();
    assert_eq!(hasty.ended().await.code(), Some(130));
    drop((lock, turn));
    bed.finish().await;
}

/// Starts a worker that Temporal reaches through `temporal`, with this time for a drain.
async fn draining_for(bed: &Bed, temporal: &Proxy, drain_seconds: u32) -> Worker {
    let config = bed.config(&format!("[worker]\ndrain_seconds = {drain_seconds}\n"));
    let options = WorkerOptions {
        queues: Some("memory"),
        environment: vec![
            ("TEMPORAL_ADDRESS", temporal.address()),
            ("NOTEKEEPER_CONFIG", config),
        ],
        ..WorkerOptions::default()
    };
    Worker::start(bed, options).await
}

#[tokio::test]
async fn a_drain_outlasts_a_restart_of_temporal_and_nothing_is_done_again() {
    let bed = Bed::new().await;
    let temporal = Proxy::start(bed.temporal_address.clone()).await;
    let mut worker = draining_for(&bed, &temporal, 60).await;
    let mut lock = bed.lock_notes().await;
    let write = json!({"scope": {"namespace": "acme"}, "content": "alpha"});
    let enough = Duration::from_secs(60);
    let call = bed
        .start_call_within(enough, "write_memory", vec![payload(&write)])
        .await;
    lock.held_up(1).await;

    worker.terminate();
    worker.wait_until_logged("activities in hand have", 1).await;
    temporal.cut();
    worker
        .wait_until_logged("Temporal can't be reached; what is in hand goes on", 1)
        .await;
    // The write ends while there is nobody to report it to.
    lock.release().await;
    temporal.mend();

    assert_eq!(worker.ended().await.code(), Some(0));
    worker.wait_until_logged("worker has drained", 1).await;
    let called = call.end().await;
    assert_eq!(
        (called.attempts, &called.result()["status"]),
        (1, &json!("created"))
    );
    bed.finish().await;
}

#[tokio::test]
async fn a_drain_whose_time_is_over_without_temporal_is_given_up_and_fails() {
    let bed = Bed::new().await;
    let temporal = Proxy::start(bed.temporal_address.clone()).await;
    let mut worker = draining_for(&bed, &temporal, 2).await;
    let mut lock = bed.lock_notes().await;
    let write = json!({"scope": {"namespace": "acme"}, "content": "alpha"});
    let call = bed.start_call("write_memory", vec![payload(&write)]).await;
    lock.held_up(1).await;

    worker.terminate();
    worker.wait_until_logged("activities in hand have", 1).await;
    temporal.cut();

    assert_eq!(worker.ended().await.code(), Some(1));
    worker
        .wait_until_logged("stopped without Temporal", 1)
        .await;
    drop((lock, call));
    bed.finish().await;
}

/// Process id of the worker that ran an activity, as its name in histories tells it.
fn process(activity: &Activity) -> u32 {
    let mut parts = activity.worker.split('@');
    let id = parts.find_map(|part| part.parse().ok());
    id.unwrap_or_else(|| panic!("`{}` names no process", activity.worker))
}

/// Asks a worker that may drain for ten minutes to stop, and gives its exit code.
async fn stop_at_once(worker: &mut Worker) -> Option<i32> {
    worker.terminate();
    worker.ended().await.code()
}

#[tokio::test]
async fn an_idle_worker_whose_servers_went_away_stops_at_once_when_asked() {
    let bed = Bed::new().await;
    let temporal = Proxy::start(bed.temporal_address.clone()).await;
    let database = Proxy::start(Proxy::target(&bed.database_url)).await;
    let config = bed.config("[worker]\ndrain_seconds = 600\n");
    let read = json!({"scope": {"namespace": "acme"}, "file": "none"});
    for vanish in [Proxy::cut, Proxy::fall_silent] {
        for queues in ["memory", "memory,workflows"] {
            let options = WorkerOptions {
                database_url: Some(database.url(&bed.database_url)),
                queues: Some(queues),
                environment: vec![
                    ("TEMPORAL_ADDRESS", temporal.address()),
                    ("NOTEKEEPER_CONFIG", config.clone()),
                ],
                ..WorkerOptions::default()
            };
            let mut worker = Worker::start(&bed, options).await;
            // It has done something, so it holds connections.
            bed.call("read_memory", &read).await.result();

            vanish(&temporal);
            vanish(&database);
            assert_eq!(stop_at_once(&mut worker).await, Some(0));
            temporal.mend();
            database.mend();
        }
    }
    bed.finish().await;
}

#[tokio::test]
async fn a_worker_that_cannot_report_what_it_does_stops_at_once_and_another_does_it_once() {
    let bed = Bed::new().await;
    let temporal = Proxy::start(bed.temporal_address.clone()).await;
    let mut first = draining_for(&bed, &temporal, 600).await;
    let mut lock = bed.lock_notes().await;
    let write = json!({"scope": {"namespace": "acme"}, "content": "alpha"});
    let brief = Duration::from_secs(4);
    let call = bed
        .start_call_within(brief, "write_memory", vec![payload(&write)])
        .await;
    lock.held_up(1).await;

    temporal.cut();
    assert_eq!(stop_at_once(&mut first).await, Some(1), "not a clean drain");
    first.wait_until_logged("unfinished activities", 1).await;
    // The database goes on with what it was asked, and the next attempt finds it done.
    lock.release().await;
    let options = WorkerOptions {
        queues: Some("memory"),
        ..WorkerOptions::default()
    };
    let _second = Worker::start(&bed, options).await;
    let called = call.end().await;

    assert_eq!(
        (called.attempts, &called.result()["status"]),
        (2, &json!("created"))
    );
    assert_eq!(
        bed.note("acme/main", "MEMORY.md").await.as_deref(),
        Some("alpha\n")
    );
    assert_eq!(bed.receipts("acme/main").await.len(), 1);
    bed.finish().await;
}

/// Has the server forget which worker knows the conversation, as it does by itself after 10 s
/// without an answer.
async fn forget_worker(bed: &Bed, agent: &Agent) {
    let request = ResetStickyTaskQueueRequest {
        namespace: bed.temporal_namespace.clone(),
        execution: Some(WorkflowExecution {
            workflow_id: agent.info().workflow_id.clone(),
            run_id: String::new(),
        }),
    };
    let mut client = bed.client.clone();
    client
        .reset_sticky_task_queue(request.into_request())
        .await
        .expect("reset the sticky queue");
}
