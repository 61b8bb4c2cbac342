//! The recorded histories, and what is read in them.

use std::path::{Path, PathBuf};

use notekeeper::{find_histories, load_history};
use serde_json::Value;
use temporalio_common::protos::temporal::api::{
    common::v1::Payload,
    history::v1::{
        History, MarkerRecordedEventAttributes, WorkflowExecutionStartedEventAttributes,
        history_event::Attributes,
    },
    update::v1::outcome,
};

/// Name of the markers in which local activities are recorded.
const LOCAL_ACTIVITY_MARKER: &str = "core_local_activity";

/// A recorded history.
pub(crate) struct Recorded {
    /// Its file, below the directory of histories.
    pub(crate) name: String,
    pub(crate) history: History,
}

/// What a history says of one activity.
#[derive(Debug, Clone, Default)]
pub(crate) struct RecordedActivity {
    /// Number of the event that scheduled it, or of the marker of a local one.
    pub(crate) event: i64,
    pub(crate) id: String,
    pub(crate) kind: String,
    /// Whether it is a local one, whose argument isn't recorded.
    pub(crate) is_local: bool,
    /// Its argument; null where it isn't JSON.
    pub(crate) input: Value,
    /// What it came to; none where it failed or didn't end.
    pub(crate) result: Option<Vec<Payload>>,
    /// Attempts until it ended.
    pub(crate) attempts: i32,
}

/// Where the histories are.
pub(crate) fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/replay/histories")
}

/// All of them, by name.
pub(crate) fn all() -> Vec<Recorded> {
    let files = find_histories(&[directory()]).expect("there are recorded histories");
    files.iter().map(|file| read(file)).collect()
}

/// The one with this name.
pub(crate) fn named(name: &str) -> Recorded {
    read(&directory().join(name))
}

fn read(file: &Path) -> Recorded {
    let name = file.strip_prefix(directory()).expect("below the directory");
    let name = name.to_str().expect("UTF-8").to_owned();
    let history = load_history(file).unwrap_or_else(|error| panic!("{name}: {error}"));
    Recorded { name, history }
}

impl Recorded {
    /// How the run was started.
    pub(crate) fn start(&self) -> &WorkflowExecutionStartedEventAttributes {
        match &self.history.events[0].attributes {
            Some(Attributes::WorkflowExecutionStartedEventAttributes(start)) => start,
            other => panic!("{}: starts with {other:?}", self.name),
        }
    }

    /// What the run was started with.
    pub(crate) fn input(&self) -> Value {
        let payloads = self
            .start()
            .input
            .as_ref()
            .map(|input| input.payloads.as_slice());
        payloads
            .and_then(|payloads| payloads.first())
            .map(json)
            .unwrap_or_default()
    }

    /// The same, started with another input.
    pub(crate) fn with_input(&self, input: &Value) -> Self {
        let mut history = self.history.clone();
        let Some(Attributes::WorkflowExecutionStartedEventAttributes(start)) =
            &mut history.events[0].attributes
        else {
            panic!("{}: has no start", self.name);
        };
        let payloads = start.input.as_mut().map(|input| &mut input.payloads);
        let payload = payloads.and_then(|payloads| payloads.first_mut());
        payload.expect("an input").data = input.to_string().into_bytes();
        Self {
            name: self.name.clone(),
            history,
        }
    }

