//! Recording the histories of the replay tests: real conversations on real servers.
//!
//! `make record` runs what is ignored here and writes the files under `tests/replay/histories`.
//! Without it the same code can be run, and what it records is thrown away.

mod grounded;
#[path = "../replay/note_taker.rs"]
mod note_taker;
mod other_tools;
mod recorder;
mod stored;
mod write_metadata;

use std::{path::PathBuf, sync::Arc, time::Duration};

use notekeeper_activities::{Notebook, NotebookActivities, Stores};
use notekeeper_contract::WriteMemoryInput;
use notekeeper_domain::{Fingerprint, NoteName, Operation, OperationId, Scope};
use notekeeper_store::{Expected, NoteStore as _, Store, WriteRequest};
use notekeeper_workflows::{AgentInput, InjectionErrors, MemorySettings};
use serde_json::{Value, json};
use temporalio_client::{
    WorkflowCancelOptions, WorkflowExecutionInfo, WorkflowFetchHistoryOptions,
    WorkflowGetResultOptions, WorkflowStartOptions, errors::WorkflowGetResultError,
    tonic::IntoRequest as _,
};
use temporalio_common::protos::temporal::api::{
    common::v1::WorkflowExecution,
    history::v1::{
        ActivityTaskScheduledEventAttributes, History, HistoryEvent, history_event::Attributes,
    },
    workflowservice::v1::ResetWorkflowExecutionRequest,
};

use crate::support::{
    Agent, Application, Bed, Hosted, Way, Worker, WorkerOptions, begin, close, eventually,
    failure_type, history, reply, run_id, say, state,
};
use note_taker::{Minutes, NoteTaker, Noted};
use recorder::{Form, Recorder};

/// Where the conversations here take place.
const NAMESPACE: &str = "recorded/acme";

/// The scope of these conversations, in its path form.
const SCOPE: &str = "recorded/acme/main";

#[tokio::test]
async fn a_conversation_recorded_now_replays() {
    record_tool_calls(&Recorder::discarding(), Way::MemoryQueue).await;
    record_tool_calls(&Recorder::discarding(), Way::Local).await;
}

#[tokio::test]
#[ignore = "writes files: `make record`"]
async fn tool_calls() {
    record_tool_calls(&Recorder::of("agent_workflow"), Way::MemoryQueue).await;
}

#[tokio::test]
#[ignore = "writes files: `make record`"]
async fn local_tool_calls() {
    record_tool_calls(&Recorder::of("agent_workflow"), Way::Local).await;
}

/// All four tools, two calls in one response, and a refusal.
async fn record_tool_calls(recorder: &Recorder, way: Way) {
    let bed = Bed::new().await;
    let _worker = Worker::serving(
        &bed,
        &json!([
            turn(
                "I like tea, sencha most of all.",
                [
                    calls([
                        call("write_memory", json!({"content": "- likes tea"})),
                        call(
                            "write_memory",
                            json!({"content": "- sencha", "file": "teas"})
                        ),
                    ]),
                    text("Noted."),
                ]
            ),
            turn(
                "Which teas do I like?",
                [
                    calls([call("search_memory", json!({"query": "tea"}))]),
                    calls([call("read_memory", json!({"file": "teas"}))]),
                    text("{{last_tool_result}}"),
                ]
            ),
            turn(
                "Forget all of it.",
                [
                    calls([
                        call("delete_memory", json!({"file": "teas"})),
                        call("delete_memory", json!({"file": "MEMORY.md"})),
                    ]),
                    text("{{last_tool_result}}"),
                ]
            ),
        ]),
    )
    .await;
    let agent = bed.start(input_by(way, &bed)).await;

    expect(&agent, "I like tea, sencha most of all.", "Noted.").await;
    expect(&agent, "Which teas do I like?", "- sencha").await;
    say(&agent, "Forget all of it.").await.expect("a reply");

    assert_eq!(bed.note(SCOPE, "teas.md").await, None);
    assert!(
        bed.note(SCOPE, "MEMORY.md").await.is_some(),
        "it is protected"
    );
    let history = closed(&agent).await;
    recorder
        .write_agent(&named("tool_calls", way), Form::Binary, &history)
        .await;
    bed.finish().await;
}

