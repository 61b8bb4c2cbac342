//! Two statements of one memory, or of one conversation.

use serde::Serialize;
use serde_json::Value;

use crate::MemorySettings;

/// The first setting, by name, in which two statements of one memory differ, such as `max_tokens` or
/// `activities.queue`. What the namespace is stands in their scopes.
pub(crate) fn difference(one: &MemorySettings, other: &MemorySettings) -> Option<String> {
    let [one, other] = [one, other].map(|settings| MemorySettings {
        namespace: None,
        ..settings.clone()
    });
    difference_of(&one, &other)
}

/// The first field, by name, in which two values differ.
pub(crate) fn difference_of<T: Serialize>(one: &T, other: &T) -> Option<String> {
    let [one, other] = [one, other].map(|it| serde_json::to_value(it).unwrap_or_default());
    first_difference(&one, &other)
}

/// The place of the first difference; empty where the values themselves differ.
fn first_difference(one: &Value, other: &Value) -> Option<String> {
    let (Value::Object(fields), Value::Object(others)) = (one, other) else {
        return (one != other).then(String::new);
    };
    let keys = fields.keys().chain(others.keys());
    keys.into_iter().find_map(|key| {
        let [one, other] = [fields, others].map(|fields| fields.get(key).unwrap_or(&Value::Null));
        let inside = first_difference(one, other)?;
        Some(match inside.as_str() {
            "" => key.clone(),
            inside => format!("{key}.{inside}"),
        })
    })
}

#[cfg(test)]
mod tests {
    use notekeeper_contract::{Delivery, MetadataSource};

    use super::*;
    use crate::{ActivityQueue, InjectionErrors};

    #[test]
    fn each_setting_in_which_two_statements_differ_is_named() {
        type Change = fn(&mut MemorySettings);
        let changes: [(&str, Change); 19] = [
            ("id", |it| it.id = "org".to_owned()),
            ("store", |it| it.store = "eu".to_owned()),
            ("agent_name", |it| it.agent_name = "org".to_owned()),
            ("heading", |it| it.heading = "Notes".to_owned()),
            ("inject_memory", |it| it.inject_memory = false),
            ("max_tokens", |it| it.max_tokens = 1),
            ("max_lines", |it| it.max_lines = 1),
            ("max_memory_size", |it| it.max_memory_size = 1),
            ("max_search_results", |it| it.max_search_results = 1),
            ("max_search_result_chars", |it| {
                it.max_search_result_chars = 1
            }),
            ("max_search_files", |it| it.max_search_files = 1),
            ("injection_errors", |it| {
                it.injection_errors = InjectionErrors::Raise;
            }),
            ("guidance", |it| it.guidance = Some(String::new())),
            ("prefix", |it| it.prefix = "org".to_owned()),
            ("write_metadata", |it| {
                it.write_metadata = Some(MetadataSource::Resolver("who".to_owned()));
            }),
            ("delivery", |it| it.delivery = Some(Delivery::Inline)),
            ("activities.queue", |it| {
                it.activities.queue = ActivityQueue::Local;
            }),
            ("activities.start_to_close_ms", |it| {
                it.activities.start_to_close_ms = 1;
            }),
            ("activities.snapshot_give_up_ms", |it| {
                it.activities.snapshot_give_up_ms = 1;
            }),
        ];
        let settings = MemorySettings::default();
        assert_eq!(difference(&settings, &settings.clone()), None);
        for (name, change) in changes {
            let mut changed = settings.clone();
            change(&mut changed);
            assert_eq!(difference(&settings, &changed).as_deref(), Some(name));
            assert_eq!(difference(&changed, &settings).as_deref(), Some(name));
        }
    }
}
