//! `delete_memory`: delete a note other than the main one.

use serde::{Deserialize, Serialize};
use temporalio_common_wasm::ActivityDefinition;

use crate::{Argument, OperationRef, Outcome, ScopeRef, defaults};

/// The activity `delete_memory`.
#[derive(Debug, Clone, Copy)]
pub struct DeleteMemory;

impl ActivityDefinition for DeleteMemory {
    type Input = Argument<DeleteMemoryInput>;
    type Output = Outcome<DeletedMemory>;

    fn name(&self) -> &str {
        "delete_memory"
    }
}

/// Input of `delete_memory`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
pub struct DeleteMemoryInput {
    /// Name of one of the worker's stores.
    #[serde(default = "defaults::store")]
    pub store: String,
    /// Name of one of the worker's workspaces: the run's. A store that keeps its files in the run's
    /// workspace can't do without; others ignore it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// Whose notes.
    pub scope: ScopeRef,
    /// Identity of this deletion; derived as for `write_memory` where it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<OperationRef>,
    /// Name of the note: ASCII letters, digits, `.`, `_` and `-`, at most 80 characters. `.md` is
    /// added where it is missing.
    pub file: String,
    /// Version that the note must be at, as an earlier answer gave it; any where it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<String>,
}

/// A deletion that took effect, now or when it was first called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
pub struct DeletedMemory {
    /// Name of the note, with `.md`.
    pub file: String,
    /// Always null: a deleted note has no version.
    pub version: Option<String>,
    /// Whether the operation had taken effect before; the other fields are those of that time.
    pub replayed: bool,
    /// `deleted`, or `not_found` where there was no such note.
    pub status: String,
}
