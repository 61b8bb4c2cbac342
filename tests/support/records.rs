//! Reading histories: which activities ran, what came of them, and what is said outside payloads.

use prost::Message as _;
use serde_json::Value;
use temporalio_common::protos::temporal::api::{
    common::v1::{Payload, Payloads},
    failure::v1::Failure,
    history::v1::{History, MarkerRecordedEventAttributes, history_event::Attributes},
};

/// Name of the markers in which local activities are recorded.
const LOCAL_ACTIVITY_MARKER: &str = "core_local_activity";

/// One activity of a history.
#[derive(Debug, Clone)]
pub(crate) struct Activity {
    pub(crate) id: String,
    /// Activity type.
    pub(crate) name: String,
    /// Task queue; empty for a local one.
    pub(crate) queue: String,
    /// Whether it was a local one, of which only the outcome is recorded.
    pub(crate) is_local: bool,
    /// Its only argument; null for a local one.
    pub(crate) input: Value,
    /// Longest time with all attempts and of one attempt, in milliseconds; 0 for none.
    pub(crate) close_ms: (i64, i64),
    /// Event that scheduled it, or the marker of a local one.
    pub(crate) scheduled: i64,
    /// The completed workflow task that asked for it.
    pub(crate) decided: i64,
    /// Attempt that came to the outcome; 0 while none is recorded.
    pub(crate) attempt: i32,
    /// Worker that ran that attempt.
    pub(crate) worker: String,
    /// Result or failure; `None` while it is open.
    pub(crate) outcome: Option<Result<Value, Failure>>,
}

impl Activity {
    /// The result of one that succeeded.
    pub(crate) fn result(&self) -> &Value {
        match &self.outcome {
            Some(Ok(value)) => value,
            other => panic!("`{}` came to {other:?}", self.name),
        }
    }
}

/// The activities in the order in which they were scheduled, local ones in the order in which they
/// ended.
pub(crate) fn activities(history: &History) -> Vec<Activity> {
    let mut activities: Vec<Activity> = Vec::new();
    for event in &history.events {
        match &event.attributes {
            Some(Attributes::ActivityTaskScheduledEventAttributes(a)) => {
                activities.push(Activity {
                    id: a.activity_id.clone(),
                    name: a.activity_type.clone().expect("an activity type").name,
                    queue: a.task_queue.clone().unwrap_or_default().name,
                    is_local: false,
                    input: only(a.input.as_ref()),
                    close_ms: (
                        a.schedule_to_close_timeout.as_ref().map_or(0, |time| {
                            time.seconds * 1_000 + i64::from(time.nanos) / 1_000_000
                        }),
                        a.start_to_close_timeout.as_ref().map_or(0, |time| {
                            time.seconds * 1_000 + i64::from(time.nanos) / 1_000_000
                        }),
                    ),
                    scheduled: event.event_id,
                    decided: a.workflow_task_completed_event_id,
                    attempt: 0,
                    worker: String::new(),
                    outcome: None,
                })
            }
            Some(Attributes::ActivityTaskStartedEventAttributes(a)) => {
                let activity = find(&mut activities, a.scheduled_event_id);
                activity.attempt = a.attempt;
                activity.worker.clone_from(&a.identity);
            }
            Some(Attributes::ActivityTaskCompletedEventAttributes(a)) => {
                let activity = find(&mut activities, a.scheduled_event_id);
                activity.outcome = Some(Ok(only(a.result.as_ref())));
            }
            Some(Attributes::ActivityTaskFailedEventAttributes(a)) => {
                let activity = find(&mut activities, a.scheduled_event_id);
                activity.outcome = Some(Err(a.failure.clone().expect("a failure")));
            }
            Some(Attributes::ActivityTaskTimedOutEventAttributes(a)) => {
                let activity = find(&mut activities, a.scheduled_event_id);
                activity.outcome = Some(Err(a.failure.clone().expect("a failure")));
            }
            Some(Attributes::MarkerRecordedEventAttributes(marker))
                if marker.marker_name == LOCAL_ACTIVITY_MARKER =>
            {
                activities.push(local(event.event_id, marker, history));
            }
            _ => {}
        }
    }
    activities
}

