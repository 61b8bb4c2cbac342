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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{super::EVENT, *};

    fn number(name: &str, kind: &EnumDescriptor) -> Result<Value, String> {
        let mut json = Value::from(name);
        to_number(&mut json, kind)?;
        Ok(json)
    }

    #[test]
    fn each_value_is_known_by_its_name_and_by_its_older_one() {
        let mut older = 0;
        for kind in EVENT.parent_pool().all_enums() {
            let prefix = screaming_snake_case(kind.name());
            let mut told_apart = BTreeSet::new();
            for value in kind.values() {
                let wanted = Ok(Value::from(value.number()));
                assert_eq!(number(value.name(), &kind), wanted, "{}", value.full_name());
                let Some(rest) = value.name().strip_prefix(&prefix) else {
                    continue;
                };
                let name = pascal_case(rest);
                assert_eq!(number(&name, &kind), wanted, "`{name}` of {}", kind.name());
                assert!(told_apart.insert(bare(rest)), "`{rest}` of {}", kind.name());
                older += 1;
            }
        }
        assert!(older > 250, "only {older} values have an older name");
    }

    #[test]
    fn another_name_is_no_value() {
        let kinds = EVENT.parent_pool();
        let kind = kinds.get_enum_by_name("temporal.api.enums.v1.EventType");
        let kind = kind.expect("the type of events");
        for name in ["", "EVENT_TYPE_", "Of Tomorrow", "TimerFire", "TimerFired "] {
            assert!(number(name, &kind).is_err(), "`{name}`");
        }
    }

    fn screaming_snake_case(name: &str) -> String {
        let mut snake = String::new();
        for letter in name.chars() {
            if letter.is_uppercase() && !snake.is_empty() {
                snake.push('_');
            }
            snake.push(letter.to_ascii_uppercase());
        }
        snake + "_"
    }

    fn pascal_case(name: &str) -> String {
        let words = name.split('_').filter(|word| !word.is_empty());
        let words = words.map(|word| word[..1].to_owned() + &word[1..].to_lowercase());
        words.collect()
    }
}
