//! The store is away: what goes on, what fails and how, and that nothing is done twice.

use std::time::Duration;

use notekeeper_workflows::{InjectionErrors, MemorySettings};
use serde_json::{Value, json};
use temporalio_client::errors::WorkflowGetResultError;
use temporalio_common::protos::temporal::api::failure::v1::Failure;

use crate::support::{
    Agent, Bed, Proxy, Way, Worker, WorkerOptions, activities_of, ended, eventually, failure_type,
    history, payload, say, state, transcript,
};

/// Turns that show the model's view of the memory.
fn turns() -> Value {
    json!([{"prompt": "show", "responses": [{"text": "I see <{{memory}}>"}]}])
}

/// A worker that reaches the database by way of a proxy, and transcripts by no such way: a message that
/// can't be stored isn't answered, whatever becomes of its block.
async fn behind_a_proxy(bed: &Bed) -> (Worker, Proxy) {
    let proxy = Proxy::start(Proxy::target(&bed.database_url)).await;
    let options = WorkerOptions {
        script: Some(bed.script(&turns())),
        database_url: Some(proxy.url(&bed.database_url)),
        environment: vec![("NOTEKEEPER_CONFIG", bed.config(&bed.steady_store()))],
        ..WorkerOptions::default()
    };
    (Worker::start(bed, options).await, proxy)
}

#[tokio::test]
async fn where_injection_errors_are_ignored_the_turn_goes_on_without_the_block_and_says_so() {
    let bed = Bed::new().await;
    let (_worker, proxy) = behind_a_proxy(&bed).await;
    bed.put("acme/main", "MEMORY.md", "- likes tea\n").await;
    for way in Way::ALL {
        let mut input = bed.input_by(way, "acme");
        input.conversation.store = Some("steady".to_owned());
        input.memories[0].injection_errors = InjectionErrors::Ignore;
        input.memories[0].activities.snapshot_give_up_ms = 1_000;
        let agent = bed.start(input).await;

        let before = say(&agent, "show").await.expect("a reply");
        proxy.cut();
        let asked = tokio::time::Instant::now();
        let without = say(&agent, "show").await.expect("a reply");
        let took = asked.elapsed();
        proxy.mend();
        let after = say(&agent, "show").await.expect("a reply");

        assert!(before.text.contains("- likes tea"), "{before:?}");
        assert_eq!(before.skipped, []);
        assert_eq!(without.text, "I see <>");
        assert_eq!(without.skipped.len(), 1, "{way:?}: {without:?}");
        assert_eq!(
            (without.skipped[0].request, without.skipped[0].memory),
            (1, 0)
        );
        let error = without.skipped[0].error_type.as_str();
        assert!(
            ["Unavailable", "Timeout"].contains(&error),
            "{way:?}: {error}"
        );
        // Less than it would take by default.
        assert!(took < Duration::from_secs(10), "{way:?}: {took:?}");
        assert_eq!(after.text, before.text, "{way:?}");
        assert_eq!(after.skipped, []);
        assert_eq!(state(&agent).await.skipped_snapshots, 1);
        let loads = activities_of(&history(&agent).await, "load_snapshot");
        let failed: Vec<_> = loads
            .iter()
            .map(|load| matches!(load.outcome, Some(Err(_))))
            .collect();
        assert_eq!(failed, [false, true, false], "{way:?}");
    }
    bed.finish().await;
}

