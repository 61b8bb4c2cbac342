//! Settings as they were given, and where: on the command line, in the environment, in the file.

use std::{collections::BTreeMap, fmt, path::Path};

use anyhow::Context as _;
use clap::{ArgMatches, Command, parser::ValueSource};
use serde_json::Value;
use temporalio_client::Url;

use super::parse::unusable;

/// Where a setting comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    /// This flag.
    Flag(String),
    /// This variable.
    Variable(String),
    /// The configuration file.
    File,
    /// Settings of Temporal's own tools.
    Temporal,
    /// Nowhere: nobody gave it.
    Default,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(name) | Self::Variable(name) => f.write_str(name),
            Self::File => f.write_str("file"),
            Self::Temporal => f.write_str("temporal"),
            Self::Default => f.write_str("default"),
        }
    }
}

/// A setting that somebody gave.
#[derive(Debug, Clone)]
pub(crate) struct Given {
    pub(crate) value: Value,
    pub(crate) source: Source,
}

/// Values of flags and variables, by the ids of their arguments.
pub(crate) fn of_arguments(command: &Command, matches: &ArgMatches) -> BTreeMap<String, Given> {
    let mut given = BTreeMap::new();
    for argument in command.get_arguments() {
        let id = argument.get_id().as_str();
        let source = match matches.value_source(id) {
            Some(ValueSource::CommandLine) => {
                Source::Flag(format!("--{}", argument.get_long().unwrap_or(id)))
            }
            Some(ValueSource::EnvVariable) => {
                let name = argument.get_env().unwrap_or_default();
                Source::Variable(name.to_string_lossy().into_owned())
            }
            _ => continue,
        };
        let values = matches.get_raw(id).into_iter().flatten();
        let values: Vec<_> = values.map(|value| value.to_string_lossy()).collect();
        let value = safe(id, &Value::from(values.join(",")));
        given.insert(id.to_owned(), Given { value, source });
    }
    given
}

/// Values of the file, by their keys with dots between.
pub(crate) fn of_file(path: Option<&Path>) -> anyhow::Result<BTreeMap<String, Given>> {
    let mut given = BTreeMap::new();
    if let Some(path) = path {
        // It was read before, so that what is wrong in it has been said with more care.
        // Only a number that TOML itself has no room for is left to refuse.
        let text = std::fs::read_to_string(path)?;
        let table: toml::Table = toml::from_str(&text)
            .map_err(|error| unusable(&text, None, &error))
            .with_context(|| format!("configuration `{}` can't be used", path.display()))?;
        flatten("", &toml::Value::Table(table), &mut given);
    }
    Ok(given)
}

fn flatten(key: &str, value: &toml::Value, given: &mut BTreeMap<String, Given>) {
    if let toml::Value::Table(table) = value {
        for (name, value) in table {
            let key = match key {
                "" => name.clone(),
                key => format!("{key}.{name}"),
            };
            flatten(&key, value, given);
        }
        return;
    }
    let value = serde_json::to_value(value).unwrap_or_default();
    let value = safe(key, &value);
    let source = Source::File;
    given.insert(key.to_owned(), Given { value, source });
}

/// The value without what nobody else should read.
pub(crate) fn safe(key: &str, value: &Value) -> Value {
    let name = key.rsplit('.').next().unwrap_or(key);
    let secret = ["password", "secret", "token", "key"]
        .iter()
        .any(|word| name == *word || name.ends_with(&format!("_{word}")));
    // What stands there in the place of variables' names may be the headers' values themselves.
    let names_variables = key.split('.').rev().nth(1) == Some("headers_env");
    match value {
        Value::String(text) if names_variables && !names_a_variable(text) => Value::from(HIDDEN),
        Value::String(_) if names_variables => value.clone(),
        _ if secret => Value::from(HIDDEN),
        // What stands in the place of a variable's name may be the key itself.
        Value::String(text) if name.ends_with("_env") && !text.is_empty() => {
            Value::from(if names_a_variable(text) { text } else { HIDDEN })
        }
        Value::String(text) if text.contains("://") || name.ends_with("url") => {
            Value::from(safe_url(text))
        }
        Value::Array(values) => values.iter().map(|value| safe(key, value)).collect(),
        Value::Object(entries) => {
            let safe = |(name, value): (&String, &Value)| {
                (name.clone(), safe(&format!("{key}.{name}"), value))
            };
            Value::Object(entries.iter().map(safe).collect())
        }
        value => value.clone(),
    }
}

