//! Settings of a memory from options in JSON, TOML or the like.

use notekeeper_contract::{UnknownKey, Unreadable, read_strictly};
use notekeeper_domain::with_nearest;
use serde::Deserializer;

use crate::MemorySettings;

/// Why options make no settings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("memory options: {0}")]
pub struct InvalidSpec(String);

impl MemorySettings {
    /// Settings from options in any format that serde reads. Each may be left out; the names are
    /// those of the fields, and `backend` is another one for `store`.
    ///
    /// Where a store keeps its notes is none of them: `directory` and `database` stand in the
    /// worker's configuration, so that nobody opens a file by starting a workflow.
    ///
    /// ```
    /// use notekeeper_workflows::MemorySettings;
    /// use serde_json::json;
    ///
    /// let settings = MemorySettings::from_spec(json!({"backend": "file", "max_tokens": 500}))?;
    /// assert_eq!((settings.store.as_str(), settings.max_tokens), ("file", 500));
    ///
    /// let misspelt = MemorySettings::from_spec(json!({"max_token": 500})).unwrap_err();
    /// assert!(misspelt.to_string().ends_with("did you mean `max_tokens`?"), "{misspelt}");
    /// # Ok::<(), notekeeper_workflows::InvalidSpec>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`InvalidSpec`]: an unknown key, and the known one that is nearest to it; a value of the wrong
    /// kind or out of bounds.
    pub fn from_spec<'de, D: Deserializer<'de>>(options: D) -> Result<Self, InvalidSpec> {
        let settings: Self = read_strictly(options).map_err(|error| match error {
            Unreadable::UnknownKey(key) => InvalidSpec(unknown_setting(&key)),
            Unreadable::Value(error) => InvalidSpec(with_nearest(&error.to_string())),
        })?;
        settings.check().map_err(InvalidSpec)?;
        Ok(settings)
    }
}

/// What is said of a key that no setting has.
pub(crate) fn unknown_setting(key: &UnknownKey) -> String {
    match key.key() {
        place @ ("directory" | "database") => format!(
            "`{place}` belongs in the worker's configuration, as the place of `[stores.NAME]`; \
             a memory names that store with `store`"
        ),
        _ => key.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::InjectionErrors;

    fn refused(options: Value) -> String {
        let refused = MemorySettings::from_spec(options).expect_err("no settings");
        refused.to_string()
    }

    #[test]
    fn no_options_are_the_defaults() {
        assert_eq!(
            MemorySettings::from_spec(json!({})),
            Ok(MemorySettings::default())
        );
    }

    #[test]
    fn every_option_of_a_memory_can_be_given() {
        let options = json!({
            "backend": "sqlite", "agent_name": "org", "heading": "Org", "namespace": "acme",
            "inject_memory": false, "max_tokens": 1, "max_lines": 0, "max_memory_size": 2,
            "max_search_results": 3, "max_search_result_chars": 4, "max_search_files": 5,
            "guidance": "", "injection_errors": "raise", "id": "org", "prefix": "org",
        });
        let settings = MemorySettings {
            id: "org".to_owned(),
            store: "sqlite".to_owned(),
            namespace: Some("acme".to_owned()),
            agent_name: "org".to_owned(),
            heading: "Org".to_owned(),
            inject_memory: false,
            max_tokens: 1,
            max_lines: 0,
            max_memory_size: 2,
            max_search_results: 3,
            max_search_result_chars: 4,
            max_search_files: 5,
            guidance: Some(String::new()),
            injection_errors: InjectionErrors::Raise,
            prefix: "org".to_owned(),
            ..MemorySettings::default()
        };
        assert_eq!(MemorySettings::from_spec(options), Ok(settings));
    }

    #[test]
    fn settings_read_back_as_they_were_written() {
        let settings = MemorySettings {
            namespace: Some(String::new()),
            ..MemorySettings::default()
        };
        let options = serde_json::to_value(&settings).expect("JSON");
        assert_eq!(MemorySettings::from_spec(options), Ok(settings));
    }

    #[test]
    fn a_place_of_notes_is_refused_and_told_where_it_belongs() {
        for place in ["directory", "database"] {
            assert_eq!(
                refused(json!({"backend": "sqlite", (place): "notes"})),
                format!(
                    "memory options: `{place}` belongs in the worker's configuration, as the place \
                     of `[stores.NAME]`; a memory names that store with `store`"
                )
            );
        }
    }

    #[test]
    fn an_unknown_option_is_refused_with_the_nearest_known_one() {
        for (unknown, nearest) in [
            ("max_token", "max_tokens"),
            ("maxLines", "max_lines"),
            ("injection_error", "injection_errors"),
            ("back_end", "backend"),
            ("agent", "agent_name"),
        ] {
            assert_eq!(
                refused(json!({(unknown): 1})),
                format!("memory options: `{unknown}` is no known field; did you mean `{nearest}`?")
            );
        }
        assert_eq!(
            refused(json!({"activities": {"start_to_close": 1}})),
            "memory options: `activities.start_to_close` is no known field; did you mean \
             `start_to_close_ms`?"
        );
    }

    #[test]
    fn a_bound_of_nothing_is_refused_and_no_lines_are_a_bound() {
        for bound in [
            "max_tokens",
            "max_memory_size",
            "max_search_results",
            "max_search_result_chars",
            "max_search_files",
        ] {
            let said = refused(json!({(bound): 0}));
            assert_eq!(
                said,
                format!("memory options: `{bound}` must be at least 1")
            );
            refused(json!({(bound): -1}));
            refused(json!({(bound): 1.5}));
            MemorySettings::from_spec(json!({(bound): 1})).expect("a bound");
        }
        MemorySettings::from_spec(json!({"max_lines": 0})).expect("no lines");
        refused(json!({"max_lines": -1}));
    }

    #[test]
    fn what_to_do_on_errors_is_one_of_two() {
        for known in ["ignore", "raise"] {
            MemorySettings::from_spec(json!({"injection_errors": known})).expect("known");
        }
        assert!(
            refused(json!({"injection_errors": "warn"})).contains("expected `ignore` or `raise`")
        );
    }

    #[test]
    fn a_store_has_one_name() {
        assert!(refused(json!({"backend": "file", "store": "eu"})).contains("duplicate field"));
        assert_eq!(
            refused(json!({"store": ""})),
            "memory options: `store` must have 1 to 200 bytes, none of them NUL"
        );
    }

    #[test]
    fn ids_prefixes_and_headings_that_cannot_be_used_are_refused() {
        for id in ["", "a b", "ä", &"x".repeat(65)] {
            assert!(refused(json!({"id": id})).contains("`id` must be 1 to 64"));
        }
        assert!(refused(json!({"prefix": "a b"})).contains("`prefix` must be at most 40"));
        assert!(refused(json!({"heading": "a\0b"})).contains("`heading` contains a NUL"));
    }
}
