//! Reading the file's text without quoting it: it may hold passwords.

use anyhow::anyhow;
use notekeeper_domain::with_nearest;

use super::File;

/// Reads the file's text. An error never quotes the line, which may hold a password.
pub(super) fn parse(text: &str) -> anyhow::Result<File> {
    let deserializer =
        toml::Deserializer::parse(text).map_err(|error| unusable(text, None, &error))?;
    serde_path_to_error::deserialize(deserializer).map_err(|error| {
        let key = error.path().to_string();
        let key = (key != ".").then_some(key);
        unusable(text, key.as_deref(), error.inner())
    })
}

/// What is wrong in the file's text, and where.
pub(super) fn unusable(text: &str, key: Option<&str>, error: &toml::de::Error) -> anyhow::Error {
    let line = error.span().map(|span| {
        let before = text.bytes().take(span.start);
        format!("line {}", before.filter(|byte| *byte == b'\n').count() + 1)
    });
    let key = key.map(|key| format!("`{key}`"));
    // Messages quote a value of the wrong kind, which may be a URL with a password.
    let message = match error.message() {
        message if message.contains("://") || message.contains('@') => {
            "a URL, or what looks like a part of one, stands where none is expected"
        }
        message => &with_nearest(message),
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
            "line 3, `worker.activity_slots`: invalid type: string \"many\", expected usize"
        );
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
}
