//! Recorded histories: finding, loading and replaying them.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::Context as _;
use notekeeper_workflows::AgentWorkflow;
use prost::Message as _;
use temporalio_client::WorkflowHistory;
use temporalio_common::protos::temporal::api::{
    enums::v1::EventType,
    history::v1::{History, history_event::Attributes},
};
use temporalio_sdk::workflow_replayer::{WorkflowReplayer, WorkflowReplayerOptions};

use crate::failure_converter::data_converter;

/// A history file.
pub type HistoryFile = PathBuf;

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
    /// The text isn't the SDK's JSON of a history.
    #[error("is not the Temporal Rust SDK's JSON of a history: {0}")]
    Json(String),
    /// The bytes aren't a history's protobuf.
    #[error("is no protobuf binary of a history: {0}")]
    Protobuf(#[from] prost::DecodeError),
    /// The events don't make a history.
    #[error("is no whole history: {0}")]
    Events(&'static str),
}

/// What a replay came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplayOutcome {
    /// The workflow's code does what is recorded.
    Replayed,
    /// It doesn't, and why.
    Refused(String),
}

/// The files of the given paths; of a directory its history files, sorted by name, and those of
/// its directories.
///
/// # Errors
///
/// A path that doesn't exist or can't be listed.
pub fn find_histories(paths: &[PathBuf]) -> anyhow::Result<Vec<HistoryFile>> {
    let mut files = Vec::new();
    for path in paths {
        let data = std::fs::metadata(path)
            .with_context(|| format!("`{}` can't be opened", path.display()))?;
        if data.is_dir() {
            list(path, &mut files)?;
        } else {
            files.push(path.clone());
        }
    }
    Ok(files)
}

fn list(directory: &Path, files: &mut Vec<HistoryFile>) -> anyhow::Result<()> {
    let entries = std::fs::read_dir(directory)
        .with_context(|| format!("`{}` can't be listed", directory.display()))?;
    let mut paths = entries
        .map(|entry| Ok(entry?.path()))
        .collect::<std::io::Result<Vec<_>>>()?;
    paths.sort();
    for path in paths {
        let extension = path.extension().and_then(|extension| extension.to_str());
        if path.is_dir() {
            list(&path, files)?;
        } else if matches!(extension, Some("json" | "pb" | "bin" | "binpb")) {
            files.push(path);
        }
    }
    Ok(())
}

/// Loads a history from the SDK's JSON or from protobuf binary.
///
/// # Errors
///
/// [`HistoryError`]. A history that the SDK's core would choke on is refused here.
pub fn load_history(file: &Path) -> Result<History, HistoryError> {
    let bytes = std::fs::read(file)?;
    let looks_like_json = bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{');
    let history = if looks_like_json {
        serde_json::from_slice(&bytes).map_err(|error| HistoryError::Json(error.to_string()))?
    } else {
        History::decode(bytes.as_slice())?
    };
    check_events(&history)?;
    Ok(history)
}

fn check_events(history: &History) -> Result<(), HistoryError> {
    let first = history
        .events
        .first()
        .ok_or(HistoryError::Events("it has no events"))?;
    let Some(Attributes::WorkflowExecutionStartedEventAttributes(start)) = &first.attributes else {
        return Err(HistoryError::Events(
            "its first event doesn't start a workflow",
        ));
    };
    if start.task_queue.is_none() || start.workflow_type.is_none() {
        return Err(HistoryError::Events(
            "its start names no task queue or no workflow type",
        ));
    }
    let in_sequence = history
        .events
        .iter()
        .zip(1..)
        .all(|(event, id)| event.event_id == id);
    if !in_sequence {
        return Err(HistoryError::Events(
            "its events aren't numbered from 1 without a gap",
        ));
    }
    let complete = history.events.iter().all(|event| {
        event.event_type != EventType::Unspecified as i32 && event.attributes.is_some()
    });
    if !complete {
        return Err(HistoryError::Events(
            "it has an event without a type or attributes",
        ));
    }
    Ok(())
}

/// Whether a replay of this history compares ids and types of activities.
pub fn checks_identity(history: &History) -> bool {
    history.events.iter().any(|event| match &event.attributes {
        Some(Attributes::WorkflowTaskCompletedEventAttributes(completed)) => completed
            .sdk_metadata
            .as_ref()
            .is_some_and(|metadata| metadata.core_used_flags.contains(&ID_AND_TYPE_CHECK_FLAG)),
        _ => false,
    })
}

/// Replays a history against this program's workflows: no server, no store.
pub async fn replay_history(history: History) -> ReplayOutcome {
    match tokio::time::timeout(REPLAY_TIMEOUT, replay(history)).await {
        Ok(Ok(())) => ReplayOutcome::Replayed,
        Ok(Err(error)) => ReplayOutcome::Refused(format!("{error:#}")),
        Err(_) => {
            ReplayOutcome::Refused(format!("the replay did not end within {REPLAY_TIMEOUT:?}"))
        }
    }
}

async fn replay(history: History) -> anyhow::Result<()> {
    let options = WorkflowReplayerOptions::new()
        .data_converter(data_converter())
        .register_workflow::<AgentWorkflow>()?
        .build();
    WorkflowReplayer::new(options)?
        .replay_workflow(WorkflowHistory::from(history))
        .await?;
    Ok(())
}
