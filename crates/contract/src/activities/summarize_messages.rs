//! `summarize_messages`: a model's summary of a part of a conversation.

use serde::{Deserialize, Serialize};
use temporalio_common_wasm::ActivityDefinition;

use crate::{Argument, ChatMessage, ConversationRange, ConversationSummary, defaults};

/// The activity `summarize_messages`.
#[derive(Debug, Clone, Copy)]
pub struct SummarizeMessages;

impl ActivityDefinition for SummarizeMessages {
    type Input = Argument<SummarizeMessagesInput>;
    type Output = SummarizeMessagesOutput;

    fn name(&self) -> &str {
        "summarize_messages"
    }
}

/// Input of `summarize_messages`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
pub struct SummarizeMessagesInput {
    /// Name of one of the worker's models.
    #[serde(default = "defaults::model")]
    pub model: String,
    /// The messages of a stored transcript that are summarised, after the summary that it has of
    /// those before. The new summary is kept there as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<ConversationRange>,
    /// Messages that are summarised after those; of a conversation that isn't stored, all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<ChatMessage>,
    /// Summary of what came before, of a conversation that isn't stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<ConversationSummary>,
    /// What to keep in mind while summarising, in place of our own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// Length that is asked for, in tokens of four characters.
    pub max_tokens: usize,
}

/// Output of `summarize_messages`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
pub struct SummarizeMessagesOutput {
    /// The summary.
    pub text: String,
    /// SHA-256 of the text, lower-case hexadecimal.
    pub digest: String,
    /// Whether the conversation's store keeps the text under that digest.
    #[serde(default)]
    pub kept: bool,
}