/// A block, the same block again, and another one after somebody else changed the note.
#[tokio::test]
#[ignore = "writes files: `make record`"]
async fn unchanged_and_changed_snapshots() {
    let bed = Bed::new().await;
    let _worker = Worker::serving(
        &bed,
        &json!([turn("What do you see?", [text("{{memory}}")])]),
    )
    .await;
    bed.put(SCOPE, "MEMORY.md", "- likes tea\n").await;
    let agent = bed.start(input(&bed)).await;

    expect(&agent, "What do you see?", "- likes tea").await;
    expect(&agent, "What do you see?", "- likes tea").await;
    bed.put(SCOPE, "MEMORY.md", "- likes coffee\n").await;
    expect(&agent, "What do you see?", "- likes coffee").await;

    let history = closed(&agent).await;
    let recorder = Recorder::of("agent_workflow");
    recorder
        .write_agent("unchanged_and_changed_snapshots", Form::Json, &history)
        .await;
    bed.finish().await;
}

#[tokio::test]
#[ignore = "writes files: `make record`"]
async fn store_failure_ignored() {
    record_store_failure_ignored(Way::MemoryQueue).await;
}

#[tokio::test]
#[ignore = "writes files: `make record`"]
async fn local_store_failure_ignored() {
    record_store_failure_ignored(Way::Local).await;
}

/// The store fails for as long as a snapshot load may take, and the conversation goes on; with the
/// next worker the store is back.
async fn record_store_failure_ignored(way: Way) {
    let bed = Bed::new().await;
    let turns = json!([turn("What do you see?", [text("I see: {{memory}}")])]);
    let options = WorkerOptions {
        fault: Some("load_snapshot.after_read=fail:1000".to_owned()),
        script: Some(bed.script(&turns)),
        ..WorkerOptions::default()
    };
    let mut failing = Worker::start(&bed, options).await;
    bed.put(SCOPE, "MEMORY.md", "- likes tea\n").await;
    let mut input = input_by(way, &bed);
    input.memories[0].activities.snapshot_give_up_ms = 2_000;
    let agent = bed.start(input).await;

    let without = say(&agent, "What do you see?").await.expect("a reply");
    failing.terminate();
    failing.ended().await;
    let _worker = Worker::serving(&bed, &turns).await;
    expect(&agent, "What do you see?", "- likes tea").await;

    assert_eq!(without.text, "I see: ");
    assert_eq!(without.skipped.len(), 1);
    assert_eq!(state(&agent).await.skipped_snapshots, 1);
    let history = closed(&agent).await;
    let recorder = Recorder::of("agent_workflow");
    recorder
        .write_agent(&named("store_failure_ignored", way), Form::Json, &history)
        .await;
    bed.finish().await;
}

/// Both runs: the one that continues as new, and the one that it continues as. The model gives
/// the same call id in each.
#[tokio::test]
#[ignore = "writes files: `make record`"]
async fn continue_as_new() {
    let bed = Bed::new().await;
    let _worker = Worker::serving(
        &bed,
        &json!([
            turn(
                "Note this.",
                [
                    calls([call("write_memory", json!({"content": "- again"}))]),
                    text("Noted."),
                ]
            ),
            turn("Go on.", [text("Yes.")]),
        ]),
    )
    .await;
    let mut input = input(&bed);
    input.continue_as_new_events = Some(100);
    let agent = bed.start(input).await;
    let first_run = run_id(&agent).await;

    expect(&agent, "Note this.", "Noted.").await;
    while run_history(&bed, &agent, &first_run).await.events.len() < 100 {
        expect(&agent, "Go on.", "Yes.").await;
    }
    eventually("the conversation has continued as a new run", async || {
        let new_run = run_id(&agent).await != first_run;
        (new_run && history(&agent).await.events.len() >= 4).then_some(())
    })
    .await;
    expect(&agent, "Note this.", "Noted.").await;

    assert_eq!(
        bed.note(SCOPE, "MEMORY.md").await.as_deref(),
        Some("- again\n- again\n")
    );
    let after = closed(&agent).await;
    let before = run_history(&bed, &agent, &first_run).await;
    let recorder = Recorder::of("agent_workflow");
    recorder
        .write_agent("continue_as_new_before", Form::Binary, &before)
        .await;
    recorder
        .write_agent("continue_as_new_after", Form::Binary, &after)
        .await;
    bed.finish().await;
}

