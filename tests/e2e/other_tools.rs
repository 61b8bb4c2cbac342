//! What other tools write of real runs, against what Temporal's Python SDK reads of it.
//!
//! Nothing in the expected results comes from this repository: the Python SDK made the runs, its own
//! reader (Google's protobuf library) read the JSON, and both are compared as decoded messages.

mod every_field;

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    time::Duration,
};

use notekeeper::load_history;
use prost::Message as _;
use serde::Deserialize;
use serde_json::Value;
use temporalio_client::{WorkflowExecutionInfo, WorkflowFetchHistoryOptions};
use temporalio_common::protos::temporal::api::{enums::v1::EventType, history::v1::History};
use tokio::process::Command;

use crate::support::{Bed, in_time, python, run};

/// Types of events that the runs must show: what nearly every workflow has, what only few have, and
/// each that holds a failure or payloads.
const SHOWN: &[EventType] = &[
    EventType::WorkflowExecutionStarted,
    EventType::WorkflowExecutionCompleted,
    EventType::WorkflowExecutionFailed,
    EventType::WorkflowExecutionTimedOut,
    EventType::WorkflowExecutionCancelRequested,
    EventType::WorkflowExecutionCanceled,
    EventType::WorkflowExecutionTerminated,
    EventType::WorkflowExecutionContinuedAsNew,
    EventType::WorkflowExecutionSignaled,
    EventType::WorkflowExecutionUpdateAccepted,
    EventType::WorkflowExecutionUpdateCompleted,
    EventType::WorkflowTaskFailed,
    EventType::ActivityTaskScheduled,
    EventType::ActivityTaskStarted,
    EventType::ActivityTaskCompleted,
    EventType::ActivityTaskFailed,
    EventType::ActivityTaskTimedOut,
    EventType::ActivityTaskCancelRequested,
    EventType::ActivityTaskCanceled,
    EventType::TimerStarted,
    EventType::TimerFired,
    EventType::TimerCanceled,
    EventType::MarkerRecorded,
    EventType::UpsertWorkflowSearchAttributes,
    EventType::WorkflowPropertiesModified,
    EventType::StartChildWorkflowExecutionInitiated,
    EventType::StartChildWorkflowExecutionFailed,
    EventType::ChildWorkflowExecutionStarted,
    EventType::ChildWorkflowExecutionCompleted,
    EventType::ChildWorkflowExecutionFailed,
    EventType::ChildWorkflowExecutionCanceled,
    EventType::ChildWorkflowExecutionTimedOut,
    EventType::ChildWorkflowExecutionTerminated,
    EventType::SignalExternalWorkflowExecutionInitiated,
    EventType::SignalExternalWorkflowExecutionFailed,
    EventType::ExternalWorkflowExecutionSignaled,
    EventType::RequestCancelExternalWorkflowExecutionInitiated,
    EventType::RequestCancelExternalWorkflowExecutionFailed,
    EventType::ExternalWorkflowExecutionCancelRequested,
];

/// A run that the Python SDK recorded.
#[derive(Debug, Deserialize, PartialEq, Eq)]
struct Run {
    workflow_id: String,
    run_id: String,
}

#[tokio::test]
async fn real_runs_are_read_as_the_python_sdk_reads_them() {
    let bed = Bed::new().await;
    let queue = &bed.workflow_task_queue;
    let arguments = [
        "record",
        &bed.temporal_address,
        &bed.temporal_namespace,
        queue,
    ];
    let runs: Vec<Run> = serde_json::from_str(&python(&arguments).await).expect("a list of runs");
    let mut shown = Vec::new();
    for run in &runs {
        shown.push(show(&bed, run, "json").await);
    }
    let converted = convert(&shown).await;

    let mut types = BTreeSet::new();
    for ((run, shown), converted) in runs.iter().zip(&shown).zip(&converted) {
        let loaded = load_history(shown).unwrap_or_else(|error| panic!("{run:?}: {error}"));
        assert!(
            loaded == *converted,
            "{run:?}: differs from Python's\n{}",
            first_difference(&loaded, converted)
        );
        let sent = fetched(&bed, run).await;
        assert!(
            loaded == sent,
            "{run:?}: differs from the server's\n{}",
            first_difference(&loaded, &sent)
        );
        let lines = load_history(&show(&bed, run, "jsonl").await).expect("jsonl");
        assert!(lines == sent, "{run:?}: jsonl differs");
        types.extend(loaded.events.iter().map(|event| event.event_type));
    }
    let missing: Vec<_> = SHOWN
        .iter()
        .filter(|kind| !types.contains(&(**kind as i32)))
        .collect();
    assert!(missing.is_empty(), "the runs don't show {missing:?}");
    for text in [
        "encodedAttributes",
        "continuedFailure",
        "a-header",
        "NotekeeperTestKeyword",
        "userMetadata",
        "\u{1F375}",
    ] {
        let holds = |file: &PathBuf| std::fs::read_to_string(file).unwrap().contains(text);
        assert!(shown.iter().any(holds), "no run shows `{text}`");
    }
    saved_ones_are_read_as_well(&bed, &runs).await;
    bed.finish().await;
}

