//! Names of enum values.

use prost_reflect::EnumDescriptor;
use serde_json::Value;

/// Puts the number where a name is written, in today's form (`TASK_QUEUE_KIND_NORMAL`) or in the
/// older one (`Normal`).
///
/// Numbers stay as they are: a number that isn't known is kept, like in protobuf binary.
pub(super) fn to_number(json: &mut Value, kind: &EnumDescriptor) -> Result<(), String> {
    let Value::String(name) = json else {
        return Ok(());
    };
    let wanted = bare(name);
    let prefix = bare(kind.name());
    let value = kind.values().find(|value| {
        let value = bare(value.name());
        value == wanted || value.strip_prefix(&prefix) == Some(&wanted)
    });
    let Some(value) = value else {
        return Err(format!(
            "is `{name}`, which is no {} that this version knows",
            kind.name()
        ));
    };
    *json = value.number().into();
    Ok(())
}

/// The name without what differs between the two forms.
fn bare(name: &str) -> String {
    let letters = name.chars().filter(|letter| *letter != '_');
    letters.map(|letter| letter.to_ascii_uppercase()).collect()
}
