//! Outcomes of the model's tool calls.

use serde::{Deserialize, Serialize};

/// What a tool call came to: done, or refused with a reason that the model can act on.
///
/// A refusal is a result, recorded like any other; it is never an activity failure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome<T> {
    /// Done as asked.
    Ok(T),
    /// Not done; nothing changed.
    Refused(Refused),
}

/// A refusal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
pub struct Refused {
    /// Stable code: `invalid_path`, `empty_content`, `nul`, `not_found`, `old_text_not_found`,
    /// `ambiguous`, `too_large`, `too_large_existing`, `protected`, `read_only`,
    /// `workspace_refused`, `read_refused`, `conflict_exhausted`, `path_escape`, `unusable_file`,
    /// `query_empty`, `query_too_long`, `query_too_many_terms`, `invalid_key`, `invalid_arguments`,
    /// `unknown_tool`.
    pub reason: String,
    /// Text for the model.
    pub message: String,
}

impl From<notekeeper_domain::Refusal> for Refused {
    fn from(refusal: notekeeper_domain::Refusal) -> Self {
        Self {
            reason: refusal.code().to_owned(),
            message: refusal.to_string(),
        }
    }
}
