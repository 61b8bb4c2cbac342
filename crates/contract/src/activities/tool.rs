//! Application tools: activities of the application that the model calls as tools.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{DEFAULT_STORE, OperationRef, ScopeRef};

/// Input of an application tool's activity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
pub struct ToolInput {
    /// Arguments, as the model gave them.
    pub arguments: Value,
    /// Whose conversation this is.
    pub scope: ScopeRef,
    /// Which of the worker's stores keeps the notes of the scope; missing where it is `default`, and where a
    /// source calls, which has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store: Option<String>,
    /// Which one keeps the facts and the transcript of the conversation; missing where it is the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub facts_store: Option<String>,
    /// The workspace that the run names; missing where it names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// Identity of the call: the same for a repetition of it.
    pub operation: OperationRef,
}

impl ToolInput {
    /// The `store` for the activities of the scope's notes.
    pub fn notes_store(&self) -> &str {
        self.store.as_deref().unwrap_or(DEFAULT_STORE)
    }

    /// The `store` for the activities of the scope's facts, and of its conversations.
    pub fn facts_store(&self) -> &str {
        let apart = self.facts_store.as_deref();
        apart.unwrap_or_else(|| self.notes_store())
    }
}