/// Tools of the application: one answers, one fails for good.
#[tokio::test]
#[ignore = "writes files: `make record`"]
async fn application_tool() {
    let bed = Bed::new().await;
    let application = Application::start(&bed);
    let _worker = Worker::serving(
        &bed,
        &json!([
            turn(
                "Is there sencha?",
                [
                    calls([call("look_up", json!({"tea": "sencha"}))]),
                    text("{{last_tool_result}}"),
                ]
            ),
            turn(
                "Sell me all of it.",
                [
                    calls([call("sell_out", json!({"tea": "sencha"}))]),
                    text("never said"),
                ]
            ),
            turn("Thanks.", [text("You are welcome.")]),
        ]),
    )
    .await;
    let mut input = input(&bed);
    input.tools = vec![application.tool("look_up"), application.tool("sell_out")];
    let agent = bed.start(input).await;

    expect(&agent, "Is there sencha?", "sencha").await;
    let failure = say(&agent, "Sell me all of it.")
        .await
        .expect_err("no reply");
    expect(&agent, "Thanks.", "You are welcome.").await;

    assert_eq!(failure_type(&failure), "OutOfStock");
    let history = closed(&agent).await;
    let recorder = Recorder::of("agent_workflow");
    recorder
        .write_agent("application_tool", Form::Json, &history)
        .await;
    bed.finish().await;
}

/// Notes as files in the workspace of the run, which a tool of the application reads in the place of
/// `read_memory`.
#[tokio::test]
#[ignore = "writes files: `make record`"]
async fn in_a_workspace() {
    let bed = Bed::new().await;
    let root = bed.path("workspace");
    std::fs::create_dir(&root).expect("make the root");
    let config = format!(
        "[workspaces.website]\nroot = '{}'\n[stores.notes]\nkind = 'file'\ndirectory = '.agent-memory'",
        root.display()
    );
    let note = ".agent-memory/recorded/acme/main/MEMORY.md";
    let turns = json!([
        turn(
            "I like tea.",
            [
                calls([call("write_memory", json!({"content": "- likes tea"}))]),
                text("Noted."),
            ]
        ),
        turn(
            "What do I like?",
            [
                calls([call("read_file", json!({"path": note}))]),
                text("{{last_tool_result}}"),
            ]
        ),
    ]);
    let application = Application::start(&bed);
    let options = WorkerOptions {
        script: Some(bed.script(&turns)),
        environment: vec![("NOTEKEEPER_CONFIG", bed.config(&config))],
        ..WorkerOptions::default()
    };
    let _worker = Worker::start(&bed, options).await;
    let mut input = input(&bed);
    input.workspace = Some("website".to_owned());
    input.memories[0].store = "notes".to_owned();
    input.tools = vec![application.file_reader()];
    let agent = bed.start(input).await;

    expect(&agent, "I like tea.", "Noted.").await;
    expect(&agent, "What do I like?", "- likes tea").await;

    let history = closed(&agent).await;
    let recorder = Recorder::of("agent_workflow");
    recorder
        .write_agent("in_a_workspace", Form::Json, &history)
        .await;
    bed.finish().await;
}

/// A conversation that is asked to close while one message is answered and another one waits.
#[tokio::test]
#[ignore = "writes files: `make record`"]
async fn closed_while_messages_wait() {
    let bed = Bed::new().await;
    let (application, _worker, agent) = at_the_gate(&bed).await;
    let first = begin(&agent, "Wait.").await;
    application.at_the_gate(1).await;
    let second = begin(&agent, "Hello.").await;

    close(&agent).await;
    application.open_the_gate();

    assert_eq!(reply(first).await.expect("a reply").text, "Waited.");
    assert_eq!(
        reply(second).await.expect("a reply").text,
        "Hello, message 5."
    );
    let history = ended(&agent).await;
    let recorder = Recorder::of("agent_workflow");
    recorder
        .write_agent("closed_while_messages_wait", Form::Binary, &history)
        .await;
    bed.finish().await;
}

/// A conversation that is cancelled while one message is answered and another one waits.
#[tokio::test]
#[ignore = "writes files: `make record`"]
async fn cancelled_while_messages_wait() {
    let bed = Bed::new().await;
    let (application, _worker, agent) = at_the_gate(&bed).await;
    let first = begin(&agent, "Wait.").await;
    application.at_the_gate(1).await;
    let second = begin(&agent, "Hello.").await;

    let asked = agent.cancel(WorkflowCancelOptions::default()).await;
    asked.expect("ask for the cancellation");

    for pending in [first, second] {
        let failure = reply(pending).await.expect_err("no reply");
        assert_eq!(failure_type(&failure), "Cancelled");
    }
    let end = agent.get_result(WorkflowGetResultOptions::default()).await;
    assert!(
        matches!(end, Err(WorkflowGetResultError::Cancelled { .. })),
        "{end:?}"
    );
    let recorder = Recorder::of("agent_workflow");
    recorder
        .write_agent(
            "cancelled_while_messages_wait",
            Form::Binary,
            &history(&agent).await,
        )
        .await;
    bed.finish().await;
}

