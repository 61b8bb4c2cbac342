//! `recall`: free-text search over facts.

use serde::{Deserialize, Serialize};
use temporalio_common_wasm::ActivityDefinition;

use crate::{Argument, ScopeRef, defaults};

/// The activity `recall`.
#[derive(Debug, Clone, Copy)]
pub struct Recall;

impl ActivityDefinition for Recall {
    type Input = Argument<RecallInput>;
    type Output = RecallOutput;

    fn name(&self) -> &str {
        "recall"
    }
}

/// Input of `recall`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
pub struct RecallInput {
    /// Which of the worker's stores keeps them.
    #[serde(default = "defaults::store")]
    pub store: String,
    /// The run's workspace, for a store that keeps its files there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// Whose they are.
    pub scope: ScopeRef,
    /// What to look for; nothing in it is syntax. Empty for the facts that were remembered last.
    #[serde(default)]
    pub query: String,
    /// Most facts, 1 to 1,000.
    #[cfg_attr(any(test, feature = "schemars"), schemars(range(min = 1)))]
    #[serde(default = "defaults::recall_limit")]
    pub limit: usize,
    /// What is told of each fact.
    #[serde(default, skip_serializing_if = "RecallForm::is_values")]
    pub form: RecallForm,
}

/// What is told of each fact.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RecallForm {
    /// Its value.
    #[default]
    Values,
    /// Key, value, score and age.
    Facts,
}

impl RecallForm {
    fn is_values(&self) -> bool {
        *self == Self::Values
    }
}

/// Output of `recall`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
pub struct RecallOutput {
    /// The values, best match first; empty where facts were asked for.
    #[serde(default)]
    pub values: Vec<String>,
    /// The facts, best match first, where those were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<RecalledFact>,
    /// Whether some are left out because one result can't carry them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
}

/// A fact that matches.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
pub struct RecalledFact {
    /// Its key.
    pub key: String,
    /// Its value.
    pub value: String,
    /// How well it matches, 0 to 1; 0 where nothing was looked for.
    pub score: f64,
    /// Seconds since it was remembered last.
    pub age_seconds: u64,
}
