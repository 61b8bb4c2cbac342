//! What the events of a history must have in common before it is replayed.

use temporalio_common::protos::temporal::api::{
    enums::v1::EventType,
    history::v1::{History, HistoryEvent, history_event::Attributes},
};

use super::error::HistoryError;

/// The flag with which the SDK notes, in the first completed workflow task, that ids and types of
/// activities are compared on replay.
const ID_AND_TYPE_CHECK_FLAG: u32 = 1;

/// Refuses what is no whole history, or would make the SDK's core fail otherwise than by a refusal.
pub(crate) fn check(history: &History) -> Result<(), HistoryError> {
    check_start(history)?;
    check_events(history)
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
        check_attributes(event)?;
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

/// An event is what its attributes say. One that says two things, or nothing, was damaged, unless
/// it is of a type that this version doesn't know and that workers may pass over.
fn check_attributes(event: &HistoryEvent) -> Result<(), HistoryError> {
    let number = event.event_id;
    let kind = EventType::try_from(event.event_type);
    match (kind, &event.attributes) {
        (Ok(kind), Some(attributes)) if attributes.event_type() == kind => Ok(()),
        (Err(_), None) if event.worker_may_ignore => Ok(()),
        (Ok(kind), Some(attributes)) => no_history(format!(
            "event {number} is of type {}, and its attributes are of type {}",
            kind.as_str_name(),
            attributes.event_type().as_str_name()
        )),
        (Ok(kind), None) => no_history(format!(
            "event {number}, {}, has no attributes",
            kind.as_str_name()
        )),
        (Err(_), _) => no_history(format!(
            "event {number} is of type {}, which this version doesn't know",
            event.event_type
        )),
    }
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
