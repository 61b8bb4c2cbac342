//! Reading the file's text without quoting it: it may hold passwords.

use anyhow::anyhow;
use notekeeper_domain::{in_words_of_toml, with_nearest};
use notekeeper_recall::source_keys;
use serde_path_to_error::{Path, Segment};

use super::File;

/// Reads the file's text. An error never quotes the line, which may hold a password.
pub(super) fn parse(text: &str) -> anyhow::Result<File> {
    let deserializer =
        toml::Deserializer::parse(text).map_err(|error| unusable(text, None, &error))?;
    serde_path_to_error::deserialize(deserializer).map_err(|error| {
        let key = error.path().to_string();
        let key = (key != ".").then_some(key);
        let message = of_its_kind(text, error.path(), error.inner().message());
        told(text, key.as_deref(), error.inner(), &message)
    })
}

/// The message on an unknown key of a source with the keys of the source's own kind, where it says which
/// it is; any other message as it is.
fn of_its_kind(text: &str, path: &Path, message: &str) -> String {
    let unknown = message.strip_prefix("unknown field `");
    let unknown = unknown.and_then(|rest| rest.split_once("`, expected "));
    let keys = source_at(text, path).as_deref().and_then(source_keys);
    match (unknown, keys) {
        (Some((unknown, _)), Some(keys)) => {
            let keys: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
            let keys = keys.join(", ");
            format!("unknown field `{unknown}`, expected one of {keys}")
        }
        _ => message.to_owned(),
    }
}

/// The kind of the source that a key stands in, as the file says it. Other tables inside of a source, such as
/// what `scoped` requires, have none.
fn source_at(text: &str, key: &Path) -> Option<String> {
    let steps: Vec<&Segment> = key.iter().collect();
    let (_, table) = steps.split_last()?;
    let mut at = &toml::Value::Table(text.parse().ok()?);
    for (depth, step) in table.iter().enumerate() {
        at = match step {
            Segment::Map { key } if depth == 1 || key == "sources" => at.get(key)?,
            Segment::Map { key } if depth > 1 && key == "inner" => at.get(key)?,
            Segment::Seq { index } => at.get(index)?,
            _ => return None,
        };
    }
    at.get("kind")?.as_str().map(str::to_owned)
}

/// What is wrong in the file's text, and where.
pub(super) fn unusable(text: &str, key: Option<&str>, error: &toml::de::Error) -> anyhow::Error {
    told(text, key, error, error.message())
}

/// The same with another message.
fn told(text: &str, key: Option<&str>, error: &toml::de::Error, message: &str) -> anyhow::Error {
    let line = error.span().map(|span| {
        let before = text.bytes().take(span.start);
        format!("line {}", before.filter(|byte| *byte == b'\n').count() + 1)
    });
    let key = key.map(|key| format!("`{key}`"));
    // Messages quote a value of the wrong kind, which may be a URL with a password.
    let message = match message {
        message if message.contains("://") || message.contains('@') => {
            "a URL, or what looks like a part of one, stands where none is expected"
        }
        message => &with_nearest(&in_words_of_toml(message)),
    };
    let place: Vec<String> = line.into_iter().chain(key).collect();
    match place.as_slice() {
        [] => anyhow!("{message}"),
        place => anyhow!("{}: {message}", place.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said of a file, as the program says it.
    fn refused(toml: &str) -> String {
        let error = parse(toml).expect_err("the file can't be used");
        format!("{error:#}")
    }

    #[test]
    fn an_error_in_the_file_never_shows_the_password_that_stands_there() {
        let files = [
            "[stores.default]\nurl = postgres://app:hunter2@db/app",
            "[stores.default]\nkind = 'postgres'\nurl = 'postgres://app:hunter2@db/app",
            "[stores.default]\nkind = 'postgres'\nurl = 'postgres://app:hunter2@db/app'\nurl = ''",
            "[stores.default]\nkind = 'postgres://app:hunter2@db/app'",
            "[stores.default]\nkind = 'postgres'\nconnections_max = 'postgres://app:hunter2@db/app'",
            "[worker]\nqueues = 'app:hunter2@db'",
            "stores = 'postgres://app:hunter2@db/app'",
            "postgres://app:hunter2@db/app",
        ];
        for file in files {
            let said = refused(file);
            assert!(!said.contains("hunter2"), "{said}");
            assert!(said.starts_with("line "), "{said}");
        }
    }

    #[test]
    fn an_error_in_the_file_says_the_line_the_key_and_what_is_wrong() {
        assert_eq!(
            refused("[worker]\n\nactivity_slots = 'many'"),
            "line 3, `worker.activity_slots`: invalid type: string \"many\", expected a whole number of 0 or \
             more"
        );
        for (toml, said) in [
            (
                "[sources]\na = 'facts'",
                "`sources.a`: invalid type: string \"facts\", expected a table",
            ),
            (
                "[sources.a]\nkind = 'cached'\ninner = 'x'\nttl_seconds = -1",
                "`sources.a.ttl_seconds`: invalid value: integer `-1`, expected a whole number of 0 or more",
            ),
            (
                "[sources.a]\nkind = 'composite'\nsources = { a = 1 }",
                "`sources.a.sources`: invalid type: table, expected an array",
            ),
        ] {
            assert_eq!(refused(toml).split_once(", ").expect("a line").1, said);
        }
        let misspelt = refused("[temporal]\nadress = 'x'");
        assert!(
            misspelt.starts_with("line 2, `temporal.adress`: unknown field `adress`"),
            "{misspelt}"
        );
    }

    #[test]
    fn an_unknown_key_is_told_with_the_known_one_that_was_meant() {
        for (toml, meant) in [
            ("[temporal]\nadress = 'x'", "address"),
            ("[worker]\nactivity_slot = 1", "activity_slots"),
            ("[store.default]\nkind = 'in_memory'", "stores"),
            ("[stores.default]\nkind = 'sqlite'\npaths = 'a'", "path"),
            ("[stores.default]\nkind = 'postgres'\nshema = 'a'", "schema"),
            (
                "[models.default]\nkind = 'openai'\nbase_ur = 'a'",
                "base_url",
            ),
        ] {
            let said = refused(toml);
            assert!(
                said.ends_with(&format!("did you mean `{meant}`?")),
                "{said}"
            );
        }
        let memory = refused("[stores.default]\nkind = 'in_memory'\npath = 'a'");
        assert!(memory.contains("unknown field `path`"), "{memory}");
    }

    #[test]
    fn an_unknown_key_of_a_source_is_told_with_the_keys_of_its_kind() {
        for (toml, said) in [
            (
                "[sources.a]\nstor = 'x'\nkind = 'notes'",
                "line 2, `sources.a.stor`: unknown field `stor`, expected one of `kind`, `name`, `store`; did \
                 you mean `store`?",
            ),
            (
                "[sources.a]\nkind = 'composite'\nsources = [\n  'b',\n  { kind = 'cached', inner = { kind = \
                 'scratchpad', size = 1 } },\n]",
                "line 5, `sources.a.sources[1].inner.size`: unknown field `size`, expected one of `kind`, `name`",
            ),
            (
                "[sources.a]\nkind = 'scoped'\ninner = 'b'\nrequire = { kind = 'facts' }",
                "line 4, `sources.a.require.kind`: unknown field `kind`, expected one of `prefix`, `exact`, \
                 `policy`",
            ),
        ] {
            assert_eq!(refused(toml), said);
        }
        // Where nobody can tell which keys are meant, all are told.
        let other = refused("[sources.a]\nstor = 'x'");
        assert!(other.contains("`leg_timeout_ms`"), "{other}");
    }
}