    /// The activities, in the order in which they were called.
    pub(crate) fn activities(&self) -> Vec<RecordedActivity> {
        let mut activities: Vec<RecordedActivity> = Vec::new();
        for event in &self.history.events {
            let attributes = event.attributes.as_ref().expect("attributes");
            if let Attributes::ActivityTaskScheduledEventAttributes(scheduled) = attributes {
                let input = scheduled.input.clone().unwrap_or_default().payloads;
                activities.push(RecordedActivity {
                    event: event.event_id,
                    id: scheduled.activity_id.clone(),
                    kind: scheduled.activity_type.clone().unwrap_or_default().name,
                    input: input.first().map(json).unwrap_or_default(),
                    ..RecordedActivity::default()
                });
            }
            let mut update = |event, change: &dyn Fn(&mut RecordedActivity)| {
                let scheduled = activities
                    .iter_mut()
                    .find(|activity| activity.event == event);
                change(scheduled.expect("it was scheduled"));
            };
            match attributes {
                Attributes::ActivityTaskStartedEventAttributes(started) => {
                    update(started.scheduled_event_id, &|it| {
                        it.attempts = started.attempt
                    });
                }
                Attributes::ActivityTaskCompletedEventAttributes(completed) => {
                    let result = completed.result.clone().unwrap_or_default().payloads;
                    update(completed.scheduled_event_id, &|it| {
                        it.result = Some(result.clone())
                    });
                }
                Attributes::MarkerRecordedEventAttributes(marker)
                    if marker.marker_name == LOCAL_ACTIVITY_MARKER =>
                {
                    activities.push(local(event.event_id, marker));
                }
                _ => {}
            }
        }
        // Local ones are recorded in the order in which they ended.
        activities.sort_by_key(RecordedActivity::number);
        activities
    }

    /// The only activity of this type.
    pub(crate) fn activity(&self, kind: &str) -> RecordedActivity {
        let mut activities = self.activities();
        activities.retain(|activity| activity.kind == kind);
        match activities.as_slice() {
            [activity] => activity.clone(),
            others => panic!("{}: {} times `{kind}`", self.name, others.len()),
        }
    }

    /// What the updates came to; null for those that failed.
    pub(crate) fn replies(&self) -> Vec<Value> {
        let attributes = self
            .history
            .events
            .iter()
            .filter_map(|event| event.attributes.as_ref());
        attributes
            .filter_map(|attributes| match attributes {
                Attributes::WorkflowExecutionUpdateCompletedEventAttributes(completed) => {
                    Some(completed.outcome.clone()?.value?)
                }
                _ => None,
            })
            .map(|value| match value {
                outcome::Value::Success(payloads) => {
                    payloads.payloads.first().map(json).unwrap_or_default()
                }
                outcome::Value::Failure(_) => Value::Null,
            })
            .collect()
    }

    /// Whether a closed run ended with an event like this.
    pub(crate) fn ended_with(&self, is_end: fn(&Attributes) -> bool) -> bool {
        let last = self
            .history
            .events
            .last()
            .and_then(|event| event.attributes.as_ref());
        last.is_some_and(is_end)
    }
}

impl RecordedActivity {
    /// Which of the run's calls it is.
    pub(crate) fn number(&self) -> u64 {
        let number = self.id.rsplit('.').next().and_then(|n| n.parse().ok());
        number.unwrap_or_else(|| panic!("activity id `{}`", self.id))
    }

    /// What it came to, as JSON; null where it has no result.
    pub(crate) fn answer(&self) -> Value {
        let payload = self.result.as_ref().and_then(|result| result.first());
        payload.map(json).unwrap_or_default()
    }
}

fn local(event: i64, marker: &MarkerRecordedEventAttributes) -> RecordedActivity {
    let details = |key: &str| {
        let payloads = marker.details.get(key);
        payloads.map(|payloads| payloads.payloads.clone())
    };
    let data = details("data").and_then(|payloads| payloads.first().map(json));
    let data = data.expect("what the marker is of");
    let text = |key: &str| data[key].as_str().expect("text").to_owned();
    RecordedActivity {
        event,
        id: text("activity_id"),
        kind: text("activity_type"),
        is_local: true,
        input: Value::Null,
        result: marker
            .failure
            .is_none()
            .then(|| details("result").unwrap_or_default()),
        attempts: i32::try_from(data["attempt"].as_i64().expect("a number")).expect("few"),
    }
}

fn json(payload: &Payload) -> Value {
    serde_json::from_slice(&payload.data).unwrap_or_default()
}