/// An agent whose tool waits at a gate when it is told to.
async fn at_the_gate(bed: &Bed) -> (Application, Worker, Agent) {
    let application = Application::start(bed);
    let worker = Worker::serving(
        bed,
        &json!([
            turn("Wait.", [calls([call("gate", json!({}))]), text("Waited.")]),
            turn("Hello.", [text("Hello, message {{message_count}}.")]),
        ]),
    )
    .await;
    let mut input = input(bed);
    input.tools = vec![application.tool("gate")];
    let agent = bed.start(input).await;
    (application, worker, agent)
}

/// Somebody uses the id of a call for another change while the call is being retried.
#[tokio::test]
#[ignore = "writes files: `make record`"]
async fn operation_conflict_survived() {
    let bed = Bed::new().await;
    let turns = json!([turn(
        "I like tea.",
        [
            calls([call("write_memory", json!({"content": "- likes tea"}))]),
            text("{{last_tool_result}}"),
        ]
    )]);
    let options = WorkerOptions {
        // Attempts at 0, 200, 600 and 1,400 ms fail.
        fault: Some("write_memory.before_commit=fail:4".to_owned()),
        script: Some(bed.script(&turns)),
        ..WorkerOptions::default()
    };
    let _worker = Worker::start(&bed, options).await;
    let agent = bed.start(input(&bed)).await;

    let taken = async {
        let write = eventually("the call is scheduled", async || {
            scheduled(&history(&agent).await, "write_memory").pop()
        })
        .await;
        use_elsewhere(&bed, &argument::<WriteMemoryInput>(&write)).await;
    };
    let (reply, ()) = tokio::join!(say(&agent, "I like tea."), taken);

    let told = reply.expect("a reply").text;
    assert!(told.contains("already used for another change"), "{told}");
    assert_eq!(
        bed.note(SCOPE, "MEMORY.md").await.as_deref(),
        Some("elsewhere")
    );
    assert_eq!(state(&agent).await.turns, 1);
    let history = closed(&agent).await;
    let recorder = Recorder::of("agent_workflow");
    recorder
        .write_agent("operation_conflict_survived", Form::Json, &history)
        .await;
    bed.finish().await;
}

#[tokio::test]
#[ignore = "writes files: `make record`"]
async fn killed_worker() {
    record_killed_worker(Way::MemoryQueue).await;
}

#[tokio::test]
#[ignore = "writes files: `make record`"]
async fn local_killed_worker() {
    record_killed_worker(Way::Local).await;
}

/// The worker dies between the store's commit and the activity's completion.
async fn record_killed_worker(way: Way) {
    let bed = Bed::new().await;
    let script = bed.script(&json!([turn(
        "I like tea.",
        [
            calls([call("write_memory", json!({"content": "- likes tea"}))]),
            text("{{last_tool_result}}"),
        ]
    )]));
    let fault = format!(
        "write_memory.after_commit=kill-once:{}",
        bed.path("killed").display()
    );
    let options = |fault: Option<String>, script: PathBuf| WorkerOptions {
        fault,
        script: Some(script),
        ..WorkerOptions::default()
    };
    let mut doomed = Worker::start(&bed, options(Some(fault), script.clone())).await;
    let mut input = input_by(way, &bed);
    input.memories[0].activities.start_to_close_ms = 2_000;
    let agent = bed.start_within(Duration::from_secs(2), input).await;

    let replaced = async {
        doomed.ended().await;
        Worker::start(&bed, options(None, script)).await
    };
    let (reply, _worker) = tokio::join!(say(&agent, "I like tea."), replaced);

    let told = reply.expect("a reply").text;
    assert!(told.contains("\"replayed\":true"), "{told}");
    assert_eq!(
        bed.note(SCOPE, "MEMORY.md").await.as_deref(),
        Some("- likes tea\n")
    );
    let history = closed(&agent).await;
    let recorder = Recorder::of("agent_workflow");
    recorder
        .write_agent(&named("killed_worker", way), Form::Json, &history)
        .await;
    bed.finish().await;
}

