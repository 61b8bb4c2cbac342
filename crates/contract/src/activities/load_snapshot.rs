//! `load_snapshot`: the memory blocks for the next model request.

use serde::{Deserialize, Serialize};
use temporalio_common_wasm::ActivityDefinition;

use crate::{Argument, ScopeRef, defaults};

/// The activity `load_snapshot`.
#[derive(Debug, Clone, Copy)]
pub struct LoadSnapshot;

impl ActivityDefinition for LoadSnapshot {
    type Input = Argument<LoadSnapshotInput>;
    type Output = LoadSnapshotOutput;

    fn name(&self) -> &str {
        "load_snapshot"
    }
}

/// Input of `load_snapshot`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
pub struct LoadSnapshotInput {
    /// One entry for each memory; the answers come in the same order.
    pub memories: Vec<SnapshotRequest>,
}

/// One memory whose block is wanted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
pub struct SnapshotRequest {
    /// Name of one of the worker's stores.
    #[serde(default = "defaults::store")]
    pub store: String,
    /// Name of one of the worker's workspaces: the run's. A store that keeps its files in the run's
    /// workspace can't do without; others ignore it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// Whose notes.
    pub scope: ScopeRef,
    /// Digest of the block that the caller holds; where the block is still that one, the answer is
    /// `unchanged`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_digest: Option<String>,
    /// How the block comes back.
    #[serde(default)]
    pub delivery: Delivery,
    /// How the block is rendered.
    #[serde(default)]
    pub render: RenderOptions,
}

/// How a block comes back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// The text stands in the result.
    #[default]
    Inline,
    /// The text is kept in the store under scope and digest; the result has the digest only. Of a
    /// store that keeps no texts the result has the text all the same.
    Reference,
}

/// How a block is rendered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
pub struct RenderOptions {
    /// Budget of guidance and block together, in tokens of four characters.
    #[cfg_attr(any(test, feature = "schemars"), schemars(range(min = 1)))]
    #[serde(default = "defaults::max_tokens")]
    pub max_tokens: usize,
    /// Characters of `max_tokens` that the guidance in the instructions takes.
    #[serde(default)]
    pub guidance_chars: usize,
    /// Most lines of the main note; 0 for none.
    #[serde(default = "defaults::max_lines")]
    pub max_lines: usize,
    /// Most characters of the main note that are read.
    #[cfg_attr(any(test, feature = "schemars"), schemars(range(min = 1)))]
    #[serde(default = "defaults::max_memory_size")]
    pub max_memory_size: usize,
    /// Heading of the block; none where it is empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub heading: String,
    /// Name of the tool that reads a note, as the model sees it.
    #[serde(default = "defaults::read_memory")]
    pub reader: String,
    /// Name of the tool that searches notes, as the model sees it.
    #[serde(default = "defaults::search_memory")]
    pub searcher: String,
    /// A sentence that says where the files are, where the model's file tool reads them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// How that tool reads the main note, as the model would call it. Where the block has room for
    /// `location`, the block names this in the place of `reader`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_reader: Option<String>,
}

impl Default for RenderOptions {
    fn default() -> Self {
        Self {
            max_tokens: defaults::max_tokens(),
            guidance_chars: 0,
            max_lines: defaults::max_lines(),
            max_memory_size: defaults::max_memory_size(),
            heading: String::new(),
            reader: defaults::read_memory(),
            searcher: defaults::search_memory(),
            location: None,
            file_reader: None,
        }
    }
}

/// Output of `load_snapshot`: one answer for each request, in the same order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
pub struct LoadSnapshotOutput {
    /// The answers.
    pub snapshots: Vec<SnapshotAnswer>,
}

/// The answer for one memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum SnapshotAnswer {
    /// A block.
    Block {
        /// SHA-256 of the text, lower-case hexadecimal.
        digest: String,
        /// The text; missing where it is delivered by reference.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        /// What the block shows and leaves out.
        stats: SnapshotStats,
    },
    /// The block is the one whose digest was sent.
    Unchanged {
        /// That digest.
        digest: String,
    },
    /// Nothing to show.
    Empty {
        /// Whether something is stored, but the guidance leaves no room for it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        budget_exhausted: bool,
    },
    /// This memory can't be shown, and trying again won't help; the others are not affected.
    Error {
        /// Type of the failure.
        error_type: String,
        /// What to do about it. It holds no content, name or namespace.
        message: String,
    },
}

/// What a block shows and leaves out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
pub struct SnapshotStats {
    /// Length of the block, in characters.
    pub chars: usize,
    /// Lines of the main note shown.
    pub lines: usize,
    /// Lines of the main note left out.
    pub lines_dropped: usize,
    /// Other notes listed.
    pub files: usize,
    /// Whether anything was left out.
    pub truncated: bool,
    /// Whether the block says where the files are.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub located: bool,
}
