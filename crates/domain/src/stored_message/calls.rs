//! Tool calls in stored messages, in the forms of three dialects.

use serde_json::{Map, Value};

use crate::{ToolCall, text::is_blank};

/// The calls beside the content of a message: `tool_calls`, and the single `function_call` of old.
pub(super) fn of_message(message: &Map<String, Value>) -> Vec<ToolCall> {
    let listed = message.get("tool_calls").and_then(Value::as_array);
    let listed = listed.into_iter().flatten().filter_map(Value::as_object);
    let single = message.get("function_call").and_then(Value::as_object);
    listed
        .map(of_entry)
        .chain(single.map(|function| of_function(String::new(), function)))
        .collect()
}

/// An entry of `tool_calls`.
fn of_entry(entry: &Map<String, Value>) -> ToolCall {
    let id = id(entry.get("id"));
    if let Some(function) = entry.get("function").and_then(Value::as_object) {
        return of_function(id, function);
    }
    if let Some(custom) = entry.get("custom").and_then(Value::as_object) {
        // Its input is a text of any kind.
        let input = custom.get("input").cloned().unwrap_or_default();
        return ToolCall {
            id,
            name: name(custom),
            arguments: Value::Object([("input".to_owned(), input)].into_iter().collect()),
        };
    }
    ToolCall {
        id,
        name: name(entry),
        arguments: entry.get("arguments").cloned().unwrap_or_else(no_arguments),
    }
}

fn of_function(id: String, function: &Map<String, Value>) -> ToolCall {
    let arguments = match function.get("arguments") {
        Some(Value::String(text)) => read_arguments(text),
        Some(Value::Null) | None => no_arguments(),
        Some(other) => other.clone(),
    };
    ToolCall {
        id,
        name: name(function),
        arguments,
    }
}

/// A `tool_use` block.
pub(super) fn of_tool_use(block: &Map<String, Value>) -> ToolCall {
    ToolCall {
        id: id(block.get("id")),
        name: name(block),
        arguments: block.get("input").cloned().unwrap_or_else(no_arguments),
    }
}

/// An id, which some endpoints give as a number.
pub(super) fn id(given: Option<&Value>) -> String {
    match given {
        Some(Value::String(id)) => id.clone(),
        Some(Value::Null) | None => String::new(),
        Some(other) => other.to_string(),
    }
}

pub(super) fn is_error(result: &Map<String, Value>) -> bool {
    result.get("is_error").and_then(Value::as_bool) == Some(true)
}

fn name(call: &Map<String, Value>) -> String {
    let name = call.get("name").and_then(Value::as_str);
    name.unwrap_or_default().to_owned()
}

/// Arguments as an object where that says the same. What is no object stays the text that the model
/// wrote, and so do numbers that would be sent back rounded, and objects that have a key twice.
fn read_arguments(text: &str) -> Value {
    if is_blank(text) {
        return no_arguments();
    }
    match serde_json::from_str(text) {
        Ok(object @ Value::Object(_)) if is_exact(&object) && members(&object) == colons(text) => {
            object
        }
        _ => Value::String(text.to_owned()),
    }
}

/// Whether all numbers are whole ones that are kept exactly.
fn is_exact(value: &Value) -> bool {
    match value {
        Value::Number(number) => !number.is_f64(),
        Value::Array(items) => items.iter().all(is_exact),
        Value::Object(object) => object.values().all(is_exact),
        Value::Null | Value::Bool(_) | Value::String(_) => true,
    }
}

/// Keys of all objects in a value.
fn members(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(members).sum(),
        Value::Object(object) => object.len() + object.values().map(members).sum::<usize>(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

/// Colons outside strings of a JSON text: one for each key that is written there.
fn colons(text: &str) -> usize {
    let (mut count, mut in_string) = (0, false);
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => in_string = !in_string,
            // What is escaped ends no string.
            b'\\' => {
                bytes.next();
            }
            b':' if !in_string => count += 1,
            _ => {}
        }
    }
    count
}

fn no_arguments() -> Value {
    Value::Object(Map::new())
}
