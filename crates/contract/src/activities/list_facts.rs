//! `list_facts`: the facts of a scope, by key.

use serde::{Deserialize, Serialize};
use temporalio_common_wasm::ActivityDefinition;

use crate::{Argument, ScopeRef, defaults};

/// The activity `list_facts`. It is for programs and people; models ask `recall`.
#[derive(Debug, Clone, Copy)]
pub struct ListFacts;

impl ActivityDefinition for ListFacts {
    type Input = Argument<ListFactsInput>;
    type Output = ListFactsOutput;

    fn name(&self) -> &str {
        "list_facts"
    }
}

/// Input of `list_facts`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
pub struct ListFactsInput {
    /// Which of the worker's stores keeps them.
    #[serde(default = "defaults::store")]
    pub store: String,
    /// The run's workspace, for a store that keeps its files there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// Whose they are.
    pub scope: ScopeRef,
    /// The one fact of this key; all where it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Only facts whose keys come after this one: to go on behind the last fact of an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Most facts, 1 to 1,000.
    #[cfg_attr(any(test, feature = "schemars"), schemars(range(min = 1)))]
    #[serde(default = "defaults::listed")]
    pub limit: usize,
}

/// Output of `list_facts`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
pub struct ListFactsOutput {
    /// The facts, ascending by key as compared by code point.
    pub facts: Vec<ListedFact>,
    /// Whether there are more, after these.
    #[serde(default)]
    pub more: bool,
}

/// A fact in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
pub struct ListedFact {
    /// Its key.
    pub key: String,
    /// Its value.
    pub value: String,
    /// Seconds since it was remembered last.
    pub age_seconds: u64,
}
