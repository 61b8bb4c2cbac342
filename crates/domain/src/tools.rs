//! Definitions of the memory tools, as the model sees them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Name of the tool and activity that writes.
pub const WRITE_MEMORY: &str = "write_memory";
/// Name of the tool and activity that reads.
pub const READ_MEMORY: &str = "read_memory";
/// Name of the tool and activity that deletes.
pub const DELETE_MEMORY: &str = "delete_memory";
/// Name of the tool and activity that searches.
pub const SEARCH_MEMORY: &str = "search_memory";

/// A tool as a model request offers it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolDefinition {
    /// Name, unique in a request.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// JSON Schema of its arguments.
    pub parameters: Value,
}

/// The memory tools, their names after `{prefix}_` where a prefix is set.
pub fn memory_tools(prefix: &str) -> Vec<ToolDefinition> {
    let _ = prefix;
    todo!()
}
