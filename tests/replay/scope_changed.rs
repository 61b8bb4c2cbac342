//! A resolver that answers differently once a conversation has continued as a new run.

use notekeeper_contract::FailureType;
use temporalio_common::protos::temporal::api::{
    enums::v1::EventType,
    failure::v1::{ApplicationFailureInfo, Failure, failure::FailureInfo},
    history::v1::{
        History, HistoryEvent, WorkflowExecutionFailedEventAttributes, history_event::Attributes,
    },
};
use temporalio_sdk::workflow_replayer::WorkflowReplayFailure;

use crate::{
    changed_code::{Code, replay},
    recorded::{self, Recorded},
};

#[test]
fn the_next_run_gets_the_hash_of_the_scopes() {
    let before = recorded::named("agent_workflow/continue_as_new_before.binpb");
    let after = continued();
    let handed_over = after.input()["resumed"]["scope_hash"].clone();
    let id = &before.activities()[0].id;
    assert_eq!(handed_over.as_str(), id.split('.').nth(1), "{id}");
    assert_eq!(
        after.activities()[0].id.split('.').nth(1),
        handed_over.as_str()
    );
}

#[tokio::test]
async fn its_first_task_fails_the_run_before_anything_is_scheduled() {
    let failed = failed_in_its_first_task(&continued().history);
    assert_eq!(replay(&failed, &Code::Moved).await, None);
    let refused = replay(&failed, &Code::AsRecorded).await;
    assert!(
        matches!(&refused, Some(WorkflowReplayFailure::Nondeterminism { .. })),
        "the unchanged resolver must not fail the run: {refused:?}"
    );
}

fn continued() -> Recorded {
    recorded::named("agent_workflow/continue_as_new_after.binpb")
}

/// What the server would hold had the run failed at once.
fn failed_in_its_first_task(history: &History) -> History {
    let first_completed =
        |event: &HistoryEvent| event.event_type() == EventType::WorkflowTaskCompleted;
    let end = history
        .events
        .iter()
        .position(first_completed)
        .expect("a completed task");
    let mut events = history.events[..=end].to_vec();
    let info = ApplicationFailureInfo {
        r#type: FailureType::ScopeChanged.to_string(),
        non_retryable: true,
        ..ApplicationFailureInfo::default()
    };
    let failed = WorkflowExecutionFailedEventAttributes {
        failure: Some(Failure {
            failure_info: Some(FailureInfo::ApplicationFailureInfo(info)),
            ..Failure::default()
        }),
        workflow_task_completed_event_id: events[end].event_id,
        ..WorkflowExecutionFailedEventAttributes::default()
    };
    events.push(HistoryEvent {
        event_id: events[end].event_id + 1,
        event_time: events[end].event_time,
        event_type: EventType::WorkflowExecutionFailed as i32,
        attributes: Some(Attributes::WorkflowExecutionFailedEventAttributes(failed)),
        ..HistoryEvent::default()
    });
    History { events }
}
