//! What was expected where JSON can't be read. Never what was found: it may be a message or a note,
//! and serde's own texts quote it.

use notekeeper_domain::expected_in_json;
use serde_path_to_error::Path;

/// How serde's texts begin that end in what was expected.
const NAMES_THE_EXPECTED: [&str; 3] = ["invalid type: ", "invalid value: ", "invalid length "];

/// Says where, as far as the place is called like a field, and what was expected there.
pub(super) fn expected(path: &Path, error: &serde_json::Error) -> String {
    let message = error.to_string();
    // The end is cut by its exact text, since the value may hold words like these.
    let position = format!(" at line {} column {}", error.line(), error.column());
    let message = message.strip_suffix(&position).unwrap_or(&message);
    let expected = message.rsplit_once(", expected ").filter(|_| {
        NAMES_THE_EXPECTED
            .iter()
            .any(|start| message.starts_with(start))
    });
    let what = match expected {
        Some((_, expected)) => format!("expected {}", expected_in_json(expected)),
        // The name is one of the code's.
        None if message.starts_with("missing field") => message.to_owned(),
        None => "the value can't be used".to_owned(),
    };
    match place(&path.to_string()) {
        "" => what,
        place => format!("`{place}`: {what}"),
    }
}

/// The path up to the first key that may be content: the keys of a map are anybody's.
fn place(path: &str) -> &str {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '[' | ']');
    let end = match path.find(|c| !is_plain(c)) {
        Some(odd) => path[..odd].rfind('.').unwrap_or(0),
        None => path.len(),
    };
    path[..end].trim_matches('.')
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn told(json: &str) -> String {
        type Fields = BTreeMap<String, BTreeMap<String, i32>>;
        let json = &mut serde_json::Deserializer::from_str(json);
        let error = serde_path_to_error::deserialize::<_, Fields>(json).expect_err("refused");
        expected(error.path(), error.inner())
    }

    #[test]
    fn the_place_and_what_was_expected_are_told_and_what_was_found_is_not() {
        for (json, said) in [
            (
                r#"{"a": {"b": "my secret, expected x"}}"#,
                "`a.b`: expected a whole number",
            ),
            (
                r#"{"a": {"my secret": "x"}}"#,
                "`a`: expected a whole number",
            ),
            (r#"{"my secret": 3}"#, "expected a JSON object"),
            (r#"["my secret"]"#, "expected a JSON object"),
        ] {
            assert_eq!(told(json), said, "{json}");
        }
    }
}
