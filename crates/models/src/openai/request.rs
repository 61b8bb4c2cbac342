//! A request as the endpoint reads it.

use notekeeper_domain::{Message, ToolCall, ToolDefinition, UserPart};
use serde_json::{Map, Value, json};

use super::options::OpenAiOptions;
use crate::ChatRequest;

/// Longest name of a tool that endpoints take, in characters.
const TOOL_NAME_CHARS_MAX: usize = 64;

/// The whole request. What isn't set is left out: not every endpoint knows every field.
pub(super) fn body(options: &OpenAiOptions, request: &ChatRequest) -> Value {
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(options.model));
    body.insert("messages".to_owned(), messages(request));
    if !request.tools.is_empty() {
        body.insert("tools".to_owned(), request.tools.iter().map(tool).collect());
    }
    if let Some(temperature) = options.temperature {
        body.insert("temperature".to_owned(), json!(temperature));
    }
    if let Some(tokens) = options.max_completion_tokens {
        body.insert("max_completion_tokens".to_owned(), json!(tokens));
    }
    body.insert("stream".to_owned(), json!(false));
    Value::Object(body)
}

fn messages(request: &ChatRequest) -> Value {
    let instructions = match request.instructions.as_str() {
        "" => None,
        text => Some(json!({"role": "system", "content": text})),
    };
    instructions
        .into_iter()
        .chain(request.messages.iter().map(message))
        .collect()
}

fn message(message: &Message) -> Value {
    match message {
        Message::System { text } => json!({"role": "system", "content": text}),
        Message::User { parts } => json!({"role": "user", "content": user_text(parts)}),
        Message::Assistant { text, tool_calls } if tool_calls.is_empty() => {
            json!({"role": "assistant", "content": text})
        }
        Message::Assistant { text, tool_calls } => json!({
            "role": "assistant",
            "content": if text.is_empty() { Value::Null } else { json!(text) },
            "tool_calls": tool_calls.iter().map(tool_call).collect::<Value>(),
        }),
        Message::Tool {
            tool_call_id,
            content,
            is_error,
        } => json!({
            "role": "tool",
            "tool_call_id": plain(tool_call_id),
            // The protocol has no flag for it.
            "content": if *is_error { format!("error: {content}") } else { content.clone() },
        }),
    }
}

/// Text, memory blocks and summary of a user's message as one text: endpoints that take parts of text join
/// them, and some take no parts.
fn user_text(parts: &[UserPart]) -> String {
    let texts: Vec<&str> = parts.iter().map(UserPart::text).collect();
    texts.join("\n\n")
}

fn tool(tool: &ToolDefinition) -> Value {
    json!({
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.parameters,
        },
    })
}

fn tool_call(call: &ToolCall) -> Value {
    json!({
        "id": plain(&call.id),
        "type": "function",
        "function": {"name": tool_name(&call.name), "arguments": arguments(&call.arguments)},
    })
}

/// Arguments as the JSON text of an object. Endpoints refuse a conversation in which something
/// else stands there, for ever; what the model wrote instead is shown to it under a key.
fn arguments(arguments: &Value) -> String {
    match arguments {
        Value::Object(_) => arguments.to_string(),
        Value::Null => "{}".to_owned(),
        Value::String(text) => match serde_json::from_str(text) {
            Ok(Value::Object(_)) => text.clone(),
            _ => json!({"unreadable_arguments": text}).to_string(),
        },
        other => json!({"unreadable_arguments": other}).to_string(),
    }
}

/// A name of the kind that endpoints take back. Models make up others, and a conversation that
/// holds one would be refused for ever.
fn tool_name(name: &str) -> String {
    let name: String = plain(name).chars().take(TOOL_NAME_CHARS_MAX).collect();
    if name.is_empty() {
        return "unnamed".to_owned();
    }
    name
}

/// Letters, digits, `_` and `-` as they are, anything else as `_`. Ids that were told apart by
/// `#` and a number stay apart.
fn plain(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-' => c,
            _ => '_',
        })
        .collect()
}
