//! Counting what happened, from the histories and the store.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context as _;
use notekeeper_contract::{DeleteMemoryInput, WriteMemoryInput};
use notekeeper_domain::{Fingerprint, NoteName, Operation, OperationId};
use prost::Message as _;
use serde_json::Value;
use temporalio_common::protos::temporal::api::{
    common::v1::Payloads,
    history::v1::{History, history_event::Attributes},
};

use super::{history_bytes, notes::Notes, plan, stage::Stage};

/// What one conversation came to.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Tally {
    pub(super) messages: usize,
    pub(super) model_requests: usize,
    /// Mutations that the model asked for.
    pub(super) operations: usize,
    /// Attempts at them beyond the first of each.
    pub(super) repeated: usize,
    /// Results that came from a receipt.
    pub(super) from_receipt: usize,
    /// Mutations whose receipt is in the store.
    pub(super) applied: usize,
    pub(super) notes_before: usize,
    pub(super) notes_after: usize,
    /// Whether the notes are what every operation applied once makes of them.
    pub(super) notes_as_planned: bool,
    pub(super) facts: usize,
    /// Whether the facts are what the model was told to remember.
    pub(super) facts_as_planned: bool,
    pub(super) transcript_messages: usize,
    /// Whether the store keeps each message of the conversation, once.
    pub(super) transcript_as_planned: bool,
    pub(super) history_bytes: usize,
    /// What the history would have with each block inlined in each snapshot result and request, and the
    /// transcript, instructions and tools in each request.
    pub(super) inlined_bytes: usize,
}

/// An activity of a history.
#[derive(Default)]
pub(super) struct Call {
    pub(super) kind: String,
    pub(super) input: Option<Value>,
    pub(super) result: Option<Value>,
    attempts: usize,
}

pub(super) async fn count(
    stage: &Stage,
    tenant: &str,
    notes: &Notes,
    history: &History,
) -> anyhow::Result<Tally> {
    let calls = calls(history);
    let after = stage.notes(tenant).await?;
    let facts = stage.facts(tenant).await?;
    let transcript_messages = stage.transcript_messages(tenant).await?;
    let mut tally = Tally {
        messages: plan::messages().count(),
        model_requests: calls
            .iter()
            .filter(|call| call.kind == "call_model")
            .count(),
        notes_before: notes.len(),
        notes_after: after.len(),
        notes_as_planned: after == plan::notes_after(notes.by_name())?,
        facts: facts.len(),
        facts_as_planned: facts
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str()))
            .eq(plan::facts_after()),
        transcript_messages,
        transcript_as_planned: transcript_messages == plan::transcript_messages(),
        history_bytes: history.encoded_len(),
        inlined_bytes: history.encoded_len() + history_bytes::saved(&*stage.store, &calls).await?,
        ..Tally::default()
    };
    let scope = Stage::scope(tenant)?;
    let mut ids = BTreeSet::new();
    for call in &calls {
        let Some(operation) = operation(call, tenant)? else {
            continue;
        };
        ids.insert(operation.id.as_str().to_owned());
        tally.operations += 1;
        tally.repeated += call.attempts.saturating_sub(1);
        let replayed = call
            .result
            .as_ref()
            .and_then(|result| result["replayed"].as_bool());
        tally.from_receipt += usize::from(replayed == Some(true));
        let receipt = stage.store.receipt(&scope, &operation).await?;
        tally.applied += usize::from(receipt.is_some());
    }
    anyhow::ensure!(ids.len() == tally.operations, "two operations share an id");
    Ok(tally)
}

/// The mutation that an activity carried out, if it is one.
fn operation(call: &Call, tenant: &str) -> anyhow::Result<Option<Operation>> {
    let scope = Stage::scope(tenant)?;
    let input = || call.input.clone().context("an activity has no input");
    let (given, fingerprint) = match call.kind.as_str() {
        "write_memory" => {
            let input: WriteMemoryInput = serde_json::from_value(input()?)?;
            let name = NoteName::from_tool(&input.file)?;
            let old_text = input.old_text.as_deref();
            (
                input.operation,
                Fingerprint::of_write(&scope, &name, &input.content, old_text),
            )
        }
        "delete_memory" => {
            let input: DeleteMemoryInput = serde_json::from_value(input()?)?;
            (
                input.operation,
                Fingerprint::of_delete(&scope, &NoteName::from_tool(&input.file)?),
            )
        }
        _ => return Ok(None),
    };
    let id = OperationId::parse(&given.context("a mutation carries no operation")?.id)?;
    Ok(Some(Operation { id, fingerprint }))
}

/// The activities of a history, in the order in which they were scheduled.
fn calls(history: &History) -> Vec<Call> {
    let mut calls: BTreeMap<i64, Call> = BTreeMap::new();
    for event in &history.events {
        match &event.attributes {
            Some(Attributes::ActivityTaskScheduledEventAttributes(scheduled)) => {
                let call = calls.entry(event.event_id).or_default();
                call.kind = scheduled.activity_type.clone().unwrap_or_default().name;
                call.input = json(scheduled.input.as_ref());
            }
            Some(Attributes::ActivityTaskStartedEventAttributes(started)) => {
                let call = calls.entry(started.scheduled_event_id).or_default();
                call.attempts = usize::try_from(started.attempt).unwrap_or_default();
            }
            Some(Attributes::ActivityTaskCompletedEventAttributes(completed)) => {
                let call = calls.entry(completed.scheduled_event_id).or_default();
                call.result = json(completed.result.as_ref());
            }
            _ => {}
        }
    }
    calls.into_values().collect()
}

fn json(payloads: Option<&Payloads>) -> Option<Value> {
    serde_json::from_slice(&payloads?.payloads.first()?.data).ok()
}
