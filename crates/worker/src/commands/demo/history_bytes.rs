//! What references save in a history: to blocks, and to the transcript, instructions and tools.

use anyhow::Context as _;
use notekeeper_contract::{
    CallModelInput, ConversationRange, LoadSnapshotInput, LoadSnapshotOutput, MemoryBlock,
    ScopeRef, SnapshotAnswer,
};
use notekeeper_domain::ConversationId;
use notekeeper_store::{MessageSelection, Store};
use serde::Serialize;

use super::tally::Call;

/// Bytes that the history would have more if each snapshot result and each model request held the
/// block's text, and each model request the messages, instructions and tools that it refers to: the
/// payloads are rewritten so and measured.
pub(super) async fn saved(store: &dyn Store, calls: &[Call]) -> anyhow::Result<usize> {
    let mut saved = 0;
    for call in calls {
        saved += match call.kind.as_str() {
            "load_snapshot" => in_result(store, call).await?,
            "call_model" => in_request(store, call).await?,
            _ => 0,
        };
    }
    Ok(saved)
}

async fn in_result(store: &dyn Store, call: &Call) -> anyhow::Result<usize> {
    let (Some(input), Some(result)) = (&call.input, &call.result) else {
        return Ok(0);
    };
    let input: LoadSnapshotInput = serde_json::from_value(input.clone())?;
    let output: LoadSnapshotOutput = serde_json::from_value(result.clone())?;
    let mut inlined = output.clone();
    for (request, answer) in input.memories.iter().zip(&mut inlined.snapshots) {
        *answer = match answer.clone() {
            SnapshotAnswer::Block { digest, stats, .. } => {
                let text = Some(text(store, &request.scope, &digest).await?);
                SnapshotAnswer::Block {
                    digest,
                    text,
                    stats,
                }
            }
            SnapshotAnswer::Unchanged { digest } => {
                let text = Some(text(store, &request.scope, &digest).await?);
                SnapshotAnswer::Block {
                    digest,
                    text,
                    stats: Default::default(),
                }
            }
            other => other,
        };
    }
    grown(&output, &inlined)
}

async fn in_request(store: &dyn Store, call: &Call) -> anyhow::Result<usize> {
    let Some(input) = &call.input else {
        return Ok(0);
    };
    let request: CallModelInput = serde_json::from_value(input.clone())?;
    let mut inlined = request.clone();
    for block in &mut inlined.memories {
        if let MemoryBlock::Reference { scope, digest, .. } = block.clone() {
            let text = text(store, &scope, &digest).await?;
            *block = MemoryBlock::Inline { scope, text };
        }
    }
    let referred = match &request.conversation {
        Some(range) => messages(store, range).await?,
        None => 0,
    };
    let preamble = match &request.preamble {
        Some(at) if request.instructions.is_empty() && request.tools.is_empty() => {
            text(store, &at.scope, &at.digest).await?.len()
        }
        _ => 0,
    };
    Ok(grown(&request, &inlined)? + referred + preamble)
}

/// Bytes of the messages of a range, with a comma each.
async fn messages(store: &dyn Store, range: &ConversationRange) -> anyhow::Result<usize> {
    let transcripts = store
        .transcripts()
        .context("the store keeps no transcripts")?;
    let conversation = ConversationId::parse(&range.conversation)?;
    let selection = MessageSelection::Range(range.from, range.to);
    let part = transcripts
        .messages(
            &range.scope.resolve()?,
            &conversation,
            selection,
            usize::MAX >> 33,
        )
        .await?;
    let bytes = part
        .messages
        .iter()
        .map(|message| message.as_json().len() + 1);
    Ok(bytes.sum())
}

async fn text(store: &dyn Store, scope: &ScopeRef, digest: &str) -> anyhow::Result<String> {
    let snapshots = store.snapshots().context("the store keeps no snapshots")?;
    let text = snapshots.snapshot(&scope.resolve()?, digest).await?;
    text.context("a block that a history refers to is not kept")
}

fn grown(before: &impl Serialize, after: &impl Serialize) -> anyhow::Result<usize> {
    Ok(serde_json::to_vec(after)?
        .len()
        .saturating_sub(serde_json::to_vec(before)?.len()))
}