/// Longest name of a variable that is shown.
const VARIABLE_CHARS_MAX: usize = 64;

/// Whether a text looks like the name of a variable, and not like a key in its place: capital
/// letters, digits and `_`.
pub(crate) fn names_a_variable(text: &str) -> bool {
    let is_letter = |b: u8| b.is_ascii_uppercase() || b == b'_';
    text.len() <= VARIABLE_CHARS_MAX
        && text.bytes().next().is_some_and(is_letter)
        && text.bytes().all(|b| is_letter(b) || b.is_ascii_digit())
}

const HIDDEN: &str = "***";

/// Parameters of a URL that are no secret.
const OPEN_PARAMETERS: [&str; 6] = [
    "host",
    "port",
    "user",
    "dbname",
    "sslmode",
    "application_name",
];

/// A URL whose password and parameters of unknown meaning are hidden. Where a password may stand in
/// the place of something else, nothing is shown.
fn safe_url(text: &str) -> String {
    let Ok(mut url) = Url::parse(text) else {
        return HIDDEN.to_owned();
    };
    // A `/`, `?` or `#` in a password ends the place of passwords before its `@`.
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    let after = rest.find(['/', '?', '#']).map_or("", |end| &rest[end..]);
    if after.contains(['@', '#']) {
        return HIDDEN.to_owned();
    }
    if url.password().is_some() && url.set_password(Some(HIDDEN)).is_err() {
        return HIDDEN.to_owned();
    }
    let parameters: Vec<(String, String)> = url
        .query_pairs()
        .map(|(name, value)| {
            let open = OPEN_PARAMETERS.contains(&&*name);
            let value = if open {
                value.into_owned()
            } else {
                HIDDEN.to_owned()
            };
            (name.into_owned(), value)
        })
        .collect();
    if parameters.is_empty() {
        return url.to_string();
    }
    url.query_pairs_mut().clear().extend_pairs(parameters);
    url.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_secret_of_a_url_is_shown_and_what_helps_is() {
        let cases = [
            (
                "postgres://app:hunter2@db:5432/app?sslmode=require&pasword=hunter2",
                "postgres://app:***@db:5432/app?sslmode=require&pasword=***",
            ),
            ("postgres://db/app", "postgres://db/app"),
            ("postgres://app:hunter2@[", "***"),
            ("postgres://app:12#hunter2@db/app", "***"),
            ("postgres://app:#hunter2@db/app", "***"),
            ("postgres://app:12/hunter2@db/app", "***"),
            ("postgres://app:/hunter2@db/app", "***"),
            ("postgres://app:12?hunter2@db/app", "***"),
            ("postgres://db/app?options=x#hunter2", "***"),
        ];
        for (url, shown) in cases {
            assert_eq!(safe("stores.default.url", &Value::from(url)), shown);
        }
        let odd = safe(
            "stores.default.url",
            &Value::from("host=db password=hunter2"),
        );
        assert_eq!(odd, HIDDEN);
        let no_url = Value::from("app:hunter2@db");
        assert_eq!(safe("worker.task_queue", &no_url), no_url);
    }

    #[test]
    fn keys_and_passwords_are_hidden_wherever_they_stand_and_counts_of_tokens_are_not() {
        for key in ["models.a.api_key", "password", "a.client_secret", "token"] {
            assert_eq!(safe(key, &Value::from("hunter2")), HIDDEN, "{key}");
        }
        assert_eq!(safe("a.max_completion_tokens", &Value::from("x")), "x");
        let header = "sources.a.headers_env.Authorization";
        for (given, shown) in [("SEARCH_KEY", "SEARCH_KEY"), ("Bearer hunter2", HIDDEN)] {
            assert_eq!(safe(header, &Value::from(given)), shown);
        }
        let inline = serde_json::json!([{
            "kind": "tool", "url": "https://app:hunter2@h", "headers_env": {"X-Key": "hunter2"},
        }]);
        let shown = safe("sources.a.sources", &inline).to_string();
        assert!(
            shown.contains("tool") && !shown.contains("hunter2"),
            "{shown}"
        );
        for (given, shown) in [("MY_KEY_2", "MY_KEY_2"), ("", ""), ("sk-hunter2", HIDDEN)] {
            assert_eq!(safe("models.a.api_key_env", &Value::from(given)), shown);
        }
    }
}
