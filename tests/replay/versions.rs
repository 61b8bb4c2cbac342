//! Histories of older code: what was changed since leaves them as they are.

use temporalio_common::protos::temporal::api::history::v1::{
    History, HistoryEvent, WorkflowExecutionCanceledEventAttributes, history_event::Attributes,
};
use temporalio_sdk::workflow_replayer::WorkflowReplayFailure;

use crate::{
    changed_code::{Code, replay},
    recorded,
};

/// The marker with which a history says that it was recorded by code that knows a change.
const PATCH_MARKER: &str = "core_patch";

/// The recorded history up to the first event like this, which ends as cancelled there.
fn cancelled_before(history: &History, is_one: impl Fn(&Attributes) -> bool) -> History {
    let is_one = |event: &HistoryEvent| event.attributes.as_ref().is_some_and(&is_one);
    let place = history.events.iter().position(is_one);
    let mut events = history.events[..place.expect("there is one")].to_vec();
    let completed = events.iter().rev().find(|event| {
        matches!(
            event.attributes,
            Some(Attributes::WorkflowTaskCompletedEventAttributes(_))
        )
    });
    let cancelled = WorkflowExecutionCanceledEventAttributes {
        workflow_task_completed_event_id: completed.expect("a workflow task").event_id,
        details: None,
    };
    let last = history.events.last().expect("events");
    events.push(HistoryEvent {
        event_id: i64::try_from(events.len()).expect("few") + 1,
        attributes: Some(Attributes::WorkflowExecutionCanceledEventAttributes(
            cancelled,
        )),
        ..last.clone()
    });
    History { events }
}

fn is_patch(attributes: &Attributes) -> bool {
    matches!(attributes, Attributes::MarkerRecordedEventAttributes(marker) if marker.marker_name == PATCH_MARKER)
}

#[tokio::test]
async fn a_run_that_older_code_cancelled_with_messages_unstored_stores_none_in_a_replay() {
    let recorded = recorded::named("agent_workflow/cancelled_with_unstored.json");
    let older = cancelled_before(&recorded.history, is_patch);

    assert_eq!(replay(&older, &Code::AsRecorded).await, None);
}

/// The twin: a history that knows of the change and doesn't have what it brought.
#[tokio::test]
async fn a_run_of_newer_code_that_was_cancelled_with_messages_unstored_has_to_store_them() {
    let recorded = recorded::named("agent_workflow/cancelled_with_unstored.json");
    let mut after_patch = false;
    let at = recorded.history.events.iter().find(|event| {
        let attributes = event.attributes.as_ref().expect("attributes");
        after_patch |= is_patch(attributes);
        after_patch
            && matches!(
                attributes,
                Attributes::ActivityTaskScheduledEventAttributes(_)
            )
    });
    let at = at.expect("an activity").attributes.clone();
    let torn = cancelled_before(&recorded.history, |attributes| {
        Some(attributes) == at.as_ref()
    });

    match replay(&torn, &Code::AsRecorded).await {
        Some(WorkflowReplayFailure::Nondeterminism { message }) => {
            assert!(message.contains("Activity machine"), "{message}");
        }
        other => panic!("{other:?}"),
    }
}

/// Recorded by code that failed the message after an erasure where its request also referred to texts that
/// were gone.
#[tokio::test]
async fn a_run_of_older_code_whose_message_failed_after_an_erasure_replays_as_it_was() {
    let recorded = recorded::named("agent_workflow/erased_before_the_change.json");
    let failed = recorded.history.events.iter().filter(|event| {
        matches!(
            event.attributes,
            Some(Attributes::ActivityTaskFailedEventAttributes(_))
        )
    });
    assert!(failed.count() > 1, "both kinds of requests failed");
    let has_patch = recorded
        .history
        .events
        .iter()
        .any(|event| event.attributes.as_ref().is_some_and(is_patch));
    assert!(!has_patch);

    assert_eq!(replay(&recorded.history, &Code::AsRecorded).await, None);
}