fn local(event_id: i64, marker: &MarkerRecordedEventAttributes, history: &History) -> Activity {
    let data = only(marker.details.get("data"));
    let text = |key: &str| data[key].as_str().expect("text").to_owned();
    let decided = marker.workflow_task_completed_event_id;
    let worker = history
        .events
        .iter()
        .find_map(|event| match &event.attributes {
            Some(Attributes::WorkflowTaskCompletedEventAttributes(a))
                if event.event_id == decided =>
            {
                Some(a.identity.clone())
            }
            _ => None,
        });
    Activity {
        id: text("activity_id"),
        name: text("activity_type"),
        queue: String::new(),
        is_local: true,
        input: Value::Null,
        close_ms: (0, 0),
        scheduled: event_id,
        decided,
        attempt: i32::try_from(data["attempt"].as_i64().expect("a number")).expect("few attempts"),
        worker: worker.expect("a completed workflow task"),
        outcome: Some(match &marker.failure {
            Some(failure) => Err(failure.clone()),
            None => Ok(only(marker.details.get("result"))),
        }),
    }
}

fn find(activities: &mut [Activity], scheduled: i64) -> &mut Activity {
    activities
        .iter_mut()
        .find(|activity| activity.scheduled == scheduled)
        .expect("a scheduled activity")
}

/// Those of one type.
pub(crate) fn activities_of(history: &History, name: &str) -> Vec<Activity> {
    let mut activities = activities(history);
    activities.retain(|activity| activity.name == name);
    activities
}

/// How many events satisfy `is`.
fn count(history: &History, is: impl Fn(&Attributes) -> bool) -> usize {
    let attributes = history.events.iter().filter_map(|e| e.attributes.as_ref());
    attributes.filter(|attributes| is(attributes)).count()
}

/// Workflow tasks that a worker took and never answered.
pub(crate) fn tasks_timed_out(history: &History) -> usize {
    count(history, |attributes| {
        matches!(
            attributes,
            Attributes::WorkflowTaskTimedOutEventAttributes(_)
        )
    })
}

/// Updates that the workflow took.
pub(crate) fn updates_accepted(history: &History) -> usize {
    count(history, |attributes| {
        matches!(
            attributes,
            Attributes::WorkflowExecutionUpdateAcceptedEventAttributes(_)
        )
    })
}

/// Whether the history holds the text anywhere, payloads included.
pub(crate) fn holds(history: &History, text: &str) -> bool {
    let bytes = history.encode_to_vec();
    bytes
        .windows(text.len())
        .any(|window| window == text.as_bytes())
}

/// Everything that a history holds outside payloads: failures, ids, names, headers' keys.
pub(crate) fn outside_payloads(history: &History) -> String {
    let mut value = serde_json::to_value(history).expect("a history is JSON");
    blank_payloads(&mut value);
    value.to_string()
}

fn blank_payloads(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            if fields.contains_key("metadata") && fields.contains_key("data") {
                fields.insert("data".to_owned(), Value::Null);
            }
            fields.values_mut().for_each(blank_payloads);
        }
        Value::Array(items) => items.iter_mut().for_each(blank_payloads),
        _ => {}
    }
}

/// Payloads that stand in failures, headers, search attributes or memos: beside the arguments and
/// results that a tenant's notes are in by design.
pub(crate) fn payloads_beside_results(history: &History) -> Vec<Value> {
    let mut found = Vec::new();
    let value = serde_json::to_value(history).expect("a history is JSON");
    collect_payloads(&value, false, &mut found);
    found
}

fn collect_payloads(value: &Value, beside: bool, found: &mut Vec<Value>) {
    const BESIDE: [&str; 5] = [
        "failure",
        "header",
        "searchAttributes",
        "search_attributes",
        "memo",
    ];
    match value {
        Value::Object(fields) if fields.contains_key("metadata") && fields.contains_key("data") => {
            found.extend(beside.then(|| value.clone()));
        }
        Value::Object(fields) => {
            for (key, value) in fields {
                collect_payloads(value, beside || BESIDE.contains(&key.as_str()), found);
            }
        }
        Value::Array(items) => {
            for item in items {
                collect_payloads(item, beside, found);
            }
        }
        _ => {}
    }
}

/// The JSON of a payload; null for anything else.
pub(crate) fn json_of(payload: &Payload) -> Value {
    serde_json::from_slice(&payload.data).unwrap_or_default()
}

fn only(payloads: Option<&Payloads>) -> Value {
    let payload = payloads.and_then(|payloads| payloads.payloads.first());
    payload.map(json_of).unwrap_or_default()
}