/// A run that is reset to where the model had answered, and the run that carries on from there.
#[tokio::test]
#[ignore = "writes files: `make record`"]
async fn reset_after_the_answer() {
    let bed = Bed::new().await;
    let _worker = Worker::serving(
        &bed,
        &json!([turn(
            "I like tea.",
            [
                calls([call("write_memory", json!({"content": "- likes tea"}))]),
                text("{{last_tool_result}}"),
            ]
        )]),
    )
    .await;
    let agent = bed.start(input(&bed)).await;
    let first_run = run_id(&agent).await;
    say(&agent, "I like tea.").await.expect("a reply");
    let before = run_history(&bed, &agent, &first_run).await;
    let [write] = scheduled_events(&before, "write_memory")[..] else {
        panic!("there is one write")
    };

    reset(
        &bed,
        &agent,
        attributes(write).workflow_task_completed_event_id,
    )
    .await;
    eventually("the new run has answered", async || {
        (state(&agent).await.turns == 1).then_some(())
    })
    .await;

    assert_eq!(
        bed.note(SCOPE, "MEMORY.md").await.as_deref(),
        Some("- likes tea\n")
    );
    let after = closed(&agent).await;
    let before = run_history(&bed, &agent, &first_run).await;
    let recorder = Recorder::of("agent_workflow");
    recorder
        .write_agent("reset_before", Form::Binary, &before)
        .await;
    recorder
        .write_agent("reset_after", Form::Binary, &after)
        .await;
    bed.finish().await;
}

/// A short conversation as other tools write it: the command line, and the web UI where it is to
/// decode what it downloads.
#[tokio::test]
#[ignore = "writes files: `make record`"]
async fn other_tools() {
    let bed = Bed::new().await;
    let _worker = Worker::serving(
        &bed,
        &json!([turn(
            "J'aime le thé \u{1F375}.",
            [
                calls([call("write_memory", json!({"content": "- aime le thé"}))]),
                text("C'est noté \u{2713}."),
            ]
        )]),
    )
    .await;
    let agent = bed.start(input(&bed)).await;
    expect(&agent, "J'aime le thé \u{1F375}.", "C'est noté \u{2713}.").await;
    let history = closed(&agent).await;

    let shown = other_tools::shown(&bed, agent.info().workflow_id.as_str()).await;
    let recorder = Recorder::of("agent_workflow");
    let loaded = recorder.write_shown("command_line", &shown).await;
    assert_eq!(
        recorder::without_identities(&loaded),
        recorder::without_identities(&history)
    );
    let decoded = other_tools::decoded(&shown);
    let loaded = recorder.write_shown("web_ui_decoded", &decoded).await;
    assert_eq!(loaded.events.len(), history.events.len());
    bed.finish().await;
}

#[tokio::test]
#[ignore = "writes files: `make record`"]
async fn several_memories() {
    record_several_memories(&Recorder::of("agent_workflow"), Way::MemoryQueue).await;
}

#[tokio::test]
#[ignore = "writes files: `make record`"]
async fn local_several_memories() {
    record_several_memories(&Recorder::of("agent_workflow"), Way::Local).await;
}

#[tokio::test]
async fn a_conversation_with_several_memories_recorded_now_replays() {
    record_several_memories(&Recorder::discarding(), Way::MemoryQueue).await;
}

