//! The shelf does what every store must, outlives its process, and serves whoever names it.

use std::{
    process::{Child, Command, Stdio},
    sync::Mutex,
    time::Duration,
};

use notekeeper_contract::{
    Argument, LoadSnapshot, Outcome, SearchMemory, SnapshotAnswer, WriteMemory,
};
use notekeeper_domain::{Edit, Fingerprint, NoteName, Operation, OperationId, Scope};
use notekeeper_example_custom_store::ShelfStore;
use notekeeper_store::{
    EditRequest, Expected, NoteStore as _, StoreError,
    conformance::{self, Capability},
};
use notekeeper_workflows::{ActivityQueue, AgentInput, AgentWorkflow, SendMessage};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tempfile::TempDir;
use temporalio_client::{
    ActivityStartOptions, Client, ClientOptions, Connection, ConnectionOptions, Url,
    WorkflowExecuteUpdateOptions, WorkflowSignalOptions, WorkflowStartOptions,
};
use temporalio_common::{ActivityCloseTimeouts, ActivityDefinition};

/// Longer than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

fn scope() -> Scope {
    Scope::resolve("acme", "main").expect("a valid scope")
}

fn operation(id: &str) -> Operation {
    Operation {
        id: OperationId::parse(id).expect("a valid id"),
        fingerprint: Fingerprint::new("f"),
    }
}

#[tokio::test]
async fn the_shelf_does_what_every_store_must() {
    let directories = Mutex::new(Vec::new());
    let report = conformance::exercise(async || {
        let directory = tempfile::tempdir().expect("a directory");
        let store = ShelfStore::open(directory.path().join("shelf.json")).expect("open");
        directories.lock().expect("no panic").push(directory);
        store
    })
    .await;
    for left_out in [
        Capability::Metadata,
        Capability::Tails,
        Capability::Snapshots,
        Capability::Transcripts,
        Capability::Facts,
        Capability::Vectors,
        Capability::Journal,
    ] {
        assert!(report.left_out.contains(&left_out), "{report}");
    }
}

#[tokio::test]
async fn notes_and_receipts_outlive_the_store_and_a_change_that_was_cut_short() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("shelf.json");
    let edit = Edit::new("- likes tea".to_owned(), None).expect("an edit");
    let request = EditRequest {
        edit: &edit,
        note_chars_max: 65_536,
        expected: Expected::Any,
        metadata: None,
    };
    let store = ShelfStore::open(&path).expect("open");
    let first = store
        .edit(&scope(), &NoteName::main(), &request, &operation("1"))
        .await
        .expect("edit");
    drop(store);
    // What a process leaves that ends in the middle of a change.
    std::fs::write(directory.path().join("shelf.json.new"), "{\"last_ver").expect("write");

    let store = ShelfStore::open(&path).expect("open again");
    let again = store
        .edit(&scope(), &NoteName::main(), &request, &operation("1"))
        .await
        .expect("edit");
    assert!(again.replayed, "the receipt answers");
    assert_eq!(again.version, first.version);
    let other = store
        .edit(&scope(), &NoteName::main(), &request, &operation("2"))
        .await
        .expect("edit");
    assert_ne!(other.version, first.version);
    let note = store.read(&scope(), &NoteName::main(), 100).await;
    assert_eq!(
        note.expect("read").expect("it is there").content,
        "- likes tea\n- likes tea\n"
    );
}

#[test]
fn a_file_has_one_process_at_a_time_and_nobody_elses_is_touched() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("shelf.json");
    let first = ShelfStore::open(&path).expect("open");
    let second = ShelfStore::open(&path).map(drop);
    assert!(matches!(second, Err(StoreError::Unusable(_))), "{second:?}");
    drop(first);
    std::fs::write(&path, "a shopping list").expect("write");
    let other = ShelfStore::open(&path).map(drop);
    assert!(matches!(other, Err(StoreError::Unusable(_))), "{other:?}");
    let left = std::fs::read_to_string(&path).expect("read");
    assert_eq!(left, "a shopping list");
}

/// The worker as a process, on a task queue of its own. Dropping it kills it.
struct Served {
    child: Child,
    client: Client,
    task_queue: String,
    directory: TempDir,
}

impl Served {
    async fn start(turns: &Value) -> Self {
        let address = std::env::var("TEMPORAL_ADDRESS")
            .expect("TEMPORAL_ADDRESS is not set; run the tests with `make test`");
        let url: Url = format!("http://{address}")
            .parse()
            .expect("a usable address");
        let connection = Connection::connect(ConnectionOptions::new(url).build())
            .await
            .expect("connect to Temporal");
        let namespace =
            std::env::var("TEMPORAL_NAMESPACE").unwrap_or_else(|_| "default".to_owned());
        let client = Client::new(connection, ClientOptions::new(namespace).build());
        let directory = tempfile::tempdir().expect("a directory");
        // The name of the directory is nobody else's.
        let task_queue = directory.path().display().to_string();
        let script = directory.path().join("script.json");
        std::fs::write(&script, json!({ "turns": turns }).to_string()).expect("write");
        let child = Command::new(env!("CARGO_BIN_EXE_shelf-worker"))
            .args(["--task-queue", &task_queue])
            .arg("--script")
            .arg(&script)
            .args(["--shelf", "shelf.json", "--sqlite", "notes.db"])
            .current_dir(directory.path())
            .stdin(Stdio::null())
            .spawn()
            .expect("start the worker");
        Self {
            child,
            client: client.expect("a client"),
            task_queue,
            directory,
        }
    }

