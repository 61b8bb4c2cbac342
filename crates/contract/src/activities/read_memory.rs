//! `read_memory`: the first characters of a note.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use temporalio_common_wasm::ActivityDefinition;

use crate::{Argument, Outcome, ScopeRef, defaults};

/// The activity `read_memory`.
#[derive(Debug, Clone, Copy)]
pub struct ReadMemory;

impl ActivityDefinition for ReadMemory {
    type Input = Argument<ReadMemoryInput>;
    type Output = Outcome<MemoryContent>;

    fn name(&self) -> &str {
        "read_memory"
    }
}

/// Input of `read_memory`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
pub struct ReadMemoryInput {
    /// Name of one of the worker's stores.
    #[serde(default = "defaults::store")]
    pub store: String,
    /// Name of one of the worker's workspaces: the run's. A store that keeps its files in the run's
    /// workspace can't do without; others ignore it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// Whose notes.
    pub scope: ScopeRef,
    /// Name of the note: ASCII letters, digits, `.`, `_` and `-`, at most 80 characters. `.md` is
    /// added where it is missing.
    pub file: String,
    /// Most characters to return.
    #[cfg_attr(any(test, feature = "schemars"), schemars(range(min = 1)))]
    #[serde(default = "defaults::max_memory_size")]
    pub max_memory_size: usize,
    /// Whether the answer has the metadata of the note's current version. Leave it out where a model reads the
    /// answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub include_write_metadata: bool,
}

/// A note, or its first characters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
pub struct MemoryContent {
    /// Name of the note, with `.md`.
    pub file: String,
    /// Its text, cut to the bound, and to what a result of 1 MiB holds.
    pub content: String,
    /// Whether anything was cut.
    pub truncated: bool,
    /// Version of the whole note.
    pub version: String,
    /// What the write recorded that made this version, where it was asked for; missing where it
    /// recorded nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_metadata: Option<BTreeMap<String, String>>,
}
