//! `call_model`: one model request.

use notekeeper_contract::{
    CallModelInput, CallModelOutput, ChatToolCall, FailureType, MemoryBlock,
};
use notekeeper_domain::{Block, Message, ToolDefinition, place_blocks, snapshot_digest};
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
        let mut blocks = Vec::with_capacity(input.memories.len());
        for (index, memory) in input.memories.into_iter().enumerate() {
            blocks.push(self.block(index, memory).await?);
        }
        let mut messages: Vec<Message> = input.messages.into_iter().map(Message::from).collect();
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
        };
        check_encoded(
            &output,
            "the model's answer",
            "ask the model for shorter answers",
        )?;
        Ok(output)
    }

    async fn block(&self, index: usize, memory: MemoryBlock) -> Result<Block, Failure> {
        match memory {
            MemoryBlock::Inline { scope, text } => Ok(Block {
                scope_hash: scope.resolve()?.hash(),
                text,
            }),
            MemoryBlock::Reference {
                store,
                scope,
                digest,
            } => {
                let store = self.stores.get(&store)?;
                let scope = scope.resolve()?;
                check_digest(index, &digest)?;
                let Some(snapshots) = store.snapshots() else {
                    return Err(missing(index, "is in a store that keeps none"));
                };
                let text = match snapshots.snapshot(&scope, &digest).await {
                    Ok(Some(text)) if snapshot_digest(&text) == digest => text,
                    Ok(Some(_)) => return Err(missing(index, "is kept with another text")),
                    Ok(None) => return Err(missing(index, "is not kept any more")),
                    // Whether to wait for the store is for the load to decide, not for a model
                    // request.
                    Err(StoreError::Unavailable(_)) => {
                        return Err(missing(index, "can't be fetched: its store is unavailable"));
                    }
                    Err(error) => return Err(error.into()),
                };
                Ok(Block {
                    scope_hash: scope.hash(),
                    text,
                })
            }
        }
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