#[tokio::test]
async fn where_injection_errors_are_raised_the_message_fails_typed_and_a_later_one_is_answered() {
    let bed = Bed::new().await;
    let (_worker, proxy) = behind_a_proxy(&bed).await;
    bed.put("acme/main", "MEMORY.md", "- likes tea\n").await;
    for way in Way::ALL {
        let mut input = bed.input_by(way, "acme");
        input.memories[0].injection_errors = InjectionErrors::Raise;
        input.memories[0].activities.schedule_to_close_ms = 1_000;
        let agent = bed.start(input).await;

        proxy.cut();
        let failure = say(&agent, "show").await.expect_err("a failure");
        proxy.mend();
        let after = say(&agent, "show").await.expect("a reply");

        let kind = failure_type(&failure);
        assert!(
            ["Unavailable", "Timeout"].contains(&kind),
            "{way:?}: {failure:?}"
        );
        assert!(after.text.contains("- likes tea"), "{way:?}: {after:?}");
        let state = state(&agent).await;
        assert_eq!((state.turns, state.skipped_snapshots), (1, 0), "{way:?}");
        assert_eq!(transcript(&agent).await.len(), 2, "{way:?}");
    }
    bed.finish().await;
}

/// One load for both; where it fails as a whole, what becomes of it is up to each.
#[tokio::test]
async fn memories_on_one_store_share_a_load_and_each_settles_its_failure_by_its_own_settings() {
    let bed = Bed::new().await;
    let (_worker, proxy) = behind_a_proxy(&bed).await;
    for way in Way::ALL {
        let mut input = bed.input_by(way, "acme");
        input.conversation.store = Some("steady".to_owned());
        input.memories[0].activities.snapshot_give_up_ms = 1_000;
        input.memories[0].activities.schedule_to_close_ms = 1_000;
        let org = MemorySettings {
            id: "org".to_owned(),
            agent_name: "org".to_owned(),
            prefix: "org".to_owned(),
            ..input.memories[0].clone()
        };
        input.memories.push(org);
        let mut strict = input.clone();
        strict.memories[1].injection_errors = InjectionErrors::Raise;
        let lenient = bed.start(input).await;
        let strict = bed.start(strict).await;
        for agent in [&lenient, &strict] {
            say(agent, "show").await.expect("a reply");
        }

        proxy.cut();
        let without = say(&lenient, "show").await.expect("a reply");
        let failure = say(&strict, "show").await.expect_err("one of them raises");
        proxy.mend();

        let skipped: Vec<_> = without.skipped.iter().map(|skip| skip.memory).collect();
        assert_eq!(skipped, [0, 1], "{way:?}");
        let error = failure_type(&failure);
        assert!(["Unavailable", "Timeout"].contains(&error), "{failure:?}");
        for agent in [&lenient, &strict] {
            let loads = activities_of(&history(agent).await, "load_snapshot").len();
            assert_eq!(loads, 2, "{way:?}: one for each request");
        }
        let after = say(&strict, "show").await.expect("a reply");
        assert_eq!(after.skipped, [], "{way:?}");
    }
    bed.finish().await;
}

#[tokio::test]
async fn a_memory_without_a_table_is_skipped_or_raised_with_its_type_and_not_retried() {
    let bed = Bed::new().await;
    let _worker = Worker::serving(&bed, &turns()).await;
    bed.execute("drop table notes cascade; delete from notekeeper_migrations")
        .await;
    for way in Way::ALL {
        let mut raising = bed.input_by(way, "acme");
        raising.memories[0].injection_errors = InjectionErrors::Raise;
        let ignoring = bed.start(bed.input_by(way, "acme")).await;
        let raising = bed.start(raising).await;

        let reply = say(&ignoring, "show").await.expect("a reply");
        let failure = say(&raising, "show").await.expect_err("a failure");

        assert_eq!(reply.skipped.len(), 1, "{way:?}: {reply:?}");
        assert_eq!(reply.skipped[0].error_type, "Unmigrated", "{way:?}");
        assert_eq!(failure_type(&failure), "Unmigrated", "{way:?}: {failure:?}");
        assert!(
            failure.message.contains("notekeeper migrate"),
            "{way:?}: {}",
            failure.message
        );
        for agent in [ignoring, raising] {
            let loads = activities_of(&history(&agent).await, "load_snapshot");
            assert_eq!((loads.len(), loads[0].attempt), (1, 1), "{way:?}");
        }
    }
    bed.finish().await;
}

