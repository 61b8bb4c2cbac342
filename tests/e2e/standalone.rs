//! Activities without any workflow: from the client of the Rust SDK, and from Temporal's command line.

use std::time::Duration;

use notekeeper_contract::{Outcome, WriteMemory, WriteMemoryInput, WrittenMemory};
use serde_json::{Value, json};
use temporalio_client::ActivityStartOptions;
use temporalio_common::ActivityCloseTimeouts;

use crate::support::{Bed, Worker, WorkerOptions, in_time};

async fn memory_worker(bed: &Bed, fault: Option<&str>) -> Worker {
    let options = WorkerOptions {
        queues: Some("memory"),
        fault: fault.map(str::to_owned),
        ..WorkerOptions::default()
    };
    Worker::start(bed, options).await
}

/// An activity id that nobody else uses.
fn unique(name: &str) -> String {
    format!("{name}-{:016x}", rand::random::<u64>())
}

/// Writes with the types of the contract, under an activity id.
async fn write(bed: &Bed, activity_id: &str, input: &Value) -> WrittenMemory {
    let input: WriteMemoryInput = serde_json::from_value(input.clone()).expect("an input");
    let timeouts = ActivityCloseTimeouts::ScheduleAndStartToClose {
        schedule_to_close: Duration::from_secs(30),
        start_to_close: Duration::from_secs(10),
    };
    let options = ActivityStartOptions::new(&bed.task_queue, activity_id, timeouts).build();
    let started = bed
        .client
        .start_activity(WriteMemory, input.into(), options);
    let handle = started.await.expect("start the activity");
    match in_time("a written note", handle.result()).await {
        Ok(Outcome::Ok(written)) => written,
        other => panic!("the activity came to {other:?}"),
    }
}

/// How a command of Temporal's command line ended.
struct Said {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

/// Runs a command of Temporal's command line.
async fn temporal(bed: &Bed, arguments: &[&str]) -> Said {
    let program = std::env::var("TEMPORAL_CLI")
        .expect("TEMPORAL_CLI is not set; run the tests with `make test`");
    let output = tokio::process::Command::new(program)
        .args(arguments)
        .env("TEMPORAL_ADDRESS", &bed.temporal_address)
        .env("TEMPORAL_NAMESPACE", &bed.temporal_namespace)
        .kill_on_drop(true)
        .output();
    let output = in_time("Temporal's command line", output)
        .await
        .expect("run Temporal's command line");
    Said {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// `temporal activity execute`, as the documentation shows it.
async fn execute(bed: &Bed, activity: &str, input: &Value) -> Said {
    let (id, input) = (unique(activity), input.to_string());
    #[rustfmt::skip]
    let arguments = [
        "activity", "execute", "--activity-id", &id, "--type", activity, "--task-queue", &bed.task_queue,
        "--start-to-close-timeout", "10s", "--schedule-to-close-timeout", "30s", "--input", &input,
        "--output", "json",
    ];
    temporal(bed, &arguments).await
}

#[tokio::test]
async fn runs_under_one_activity_id_are_operations_of_their_own() {
    let bed = Bed::new().await;
    let _worker = memory_worker(&bed, None).await;
    let line = json!({"scope": {"namespace": "acme"}, "content": "line"});
    let id = unique("line");

    let first = write(&bed, &id, &line).await;
    let second = write(&bed, &id, &line).await;

    assert_eq!(
        (first.status.as_str(), second.status.as_str()),
        ("created", "appended")
    );
    assert_eq!((first.replayed, second.replayed), (false, false));
    assert_eq!(bed.receipts("acme/main").await.len(), 2);
    bed.finish().await;
}

#[tokio::test]
async fn attempts_of_one_run_share_its_operation_and_another_run_does_not() {
    let bed = Bed::new().await;
    let _worker = memory_worker(&bed, Some("write_memory.after_commit=fail:2")).await;
    let line = json!({"scope": {"namespace": "acme"}, "content": "line"});
    let id = unique("line");

    let retried = write(&bed, &id, &line).await;
    let another = write(&bed, &id, &line).await;

    assert_eq!(
        (retried.status.as_str(), retried.replayed),
        ("created", true)
    );
    assert_eq!(
        (another.status.as_str(), another.replayed),
        ("appended", false)
    );
    assert_eq!(bed.receipts("acme/main").await.len(), 2);
    bed.finish().await;
}

#[tokio::test]
async fn an_operation_of_the_callers_own_takes_effect_once_under_any_activity_id() {
    let bed = Bed::new().await;
    let _worker = memory_worker(&bed, None).await;
    let line =
        json!({"scope": {"namespace": "acme"}, "content": "line", "operation": {"id": "order-17"}});

    let first = write(&bed, &unique("line"), &line).await;
    let second = write(&bed, &unique("line"), &line).await;

    assert!(!first.replayed);
    let repeated = WrittenMemory {
        replayed: true,
        ..first
    };
    assert_eq!(second, repeated);
    bed.finish().await;
}

#[tokio::test]
async fn the_command_line_prints_what_an_activity_answers() {
    let bed = Bed::new().await;
    let _worker = memory_worker(&bed, None).await;
    let line = json!({"scope": {"namespace": "acme"}, "content": "- likes tea", "operation": {"id": "order-17"}});

    let mut replayed = Vec::new();
    for _ in 0..2 {
        let said = execute(&bed, "write_memory", &line).await;
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        let printed: Value = serde_json::from_str(&said.stdout).expect("JSON");
        assert_eq!(printed["status"], "COMPLETED", "{printed}");
        assert_eq!(printed["result"]["status"], "created", "{printed}");
        replayed.push(printed["result"]["replayed"].clone());
    }

    assert_eq!(replayed, [json!(false), json!(true)]);
    assert_eq!(
        bed.note("acme/main", "MEMORY.md").await.as_deref(),
        Some("- likes tea\n")
    );
    bed.finish().await;
}

#[tokio::test]
async fn the_command_line_prints_a_failure_with_its_type_and_exits_with_1() {
    let bed = Bed::new().await;
    let _worker = memory_worker(&bed, None).await;

    let said = execute(
        &bed,
        "read_memory",
        &json!({"scope": {"namespace": "acme"}}),
    )
    .await;

    assert_eq!(said.code, Some(1), "{}", said.stderr);
    let printed: Value = serde_json::from_str(&said.stdout).expect("JSON");
    assert_eq!(printed["status"], "FAILED", "{printed}");
    assert_eq!(printed["failure"]["message"], "missing field `file`");
    let info = &printed["failure"]["applicationFailureInfo"];
    assert_eq!(
        info,
        &json!({"type": "InvalidArgument", "nonRetryable": true})
    );
    bed.finish().await;
}
