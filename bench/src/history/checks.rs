//! What must hold of a conversation that was held.

use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};
use notekeeper_domain::{ConversationId, Scope};
use notekeeper_store::{MessageSelection, Store as _};
use serde_json::{Value, json};

use super::{
    HistoryBytes, Plan,
    talk::{Held, REPLY, question},
};
use crate::stage::{self, Stage};

/// Events and bytes of one run's history at which Temporal begins to warn.
pub(crate) const EVENTS_WARNED: usize = 10_240;
pub(crate) const BYTES_WARNED: usize = 10 * 1024 * 1024;

/// Bytes of messages that are read at a time.
const PART_BYTES: usize = 1024 * 1024;

/// Checks that the store has each message of the conversation, in order, each exchange whole; gives
/// their number.
pub(super) async fn transcript(stage: &Stage, held: &Held, plan: Plan) -> anyhow::Result<u64> {
    let messages = stored(stage, held).await?;
    let mut messages = messages.iter().enumerate();
    let mut next = |role: &str| -> anyhow::Result<&Value> {
        let (position, message) = messages.next().context("the transcript ends too early")?;
        ensure!(
            message["role"] == role,
            "message {position} is no `{role}`: {message}"
        );
        Ok(message)
    };
    for turn in 1..=plan.turns {
        let prompt = next("user")?;
        ensure!(
            prompt["content"] == json!(question(turn)),
            "turn {turn} begins with {prompt}"
        );
        for _ in 0..plan.calls {
            let call = next("assistant")?["tool_calls"][0]["id"].clone();
            let result = next("tool")?;
            ensure!(
                call.is_string() && result["tool_call_id"] == call,
                "turn {turn}: {call} has {result}"
            );
        }
        let reply = next("assistant")?;
        ensure!(reply["content"] == REPLY, "turn {turn} ends with {reply}");
    }
    let number = plan.messages();
    ensure!(
        messages.next().is_none(),
        "the transcript has more than {number} messages"
    );
    Ok(number)
}

async fn stored(stage: &Stage, held: &Held) -> anyhow::Result<Vec<Value>> {
    let store = stage
        .store
        .transcripts()
        .context("the store keeps no transcripts")?;
    let scope = Scope::parse(&held.scope)?;
    let conversation = ConversationId::parse(&held.workflow_id)?;
    let mut messages = Vec::new();
    loop {
        let from = messages.len() as u64;
        let rest = MessageSelection::Range(from, u64::MAX);
        let part = store
            .messages(&scope, &conversation, rest, PART_BYTES)
            .await?;
        ensure!(
            part.first == from,
            "after message {from} comes {}",
            part.first
        );
        for message in &part.messages {
            messages.push(serde_json::from_str(message.as_json())?);
        }
        if !part.more {
            return Ok(messages);
        }
    }
}

/// Checks that no run comes near to what Temporal warns of.
pub(super) fn bounds(bytes: &HistoryBytes) -> anyhow::Result<()> {
    let (events, size) = (bytes.most_events, bytes.most_bytes);
    ensure!(events < EVENTS_WARNED, "a run has {events} events");
    ensure!(size < BYTES_WARNED, "a run has {size} bytes");
    Ok(())
}

/// Replays each run's history in a process of its own, with no store at hand; gives their number.
pub(super) fn replay(stage: &Stage, held: &Held) -> anyhow::Result<usize> {
    for (run, _) in &held.runs {
        let status = Command::new(stage::binary()?)
            .args([
                "replay",
                "--workflow-id",
                &held.workflow_id,
                "--run-id",
                run,
            ])
            .env_remove("DATABASE_URL")
            .env("TEMPORAL_ADDRESS", &stage.servers.temporal_address)
            .env("TEMPORAL_NAMESPACE", &stage.servers.temporal_namespace)
            .stdout(Stdio::null())
            .status()?;
        ensure!(status.success(), "the history of run {run} doesn't replay");
    }
    Ok(held.runs.len())
}
