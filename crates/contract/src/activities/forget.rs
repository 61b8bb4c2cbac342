//! `forget`: no fact under a key any more.

use serde::{Deserialize, Serialize};
use temporalio_common_wasm::ActivityDefinition;

use crate::{Argument, OperationRef, Outcome, ScopeRef, defaults};

/// The activity `forget`.
#[derive(Debug, Clone, Copy)]
pub struct Forget;

impl ActivityDefinition for Forget {
    type Input = Argument<ForgetInput>;
    type Output = Outcome<Forgotten>;

    fn name(&self) -> &str {
        "forget"
    }
}

/// Input of `forget`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
pub struct ForgetInput {
    /// Which of the worker's stores keeps them.
    #[serde(default = "defaults::store")]
    pub store: String,
    /// The run's workspace, for a store that keeps its files there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// Whose they are.
    pub scope: ScopeRef,
    /// Key of the fact: 1 to 500 bytes, not blank.
    pub key: String,
    /// Identity of the change; derived from the activity where it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<OperationRef>,
}

/// A fact that is not kept any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
pub struct Forgotten {
    /// Its key.
    pub key: String,
    /// `deleted`, or `not_found` where there was none.
    pub status: String,
    /// Whether the operation had taken effect before.
    #[serde(default)]
    pub replayed: bool,
}
