//! Leaving out of a message's JSON what is not known, and refusing what must be.

use std::fmt;

use prost_reflect::{FieldDescriptor, Kind, MessageDescriptor};
use serde_json::Value;

use super::{enums, payloads};

/// What is wrong, and in which field.
#[derive(Debug)]
pub(super) struct Problem {
    /// From the innermost field outwards.
    path: Vec<String>,
    why: String,
}

impl Problem {
    fn new(why: String) -> Self {
        let path = Vec::new();
        Self { path, why }
    }

    fn within(mut self, field: &str) -> Self {
        self.path.push(field.to_owned());
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path: Vec<_> = self.path.iter().rev().map(String::as_str).collect();
        match path.as_slice() {
            [] => write!(formatter, "{}", self.why),
            path => write!(
                formatter,
                "can't be read: `{}` {}",
                path.join("."),
                self.why
            ),
        }
    }
}

/// Brings the JSON of a message into a form in which everything is known: fields that are not are
/// left out, enum values become numbers, and payloads take the form that they have in proto3 JSON.
///
/// Where the JSON doesn't have the shape of the message it is left as it is, for the reader to
/// refuse.
pub(super) fn keep_what_is_known(
    json: &mut Value,
    message: &MessageDescriptor,
) -> Result<(), Problem> {
    match message.full_name() {
        "temporal.api.common.v1.Payload" => payloads::restore_one(json).map_err(Problem::new)?,
        "temporal.api.common.v1.Payloads" => payloads::restore_all(json),
        // Such as times: a text in JSON, whatever fields they have.
        name if name.starts_with("google.protobuf.") => return Ok(()),
        _ => {}
    }
    let Value::Object(object) = json else {
        return Ok(());
    };
    let keys: Vec<String> = object.keys().cloned().collect();
    for key in keys {
        let field = message
            .get_field_by_json_name(&key)
            .or_else(|| message.get_field_by_name(&key));
        match (field, object.get_mut(&key)) {
            (Some(field), Some(value)) => {
                of_field(value, &field).map_err(|problem| problem.within(&key))?;
            }
            _ if decides_the_type(&key) => {
                return Err(Problem::new(format!(
                    "has `{key}`, which belong to no type of event that this version knows"
                )));
            }
            _ => {
                object.remove(&key);
            }
        }
    }
    Ok(())
}

/// Whether a key holds an event's attributes, which are what an event is: without them it would be
/// another one.
fn decides_the_type(key: &str) -> bool {
    key.ends_with("EventAttributes") || key.ends_with("_event_attributes")
}

fn of_field(json: &mut Value, field: &FieldDescriptor) -> Result<(), Problem> {
    match json {
        Value::Array(items) if field.is_list() => {
            for (item, number) in items.iter_mut().zip(1..) {
                of_kind(item, &field.kind())
                    .map_err(|problem| problem.within(&format!("{number}")))?;
            }
            Ok(())
        }
        Value::Object(entries) if field.is_map() => {
            let Kind::Message(entry) = field.kind() else {
                return Ok(());
            };
            let kind = entry.map_entry_value_field().kind();
            for (key, value) in entries.iter_mut() {
                of_kind(value, &kind).map_err(|problem| problem.within(key))?;
            }
            Ok(())
        }
        // Not set.
        Value::Null => Ok(()),
        _ if field.is_list() || field.is_map() => Ok(()),
        value => of_kind(value, &field.kind()),
    }
}

fn of_kind(json: &mut Value, kind: &Kind) -> Result<(), Problem> {
    match kind {
        Kind::Message(message) => keep_what_is_known(json, message),
        Kind::Enum(kind) => enums::to_number(json, kind).map_err(Problem::new),
        _ => Ok(()),
    }
}
