//! `write_memory`: append to a note, or replace one passage.

use serde::{Deserialize, Serialize};
use temporalio_common_wasm::ActivityDefinition;

use crate::{Argument, MetadataSource, OperationRef, Outcome, ScopeRef, defaults};

/// The activity `write_memory`.
#[derive(Debug, Clone, Copy)]
pub struct WriteMemory;

impl ActivityDefinition for WriteMemory {
    type Input = Argument<WriteMemoryInput>;
    type Output = Outcome<WrittenMemory>;

    fn name(&self) -> &str {
        "write_memory"
    }
}

/// Input of `write_memory`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
pub struct WriteMemoryInput {
    /// Name of one of the worker's stores.
    #[serde(default = "defaults::store")]
    pub store: String,
    /// Name of one of the worker's workspaces: the run's. A store that keeps its files in the run's
    /// workspace can't do without; others ignore it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// Whose notes.
    pub scope: ScopeRef,
    /// Identity of this write. Where it is missing, the activity derives one from its own
    /// identity, which stays the same when Temporal retries it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<OperationRef>,
    /// Text to append, as lines of its own, or to put in place of `old_text`; empty to remove that.
    pub content: String,
    /// Name of the note: ASCII letters, digits, `.`, `_` and `-`, at most 80 characters. `.md` is
    /// added where it is missing.
    #[serde(default = "defaults::main_note")]
    pub file: String,
    /// Passage to replace, which must occur once; append where it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_text: Option<String>,
    /// Version that the note must be at, as an earlier answer gave it; any where it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<String>,
    /// Most characters of the note, before and after.
    #[cfg_attr(any(test, feature = "schemars"), schemars(range(min = 1)))]
    #[serde(default = "defaults::max_memory_size")]
    pub max_memory_size: usize,
    /// What is recorded of the write beside the text, for programs; nothing where it is missing.
    /// It replaces what an earlier write recorded. A store that records nothing fails the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_metadata: Option<MetadataSource>,
}

/// A write that took effect, now or when it was first called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
pub struct WrittenMemory {
    /// Name of the note, with `.md`.
    pub file: String,
    /// Version that the write made: an opaque text that no other state of the note ever has.
    pub version: String,
    /// Whether the operation had taken effect before; the other fields are those of that time.
    pub replayed: bool,
    /// `created`, `appended`, or `updated` where `old_text` was replaced.
    pub status: String,
}
