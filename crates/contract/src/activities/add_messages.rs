//! `add_messages`: more messages at the end of a conversation.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use temporalio_common_wasm::ActivityDefinition;

use crate::{Argument, OperationRef, ScopeRef, defaults};

/// The activity `add_messages`.
#[derive(Debug, Clone, Copy)]
pub struct AddMessages;

impl ActivityDefinition for AddMessages {
    type Input = Argument<AddMessagesInput>;
    type Output = AddMessagesOutput;

    fn name(&self) -> &str {
        "add_messages"
    }
}

/// Input of `add_messages`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
pub struct AddMessagesInput {
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
    /// The messages in their order, at most 1,000: JSON objects with a `role`, each of at most
    /// 524,288 bytes and 100 levels of lists and objects. All are added, side by side, or none.
    pub messages: Vec<Value>,
    /// Identity of the change; derived from the activity where it is missing. Without messages it isn't
    /// used, and free for others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<OperationRef>,
}

/// Output of `add_messages`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
pub struct AddMessagesOutput {
    /// Position of the first of them in the conversation.
    pub first: u64,
    /// Position after the last of them.
    pub next: u64,
    /// Whether the operation had taken effect before.
    #[serde(default)]
    pub replayed: bool,
}
