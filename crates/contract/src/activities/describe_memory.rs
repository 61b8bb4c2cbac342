//! `describe_memory`: what there is to know of a run's memories before its first model request.

use serde::{Deserialize, Serialize};
use temporalio_common_wasm::ActivityDefinition;

use crate::{Argument, defaults};

/// The activity `describe_memory`.
///
/// Workflow code can't see how a worker is configured. It asks once, at the start of a run; the
/// answer is recorded, so that a replay decides as the run did.
#[derive(Debug, Clone, Copy)]
pub struct DescribeMemory;

impl ActivityDefinition for DescribeMemory {
    type Input = Argument<DescribeMemoryInput>;
    type Output = DescribeMemoryOutput;

    fn name(&self) -> &str {
        "describe_memory"
    }
}

/// Input of `describe_memory`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
pub struct DescribeMemoryInput {
    /// One entry for each memory; the answers come in the same order.
    pub memories: Vec<MemoryPlace>,
}

/// Where a memory's notes are kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
pub struct MemoryPlace {
    /// Name of one of the worker's stores.
    #[serde(default = "defaults::store")]
    pub store: String,
    /// Name of one of the worker's workspaces: the run's. A store that keeps its files in the run's
    /// workspace can't do without; for others the name is only looked up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
}

/// Output of `describe_memory`: one answer for each memory, in the same order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
pub struct DescribeMemoryOutput {
    /// The answers.
    pub memories: Vec<MemoryDescription>,
}

/// What there is to know of one memory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
pub struct MemoryDescription {
    /// Kind of its store: `postgres`, `sqlite`, `file`, `in_memory`, or the name that a store of
    /// somebody else's has.
    pub kind: String,
    /// Whether nothing can be written or deleted there.
    #[serde(default)]
    pub read_only: bool,
    /// Whether its store keeps metadata of writes.
    #[serde(default)]
    pub keeps_metadata: bool,
    /// Whether its store keeps transcripts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keeps_transcripts: bool,
    /// Whether its store keeps facts; as `keeps_transcripts` says where it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keeps_facts: Option<bool>,
    /// Task queue of all its activities; missing where they may go to any that a worker with this
    /// store serves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_queue: Option<String>,
    /// Directory of its files, seen from the root of the run's workspace: a scope's notes are in
    /// `{directory}/{scope}/`. Empty for the root itself; missing where the files are kept out of
    /// that workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
}

impl MemoryDescription {
    /// Whether its store keeps facts. A worker from before there were stores with one of the two alone
    /// says so by [`MemoryDescription::keeps_transcripts`].
    pub fn keeps_facts(&self) -> bool {
        self.keeps_facts.unwrap_or(self.keeps_transcripts)
    }
}