/// What a run ends with whose memories can't be kept as its input wants.
async fn fails_at_its_start(agent: &Agent) -> Failure {
    match ended(agent).await {
        Err(WorkflowGetResultError::Failed(error)) => error.failure().clone(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn what_fails_for_good_fails_with_the_type_of_its_last_attempt() {
    let bed = Bed::new().await;
    let turns = json!([
        {"prompt": "show", "responses": [{"text": "shown"}]},
        {"prompt": "note", "responses": [
            {"tool_calls": [{"id": "call_0", "name": "write_memory", "arguments": {"content": "alpha"}}]},
        ]},
    ]);
    let fault = "write_memory.before_commit=fail:1000;load_snapshot.after_read=fail:1000";
    let options = WorkerOptions {
        script: Some(bed.script(&turns)),
        fault: Some(fault.to_owned()),
        ..WorkerOptions::default()
    };
    let _worker = Worker::start(&bed, options).await;
    for way in Way::ALL {
        let mut input = bed.input_by(way, "acme");
        input.memories[0].activities.schedule_to_close_ms = 1_000;
        input.memories[0].activities.snapshot_give_up_ms = 300;
        let agent = bed.start(input.clone()).await;
        input.memories[0].store = "nowhere".to_owned();
        let misled = bed.start(input).await;

        let shown = say(&agent, "show").await.expect("a reply");
        let failed = say(&agent, "note").await.expect_err("a failure");
        let refused = fails_at_its_start(&misled).await;

        assert_eq!(shown.skipped[0].error_type, "Unavailable", "{way:?}");
        assert_eq!(failure_type(&failed), "Unavailable", "{way:?}: {failed:?}");
        let kind = failure_type(&refused);
        assert_eq!(kind, "InvalidArgument", "{way:?}: {refused:?}");
        let history = history(&agent).await;
        let write = activities_of(&history, "write_memory").remove(0);
        // Of one on a queue, the server says by way of its time-out why it gave up, and not when.
        assert!(!write.is_local || write.attempt == 3, "{way:?}: {write:?}");
    }
    assert_eq!(bed.note("acme/main", "MEMORY.md").await, None);
    bed.finish().await;
}

#[tokio::test]
async fn a_write_while_the_store_is_away_is_tried_again_and_done_once() {
    let bed = Bed::new().await;
    let (worker, proxy) = behind_a_proxy(&bed).await;
    let write = json!({"scope": {"namespace": "acme"}, "content": "line"});

    proxy.cut();
    let call = bed.start_call("write_memory", vec![payload(&write)]).await;
    eventually("a second attempt runs", || async {
        (call.attempts().await >= 2).then_some(())
    })
    .await;
    proxy.mend();
    let called = call.end().await;

    assert_eq!(called.result()["status"], "created");
    assert_eq!(called.result()["replayed"], false);
    worker
        .wait_until_logged("failure.kind=\"Unavailable\"", 1)
        .await;
    assert_eq!(
        bed.note("acme/main", "MEMORY.md").await.as_deref(),
        Some("line\n")
    );
    assert_eq!(bed.receipts("acme/main").await.len(), 1);
    bed.finish().await;
}

#[tokio::test]
async fn a_write_whose_connection_is_lost_while_the_database_commits_is_done_once() {
    let bed = Bed::new().await;
    let (_worker, proxy) = behind_a_proxy(&bed).await;
    let write = json!({"scope": {"namespace": "acme"}, "content": "line"});

    // The statement waits for a lock; the database doesn't notice that its client has gone.
    let mut lock = bed.lock_notes().await;
    let call = bed.start_call("write_memory", vec![payload(&write)]).await;
    lock.held_up(1).await;
    proxy.cut();
    proxy.mend();
    lock.held_up(2).await;
    lock.release().await;
    let called = call.end().await;

    assert_eq!(called.result()["status"], "created");
    assert_eq!(
        bed.note("acme/main", "MEMORY.md").await.as_deref(),
        Some("line\n")
    );
    assert_eq!(bed.receipts("acme/main").await.len(), 1);
    bed.finish().await;
}
