//! What values hold that no message may.

use serde_json::{Map, Value};

/// Fields of messages whose names may be told: those that the APIs of models give them. Others are
/// the caller's own, and keys of arguments are content.
const TOLD_FIELDS: [&str; 20] = [
    "role",
    "content",
    "name",
    "id",
    "type",
    "text",
    "tool_calls",
    "tool_call_id",
    "function",
    "arguments",
    "is_error",
    "tool_use_id",
    "input",
    "thinking",
    "reasoning_content",
    "refusal",
    "source",
    "image_url",
    "url",
    "data",
];

/// Fields below which a caller's own keys begin.
const FREE_FORM: [&str; 2] = ["arguments", "input"];

/// A step from a value to one in it.
#[derive(Clone, Copy)]
enum Step<'a> {
    Key(&'a str),
    Index(usize),
}

/// Whether lists and objects stand in one another in more than so many levels. It goes no deeper than
/// that.
pub(super) fn holds_more_levels(value: &Value, levels: usize) -> bool {
    let is_over = |item: &Value| holds_more_levels(item, levels - 1);
    match value {
        Value::Array(items) => levels == 0 || items.iter().any(is_over),
        Value::Object(object) => levels == 0 || object.values().any(is_over),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Lets go of a value of any depth. Dropping it would take a stack as deep as it is.
pub(super) fn take_apart(value: Value) {
    let mut left = vec![value];
    while let Some(value) = left.pop() {
        match value {
            Value::Array(items) => left.extend(items),
            Value::Object(object) => left.extend(object.into_iter().map(|(_, item)| item)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}

/// Where an object holds U+0000, as far as nothing of that is the caller's own; `None` where nowhere.
/// The path is made of a hit alone, so that a long key costs nothing for each value below it.
pub(super) fn nul_in_object(object: &Map<String, Value>) -> Option<String> {
    let mut steps = nul_below(object)?;
    steps.reverse();
    Some(told(&steps))
}

/// The steps to a U+0000, the last one first.
fn nul_below(object: &Map<String, Value>) -> Option<Vec<Step<'_>>> {
    object.iter().find_map(|(key, value)| {
        let mut steps = match key.contains('\0') {
            true => Vec::new(),
            false => nul_in(value)?,
        };
        steps.push(Step::Key(key));
        Some(steps)
    })
}

fn nul_in(value: &Value) -> Option<Vec<Step<'_>>> {
    match value {
        Value::String(text) => text.contains('\0').then(Vec::new),
        Value::Array(items) => items.iter().enumerate().find_map(|(index, item)| {
            let mut steps = nul_in(item)?;
            steps.push(Step::Index(index));
            Some(steps)
        }),
        Value::Object(object) => nul_below(object),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// The beginning of a path in which nothing is the caller's own, such as `content[0].text`.
fn told(steps: &[Step<'_>]) -> String {
    let mut told = String::new();
    for step in steps {
        match step {
            Step::Index(index) => told.extend(["[", &index.to_string(), "]"]),
            Step::Key(key) => {
                if !TOLD_FIELDS.contains(key) {
                    break;
                }
                if !told.is_empty() {
                    told.push('.');
                }
                told.push_str(key);
                if FREE_FORM.contains(key) {
                    break;
                }
            }
        }
    }
    told
}
