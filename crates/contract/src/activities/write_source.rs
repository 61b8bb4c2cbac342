//! `write_source`: items for a source to keep.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use temporalio_common_wasm::ActivityDefinition;

use crate::{Argument, FailedSource, OperationRef, ScopeRef};

/// The activity `write_source`.
#[derive(Debug, Clone, Copy)]
pub struct WriteSource;

impl ActivityDefinition for WriteSource {
    type Input = Argument<WriteSourceInput>;
    type Output = WriteSourceOutput;

    fn name(&self) -> &str {
        "write_source"
    }
}

/// Input of `write_source`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
pub struct WriteSourceInput {
    /// Name of one of the worker's sources.
    pub source: String,
    /// Whose items.
    pub scope: ScopeRef,
    /// The run's workspace, for a store that keeps its files there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// What to keep: 0 to 100 items.
    pub items: Vec<WrittenItem>,
    /// Identity of the write: one with the same id and arguments takes effect once. Where it is missing
    /// one follows from where the call comes from. Without items it isn't used, and free for others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<OperationRef>,
}

/// An item to keep.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
pub struct WrittenItem {
    /// The text: 1 to 65,536 characters, not blank.
    pub content: String,
    /// Its id in its source, where an item of that id from before is replaced: 1 to 400 bytes. Where it is
    /// missing here and in `metadata` one follows from the operation, the item's place and its content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// What else is to be known of it: at most 16 KiB as JSON. `id` in it is taken out, and means the same
    /// as the one beside it; where both are there they must be equal. With an id and `truncated: true` here an item is
    /// refused: it is a part, and would take the place of the whole.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

/// Output of `write_source`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
pub struct WriteSourceOutput {
    /// Sources that kept the items.
    #[serde(default)]
    pub accepted: Vec<String>,
    /// Sources that can't be written to, or may not be: nothing was kept there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<String>,
    /// Sources of a composition that failed while others kept the items. A repetition with the same
    /// operation tries them again, and changes nothing where it was kept. One that was used for other items
    /// is no such source: the whole write fails as `OperationConflict`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<FailedSource>,
    /// What happened, without content.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<SourceEvent>,
    /// Entries for the caller's scratchpad, where a source looks there.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub scratchpad: Map<String, Value>,
}

/// Something that happened at a write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
pub struct SourceEvent {
    /// `memory.written` or `memory.write_refused`.
    pub event: String,
    /// At which source.
    pub source: String,
    /// How many items.
    pub items: usize,
    /// What a source that turned them away does with writes: `refuse` or `ignore`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
}
