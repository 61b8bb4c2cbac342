//! What serde expects, in words for those who write JSON or TOML and needn't know Rust.

/// A value that may be an enum: the name of a variant, or an object with that name as its key.
const STRING_OR_OBJECT: &str = "a string or a JSON object";

/// How serde's messages begin that end in what was expected, and name what was found before it.
const NAMES_THE_EXPECTED: [&str; 3] = ["invalid type: ", "invalid value: ", "invalid length "];

/// What serde expects of a value, in the words of JSON.
///
/// ```
/// use notekeeper_domain::expected_in_json;
///
/// assert_eq!(expected_in_json("struct RememberArguments"), "a JSON object");
/// assert_eq!(expected_in_json("u64"), "a whole number of 0 or more");
/// assert_eq!(expected_in_json("the name of a source"), "the name of a source");
/// ```
pub fn expected_in_json(expected: &str) -> &str {
    let (kind, _) = expected.split_once(' ').unwrap_or((expected, ""));
    match (kind, expected) {
        ("usize" | "u128" | "u64" | "u32" | "u16" | "u8", _) => "a whole number of 0 or more",
        ("isize" | "i128" | "i64" | "i32" | "i16" | "i8", _) => "a whole number",
        ("f64" | "f32", _) => "a number",
        (_, "a boolean") => "true or false",
        (_, "unit") => "null",
        ("tuple", _) | (_, "a sequence") => "an array",
        ("struct" | "internally" | "adjacently", _) | (_, "a map") => "a JSON object",
        ("variant" | "unit", _) => "a string",
        ("enum", _) | (_, "string or map") => STRING_OR_OBJECT,
        _ if expected.starts_with("a tuple ") || expected.starts_with("an array ") => "an array",
        _ if expected.starts_with("a nonzero u") => "a whole number of 1 or more",
        _ => expected,
    }
}

/// serde's message on a value of a TOML file, with what was found and what was expected in the words of
/// TOML; any other message as it is.
///
/// ```
/// use notekeeper_domain::in_words_of_toml;
///
/// assert_eq!(
///     in_words_of_toml("invalid value: integer `-1`, expected u64"),
///     "invalid value: integer `-1`, expected a whole number of 0 or more"
/// );
/// ```
pub fn in_words_of_toml(message: &str) -> String {
    let named = NAMES_THE_EXPECTED
        .iter()
        .find(|start| message.starts_with(**start));
    let parts = message.rsplit_once(", expected ");
    let (Some(start), Some((found, expected))) = (named, parts) else {
        return message.to_owned();
    };
    let found = match found.strip_prefix(start).unwrap_or(found) {
        "map" => "table",
        "sequence" => "array",
        found => found,
    };
    let expected = match expected_in_json(expected) {
        "a JSON object" => "a table",
        STRING_OR_OBJECT => "a string or a table",
        expected => expected,
    };
    format!("{start}{found}, expected {expected}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_the_wrong_kind_are_told_in_the_words_of_toml() {
        for (message, said) in [
            (
                "invalid type: string \"facts\", expected struct SourceFields",
                "invalid type: string \"facts\", expected a table",
            ),
            (
                "invalid type: map, expected a string",
                "invalid type: table, expected a string",
            ),
            (
                "invalid type: sequence, expected string or map",
                "invalid type: array, expected a string or a table",
            ),
            // What was found may hold words like these.
            (
                "invalid type: string \", expected u8\", expected usize",
                "invalid type: string \", expected u8\", expected a whole number of 0 or more",
            ),
            ("missing field `kind`", "missing field `kind`"),
            (
                "unknown variant `u8`, expected `u64` or `u32`",
                "unknown variant `u8`, expected `u64` or `u32`",
            ),
        ] {
            assert_eq!(in_words_of_toml(message), said);
        }
    }
}
