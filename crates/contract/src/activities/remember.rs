//! `remember`: a fact under a key.

use serde::{Deserialize, Serialize};
use temporalio_common_wasm::ActivityDefinition;

use crate::{Argument, OperationRef, Outcome, ScopeRef, defaults};

/// The activity `remember`.
#[derive(Debug, Clone, Copy)]
pub struct Remember;

impl ActivityDefinition for Remember {
    type Input = Argument<RememberInput>;
    type Output = Outcome<Remembered>;

    fn name(&self) -> &str {
        "remember"
    }
}

/// Input of `remember`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
pub struct RememberInput {
    /// Which of the worker's stores keeps them.
    #[serde(default = "defaults::store")]
    pub store: String,
    /// The run's workspace, for a store that keeps its files there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// Whose they are.
    pub scope: ScopeRef,
    /// What the fact is found and replaced by: 1 to 500 bytes, not blank.
    pub key: String,
    /// What to keep: at most 16,384 characters.
    pub value: String,
    /// Identity of the change; derived from the activity where it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<OperationRef>,
}

/// A fact that is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
pub struct Remembered {
    /// Its key.
    pub key: String,
    /// `created` or `updated`.
    pub status: String,
    /// Whether the operation had taken effect before.
    #[serde(default)]
    pub replayed: bool,
}
