//! An answer of the endpoint, read as tolerantly as makes sense: endpoints leave fields out, send
//! null for them, and add others.

use notekeeper_domain::ToolCall;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::failure::{self, Asked};
use crate::{ChatResponse, ModelError};

#[derive(Deserialize)]
struct Answer {
    choices: Option<Vec<Choice>>,
}

#[derive(Deserialize)]
struct Choice {
    message: Option<Message>,
    finish_reason: Option<Value>,
}

#[derive(Default, Deserialize)]
struct Message {
    content: Option<Content>,
    refusal: Option<String>,
    tool_calls: Option<Vec<Call>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Deserialize)]
struct Part {
    text: Option<String>,
}

#[derive(Deserialize)]
struct Call {
    id: Option<Value>,
    function: Option<Function>,
}

#[derive(Deserialize)]
struct Function {
    name: Option<String>,
    arguments: Option<Value>,
}

/// What the model says with it.
pub(super) fn response(answer: Value) -> Result<ChatResponse, ModelError> {
    if let Some(error) = error_within(&answer, Asked::Completion) {
        return Err(error);
    }
    let answer: Answer =
        serde_json::from_value(answer).map_err(|_| Asked::Completion.unreadable())?;
    let choice = answer.choices.unwrap_or_default().into_iter().next();
    let choice = choice.ok_or_else(|| Asked::Completion.unreadable())?;
    let cut = match choice.finish_reason.as_ref().and_then(Value::as_str) {
        Some("length") => Some(
            "the answer was cut at its longest length; ask for less at once, or set a larger \
             `max_completion_tokens`",
        ),
        Some("content_filter") => Some("the answer was cut by the endpoint's content filter"),
        _ => None,
    };
    if let Some(why) = cut {
        return Err(ModelError::Refused(why.to_owned()));
    }
    let message = choice
        .message
        .ok_or_else(|| Asked::Completion.unreadable())?;
    let text = match message.content {
        Some(Content::Text(text)) => text,
        Some(Content::Parts(parts)) => parts.into_iter().filter_map(|part| part.text).collect(),
        None => String::new(),
    };
    let text = match message.refusal {
        Some(refusal) if text.is_empty() => refusal,
        _ => text,
    };
    let calls = message.tool_calls.unwrap_or_default();
    Ok(ChatResponse {
        text,
        tool_calls: calls.into_iter().map(ToolCall::from).collect(),
    })
}

/// Some endpoints answer 200 and put what failed into the answer, with a status of its own.
pub(super) fn error_within(answer: &Value, asked: Asked) -> Option<ModelError> {
    let error = answer.get("error").filter(|error| error.is_object())?;
    let code = match error.get("code") {
        Some(Value::String(code)) => code.parse().ok(),
        Some(code) => code.as_u64().and_then(|code| u16::try_from(code).ok()),
        None => None,
    };
    let status = code.filter(|code| (400..600).contains(code)).unwrap_or(200);
    Some(failure::of_status(status, Some(answer), None, asked))
}

impl From<Call> for ToolCall {
    fn from(call: Call) -> Self {
        let (name, arguments) = match call.function {
            Some(function) => (function.name, function.arguments),
            None => (None, None),
        };
        let id = match call.id {
            Some(Value::String(id)) => id,
            Some(Value::Null) | None => String::new(),
            Some(other) => other.to_string(),
        };
        Self {
            id,
            // A tool without a name doesn't exist, which the model is told.
            name: name.unwrap_or_default(),
            arguments: arguments.map_or_else(no_arguments, read_arguments),
        }
    }
}

/// Arguments as an object where they are one. Whatever else the model wrote is kept: it is told
/// that its arguments don't fit.
fn read_arguments(given: Value) -> Value {
    match given {
        Value::Null => no_arguments(),
        Value::String(text) if text.trim().is_empty() => no_arguments(),
        Value::String(text) => match serde_json::from_str(&text) {
            Ok(object @ Value::Object(_)) => object,
            _ => Value::String(text),
        },
        other => other,
    }
}

fn no_arguments() -> Value {
    Value::Object(Map::new())
}