/// A notebook of the person's own, one of the organisation, and one that is for the tools alone. The
/// model writes to two of them in one response.
async fn record_several_memories(recorder: &Recorder, way: Way) {
    let bed = Bed::new().await;
    let _worker = Worker::serving(
        &bed,
        &json!([
            turn(
                "Tea at four is decided; I bring the cups.",
                [
                    calls([
                        call("org_write_memory", json!({"content": "- tea at four"})),
                        call("write_memory", json!({"content": "- bring the cups"})),
                    ]),
                    text("Noted: {{memory}}"),
                ]
            ),
            turn(
                "What is in the archive?",
                [
                    calls([call("archive_search_memory", json!({"query": "tea"}))]),
                    text("{{last_tool_result}}"),
                ]
            ),
        ]),
    )
    .await;
    let mut input = input_by(way, &bed);
    let memory = |id: &str| MemorySettings {
        id: id.to_owned(),
        namespace: Some(format!("recorded/{id}")),
        prefix: id.to_owned(),
        ..input.memories[0].clone()
    };
    let mut org = memory("org");
    org.heading = "Org notes".to_owned();
    org.injection_errors = InjectionErrors::Raise;
    let mut archive = memory("archive");
    archive.inject_memory = false;
    input.memories[0].heading = "Your notes".to_owned();
    input.memories.extend([org, archive]);
    bed.put("recorded/archive/main", "teas.md", "- sencha is a tea\n")
        .await;
    let agent = bed.start(input).await;

    let said = say(&agent, "Tea at four is decided; I bring the cups.").await;
    let said = said.expect("a reply").text;
    let own = said.find("## Your notes").expect("a block of its own");
    let org = said.find("## Org notes").expect("a block of its own");
    assert!(own < org, "{said}");
    expect(&agent, "What is in the archive?", "sencha").await;

    let org = bed.note("recorded/org/main", "MEMORY.md").await;
    assert_eq!(org.as_deref(), Some("- tea at four\n"));
    let own = bed.note(SCOPE, "MEMORY.md").await;
    assert_eq!(own.as_deref(), Some("- bring the cups\n"));
    let history = closed(&agent).await;
    recorder
        .write_agent(&named("several_memories", way), Form::Json, &history)
        .await;
    bed.finish().await;
}

#[tokio::test]
#[ignore = "writes files: `make record`"]
async fn two_memories() {
    record_two_memories(Way::MemoryQueue).await;
}

#[tokio::test]
#[ignore = "writes files: `make record`"]
async fn two_local_memories() {
    record_two_memories(Way::Local).await;
}

/// A workflow of its own kind, with two memories and no model.
async fn record_two_memories(way: Way) {
    let bed = Bed::new().await;
    let options = WorkerOptions {
        queues: Some("memory"),
        ..WorkerOptions::default()
    };
    let _worker = Worker::start(&bed, options).await;
    let stores: [(String, Arc<dyn Store>); 1] =
        [("default".to_owned(), Arc::new(bed.store.clone()))];
    let notebook = NotebookActivities::new(Notebook::new(Stores::new(stores)));
    let mut options = temporalio_sdk::WorkerOptions::new(bed.workflow_task_queue.as_str())
        .register_activities(notebook)
        .build();
    options
        .register_workflow::<NoteTaker>()
        .expect("a new type");
    let note_taker = Hosted::start(bed.client.clone(), options).await;
    let minutes = Minutes {
        team: "blue".to_owned(),
        member: "ada".to_owned(),
        decided: "tea at four".to_owned(),
        to_do: "buy tea".to_owned(),
        task_queue: (way != Way::Local).then(|| bed.task_queue.clone()),
    };
    let start = WorkflowStartOptions::new(&bed.workflow_task_queue, &bed.schema).build();
    let run = bed
        .client
        .start_workflow(NoteTaker::run, minutes, start)
        .await
        .expect("start the workflow");

    let noted: Noted = run
        .get_result(WorkflowGetResultOptions::default())
        .await
        .expect("a result");

    assert_eq!(noted.before, ["", ""]);
    assert!(noted.after[0].contains("- tea at four"), "{noted:?}");
    assert!(noted.after[1].contains("- buy tea"), "{noted:?}");
    let events = run
        .fetch_history(WorkflowFetchHistoryOptions::default())
        .into_events();
    let history = History {
        events: events.await.expect("fetch the history"),
    };
    let what = match way {
        Way::Local => "two_local_memories",
        Way::MemoryQueue | Way::WorkflowQueue => "two_memories",
    };
    Recorder::of("note_taker").write(what, Form::Json, &history);
    note_taker.stop().await;
    bed.finish().await;
}

/// An input without guidance: it would be recorded with every model request.
fn input(bed: &Bed) -> AgentInput {
    input_by(Way::MemoryQueue, bed)
}

fn input_by(way: Way, bed: &Bed) -> AgentInput {
    let mut input = bed.input_by(way, NAMESPACE);
    input.memories[0].guidance = Some(String::new());
    input
}

/// Name of the history in which this happened to activities that run this way.
fn named(what_happened: &str, way: Way) -> String {
    match way {
        Way::Local => format!("local_{what_happened}"),
        Way::MemoryQueue | Way::WorkflowQueue => what_happened.to_owned(),
    }
}

