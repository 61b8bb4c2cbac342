//! Recorded histories: finding, loading and replaying them.

use std::{
    panic::AssertUnwindSafe,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context as _, bail};
use futures::FutureExt as _;
use notekeeper_workflows::{AgentWorkflow, agent_interceptor};
use prost::Message as _;
use temporalio_client::WorkflowHistory;
use temporalio_common::{
    WorkflowDefinition as _,
    protos::temporal::api::{
        enums::v1::EventType,
        history::v1::{History, HistoryEvent, history_event::Attributes},
    },
};
use temporalio_sdk::workflow_replayer::{WorkflowReplayer, WorkflowReplayerOptions};

use crate::failure_converter::data_converter;

/// Longest time of one replay. Replays take milliseconds; only a defect makes one hang.
const REPLAY_TIMEOUT: Duration = Duration::from_secs(60);

/// The flag with which the SDK notes, in the first completed workflow task, that ids and types of
/// activities are compared on replay.
const ID_AND_TYPE_CHECK_FLAG: u32 = 1;

/// Why a file is no history that can be replayed.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// The file can't be read.
    #[error("can't be read: {0}")]
    Io(#[from] std::io::Error),
    /// There is nothing in the file.
    #[error("is empty")]
    Empty,
    /// The text isn't the SDK's JSON of a history.
    #[error("is not the JSON that Temporal's Rust SDK writes of a history: {0}")]
    Json(String),
    /// The text is the JSON that Temporal's command line and web UI write.
    #[error(
        "is JSON as `temporal workflow show` and the web UI write it (`eventId`), which the SDK \
         doesn't read (it wants `event_id`); fetch the history with the SDK and write what \
         `WorkflowHistory::to_json` gives, or a protobuf binary of it"
    )]
    ForeignJson,
    /// The bytes aren't a history's protobuf.
    #[error("is neither JSON nor the protobuf binary of a history: {0}")]
    Protobuf(#[from] prost::DecodeError),
    /// The events don't make a history.
    #[error("is no whole history: {0}")]
    Events(String),
}

/// What a replay came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplayOutcome {
    /// The workflow's code does what is recorded.
    Replayed,
    /// It doesn't, and why.
    Refused(String),
}

/// The files of the given paths; of a directory its history files (`.json`, `.pb`, `.bin`,
/// `.binpb`), sorted by name, and those of its directories.
///
/// # Errors
///
/// A path that doesn't exist or can't be listed, and a directory without a history file: a check
/// that checks nothing must not pass.
pub fn find_histories(paths: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in paths {
        let data = std::fs::metadata(path)
            .with_context(|| format!("`{}` can't be opened", path.display()))?;
        if data.is_dir() {
            let before = files.len();
            list(path, &mut files)?;
            if files.len() == before {
                bail!(
                    "there are no history files (`.json`, `.pb`, `.bin`, `.binpb`) in `{}`",
                    path.display()
                );
            }
        } else {
            files.push(path.clone());
        }
    }
    Ok(files)
}

fn list(directory: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    let entries = std::fs::read_dir(directory)
        .with_context(|| format!("`{}` can't be listed", directory.display()))?;
    let mut paths = entries
        .map(|entry| Ok(entry?.path()))
        .collect::<std::io::Result<Vec<_>>>()?;
    paths.sort();
    for path in paths {
        let extension = path.extension().and_then(|extension| extension.to_str());
        // A link to a directory is not followed: it may lead back to where it stands.
        if path.is_dir() && !path.is_symlink() {
            list(&path, files)?;
        } else if matches!(extension, Some("json" | "pb" | "bin" | "binpb")) {
            files.push(path);
        }
    }
    Ok(())
}

/// Loads a history from the SDK's JSON or from protobuf binary, whatever the file is called.
///
/// # Errors
///
/// [`HistoryError`]. A history that the SDK's core would choke on is refused here.
pub fn load_history(file: &Path) -> Result<History, HistoryError> {
    let bytes = std::fs::read(file)?;
    let history = match bytes.iter().find(|byte| !byte.is_ascii_whitespace()) {
        None => return Err(HistoryError::Empty),
        Some(b'{' | b'[') => match read_json(&bytes) {
            // The first byte of the binary form is a line feed to whoever reads text, and the
            // second, a length, may be a bracket.
            Err(_) if bytes[0] == b'\n' && History::decode(&*bytes).is_ok() => {
                History::decode(&*bytes)?
            }
            read => read?,
        },
        Some(_) => History::decode(&*bytes)?,
    };
    check_start(&history)?;
    check_events(&history)?;
    Ok(history)
}

fn read_json(bytes: &[u8]) -> Result<History, HistoryError> {
    serde_json::from_slice(bytes).map_err(|error| {
        let names = |key: &[u8]| bytes.windows(key.len()).any(|window| window == key);
        if names(b"\"eventId\"") && !names(b"\"event_id\"") {
            HistoryError::ForeignJson
        } else if error.is_eof() {
            HistoryError::Json(format!("it ends too early: {error}"))
        } else {
            HistoryError::Json(error.to_string())
        }
    })
}

