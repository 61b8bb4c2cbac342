//! Where the bytes of histories are.

use std::collections::{BTreeMap, HashMap};

use prost::Message as _;
use serde::{Deserialize, Serialize};
use temporalio_common::protos::temporal::api::{
    common::v1::Payloads,
    history::v1::{History, MarkerRecordedEventAttributes, history_event::Attributes},
};

use super::{inlined::Inlining, talk::Held};
use crate::stage::Stage;

/// Bytes of histories, summed over all runs of a conversation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct HistoryBytes {
    /// Messages of the user.
    pub(crate) turns: u32,
    /// Messages of the transcript, all of them checked.
    pub(crate) messages: u64,
    /// Runs, each continued as the next.
    pub(crate) runs: usize,
    /// How many of their histories replay.
    pub(crate) replayed: usize,
    pub(crate) events: usize,
    /// Events and bytes of the longest run.
    pub(crate) most_events: usize,
    pub(crate) most_bytes: usize,
    /// Characters of the block that never changed.
    pub(crate) block_chars: usize,
    /// Whole histories, as recorded.
    pub(crate) recorded: usize,
    /// The same with the block in every snapshot result and model input.
    pub(crate) inlined: usize,
    /// Results of `load_snapshot`, as recorded.
    pub(crate) results_recorded: usize,
    /// The same with the block in each.
    pub(crate) results_inlined: usize,
    /// Arguments and results by activity.
    pub(crate) activities: BTreeMap<String, ActivityBytes>,
    /// Inputs and results of runs, and what one hands to the next.
    pub(crate) handed_over: usize,
    /// Updates: what is said and what is replied.
    pub(crate) said: usize,
    pub(crate) seconds: f64,
}

/// What one activity puts into the histories.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ActivityBytes {
    pub(crate) calls: usize,
    pub(crate) arguments: usize,
    pub(crate) results: usize,
}

impl HistoryBytes {
    /// Counts the histories of a conversation.
    pub(super) async fn take_in(&mut self, stage: &Stage, held: &Held) -> anyhow::Result<()> {
        let mut inlining = Inlining::new(&held.scope);
        for (_, history) in &held.runs {
            let (events, bytes) = (history.events.len(), history.encoded_len());
            self.runs += 1;
            self.events += events;
            self.recorded += bytes;
            self.most_events = self.most_events.max(events);
            self.most_bytes = self.most_bytes.max(bytes);
            self.count_payloads(history);
            let inlined = inlining.inline(stage, history.clone()).await?;
            self.inlined += inlined.encoded_len();
        }
        self.results_recorded = inlining.results_recorded;
        self.results_inlined = inlining.results_inlined;
        self.block_chars = inlining.block_chars();
        Ok(())
    }

    fn count_payloads(&mut self, history: &History) {
        let mut kinds = HashMap::new();
        for event in &history.events {
            match &event.attributes {
                Some(Attributes::ActivityTaskScheduledEventAttributes(scheduled)) => {
                    let kind = scheduled.activity_type.clone().unwrap_or_default().name;
                    let activity = self.activities.entry(kind.clone()).or_default();
                    activity.calls += 1;
                    activity.arguments += size(scheduled.input.as_ref());
                    kinds.insert(event.event_id, kind);
                }
                Some(Attributes::ActivityTaskCompletedEventAttributes(completed)) => {
                    if let Some(kind) = kinds.get(&completed.scheduled_event_id) {
                        let activity = self.activities.entry(kind.clone()).or_default();
                        activity.results += size(completed.result.as_ref());
                    }
                }
                Some(Attributes::WorkflowExecutionStartedEventAttributes(started)) => {
                    self.handed_over += size(started.input.as_ref());
                }
                Some(Attributes::WorkflowExecutionContinuedAsNewEventAttributes(continued)) => {
                    self.handed_over += size(continued.input.as_ref());
                }
                Some(Attributes::WorkflowExecutionUpdateAcceptedEventAttributes(accepted)) => {
                    let request = accepted.accepted_request.as_ref();
                    let input = request.and_then(|request| request.input.as_ref());
                    self.said += size(input.and_then(|input| input.args.as_ref()));
                }
                Some(Attributes::WorkflowExecutionUpdateCompletedEventAttributes(completed)) => {
                    self.said += completed
                        .outcome
                        .as_ref()
                        .map_or(0, |outcome| outcome.encoded_len());
                }
                Some(Attributes::MarkerRecordedEventAttributes(marker)) => {
                    if let Some(kind) = local_activity(marker) {
                        let activity = self.activities.entry(kind).or_default();
                        activity.calls += 1;
                        activity.results += size(marker.details.get(LOCAL_RESULT));
                    }
                }
                _ => {}
            }
        }
    }
}

/// Where the marker of a local activity has its result.
pub(super) const LOCAL_RESULT: &str = "result";

/// Which local activity a marker is of, if it is of one. Its arguments aren't recorded.
pub(super) fn local_activity(marker: &MarkerRecordedEventAttributes) -> Option<String> {
    if marker.marker_name != "core_local_activity" {
        return None;
    }
    let data = marker.details.get("data")?.payloads.first()?;
    let data: serde_json::Value = serde_json::from_slice(&data.data).ok()?;
    data["activity_type"].as_str().map(str::to_owned)
}

/// Bytes of payloads, without what is said about them.
pub(super) fn size(payloads: Option<&Payloads>) -> usize {
    let payloads = payloads.map_or(&[][..], |payloads| &payloads.payloads);
    payloads.iter().map(|payload| payload.data.len()).sum()
}
