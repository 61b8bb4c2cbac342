//! `notekeeper dev`: all on one machine, and what is left of it when it ends.

use std::{os::unix::fs::PermissionsExt as _, path::Path};

use notekeeper_domain::{NoteName, Scope};
use notekeeper_store::{NoteStore as _, SqliteOptions, SqliteStore};
use notekeeper_workflows::{AgentInput, AgentWorkflow};
use serde_json::json;
use temporalio_client::WorkflowStartOptions;

use crate::support::{
    Agent,
    dev::{Dev, STOP_MAX, gone, send},
    eventually, say,
};

/// What the model does in these tests.
fn script(directory: &Path) -> String {
    let path = directory.join("script.json");
    let turns = json!({"turns": [
        {"prompt": "I like tea", "responses": [
            {"tool_calls": [{"id": "call_0", "name": "write_memory",
                             "arguments": {"content": "- likes tea"}}]},
            {"text": "noted"},
        ]},
        {"prompt": "still there?", "responses": [{"text": "yes"}]},
    ]});
    std::fs::write(&path, turns.to_string()).expect("write the script");
    path.to_str().expect("a path that is text").to_owned()
}

/// The conversation `talk`, as everybody would start it: with the queues' own names.
async fn talk(dev: &Dev) -> Agent {
    dev.client()
        .await
        .get_workflow_handle::<AgentWorkflow>("talk".to_owned())
}

async fn begin_to_talk(dev: &Dev) -> Agent {
    let input = AgentInput {
        namespace: "acme".to_owned(),
        ..AgentInput::default()
    };
    let options = WorkflowStartOptions::new("notekeeper-workflows", "talk").build();
    let client = dev.client().await;
    client
        .start_workflow(AgentWorkflow::run, input.into(), options)
        .await
        .expect("start the conversation");
    talk(dev).await
}

/// The main note of the conversation's scope.
async fn note(data: &Path) -> Option<String> {
    let options = SqliteOptions::new(data.join("notes.sqlite"));
    let store = SqliteStore::open(&options).await.expect("open the store");
    let scope = Scope::parse("acme/main").expect("scope");
    let note = store.read(&scope, &NoteName::main(), 1_000).await;
    store.close().await;
    note.expect("read").map(|note| note.content)
}

#[tokio::test]
async fn after_a_stop_or_a_kill_another_start_goes_on_with_the_conversation_and_its_notes() {
    let directory = tempfile::tempdir().expect("a directory");
    let data = directory.path().join("data");
    let script = script(directory.path());
    let arguments = ["--script", script.as_str(), "--no-ui"];

    let mut dev = Dev::start(&data, &arguments).await;
    let server = dev.server();
    let agent = begin_to_talk(&dev).await;
    assert_eq!(
        say(&agent, "I like tea").await.expect("reply").text,
        "noted"
    );
    // As the terminal does on Ctrl-C: to the whole group.
    let asked = tokio::time::Instant::now();
    dev.signal("-INT", true);
    assert_eq!(dev.ended().await.code(), Some(0));
    assert!(asked.elapsed() < STOP_MAX, "{:?}", asked.elapsed());
    gone(server).await;
    let log = dev.log();
    let drained = log.iter().filter(|line| line.contains("has drained"));
    assert_eq!(drained.count(), 2, "{log:?}");
    assert_eq!(note(&data).await.as_deref(), Some("- likes tea\n"));

    let mut dev = Dev::start(&data, &arguments).await;
    let server = dev.server();
    let agent = talk(&dev).await;
    assert_eq!(
        say(&agent, "still there?").await.expect("reply").text,
        "yes"
    );
    dev.signal("-KILL", false);
    assert_eq!(dev.ended().await.code(), None);
    gone(server).await;

    let mut dev = Dev::start(&data, &arguments).await;
    let agent = talk(&dev).await;
    assert_eq!(
        say(&agent, "I like tea").await.expect("reply").text,
        "noted"
    );
    dev.signal("-TERM", false);
    assert_eq!(dev.ended().await.code(), Some(0));
    let twice = "- likes tea\n- likes tea\n";
    assert_eq!(note(&data).await.as_deref(), Some(twice));
}

