//! `query_source`: items that a source finds relevant.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use temporalio_common_wasm::ActivityDefinition;

use crate::{Argument, ScopeRef, defaults};

/// The activity `query_source`.
#[derive(Debug, Clone, Copy)]
pub struct QuerySource;

impl ActivityDefinition for QuerySource {
    type Input = Argument<QuerySourceInput>;
    type Output = QuerySourceOutput;

    fn name(&self) -> &str {
        "query_source"
    }
}

/// Input of `query_source`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
pub struct QuerySourceInput {
    /// Name of one of the worker's sources.
    pub source: String,
    /// Whose items.
    pub scope: ScopeRef,
    /// The run's workspace, for a store that keeps its files there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// What to look for; nothing in it is syntax. Its first 8,192 characters count.
    #[serde(default)]
    pub query: String,
    /// Most items, 1 to 100.
    #[cfg_attr(any(test, feature = "schemars"), schemars(range(min = 1)))]
    #[serde(default = "defaults::source_limit")]
    pub k: usize,
    /// What the metadata of the items must be: for each key an equal value, or with a list one that has
    /// all of its values; lists have at most 100 values together. Nothing in it is a pattern.
    #[serde(default, rename = "where", skip_serializing_if = "Map::is_empty")]
    pub condition: Map<String, Value>,
    /// What the caller's scratchpad holds, for a source that looks there: JSON values by key.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub scratchpad: Map<String, Value>,
    /// Most characters of all contents together, at least 1: the item that would exceed them is cut, and
    /// those behind it are left out. As many as a result carries where it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(any(test, feature = "schemars"), schemars(range(min = 1)))]
    pub chars_max: Option<usize>,
}

/// Output of `query_source`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
pub struct QuerySourceOutput {
    /// What was found, best first.
    #[serde(default)]
    pub items: Vec<FoundItem>,
    /// Whether something is left out: the end of a content, or whole items.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// How many items are left out: those that one result can't carry, and those behind `chars_max`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub omitted: usize,
    /// Sources of a composition that weren't ready in time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub timed_out: Vec<String>,
    /// Sources of a composition that failed while others answered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<FailedSource>,
    /// Sources that looked at a part alone of what they are over, because that is more than one query looks
    /// through: there may be more to find there. The answer is whole all the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub incomplete: Vec<String>,
}

/// An item that a source found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
pub struct FoundItem {
    /// The text. Of a longer one its first 65,536 characters.
    pub content: String,
    /// Name of the source that found it.
    pub source: String,
    /// Stable within its source; missing where the source knows none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// How relevant the source takes it to be, by its own measure, higher is better; missing where it
    /// doesn't rank.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// What else the source knows of it. `truncated`, true, says that the content is but a part; it takes the place of a
    /// value of the source's own. Also `dedupe_sources` and `dedupe_count` are keys of compositions, which no source keeps.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

/// A source that failed where others did not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
pub struct FailedSource {
    /// Its name.
    pub source: String,
    /// Type of the failure, as an activity would end with.
    #[serde(rename = "type")]
    pub kind: String,
    /// What went wrong and what to do about it.
    pub message: String,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}