fn no_history<T>(why: impl Into<String>) -> Result<T, HistoryError> {
    Err(HistoryError::Events(why.into()))
}

fn check_start(history: &History) -> Result<(), HistoryError> {
    let Some(first) = history.events.first() else {
        return no_history("it has no events");
    };
    let Some(Attributes::WorkflowExecutionStartedEventAttributes(start)) = &first.attributes else {
        return no_history("its first event doesn't start a workflow");
    };
    if start
        .workflow_type
        .as_ref()
        .is_none_or(|kind| kind.name.is_empty())
    {
        return no_history("its first event names no workflow type");
    }
    if start.task_queue.is_none() {
        return no_history("its first event names no task queue");
    }
    Ok(())
}

/// Core takes some of what is refused here for a defect of its own, and the replay would hang.
fn check_events(history: &History) -> Result<(), HistoryError> {
    let mut tasks_completed = 0;
    for (index, event) in history.events.iter().enumerate() {
        let number = index as i64 + 1;
        if event.event_id != number {
            let id = event.event_id;
            return no_history(format!("event {number} is numbered {id}"));
        }
        if event.event_type == EventType::Unspecified as i32 {
            return no_history(format!("event {number} has no type"));
        }
        if event.attributes.is_none() && !event.worker_may_ignore {
            let kind = event.event_type;
            return no_history(format!(
                "event {number} has no attributes, or the SDK doesn't know its type ({kind})"
            ));
        }
        let next = history.events.get(index + 1).map(HistoryEvent::event_type);
        if event.event_type() == EventType::WorkflowTaskStarted && !may_follow_a_started_task(next)
        {
            return no_history(format!(
                "event {number} starts a workflow task, and event {} doesn't end it",
                number + 1
            ));
        }
        tasks_completed += usize::from(event.event_type() == EventType::WorkflowTaskCompleted);
    }
    if tasks_completed == 0 {
        return no_history("no workflow task was completed, so there is nothing to replay");
    }
    Ok(())
}

/// What the server writes after a workflow task was started, or nothing yet.
fn may_follow_a_started_task(next: Option<EventType>) -> bool {
    matches!(
        next,
        None | Some(
            EventType::WorkflowTaskCompleted
                | EventType::WorkflowTaskFailed
                | EventType::WorkflowTaskTimedOut
                | EventType::WorkflowExecutionTerminated
                | EventType::WorkflowExecutionTimedOut
        )
    )
}

/// Whether a replay of this history compares ids and types of activities, from the first one on.
pub fn checks_identity(history: &History) -> bool {
    let first = history
        .events
        .iter()
        .find_map(|event| match &event.attributes {
            Some(Attributes::WorkflowTaskCompletedEventAttributes(completed)) => Some(completed),
            _ => None,
        });
    first
        .and_then(|completed| completed.sdk_metadata.as_ref())
        .is_some_and(|metadata| metadata.core_used_flags.contains(&ID_AND_TYPE_CHECK_FLAG))
}

/// Replays a history against this program's workflows: no server, no store.
pub async fn replay_history(history: History) -> ReplayOutcome {
    let replay = AssertUnwindSafe(replay(history)).catch_unwind();
    match tokio::time::timeout(REPLAY_TIMEOUT, replay).await {
        Ok(Ok(Ok(()))) => ReplayOutcome::Replayed,
        Ok(Ok(Err(error))) => ReplayOutcome::Refused(in_short(&format!("{error:#}"))),
        Ok(Err(_)) => ReplayOutcome::Refused("the SDK panicked over it".to_owned()),
        Err(_) => {
            ReplayOutcome::Refused(format!("the replay did not end within {REPLAY_TIMEOUT:?}"))
        }
    }
}

async fn replay(history: History) -> anyhow::Result<()> {
    let known = AgentWorkflow::run.name();
    let kind = workflow_type(&history);
    if kind != known {
        bail!(
            "this program has no workflow type `{kind}`, only `{known}`; \
             replay it in a test of the program that has it"
        );
    }
    let options = WorkflowReplayerOptions::new()
        .data_converter(data_converter())
        .register_workflow::<AgentWorkflow>()?
        .workflow_interceptor(agent_interceptor())
        .build();
    WorkflowReplayer::new(options)?
        .replay_workflow(WorkflowHistory::from(history))
        .await?;
    Ok(())
}

fn workflow_type(history: &History) -> &str {
    match history.events.first().map(|event| &event.attributes) {
        Some(Some(Attributes::WorkflowExecutionStartedEventAttributes(start))) => {
            start.workflow_type.as_ref().map_or("", |kind| &kind.name)
        }
        _ => "",
    }
}

/// The sentence that says what is wrong: Core hands it out inside the debug form of a message.
fn in_short(error: &str) -> String {
    let sentence = error
        .split_once("message: \"")
        .and_then(|(_, rest)| rest.split_once("\", source: "))
        .map(|(sentence, _)| sentence);
    sentence.unwrap_or(error).replace("\\\"", "\"")
}

#[cfg(doctest)]
#[doc = include_str!("../../../docs/replay.md")]
mod snippets_of_the_documentation {}