#[tokio::test]
async fn it_says_where_everything_is_and_that_a_model_is_missing() {
    let directory = tempfile::tempdir().expect("a directory");
    let data = directory.path().join("data");
    let mut dev = Dev::start(&data, &[]).await;

    assert_eq!(dev.told("data"), data.to_str().expect("text"));
    assert!(
        dev.told("models").contains("--script FILE"),
        "{:?}",
        dev.said()
    );
    let ignored = std::fs::read_to_string(data.join(".gitignore"));
    assert_eq!(ignored.expect("it is there"), "*\n");
    // The web UI answers.
    let ui = dev.told("web UI");
    let ui = ui.strip_prefix("http://").expect("a URL");
    let connected = tokio::net::TcpStream::connect(ui).await;
    assert!(connected.is_ok(), "{connected:?}");

    dev.signal("-TERM", false);
    assert_eq!(dev.ended().await.code(), Some(0));
}

#[tokio::test]
async fn an_ephemeral_one_leaves_nothing_on_the_disk() {
    let directory = tempfile::tempdir().expect("a directory");
    let data = directory.path().join("data");
    let script = script(directory.path());
    let mut dev = Dev::start(&data, &["--ephemeral", "--no-ui", "--script", &script]).await;
    let agent = begin_to_talk(&dev).await;
    assert_eq!(
        say(&agent, "I like tea").await.expect("reply").text,
        "noted"
    );
    dev.signal("-TERM", false);
    assert_eq!(dev.ended().await.code(), Some(0));
    assert!(!data.exists());
}

#[tokio::test]
async fn a_server_that_ends_by_itself_ends_it_with_the_last_that_the_server_said() {
    let directory = tempfile::tempdir().expect("a directory");
    let data = directory.path().join("data");
    let real = std::env::var("TEMPORAL_CLI").expect("TEMPORAL_CLI; run the tests with `make test`");
    let talkative = directory.path().join("temporal");
    let program = format!("#!/bin/sh\necho 'the disk is on fire' >&2\nexec '{real}' \"$@\"\n");
    super::startup::write_program(&talkative, &program);
    let talkative = talkative.to_str().expect("a path that is text");
    let mut dev = Dev::start(&data, &["--no-ui", "--temporal-cli", talkative]).await;

    send("-KILL", &dev.server().to_string());

    assert_eq!(dev.ended().await.code(), Some(1));
    eventually("the last line is there", || {
        let log = dev.log();
        async move {
            let last = log.last()?;
            last.starts_with("error: the Temporal server ended by itself")
                .then_some(())
        }
    })
    .await;
    let log = dev.log();
    assert!(
        log.iter()
            .any(|line| line.contains("| the disk is on fire")),
        "{log:?}"
    );
}

#[tokio::test]
async fn in_a_directory_that_others_may_look_into_messages_and_notes_are_this_user_s_alone() {
    let directory = tempfile::tempdir().expect("a directory");
    let data = directory.path().join("data");
    std::fs::create_dir(&data).expect("make it");
    let of_all = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&data, of_all).expect("open it to all");
    let mut dev = Dev::start(&data, &["--no-ui"]).await;

    let modes: Vec<_> = std::fs::read_dir(&data)
        .expect("read it")
        .map(|entry| entry.expect("an entry"))
        .map(|entry| (entry.file_name(), entry.metadata().expect("metadata")))
        .map(|(name, found)| {
            (
                name.into_string().expect("text"),
                found.permissions().mode(),
            )
        })
        .filter(|(name, _)| name.contains(".sqlite"))
        .collect();
    for database in ["temporal.sqlite", "notes.sqlite"] {
        assert!(modes.iter().any(|(name, _)| name == database), "{modes:?}");
    }
    for (name, mode) in &modes {
        assert_eq!(mode & 0o077, 0, "{name}: {mode:o}");
    }

    dev.signal("-TERM", false);
    assert_eq!(dev.ended().await.code(), Some(0));
}
