//! Tool calls of the model: their arguments, and what they come to.

use notekeeper_contract::{Outcome, Refused, read_tool_arguments};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use temporalio_workflow::WorkflowContext;

use crate::{CallFailure, StepCall};

/// Since when arguments have to be an object.
const WANTS_OBJECTS: &str = "notekeeper-wants-objects";

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
    read_tool_arguments(&text).map_err(|error| invalid_arguments(&error.to_string()))
}

/// Refuses arguments that are JSON and no object. The items of an array would be taken for the fields in their
/// order, which no schema says: a model that means something else by them would write into the wrong one.
pub(crate) fn refuse_no_object<W>(
    ctx: &WorkflowContext<W>,
    call: &StepCall,
) -> Result<(), Refused> {
    // Asked last: a run whose model gives objects records nothing.
    if is_no_object(&call.call.arguments) && ctx.patched(WANTS_OBJECTS) {
        return Err(invalid_arguments("expected a JSON object"));
    }
    Ok(())
}

/// Whether arguments are JSON and no object. None at all are as good as an empty one.
fn is_no_object(arguments: &Value) -> bool {
    match arguments {
        Value::Null | Value::Object(_) => false,
        Value::Array(_) | Value::Bool(_) | Value::Number(_) => true,
        Value::String(text) => match text.trim_start().as_bytes().first() {
            Some(b'[') => true,
            Some(b'{') | None => false,
            Some(_) => serde_json::from_str(text).is_ok_and(|value: Value| !value.is_null()),
        },
    }
}

pub(crate) fn invalid_arguments(what: &str) -> Refused {
    Refused {
        reason: "invalid_arguments".to_owned(),
        message: format!("the arguments don't fit the tool's schema: {what}"),
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct RememberArguments {
        #[serde(rename = "key")]
        _key: String,
        #[serde(rename = "value")]
        _value: String,
    }

    #[test]
    fn what_is_wrong_with_arguments_is_told_in_the_words_of_their_schema() {
        for (given, said) in [
            (json!(7), "expected a JSON object"),
            (json!("7"), "expected a JSON object"),
            (json!("null"), "expected a JSON object"),
            (json!({"key": 1}), "at `key`: expected a string"),
            (
                json!({"key": "k", "value": ["v"]}),
                "at `value`: expected a string",
            ),
            (json!({"key": "k"}), "missing field `value`"),
            (Value::Null, "missing field `key`"),
            (
                json!({"key": "k", "values": "v"}),
                "unknown field `values`, expected `key` or `value`; did you mean `value`?",
            ),
            (
                json!("{\"key\": "),
                "not valid JSON: EOF while parsing a value at line 1 column 8",
            ),
        ] {
            let refused = arguments::<RememberArguments>(&given).expect_err("refused");
            assert_eq!(refused.reason, "invalid_arguments");
            let told = refused
                .message
                .strip_prefix("the arguments don't fit the tool's schema: ");
            assert_eq!(told, Some(said), "{given}");
        }
    }

    #[test]
    fn what_is_no_object_is_known_by_its_text_as_well() {
        for other in [
            json!(["k", "v"]),
            json!([]),
            json!(7),
            json!(true),
            json!(" \n[\"k\", \"v\"]"),
            json!("[no JSON"),
            json!("7"),
            json!("\"text\""),
        ] {
            assert!(is_no_object(&other), "{other}");
        }
        for fine in [
            json!({"key": []}),
            json!("{\"key\": []}"),
            Value::Null,
            json!("null"),
            json!(""),
            json!("no JSON"),
            json!("{\"key\": "),
        ] {
            assert!(!is_no_object(&fine), "{fine}");
        }
    }
}
