//! Files that are no histories, or no whole ones: each is refused with a reason, and none makes a
//! replay hang or panic.

use std::path::PathBuf;

use notekeeper::{load_history, replay_history};
use prost::Message as _;
use tempfile::TempDir;
use temporalio_common::protos::temporal::api::history::v1::{
    History, WorkflowExecutionStartedEventAttributes, history_event::Attributes,
};

use crate::{
    changed_code::{Code, replay},
    recorded,
};

/// What Temporal's command line prints of a run that has just started.
const JUST_STARTED: &str = r#"{
  "events": [
    {
      "eventId": "1",
      "eventTime": "2026-01-02T03:04:05.678Z",
      "eventType": "EVENT_TYPE_WORKFLOW_EXECUTION_STARTED",
      "taskId": "1048587",
      "workflowExecutionStartedEventAttributes": {
        "workflowType": {"name": "AgentWorkflow"},
        "taskQueue": {"name": "notekeeper-workflows", "kind": "TASK_QUEUE_KIND_NORMAL"},
        "attempt": 1
      }
    }
  ]
}
"#;

/// What the server's HTTP API answers with, asked for one event at a time.
const A_PAGE: &str = r#"{"history": {"events": [{"eventId": "1"}]}, "nextPageToken": "bW9yZQ=="}"#;

/// What Temporal's command line prints of a workflow, cut short.
pub(crate) const DESCRIBED: &str = r#"{
  "closeEvent": {"eventId": "24", "eventType": "EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED"},
  "executionConfig": {"defaultWorkflowTaskTimeout": "10s"},
  "result": {"messages": 1},
  "workflowExecutionInfo": {"historyLength": "24", "status": "WORKFLOW_EXECUTION_STATUS_COMPLETED"}
}
"#;

const RESULT: &str = r#"{
  "workflowId": "agent-7",
  "runId": "01a22a73-5e11-7ca9-95cd-bca3e37bb228",
  "namespace": "default",
  "status": "COMPLETED",
  "closeEvent": {"eventId": "24", "eventType": "EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED"},
  "result": {"messages": 1}
}
"#;

const LISTED: &str = r#"[
{
  "execution": {"workflowId": "agent-7", "runId": "01a22a73-5e11-7ca9-95cd-bca3e37bb228"},
  "type": {"name": "AgentWorkflow"}
}
]
"#;

#[test]
fn each_kind_of_unusable_file_is_refused_with_a_reason() {
    let directory = TempDir::new().unwrap();
    let good = recorded::named("agent_workflow/killed_worker.json").history;
    let reasons: Vec<_> = no_histories(&good)
        .into_iter()
        .chain(damaged_histories(&good))
        .map(
            |(what, bytes)| match load_history(&written(&directory, &bytes)) {
                Ok(_) => panic!("{what}: was taken for a history"),
                Err(error) => format!("{what}: {error}"),
            },
        )
        .collect();
    insta::assert_snapshot!(reasons.join("\n"));
}

