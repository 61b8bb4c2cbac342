//! `call_model`: one model request.

use serde::{Deserialize, Serialize};
use temporalio_common_wasm::ActivityDefinition;

use crate::{Argument, ChatMessage, ChatToolCall, ChatToolDefinition, ScopeRef, defaults};

/// The activity `call_model`.
#[derive(Debug, Clone, Copy)]
pub struct CallModel;

impl ActivityDefinition for CallModel {
    type Input = Argument<CallModelInput>;
    type Output = CallModelOutput;

    fn name(&self) -> &str {
        "call_model"
    }
}

/// Input of `call_model`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
pub struct CallModelInput {
    /// Name of one of the worker's models.
    #[serde(default = "defaults::model")]
    pub model: String,
    /// Trusted instructions: the application's, then the guidance of the memories.
    #[serde(default)]
    pub instructions: String,
    /// The conversation so far. Blocks of these memories that earlier requests left in it are taken
    /// out.
    pub messages: Vec<ChatMessage>,
    /// Memory blocks for this request only, placed beside the latest user prompt.
    #[serde(default)]
    pub memories: Vec<MemoryBlock>,
    /// Tools that the model may call.
    #[serde(default)]
    pub tools: Vec<ChatToolDefinition>,
    /// Messages of a stored transcript that come before `messages`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<ConversationRange>,
    /// Where instructions and tools are kept, so that they needn't be recorded with each request. A
    /// request that has any beside it keeps them there; one that has none of either fetches them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preamble: Option<PreambleRef>,
}

/// A part of a stored transcript, as a model request sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
pub struct ConversationRange {
    /// Which of the worker's stores keeps it.
    #[serde(default = "defaults::store")]
    pub store: String,
    /// The run's workspace, for a store that keeps its files there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// Whose it is.
    pub scope: ScopeRef,
    /// Which conversation of the scope: 1 to 200 bytes without control characters.
    #[serde(default = "defaults::conversation")]
    pub conversation: String,
    /// Position of the first message.
    pub from: u64,
    /// Position after the last message.
    pub to: u64,
    /// What stands for the messages before the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<ConversationSummary>,
}

/// A summary of earlier messages, or where its text is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
#[serde(tag = "delivery", rename_all = "snake_case")]
pub enum ConversationSummary {
    /// The text itself.
    Inline {
        /// The text, as the model that summarised gave it.
        text: String,
    },
    /// A text that `summarize_messages` kept beside the transcript.
    Reference {
        /// SHA-256 of the text, lower-case hexadecimal.
        digest: String,
    },
}

/// Where instructions and tools of model requests are kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
pub struct PreambleRef {
    /// Which of the worker's stores keeps them.
    #[serde(default = "defaults::store")]
    pub store: String,
    /// The run's workspace, for a store that keeps its files there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// Under which scope.
    pub scope: ScopeRef,
    /// SHA-256 of `{"instructions": …, "tools": […]}` as canonical JSON (keys sorted, no spaces, all
    /// but ASCII escaped), lower-case hexadecimal.
    pub digest: String,
}

/// A memory block, or where its text is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
#[serde(tag = "delivery", rename_all = "snake_case")]
pub enum MemoryBlock {
    /// The text itself.
    Inline {
        /// Whose memory it shows.
        scope: ScopeRef,
        /// The text.
        text: String,
    },
    /// Nothing: this memory has nothing to show now. What earlier requests left of it in the
    /// conversation is taken out all the same. It is for callers whose conversations may hold
    /// blocks; `AgentWorkflow` keeps none.
    Absent {
        /// Whose memory it is.
        scope: ScopeRef,
    },
    /// A text that `load_snapshot` kept.
    Reference {
        /// Which of the worker's stores keeps it.
        store: String,
        /// The run's workspace, for a store that keeps its files there.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        workspace: Option<String>,
        /// Whose memory it shows.
        scope: ScopeRef,
        /// SHA-256 of the text, lower-case hexadecimal.
        digest: String,
    },
}

/// Output of `call_model`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
pub struct CallModelOutput {
    /// Text of the answer; empty where the model only calls tools.
    #[serde(default)]
    pub text: String,
    /// Tool calls of the answer, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ChatToolCall>,
    /// Whether instructions and tools are kept where the request said.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub preamble_kept: bool,
    /// Position of the oldest message that is there of the stored transcript that the request named: those
    /// before it were cleared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oldest: Option<u64>,
}
