//! Callers in Python, with Temporal's own SDK for it: the tests in `tests/python` and the examples in
//! `examples/python`, each against a worker process.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::{Value, json};

use crate::support::{Bed, Worker, WorkerOptions, python};

/// Longest run of a module of tests. Each test in it has some seconds of its own; a busy machine has
/// many at once.
const PATIENCE: Duration = Duration::from_secs(150);

/// The root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What a run of Python said.
struct Said {
    stdout: String,
    stderr: String,
}

/// Runs Python on the bed. Its output has to be checked to the last line, as [`python::run`] says.
async fn python(bed: &Bed, arguments: &[&str]) -> Said {
    let mut command =
        python::command(["tests/python", "examples/python"].map(|at| root().join(at)));
    command
        .args(arguments)
        .current_dir(root())
        .env("TEMPORAL_ADDRESS", &bed.temporal_address)
        .env("TEMPORAL_NAMESPACE", &bed.temporal_namespace)
        .env("NOTEKEEPER_TASK_QUEUE", &bed.task_queue);
    let output = python::run(command, PATIENCE).await;
    Said {
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// What the scripted model answers to the prompts in `tests/python`.
fn turns() -> Value {
    json!([
        {"prompt": "show", "responses": [{"text": "I see <{{memory}}>"}]},
        {"prompt": "remember", "responses": [
            {"tool_calls": [{"id": "call_0", "name": "write_memory", "arguments": {"content": "- likes tea"}}]},
            {"text": "Done: {{last_tool_result}}"},
        ]},
        {"prompt": "refuse", "responses": [{"failure": {"kind": "refused"}}]},
        {"prompt": "flaky", "responses": [
            {"failure": {"kind": "unavailable", "attempts": 1}, "text": "here"},
        ]},
    ])
}

/// Starts a worker for the activities alone and runs modules of `tests/python` against it.
async fn pass(modules: &[&str], fault: Option<&str>) {
    let bed = Bed::new().await;
    let options = WorkerOptions {
        script: Some(bed.script(&turns())),
        queues: Some("memory"),
        fault: fault.map(str::to_owned),
        ..WorkerOptions::default()
    };
    let _worker = Worker::start(&bed, options).await;
    let said = python(&bed, &[&["-m", "unittest", "--verbose"], modules].concat()).await;
    assert!(
        said.stderr.lines().any(|line| line == "OK"),
        "{}",
        said.stderr
    );
    bed.finish().await;
}

#[tokio::test]
async fn notes_are_written_read_deleted_and_searched_from_python() {
    pass(&["test_notes", "test_memory"], None).await;
}

#[tokio::test]
async fn messages_and_facts_are_kept_and_found_from_python() {
    pass(&["test_transcripts"], None).await;
}

#[tokio::test]
async fn sources_are_asked_and_written_to_from_python() {
    let bed = Bed::new().await;
    let file = bed.config(
        "[sources.handbook]\nkind = 'vector'\n\
         [sources.facts]\nkind = 'facts'\n\
         [sources.pad]\nkind = 'scratchpad'\n\
         [sources.kb]\nkind = 'composite'\n\
         sources = ['handbook', 'pad', { kind = 'read_only', inner = 'facts', on_write = 'ignore' }]\n\
         [sources.strict]\nkind = 'read_only'\ninner = 'facts'\n\
         [sources.guarded]\nkind = 'scoped'\ninner = 'kb'\n",
    );
    let options = WorkerOptions {
        queues: Some("memory"),
        environment: vec![("NOTEKEEPER_CONFIG", file)],
        ..WorkerOptions::default()
    };
    let _worker = Worker::start(&bed, options).await;
    let said = python(&bed, &["-m", "unittest", "--verbose", "test_sources"]).await;
    assert!(
        said.stderr.lines().any(|line| line == "OK"),
        "{}",
        said.stderr
    );
    bed.finish().await;
}

#[tokio::test]
async fn snapshots_are_loaded_and_models_asked_from_python() {
    pass(&["test_model_requests"], None).await;
}

#[tokio::test]
async fn failures_reach_python_with_their_type_at_the_first_attempt() {
    pass(&["test_failures"], None).await;
}

#[tokio::test]
async fn activities_are_called_from_python_without_a_workflow() {
    pass(&["test_standalone"], None).await;
}

#[tokio::test]
async fn a_change_from_python_that_temporal_repeats_takes_effect_once() {
    let changes = [
        "write_memory",
        "add_messages",
        "clear_messages",
        "remember",
        "forget",
    ];
    let faults = changes.map(|change| format!("{change}.after_commit=fail:1"));
    pass(&["test_retries"], Some(&faults.join(";"))).await;
}

#[tokio::test]
async fn the_python_example_prints_what_it_has_remembered() {
    let bed = Bed::new().await;
    let options = WorkerOptions {
        queues: Some("memory"),
        ..WorkerOptions::default()
    };
    let _worker = Worker::start(&bed, options).await;
    let example = "examples/python/remember.py";

    let first = python(&bed, &[example, "ada", "likes tea"]).await;
    let second = python(&bed, &[example, "ada", "lives in Kiel"]).await;
    let other = python(&bed, &[example, "grace", "likes coffee"]).await;

    assert_eq!(first.stdout, "- likes tea\n");
    assert_eq!(second.stdout, "- likes tea\n- lives in Kiel\n");
    assert_eq!(other.stdout, "- likes coffee\n");
    bed.finish().await;
}

#[test]
fn python_in_the_documentation_is_cut_out_of_the_examples() {
    let read = |name: &str| std::fs::read_to_string(root().join(name)).expect(name);
    let examples = ["memory.py", "remember.py", "profile_tool.py"]
        .map(|name| read(&format!("examples/python/{name}")));
    let calling = read("docs/calling.md");
    let blocks: Vec<_> = calling.split("```python\n").skip(1).collect();
    assert!(blocks.len() >= 2);
    for block in blocks {
        let (code, _) = block.split_once("```").expect("a block that ends");
        assert!(
            examples.iter().any(|example| example.contains(code)),
            "stands in no example:\n{code}"
        );
    }
}
