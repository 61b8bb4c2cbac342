//! Application tools: activities of the application that the model calls as tools.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{OperationRef, ScopeRef};

/// Input of an application tool's activity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
pub struct ToolInput {
    /// Arguments, as the model gave them.
    pub arguments: Value,
    /// Whose conversation this is.
    pub scope: ScopeRef,
    /// The workspace that the run names; missing where it names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// Identity of the call: the same for a repetition of it.
    pub operation: OperationRef,
}
