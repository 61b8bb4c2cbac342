//! `call_model`: one model request.

use notekeeper_contract::{
    CallModelInput, CallModelOutput, ChatToolCall, ChatToolDefinition, ConversationRange,
    MemoryBlock, Preamble, PreambleRef, ScopeRef,
};
use notekeeper_domain::{
    Block, Message, ToolDefinition, place_blocks, remove_blocks, whole_exchanges,
};
use notekeeper_models::ChatRequest;

use crate::{
    Failure, Models, Stores,
    encoded::check_encoded,
    fault,
    kept_text::{check_digest, keep_text, kept_text, missing},
};

/// Sends model requests. It needs no Temporal.
#[derive(Debug, Clone)]
pub struct ModelRequests {
    pub(crate) models: Models,
    pub(crate) stores: Stores,
}

impl ModelRequests {
    /// Requests to these models. The stores are asked for what requests refer to: transcripts,
    /// memory blocks, instructions and tools.
    pub fn new(models: Models, stores: Stores) -> Self {
        Self { models, stores }
    }

    /// Fetches what the request refers to, puts the memory blocks in their places and asks the model.
    /// `attempt` counts the attempts at this request from 1.
    ///
    /// # Errors
    ///
    /// A [`Failure`]: `SnapshotMissing` for a block or another text that isn't kept any more,
    /// `ModelRefused`, `TooLarge` for too long a part of a transcript and for an answer that a result
    /// can't hold, `Unavailable`, also for a store that keeps the transcript, and those of invalid
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
        let preamble = self
            .preamble(input.preamble, input.instructions, input.tools)
            .await?;
        let messages = input.messages.into_iter().map(Message::from).collect();
        let (mut messages, oldest) = match &input.conversation {
            None => (messages, None),
            Some(range) => self.after_stored(range, messages).await?,
        };
        if input.conversation.is_some() && messages.is_empty() {
            return Err(Failure::invalid(
                "nothing is left to send: the conversation was cleared meanwhile; send the message \
                 again",
            ));
        }
        let scope_hashes: Vec<&str> = scope_hashes.iter().map(String::as_str).collect();
        remove_blocks(&mut messages, &scope_hashes);
        place_blocks(&mut messages, blocks);
        let tools = preamble.tools.into_iter().map(ToolDefinition::from);
        let request = ChatRequest {
            instructions: preamble.instructions,
            messages,
            tools: tools.collect(),
            attempt,
        };
        fault::reach(fault::MODEL_BEFORE_REQUEST)?;
        let response = model.respond(&request).await?;
        let tool_calls = response.tool_calls.into_iter().map(ChatToolCall::from);
        let output = CallModelOutput {
            text: response.text,
            tool_calls: tool_calls.collect(),
            preamble_kept: preamble.kept,
            oldest,
        };
        check_encoded(
            &output,
            "the model's answer",
            "ask the model for shorter answers",
        )?;
        Ok(output)
    }

    /// `messages` behind those that the range names, and the position of the oldest message that is
    /// there.
    async fn after_stored(
        &self,
        range: &ConversationRange,
        messages: Vec<Message>,
    ) -> Result<(Vec<Message>, Option<u64>), Failure> {
        let stored = self.stored_range(range).await?;
        let summary = stored.summary.as_deref().map(Message::summary);
        let all = summary.into_iter().chain(stored.messages).chain(messages);
        Ok((whole_exchanges(all.collect()), Some(stored.oldest)))
    }

    /// Instructions and tools, kept where the request says, or fetched from there.
    async fn preamble(
        &self,
        place: Option<PreambleRef>,
        instructions: String,
        tools: Vec<ChatToolDefinition>,
    ) -> Result<SentPreamble, Failure> {
        let Some(place) = place else {
            return Ok(SentPreamble {
                instructions,
                tools,
                kept: false,
            });
        };
        check_digest("preamble.digest", &place.digest, "you")?;
        let at = self.stores.get(&place.store, place.workspace.as_deref())?;
        let scope = place.scope.resolve()?;
        if instructions.is_empty() && tools.is_empty() {
            let text = kept_text(&at, &scope, &place.digest).await?;
            let read = text.and_then(|text| Preamble::read(&text).ok_or("is another text"));
            let (instructions, tools) = read.map_err(|why| {
                missing("`preamble`", why, "send instructions and tools beside it")
            })?;
            return Ok(SentPreamble {
                instructions,
                tools,
                kept: true,
            });
        }
        let preamble = Preamble::new(&instructions, &tools);
        if preamble.digest() != place.digest {
            return Err(Failure::invalid(
                "`preamble.digest` isn't that of the instructions and tools beside it",
            ));
        }
        let kept = keep_text(&at, &scope, preamble.digest(), preamble.text()).await;
        Ok(SentPreamble {
            instructions,
            tools,
            kept,
        })
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
        check_digest(
            &format!("memories[{index}].digest"),
            &digest,
            "`load_snapshot`",
        )?;
        let text = kept_text(&store, &scope, &digest).await?;
        text.map(Some).map_err(|why| {
            missing(
                &format!("the snapshot of `memories[{index}]`"),
                why,
                "load it again without a held digest",
            )
        })
    }
}

/// Instructions and tools of a request, and whether they are kept where it said.
struct SentPreamble {
    instructions: String,
    tools: Vec<ChatToolDefinition>,
    kept: bool,
}

/// Whose memory a block shows.
fn scope_of(memory: &MemoryBlock) -> &ScopeRef {
    match memory {
        MemoryBlock::Inline { scope, .. }
        | MemoryBlock::Absent { scope }
        | MemoryBlock::Reference { scope, .. } => scope,
    }
}
