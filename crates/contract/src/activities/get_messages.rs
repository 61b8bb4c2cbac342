//! `get_messages`: the transcript of a conversation.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use temporalio_common_wasm::ActivityDefinition;

use crate::{Argument, ScopeRef, defaults};

/// The activity `get_messages`.
#[derive(Debug, Clone, Copy)]
pub struct GetMessages;

impl ActivityDefinition for GetMessages {
    type Input = Argument<GetMessagesInput>;
    type Output = GetMessagesOutput;

    fn name(&self) -> &str {
        "get_messages"
    }
}

/// Input of `get_messages`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
pub struct GetMessagesInput {
    /// Which of the worker's stores keeps them.
    #[serde(default = "defaults::store")]
    pub store: String,
    /// The run's workspace, for a store that keeps its files there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// Whose they are.
    pub scope: ScopeRef,
    /// Which conversation of the scope: 1 to 200 bytes without control characters.
    #[serde(default = "defaults::conversation")]
    pub conversation: String,
    /// At most so many, the most recent ones; all where it is missing. 0 tells positions alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Where an earlier answer ended, as it said; `limit` and `from` are of the first call then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// None before this position.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<u64>,
    /// What is told of each message.
    #[serde(default, skip_serializing_if = "MessageForm::is_whole")]
    pub form: MessageForm,
}

/// What is told of each message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum MessageForm {
    /// All of it.
    #[default]
    Whole,
    /// Its outline: all that history policies look at.
    Outline,
}

impl MessageForm {
    fn is_whole(&self) -> bool {
        *self == Self::Whole
    }
}

/// Output of `get_messages`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
pub struct GetMessagesOutput {
    /// The messages, ascending, each as it was added; empty where outlines were asked for.
    #[serde(default)]
    pub messages: Vec<Value>,
    /// Their outlines, where those were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outlines: Vec<OutlinedMessage>,
    /// Position of the first of them in the conversation; of `next` where there is none.
    pub first: u64,
    /// Position of the next message that is added to the conversation; of an answer to a cursor, as it
    /// was when the first answer was given.
    pub next: u64,
    /// Position of the oldest message that is there; of `next` where none is.
    #[serde(default)]
    pub oldest: u64,
    /// Where to go on, if there are more messages than one answer carries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// What history policies look at of one message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
pub struct OutlinedMessage {
    /// Who speaks.
    pub role: String,
    /// Its share of a request, in tokens of four characters.
    pub tokens: u64,
    /// Whether a user speaks in it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub prompt: bool,
    /// Ids of the tool calls in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<String>,
    /// Ids of the calls whose results are in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<String>,
}
