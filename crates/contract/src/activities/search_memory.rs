//! `search_memory`: literal search over the notes of a scope.

use serde::{Deserialize, Serialize};
use temporalio_common_wasm::ActivityDefinition;

use crate::{Argument, Outcome, ScopeRef, defaults};

/// The activity `search_memory`.
#[derive(Debug, Clone, Copy)]
pub struct SearchMemory;

impl ActivityDefinition for SearchMemory {
    type Input = Argument<SearchMemoryInput>;
    type Output = Outcome<MemoryMatches>;

    fn name(&self) -> &str {
        "search_memory"
    }
}

/// Input of `search_memory`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
pub struct SearchMemoryInput {
    /// Name of one of the worker's stores.
    #[serde(default = "defaults::store")]
    pub store: String,
    /// Name of one of the worker's workspaces: the run's. A store that keeps its files in the run's
    /// workspace can't do without; others ignore it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// Whose notes.
    pub scope: ScopeRef,
    /// Words to look for, literally and in any case: at most 1,000 characters and 32 different words.
    pub query: String,
    /// Most matches to return.
    #[cfg_attr(any(test, feature = "schemars"), schemars(range(min = 1)))]
    #[serde(default = "defaults::max_search_results")]
    pub max_search_results: usize,
    /// Most characters of file names and snippets together.
    #[cfg_attr(any(test, feature = "schemars"), schemars(range(min = 1)))]
    #[serde(default = "defaults::max_search_result_chars")]
    pub max_search_result_chars: usize,
    /// Most notes to examine.
    #[cfg_attr(any(test, feature = "schemars"), schemars(range(min = 1)))]
    #[serde(default = "defaults::max_search_files")]
    pub max_search_files: usize,
    /// Most characters of one note to examine.
    #[cfg_attr(any(test, feature = "schemars"), schemars(range(min = 1)))]
    #[serde(default = "defaults::max_memory_size")]
    pub max_memory_size: usize,
}

/// The answer to a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
pub struct MemoryMatches {
    /// Matches, best first.
    pub matches: Vec<MemoryMatch>,
    /// Notes examined.
    pub scanned: usize,
    /// Whether bounds left something out.
    pub truncated: bool,
}

/// One match.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
pub struct MemoryMatch {
    /// Name of the note, with `.md`.
    pub file: String,
    /// Text around the first hit.
    pub snippet: String,
    /// Hits in the text plus twice the hits in the name.
    pub score: f64,
}
