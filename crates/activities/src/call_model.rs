//! `call_model`: one model request.

use notekeeper_contract::{
    CallModelInput, CallModelOutput, ChatToolCall, FailureType, MemoryBlock, ScopeRef,
};
use notekeeper_domain::{
    Block, Message, ToolDefinition, place_blocks, remove_blocks, snapshot_digest,
};
use notekeeper_models::ChatRequest;
use notekeeper_store::StoreError;

use crate::{Failure, Models, Stores, encoded::check_encoded, fault};

/// Characters of a digest: SHA-256 in hexadecimal.
const DIGEST_CHARS: usize = 64;

/// Sends model requests. It needs no Temporal.
#[derive(Debug, Clone)]
pub struct ModelRequests {
    models: Models,
    stores: Stores,
}

impl ModelRequests {
    /// Requests to these models. The stores are asked for the memory blocks that requests refer
    /// to.
    pub fn new(models: Models, stores: Stores) -> Self {
        Self { models, stores }
    }

    /// Puts the memory blocks in their places and asks the model. `attempt` counts the attempts
    /// at this request from 1.
    ///
    /// # Errors
    ///
    /// A [`Failure`]: `SnapshotMissing` for a block that isn't kept any more, `ModelRefused`,
    /// `TooLarge` for an answer that a result can't hold, `Unavailable`, and those of invalid
    /// input.
    pub async fn call(
        &self,
        input: CallModelInput,
        attempt: u32,
    ) -> Result<CallModelOutput, Failure> {
        let model = self.models.get(&input.model)?;
        let (mut scope_hashes, mut blocks) = (Vec::new(), Vec::new());
        for (index, memory) in input.memories.into_iter().enumerate() {
            let scope_hash = scope_of(&memory).resolve()?.hash();
            if let Some(text) = self.text(index, memory).await? {
                let scope_hash = scope_hash.clone();
                blocks.push(Block { scope_hash, text });
            }
            scope_hashes.push(scope_hash);
        }
        let mut messages: Vec<Message> = input.messages.into_iter().map(Message::from).collect();
        let scope_hashes: Vec<&str> = scope_hashes.iter().map(String::as_str).collect();
        remove_blocks(&mut messages, &scope_hashes);
        place_blocks(&mut messages, blocks);
        let request = ChatRequest {
            instructions: input.instructions,
            messages,
            tools: input.tools.into_iter().map(ToolDefinition::from).collect(),
            attempt,
        };
        fault::reach(fault::MODEL_BEFORE_REQUEST)?;
        let response = model.respond(&request).await?;
        let output = CallModelOutput {
            text: response.text,
            tool_calls: response
                .tool_calls
                .into_iter()
                .map(ChatToolCall::from)
                .collect(),
            preamble_kept: false,
            oldest: None,
        };
        check_encoded(
            &output,
            "the model's answer",
            "ask the model for shorter answers",
        )?;
        Ok(output)
    }

    /// The text of a block; `None` where there is none to place.
    async fn text(&self, index: usize, memory: MemoryBlock) -> Result<Option<String>, Failure> {
        let (store, scope, digest) = match memory {
            MemoryBlock::Absent { .. } => return Ok(None),
            MemoryBlock::Inline { text, .. } => return Ok(Some(text)),
            MemoryBlock::Reference {
                store,
                workspace,
                scope,
                digest,
            } => (
                self.stores.get(&store, workspace.as_deref())?,
                scope.resolve()?,
                digest,
            ),
        };
        check_digest(index, &digest)?;
        let kept = async {
            match store.open().await?.snapshots() {
                None => Ok(Err("is in a store that keeps none")),
                Some(snapshots) => snapshots.snapshot(&scope, &digest).await.map(Ok),
            }
        };
        match kept.await {
            Ok(Err(none_kept)) => Err(missing(index, none_kept)),
            Ok(Ok(Some(text))) if snapshot_digest(&text) == digest => Ok(Some(text)),
            Ok(Ok(Some(_))) => Err(missing(index, "is kept with another text")),
            Ok(Ok(None)) => Err(missing(index, "is not kept any more")),
            // Whether to wait for the store is for the load to decide, not for a model request.
            Err(StoreError::Unavailable(_)) => {
                Err(missing(index, "can't be fetched: its store is unavailable"))
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// Whose memory a block shows.
fn scope_of(memory: &MemoryBlock) -> &ScopeRef {
    match memory {
        MemoryBlock::Inline { scope, .. }
        | MemoryBlock::Absent { scope }
        | MemoryBlock::Reference { scope, .. } => scope,
    }
}

fn missing(index: usize, why: &str) -> Failure {
    Failure::new(
        FailureType::SnapshotMissing,
        format!("the snapshot of `memories[{index}]` {why}; load it again without a held digest"),
    )
}

fn check_digest(index: usize, digest: &str) -> Result<(), Failure> {
    let is_hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    if digest.len() == DIGEST_CHARS && digest.bytes().all(is_hex) {
        return Ok(());
    }
    Err(Failure::invalid(format!(
        "`memories[{index}].digest` must be {DIGEST_CHARS} lower-case hexadecimal digits, as `load_snapshot` gave it"
    )))
}