fn no_histories(good: &History) -> Vec<(&'static str, Vec<u8>)> {
    let json = serde_json::to_string(good).expect("JSON");
    let binary = good.encode_to_vec();
    vec![
        ("nothing at all", Vec::new()),
        ("white space", b" \n\t\n".to_vec()),
        ("JSON that was cut off", json[..1000].into()),
        ("JSON of something else", r#"{"turns": []}"#.into()),
        ("JSON without events", r#"{"events": []}"#.into()),
        ("JSON, but a list", r#"["a", "b"]"#.into()),
        ("a run that has just started", JUST_STARTED.into()),
        ("a list of nothing", "[]".into()),
        ("a history of nothing", r#"{"history": {}}"#.into()),
        ("a page", A_PAGE.into()),
        ("`temporal workflow describe`", DESCRIBED.into()),
        ("`temporal workflow result`", RESULT.into()),
        ("`temporal workflow list`", LISTED.into()),
        (
            "two documents, one of them no history",
            format!("{JUST_STARTED}{RESULT}").into(),
        ),
        (
            "a text in UTF-16 that was cut off",
            b"\xff\xfe{\0\"".to_vec(),
        ),
        ("a byte order mark alone", b"\xef\xbb\xbf\n".to_vec()),
        (
            "binary that was cut off",
            binary[..binary.len() - 1].to_vec(),
        ),
        ("text", "# Notes\n".into()),
    ]
}

/// Whoever reads the reason need not be who may read the history.
#[test]
fn a_value_of_another_type_is_refused_with_its_place_and_is_not_repeated() {
    let directory = TempDir::new().unwrap();
    let good = recorded::named("agent_workflow/killed_worker.json").history;
    let mut of_the_sdk = serde_json::to_value(&good).expect("JSON");
    of_the_sdk["events"][0]["event_id"] = "my secret".into();
    let of_tools = JUST_STARTED.replace(r#""attempt": 1"#, r#""attempt": "my secret""#);
    let refused = [
        (
            of_the_sdk.to_string(),
            "`events[0].event_id`: expected a whole number",
        ),
        (
            of_tools,
            "EventAttributes.attempt`: the value can't be used",
        ),
    ];
    for (text, place) in refused {
        let error = load_history(&written(&directory, text.as_bytes())).unwrap_err();
        let said = error.to_string();
        assert!(said.contains(place), "{said}");
        assert!(!said.contains("secret"), "{said}");
    }
}

type Damage = fn(&mut History);

fn damaged_histories(good: &History) -> Vec<(&'static str, Vec<u8>)> {
    let changes: [(&str, Damage); 11] = [
        ("events in another order", |history| {
            history.events.swap(4, 5)
        }),
        ("a missing event", |history| remove(history, 4)),
        ("no start", |history| remove(history, 0)),
        ("no workflow type", |history| {
            start(history).workflow_type = None
        }),
        ("no task queue", |history| start(history).task_queue = None),
        ("an event of type 0", |history| {
            history.events[5].event_type = 0
        }),
        ("an event of a type that isn't its attributes'", |history| {
            history.events[5].event_type = history.events[6].event_type;
        }),
        ("an event without attributes", |history| {
            history.events[5].attributes = None;
        }),
        ("an event of a type of tomorrow", |history| {
            history.events[5].event_type = 4_242;
            history.events[5].attributes = None;
        }),
        ("a task that nothing ends", |history| {
            remove(history, 3);
            renumber(history);
        }),
        ("no completed task", |history| cut(history, 2)),
    ];
    let changed = |(what, change): (_, Damage)| {
        let mut history = good.clone();
        change(&mut history);
        (what, history.encode_to_vec())
    };
    changes.into_iter().map(changed).collect()
}

#[test]
fn a_file_that_is_not_there_is_refused() {
    let directory = TempDir::new().unwrap();
    for path in [
        directory.path().join("none.json"),
        directory.path().to_owned(),
    ] {
        let error = load_history(&path).unwrap_err().to_string();
        assert!(error.starts_with("can't be read: "), "{error}");
    }
}

/// The binary form begins with a line feed and a length, and a length may be a brace.
#[test]
fn a_binary_that_looks_like_json_is_read() {
    let mut history = recorded::named("agent_workflow/killed_worker.json").history;
    history.events.truncate(4);
    let queue = start(&mut history).task_queue.clone();
    let kind = start(&mut history).workflow_type.clone();
    *start(&mut history) = Default::default();
    start(&mut history).task_queue = queue;
    start(&mut history).workflow_type = kind;
    while history.events[0].encoded_len() < usize::from(b'{') {
        start(&mut history).workflow_id.push('w');
    }
    let binary = history.encode_to_vec();
    assert!(binary.starts_with(b"\n{"), "{:?}", &binary[..4]);

    let directory = TempDir::new().unwrap();
    assert_eq!(
        load_history(&written(&directory, &binary)).unwrap(),
        history
    );
}

/// Each event of a history removed, doubled, exchanged with the next one, or made the last: the
/// replay comes to something. What it comes to is Core's affair.
#[tokio::test]
async fn no_damage_makes_a_replay_hang_or_panic() {
    let directory = TempDir::new().unwrap();
    for name in [
        "agent_workflow/reset_after.binpb",
        "note_taker/two_memories.json",
    ] {
        let good = recorded::named(name).history;
        let mut read = 0;
        for place in 0..good.events.len() {
            for damage in [remove, double, exchange, cut] {
                let mut history = good.clone();
                damage(&mut history, place);
                renumber(&mut history);
                if let Ok(history) = load_history(&written(&directory, &history.encode_to_vec())) {
                    replay(&history, &Code::AsRecorded).await;
                    read += 1;
                }
            }
        }
        assert!(
            read > good.events.len(),
            "{name}: only {read} damaged histories were replayed"
        );
    }
}

/// A failure of this kind must reach whoever asked, not only the replayer's own user.
#[tokio::test]
async fn a_workflow_type_that_is_not_known_is_refused() {
    let unknown = recorded::named("note_taker/two_memories.json").history;
    let outcome = format!("{:?}", replay_history(unknown).await);
    assert!(
        outcome.starts_with("Refused") && outcome.contains("NoteTaker"),
        "{outcome}"
    );
}

fn remove(history: &mut History, place: usize) {
    history.events.remove(place);
}

fn double(history: &mut History, place: usize) {
    let event = history.events[place].clone();
    history.events.insert(place, event);
}

fn exchange(history: &mut History, place: usize) {
    let next = (place + 1) % history.events.len();
    history.events.swap(place, next);
}

fn cut(history: &mut History, place: usize) {
    history.events.truncate(place + 1);
}

fn renumber(history: &mut History) {
    for (event, id) in history.events.iter_mut().zip(1..) {
        event.event_id = id;
    }
}

fn start(history: &mut History) -> &mut WorkflowExecutionStartedEventAttributes {
    match &mut history.events[0].attributes {
        Some(Attributes::WorkflowExecutionStartedEventAttributes(start)) => start,
        other => panic!("starts with {other:?}"),
    }
}

fn written(directory: &TempDir, bytes: &[u8]) -> PathBuf {
    let path = directory.path().join("history");
    std::fs::write(&path, bytes).expect("write a file of the test");
    path
}