    /// Runs an activity by name, as a caller without a workflow does. Until the worker is up it waits
    /// at Temporal's.
    async fn run<A, I>(&self, activity: A, input: Value) -> A::Output
    where
        A: ActivityDefinition<Input = Argument<I>>,
        I: DeserializeOwned,
    {
        let input: I = serde_json::from_value(input).expect("an input");
        let timeouts = ActivityCloseTimeouts::ScheduleAndStartToClose {
            schedule_to_close: PATIENCE,
            start_to_close: Duration::from_secs(10),
        };
        // Ids are the task queue's own.
        let id = format!("{}-{}", activity.name(), self.task_queue);
        let options = ActivityStartOptions::new(&self.task_queue, id, timeouts).build();
        let started = self.client.start_activity(activity, input.into(), options);
        let handle = started.await.expect("start the activity");
        handle.result().await.expect("the activity succeeds")
    }

    /// The text of a note, as the file of the shelf has it.
    fn on_the_shelf(&self, scope: &str, file: &str) -> Value {
        let text = std::fs::read_to_string(self.directory.path().join("shelf.json"));
        let shelf: Value = serde_json::from_str(&text.expect("the file is there")).expect("JSON");
        shelf["scopes"][scope]["notes"][file]["content"].clone()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn ok<T: std::fmt::Debug>(outcome: Outcome<T>) -> T {
    match outcome {
        Outcome::Ok(value) => value,
        Outcome::Refused(refusal) => panic!("refused: {refusal:?}"),
    }
}

#[tokio::test]
async fn callers_of_the_worker_name_the_shelf_as_they_name_any_store() {
    let served = Served::start(&json!([])).await;
    let tea = json!({"store": "shelf", "scope": {"namespace": "acme"}, "content": "- likes tea"});
    let written = ok(served.run(WriteMemory, tea).await);
    assert_eq!(
        (written.status.as_str(), written.replayed),
        ("created", false)
    );
    assert_eq!(
        served.on_the_shelf("acme/main", "MEMORY.md"),
        "- likes tea\n"
    );

    // The store beside it knows nothing of that.
    let query = json!({"scope": {"namespace": "acme"}, "query": "tea"});
    let elsewhere = ok(served.run(SearchMemory, query).await);
    assert_eq!(elsewhere.scanned, 0);

    // A block was asked for by reference, and comes inline: the shelf keeps no texts of snapshots.
    let memory = json!({"store": "shelf", "scope": {"namespace": "acme"}, "delivery": "reference"});
    let loaded = served
        .run(LoadSnapshot, json!({"memories": [memory]}))
        .await;
    match loaded.snapshots.as_slice() {
        [
            SnapshotAnswer::Block {
                text: Some(text), ..
            },
        ] => assert!(text.contains("- likes tea")),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_conversation_keeps_its_notes_on_the_shelf() {
    let remember = json!({"content": "- likes tea"});
    let served = Served::start(&json!([
        {"prompt": "remember tea", "responses": [
            {"tool_calls": [{"id": "call_0", "name": "write_memory", "arguments": remember}]},
            {"text": "{{memory}}"},
        ]},
        {"prompt": "what do I drink?", "responses": [
            {"tool_calls": [{"id": "call_0", "name": "search_memory", "arguments": {"query": "TEA"}}]},
            {"text": "{{last_tool_result}}"},
        ]},
    ]))
    .await;
    let mut input = AgentInput {
        namespace: "acme".to_owned(),
        ..AgentInput::default()
    };
    input.memories[0].store = "shelf".to_owned();
    input.memories[0].activities.queue = ActivityQueue::Workflow;
    let options = WorkflowStartOptions::new(&served.task_queue, &served.task_queue)
        .run_timeout(2 * PATIENCE)
        .build();
    let agent = served
        .client
        .start_workflow(AgentWorkflow::run, input.into(), options)
        .await
        .expect("start the conversation");
    let say = async |text: &str| {
        let message = SendMessage {
            text: text.to_owned(),
            id: None,
        };
        let options = WorkflowExecuteUpdateOptions::builder().build();
        let said = agent.execute_update(AgentWorkflow::send_message, message.into(), options);
        let reply = tokio::time::timeout(PATIENCE, said).await;
        reply.expect("a reply in time").expect("a reply").text
    };
    // The next request after the write has it in its block.
    let reply = say("remember tea").await;
    assert!(reply.contains("- likes tea"), "{reply}");
    assert_eq!(
        served.on_the_shelf("acme/main", "MEMORY.md"),
        "- likes tea\n"
    );
    let found = say("what do I drink?").await;
    assert!(found.contains("likes tea"), "{found}");
    agent
        .signal(
            AgentWorkflow::close,
            ().into(),
            WorkflowSignalOptions::default(),
        )
        .await
        .expect("close");
}
