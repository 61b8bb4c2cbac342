//! `list_memory`: the notes of a scope, without their text.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use temporalio_common_wasm::ActivityDefinition;

use crate::{Argument, ScopeRef, defaults};

/// The activity `list_memory`. It is for programs and people; models see the names in their
/// snapshot.
#[derive(Debug, Clone, Copy)]
pub struct ListMemory;

impl ActivityDefinition for ListMemory {
    type Input = Argument<ListMemoryInput>;
    type Output = ListedMemory;

    fn name(&self) -> &str {
        "list_memory"
    }
}

/// Input of `list_memory`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
pub struct ListMemoryInput {
    /// Name of one of the worker's stores.
    #[serde(default = "defaults::store")]
    pub store: String,
    /// Name of one of the worker's workspaces: the run's. A store that keeps its files in the run's
    /// workspace can't do without; others ignore it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// Whose notes.
    pub scope: ScopeRef,
    /// Most notes to list.
    #[cfg_attr(any(test, feature = "schemars"), schemars(range(min = 1)))]
    #[serde(default = "defaults::max_listed_files")]
    pub max_files: usize,
    /// Whether the answer has the metadata of each note's current version. Leave it out where a model reads the
    /// answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub include_write_metadata: bool,
}

/// The notes of a scope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
pub struct ListedMemory {
    /// The notes, ascending by name as compared by code point.
    pub files: Vec<MemoryFile>,
    /// Whether there are more, or more than a result of 1 MiB holds.
    pub truncated: bool,
}

/// A note without its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
pub struct MemoryFile {
    /// Name of the note, with `.md`.
    pub file: String,
    /// Its version, for `expected_version`.
    pub version: String,
    /// Length of its text, in characters.
    pub chars: usize,
    /// When it was last changed, in UTC, as `2026-11-30T04:05:06Z`; missing where the store keeps no
    /// times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<String>,
    /// What the write recorded that made this version, where it was asked for; missing where it
    /// recorded nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_metadata: Option<BTreeMap<String, String>>,
}
