//! Tool calls of the model: their arguments, and what they come to.

use notekeeper_contract::{Outcome, Refused};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::CallFailure;

/// Largest arguments of one tool call, in bytes of their JSON. Temporal refuses payloads over
/// 2 MiB by failing the workflow task again and again; half of that leaves room for a codec.
const ARGUMENT_BYTES_MAX: usize = 1024 * 1024;

/// What the model is told of a tool that doesn't exist.
pub(crate) const NO_SUCH_TOOL: &str = "there is no such tool; use one of those offered";

/// What a tool call came to, for the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolResult {
    /// Text for the model.
    pub content: String,
    /// Why the call was refused; `None` where it was done.
    pub refused: Option<String>,
}

impl ToolResult {
    pub(crate) fn refused(refused: Refused) -> Self {
        Self {
            content: refused.message,
            refused: Some(refused.reason),
        }
    }
}

pub(crate) fn told<T>(
    outcome: Outcome<T>,
    text: impl FnOnce(&T) -> String,
) -> Result<ToolResult, CallFailure> {
    Ok(match outcome {
        Outcome::Ok(done) => ToolResult {
            content: text(&done),
            refused: None,
        },
        Outcome::Refused(refused) => ToolResult::refused(refused),
    })
}

pub(crate) fn json_text<T: Serialize>(done: &T) -> String {
    serde_json::to_string(done).expect("results are text, numbers and flags")
}

/// Reads the arguments of a call. Some models give them as JSON text inside a string.
pub(crate) fn arguments<T: DeserializeOwned>(given: &Value) -> Result<T, Refused> {
    let text = match given {
        Value::String(text) => text.clone(),
        Value::Null => "{}".to_owned(),
        other => other.to_string(),
    };
    if text.len() > ARGUMENT_BYTES_MAX {
        return Err(Refused {
            reason: "too_large".to_owned(),
            message: format!(
                "the arguments have {} bytes, {ARGUMENT_BYTES_MAX} are allowed; write less at once",
                text.len()
            ),
        });
    }
    serde_json::from_str(&text).map_err(|error| invalid_arguments(&error.to_string()))
}

pub(crate) fn invalid_arguments(what: &str) -> Refused {
    Refused {
        reason: "invalid_arguments".to_owned(),
        message: format!("the arguments don't fit the tool's schema: {what}"),
    }
}
