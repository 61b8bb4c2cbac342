//! JSON Schemas of the types, in the words of callers.

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::Value;

use super::Way;

/// The schema of a type as it goes this way.
pub(super) fn of<T: JsonSchema>(way: Way) -> Value {
    let settings = match way {
        Way::Argument => SchemaSettings::draft2020_12().for_deserialize(),
        Way::Result => SchemaSettings::draft2020_12().for_serialize(),
    };
    let mut schema = settings
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value();
    plain(&mut schema);
    schema
}

/// Takes out what is Rust's alone: formats of integers, and line breaks of the source.
fn plain(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            let rust =
                |format: &Value| format.as_str().is_some_and(|name| name.starts_with("uint"));
            if object.get("format").is_some_and(rust) {
                object.remove("format");
            }
            if let Some(Value::String(text)) = object.get_mut("description") {
                *text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            }
            object.values_mut().for_each(plain);
        }
        Value::Array(items) => items.iter_mut().for_each(plain),
        _ => {}
    }
}
