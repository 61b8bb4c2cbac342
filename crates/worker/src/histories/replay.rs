//! Replaying a history against this program's workflows.

use std::{panic::AssertUnwindSafe, time::Duration};

use anyhow::bail;
use futures::FutureExt as _;
use notekeeper_workflows::{AgentWorkflow, agent_interceptor};
use temporalio_client::WorkflowHistory;
use temporalio_common::{
    WorkflowDefinition as _,
    protos::temporal::api::history::v1::{History, history_event::Attributes},
};
use temporalio_sdk::workflow_replayer::{WorkflowReplayer, WorkflowReplayerOptions};

use crate::failure_converter::data_converter;

/// Longest time of one replay. Replays take milliseconds; only a defect makes one hang.
const REPLAY_TIMEOUT: Duration = Duration::from_secs(60);

/// What a replay came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplayOutcome {
    /// The workflow's code does what is recorded.
    Replayed,
    /// It doesn't, and why.
    Refused(String),
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
    without_events(&sentence.unwrap_or(error).replace("\\\"", "\""))
}

/// What is said up to the first event that is printed whole: its payloads are messages and notes.
/// Of the event its id is kept.
fn without_events(reason: &str) -> String {
    let start = [
        "HistoryEvent {",
        "EventAttributes {",
        "Payloads {",
        "Payload {",
    ]
    .iter()
    .filter_map(|name| reason.find(name))
    .min();
    let Some((before, event)) = start.and_then(|start| reason.split_at_checked(start)) else {
        return reason.to_owned();
    };
    let id: String = event
        .strip_prefix("HistoryEvent { event_id: ")
        .map(|rest| rest.chars().take_while(char::is_ascii_digit).collect())
        .unwrap_or_default();
    match id.as_str() {
        "" => format!("{before}…"),
        id => format!("{before}HistoryEvent {{ event_id: {id}, … }}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_in_a_reason_is_told_by_its_id_without_its_payloads() {
        let whole = "no command for HistoryEvent { event_id: 8, attributes: Some(Payloads { \
                     payloads: [[eyJz]] }) }";
        assert_eq!(
            in_short(whole),
            "no command for HistoryEvent { event_id: 8, … }"
        );
        assert_eq!(in_short("got Payloads { payloads: [[eyJz]] }"), "got …");
        assert_eq!(
            in_short("no command for HistoryEvent(id: 8, TimerFired)"),
            "no command for HistoryEvent(id: 8, TimerFired)"
        );
    }
}
