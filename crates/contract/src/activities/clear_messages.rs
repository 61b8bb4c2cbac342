//! `clear_messages`: a conversation without its messages.

use serde::{Deserialize, Serialize};
use temporalio_common_wasm::ActivityDefinition;

use crate::{Argument, OperationRef, ScopeRef, defaults};

/// The activity `clear_messages`.
#[derive(Debug, Clone, Copy)]
pub struct ClearMessages;

impl ActivityDefinition for ClearMessages {
    type Input = Argument<ClearMessagesInput>;
    type Output = ClearMessagesOutput;

    fn name(&self) -> &str {
        "clear_messages"
    }
}

/// Input of `clear_messages`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
pub struct ClearMessagesInput {
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
    /// Identity of the change; derived from the activity where it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<OperationRef>,
}

/// Output of `clear_messages`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
pub struct ClearMessagesOutput {
    /// How many messages were removed.
    pub cleared: u64,
    /// Position of the next message that is added.
    pub next: u64,
    /// Whether the operation had taken effect before.
    #[serde(default)]
    pub replayed: bool,
}