/// Fetches the newest runs by the command, and has both read what it saved.
async fn saved_ones_are_read_as_well(bed: &Bed, runs: &[Run]) {
    let directory = bed.path("saved");
    let ids: BTreeSet<_> = runs.iter().map(|run| run.workflow_id.as_str()).collect();
    let mut arguments = vec!["replay", "--json", "--save"];
    arguments.push(directory.to_str().expect("text"));
    arguments.extend(ids.iter().flat_map(|id| ["--workflow-id", id]));
    let ended = run(bed, &arguments, &[]).await;

    assert_eq!(ended.code, Some(1), "{ended:?}");
    let reports = ended.stdout.lines().map(serde_json::from_str);
    let reports: Vec<Value> = reports.collect::<Result<_, _>>().expect("JSON objects");
    assert_eq!(reports.len(), ids.len());
    let saved = reports.iter().map(|report| {
        assert_eq!(
            report["outcome"], "refused",
            "the types aren't ours: {report}"
        );
        PathBuf::from(report["saved"].as_str().expect("a path"))
    });
    let saved: Vec<PathBuf> = saved.collect();
    let converted = convert(&saved).await;
    for ((report, saved), converted) in reports.iter().zip(&saved).zip(&converted) {
        let run = Run::deserialize(report).expect("which run it is");
        assert!(runs.contains(&run), "{run:?} is a newest one");
        let sent = fetched(bed, &run).await;
        assert!(
            load_history(saved).expect("it loads again") == sent,
            "{run:?}"
        );
        assert!(*converted == sent, "{run:?}: Python reads it otherwise");
    }
}

/// Of each type of event, one with every field set, however seldom a server sets it.
#[tokio::test]
async fn every_field_of_every_event_is_read_as_the_python_sdk_reads_it() {
    let directory = tempfile::tempdir().expect("temporary directory");
    let file = directory.path().join("every_field.json");
    std::fs::write(&file, every_field::history().to_string()).expect("write");
    let loaded = load_history(&file).expect("a history");
    let converted = convert(&[file]).await.remove(0);
    assert!(loaded.events.len() > 55, "{} events", loaded.events.len());
    let written = every_field::message();
    assert!(loaded == written, "{}", first_difference(&loaded, &written));
    assert!(
        loaded == converted,
        "{}",
        first_difference(&loaded, &converted)
    );
}

/// Longest run of the script.
const PATIENCE: Duration = Duration::from_secs(120);

/// Runs the script with Temporal's Python SDK, and gives the last line that it prints.
async fn python(arguments: &[&str]) -> String {
    let script =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/e2e/other_tools/python_sdk.py");
    let mut command = python::command([]);
    command.arg(script).args(arguments);
    let output = python::run(command, PATIENCE).await;
    // The SDK logs to standard output, too.
    let printed = String::from_utf8(output.stdout).expect("text");
    printed.lines().last().unwrap_or_default().to_owned()
}

/// What the Python SDK reads in the JSON of these files.
async fn convert(files: &[PathBuf]) -> Vec<History> {
    let mut arguments = vec!["convert"];
    arguments.extend(files.iter().map(|file| file.to_str().expect("text")));
    python(&arguments).await;
    let read = |file: &PathBuf| {
        let file = format!("{}.binpb", file.display());
        History::decode(&*std::fs::read(file).expect("it was written")).expect("protobuf")
    };
    files.iter().map(read).collect()
}

/// A file with what the command line shows of a run.
async fn show(bed: &Bed, run: &Run, output: &str) -> PathBuf {
    let program = std::env::var_os("TEMPORAL_CLI").expect("TEMPORAL_CLI names the command line");
    let mut command = Command::new(program);
    command
        .args(["workflow", "show", "--output", output])
        .args(["--workflow-id", &run.workflow_id, "--run-id", &run.run_id])
        .args(["--address", &bed.temporal_address])
        .args(["--namespace", &bed.temporal_namespace]);
    let shown = in_time("the command line", command.output()).await;
    let shown = shown.expect("the command line runs");
    assert!(shown.status.success(), "{shown:?}");
    let file = bed.path(&format!("{}.{output}", run.run_id));
    std::fs::write(&file, shown.stdout).expect("write");
    file
}

/// What the server sends of a run.
async fn fetched(bed: &Bed, run: &Run) -> History {
    let handle = WorkflowExecutionInfo::builder()
        .namespace(&bed.temporal_namespace)
        .workflow_id(&run.workflow_id)
        .run_id(run.run_id.clone())
        .build()
        .bind_untyped(bed.client.clone());
    let events = handle
        .fetch_history(WorkflowFetchHistoryOptions::default())
        .into_events();
    History {
        events: in_time("a history", events).await.expect("a history"),
    }
}

/// The lines in which the first event that is another one differs, of both.
fn first_difference(one: &History, other: &History) -> String {
    let mut pairs = one.events.iter().zip(&other.events);
    let Some((one, other)) = pairs.find(|(one, other)| one != other) else {
        return format!("{} events and {}", one.events.len(), other.events.len());
    };
    let [one, other] = [one, other].map(|event| format!("{event:#?}"));
    let pairs = one.lines().zip(other.lines());
    let lines = pairs.filter(|(one, other)| one != other).take(5);
    lines
        .map(|(one, other)| format!("{one} | {other}\n"))
        .collect()
}
