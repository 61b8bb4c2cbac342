//! `list_conversations`: the conversations of a scope.

use serde::{Deserialize, Serialize};
use temporalio_common_wasm::ActivityDefinition;

use crate::{Argument, ScopeRef, defaults};

/// The activity `list_conversations`. It is for programs and people.
#[derive(Debug, Clone, Copy)]
pub struct ListConversations;

impl ActivityDefinition for ListConversations {
    type Input = Argument<ListConversationsInput>;
    type Output = ListConversationsOutput;

    fn name(&self) -> &str {
        "list_conversations"
    }
}

/// Input of `list_conversations`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
pub struct ListConversationsInput {
    /// Which of the worker's stores keeps them.
    #[serde(default = "defaults::store")]
    pub store: String,
    /// The run's workspace, for a store that keeps its files there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// Whose they are.
    pub scope: ScopeRef,
    /// Only conversations whose ids come after this one: to go on behind the last one of an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Most conversations, 1 to 1,000.
    #[cfg_attr(any(test, feature = "schemars"), schemars(range(min = 1)))]
    #[serde(default = "defaults::listed")]
    pub limit: usize,
}

/// Output of `list_conversations`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
pub struct ListConversationsOutput {
    /// The conversations, ascending by id as compared by code point; those that were cleared among
    /// them.
    pub conversations: Vec<ListedConversation>,
    /// Whether there are more, after these.
    #[serde(default)]
    pub more: bool,
}

/// A conversation in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
pub struct ListedConversation {
    /// Its id.
    pub conversation: String,
    /// Position of the oldest message that is there; of `next` where there is none.
    pub first: u64,
    /// Position of the next message that is added.
    pub next: u64,
    /// When a message was added or the conversation was cleared last, in UTC, as
    /// `2026-11-30T04:05:06Z`; missing where the store keeps no times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<String>,
}