fn turn<const N: usize>(prompt: &str, responses: [Value; N]) -> Value {
    json!({"prompt": prompt, "responses": responses.to_vec()})
}

fn text(text: &str) -> Value {
    json!({"text": text})
}

fn calls<const N: usize>(calls: [Value; N]) -> Value {
    json!({"tool_calls": calls.to_vec()})
}

/// A call under the id that models give again and again.
fn call(name: &str, arguments: Value) -> Value {
    json!({"id": "call_0", "name": name, "arguments": arguments})
}

/// Says something and checks the reply.
async fn expect(agent: &Agent, said: &str, part_of_reply: &str) {
    let reply = say(agent, said).await.expect("a reply");
    assert!(reply.text.contains(part_of_reply), "{reply:?}");
    assert_eq!(reply.skipped, []);
}

/// Closes the conversation and fetches the history of its last run.
async fn closed(agent: &Agent) -> History {
    close(agent).await;
    ended(agent).await
}

/// Waits until a conversation that was asked to close has ended.
async fn ended(agent: &Agent) -> History {
    agent
        .get_result(WorkflowGetResultOptions::default())
        .await
        .expect("the conversation ends well");
    history(agent).await
}

async fn run_history(bed: &Bed, agent: &Agent, run_id: &str) -> History {
    let run = WorkflowExecutionInfo::builder()
        .namespace(bed.temporal_namespace.clone())
        .workflow_id(agent.info().workflow_id.clone())
        .run_id(run_id)
        .build()
        .bind_untyped(bed.client.clone());
    let events = run
        .fetch_history(WorkflowFetchHistoryOptions::default())
        .into_events();
    History {
        events: events.await.expect("fetch the history"),
    }
}

fn scheduled_events<'h>(history: &'h History, activity: &str) -> Vec<&'h HistoryEvent> {
    let of_that_type = |event: &&HistoryEvent| match &event.attributes {
        Some(Attributes::ActivityTaskScheduledEventAttributes(scheduled)) => scheduled
            .activity_type
            .as_ref()
            .is_some_and(|kind| kind.name == activity),
        _ => false,
    };
    history.events.iter().filter(of_that_type).collect()
}

fn attributes(event: &HistoryEvent) -> &ActivityTaskScheduledEventAttributes {
    match &event.attributes {
        Some(Attributes::ActivityTaskScheduledEventAttributes(scheduled)) => scheduled,
        other => panic!("no scheduled activity: {other:?}"),
    }
}

fn scheduled(history: &History, activity: &str) -> Vec<ActivityTaskScheduledEventAttributes> {
    scheduled_events(history, activity)
        .into_iter()
        .map(|event| attributes(event).clone())
        .collect()
}

/// The argument that an activity was scheduled with.
fn argument<T: serde::de::DeserializeOwned>(scheduled: &ActivityTaskScheduledEventAttributes) -> T {
    let payloads = scheduled.input.as_ref().expect("input").payloads.as_slice();
    serde_json::from_slice(&payloads.first().expect("one argument").data).expect("JSON")
}

/// Uses the operation of a call for another change.
async fn use_elsewhere(bed: &Bed, call: &WriteMemoryInput) {
    let id = &call.operation.as_ref().expect("an operation").id;
    let operation = Operation {
        id: OperationId::parse(id).expect("valid id"),
        fingerprint: Fingerprint::new("somebody else's"),
    };
    let scope = Scope::parse(SCOPE).expect("scope");
    let name = NoteName::parse("MEMORY.md").expect("name");
    bed.store
        .write(
            &scope,
            &name,
            &WriteRequest::new("elsewhere", &Expected::Any),
            Some(&operation),
        )
        .await
        .expect("write");
}

/// Resets the conversation to before what the workflow task of this event did.
async fn reset(bed: &Bed, agent: &Agent, workflow_task_finish_event_id: i64) {
    let request = ResetWorkflowExecutionRequest {
        namespace: bed.temporal_namespace.clone(),
        workflow_execution: Some(WorkflowExecution {
            workflow_id: agent.info().workflow_id.clone(),
            run_id: run_id(agent).await,
        }),
        reason: "a test".to_owned(),
        workflow_task_finish_event_id,
        request_id: format!("{:016x}", rand::random::<u64>()),
        ..ResetWorkflowExecutionRequest::default()
    };
    let mut service = bed.client.connection().workflow_service();
    service
        .reset_workflow_execution(request.into_request())
        .await
        .expect("reset the workflow");
}
