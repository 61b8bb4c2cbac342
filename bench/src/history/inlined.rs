//! The same histories with the memory block in every snapshot result and model input.

use std::collections::HashSet;

use anyhow::{Context as _, bail};
use notekeeper_contract::{
    CallModelInput, LoadSnapshotOutput, MemoryBlock, SnapshotAnswer, SnapshotStats,
};
use serde::{Serialize, de::DeserializeOwned};
use temporalio_common::protos::temporal::api::{
    common::v1::Payloads,
    history::v1::{History, history_event::Attributes},
};

use super::bytes::{LOCAL_RESULT, local_activity, size};
use crate::stage::Stage;

/// The block that the conversation's model sees, while histories are gone through.
pub(super) struct Inlining<'a> {
    scope: &'a str,
    text: String,
    stats: SnapshotStats,
    /// Bytes of the results of `load_snapshot` so far, as recorded.
    pub(super) results_recorded: usize,
    /// The same with the block in each.
    pub(super) results_inlined: usize,
}

impl<'a> Inlining<'a> {
    /// Begins with the first run of a conversation over the notes of this scope.
    pub(super) fn new(scope: &'a str) -> Self {
        Self {
            scope,
            text: String::new(),
            stats: SnapshotStats::default(),
            results_recorded: 0,
            results_inlined: 0,
        }
    }

    /// Characters of the block.
    pub(super) fn block_chars(&self) -> usize {
        self.text.chars().count()
    }

    /// A history with the block in every snapshot result and model input.
    pub(super) async fn inline(
        &mut self,
        stage: &Stage,
        mut history: History,
    ) -> anyhow::Result<History> {
        let mut loads = HashSet::new();
        for event in &mut history.events {
            match &mut event.attributes {
                Some(Attributes::ActivityTaskScheduledEventAttributes(scheduled)) => {
                    let kind = scheduled.activity_type.clone().unwrap_or_default().name;
                    match kind.as_str() {
                        "call_model" => self.in_request(&mut scheduled.input)?,
                        "load_snapshot" => {
                            loads.insert(event.event_id);
                        }
                        _ => {}
                    }
                }
                Some(Attributes::ActivityTaskCompletedEventAttributes(completed))
                    if loads.contains(&completed.scheduled_event_id) =>
                {
                    self.in_result(stage, &mut completed.result).await?;
                }
                Some(Attributes::MarkerRecordedEventAttributes(marker))
                    if local_activity(marker).as_deref() == Some("load_snapshot") =>
                {
                    let mut result = marker.details.remove(LOCAL_RESULT);
                    self.in_result(stage, &mut result).await?;
                    let result = result.context("a local snapshot without a result")?;
                    marker.details.insert(LOCAL_RESULT.to_owned(), result);
                }
                _ => {}
            }
        }
        Ok(history)
    }

    async fn in_result(
        &mut self,
        stage: &Stage,
        result: &mut Option<Payloads>,
    ) -> anyhow::Result<()> {
        self.results_recorded += size(result.as_ref());
        let mut output: LoadSnapshotOutput = read(result.as_ref())?;
        for answer in &mut output.snapshots {
            let digest = match answer {
                SnapshotAnswer::Block { digest, stats, .. } => {
                    self.stats = *stats;
                    self.text = self.kept(stage, digest).await?;
                    digest.clone()
                }
                SnapshotAnswer::Unchanged { digest } => digest.clone(),
                other => bail!("a snapshot came to {other:?}"),
            };
            let (text, stats) = (Some(self.text.clone()), self.stats);
            *answer = SnapshotAnswer::Block {
                digest,
                text,
                stats,
            };
        }
        write(result, &output)?;
        self.results_inlined += size(result.as_ref());
        Ok(())
    }

    fn in_request(&self, input: &mut Option<Payloads>) -> anyhow::Result<()> {
        let mut request: CallModelInput = read(input.as_ref())?;
        for block in &mut request.memories {
            let MemoryBlock::Reference { scope, .. } = block else {
                bail!("a model request without a reference");
            };
            let (scope, text) = (scope.clone(), self.text.clone());
            *block = MemoryBlock::Inline { scope, text };
        }
        write(input, &request)
    }

    /// The text of a block that a history refers to.
    async fn kept(&self, stage: &Stage, digest: &str) -> anyhow::Result<String> {
        use notekeeper_store::SnapshotStore as _;
        let scope = notekeeper_domain::Scope::parse(self.scope)?;
        let text = stage.store.snapshot(&scope, digest).await?;
        text.context("a block that a history refers to is not kept")
    }
}

fn read<T: DeserializeOwned>(payloads: Option<&Payloads>) -> anyhow::Result<T> {
    let payload = payloads.and_then(|payloads| payloads.payloads.first());
    Ok(serde_json::from_slice(
        &payload.context("no payload")?.data,
    )?)
}

fn write(payloads: &mut Option<Payloads>, value: &impl Serialize) -> anyhow::Result<()> {
    let payload = payloads
        .as_mut()
        .and_then(|payloads| payloads.payloads.first_mut());
    payload.context("no payload")?.data = serde_json::to_vec(value)?;
    Ok(())
}
