//! The recorded histories, and what is read in them.

use std::path::{Path, PathBuf};

use notekeeper::{find_histories, load_history};
use serde_json::Value;
use temporalio_common::protos::temporal::api::{
    common::v1::Payload,
    history::v1::{History, WorkflowExecutionStartedEventAttributes, history_event::Attributes},
    update::v1::outcome,
};

/// A recorded history.
pub(crate) struct Recorded {
    /// Its file, below the directory of histories.
    pub(crate) name: String,
    pub(crate) history: History,
}

/// What a history says of one activity.
#[derive(Debug, Clone, Default)]
pub(crate) struct RecordedActivity {
    /// Number of the event that scheduled it.
    pub(crate) event: i64,
    pub(crate) id: String,
    pub(crate) kind: String,
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

    /// The activities, in the order in which they were scheduled.
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
                _ => {}
            }
        }
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
    /// What it came to, as JSON; null where it has no result.
    pub(crate) fn answer(&self) -> Value {
        let payload = self.result.as_ref().and_then(|result| result.first());
        payload.map(json).unwrap_or_default()
    }
}

fn json(payload: &Payload) -> Value {
    serde_json::from_slice(&payload.data).unwrap_or_default()
}
