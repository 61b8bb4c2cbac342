//! Sizes of results as they are encoded.

use std::io;

use notekeeper_contract::{FailureType, RESULT_BYTES_MAX};
use serde::Serialize;

use crate::Failure;

/// Bytes of the JSON text of `value`.
pub(crate) fn encoded_bytes(value: &impl Serialize) -> usize {
    let mut counter = Counter(0);
    serde_json::to_writer(&mut counter, value)
        .expect("wire structs have string keys only, and counting can't fail");
    counter.0
}

/// Refuses a result that Temporal wouldn't carry. `what` and `remedy` are for a person.
pub(crate) fn check_encoded(
    value: &impl Serialize,
    what: &str,
    remedy: &str,
) -> Result<(), Failure> {
    let bytes = encoded_bytes(value);
    if bytes <= RESULT_BYTES_MAX {
        return Ok(());
    }
    Err(Failure::new(
        FailureType::TooLarge,
        format!("{what} has {bytes} bytes as JSON, {RESULT_BYTES_MAX} are allowed; {remedy}"),
    ))
}

/// As many entries, from the first, as a result carries whose other fields take `other_bytes`, and whether
/// some are left out.
pub(crate) fn as_many_as_fit<T: Serialize>(
    entries: impl IntoIterator<Item = T>,
    other_bytes: usize,
) -> (Vec<T>, bool) {
    let mut bytes = other_bytes;
    let mut carried = Vec::new();
    for entry in entries {
        // One more for the comma.
        bytes += encoded_bytes(&entry) + 1;
        if bytes > RESULT_BYTES_MAX {
            return (carried, true);
        }
        carried.push(entry);
    }
    (carried, false)
}

/// The longest prefix of `text` that takes at most `bytes_max` bytes inside a JSON string.
pub(crate) fn prefix_within(text: &str, bytes_max: usize) -> &str {
    let mut bytes = 0;
    for (index, c) in text.char_indices() {
        bytes += encoded_char_bytes(c);
        if bytes > bytes_max {
            return &text[..index];
        }
    }
    text
}

/// Bytes of one character inside a JSON string, as `serde_json` writes it.
fn encoded_char_bytes(c: char) -> usize {
    match c {
        '"' | '\\' | '\u{8}' | '\t' | '\n' | '\u{c}' | '\r' => 2,
        '\0'..='\u{1f}' => "\\u0000".len(),
        c => c.len_utf8(),
    }
}

struct Counter(usize);

impl io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_character_counts_as_serde_json_writes_it() {
        for c in ('\0'..='\u{2ff}').chain(['\u{2028}', '\u{fffd}', '\u{1f600}']) {
            let quoted = serde_json::to_string(&c.to_string()).unwrap();
            assert_eq!(encoded_char_bytes(c), quoted.len() - 2, "{c:?}");
        }
    }

    #[test]
    fn a_prefix_ends_between_characters_and_never_exceeds_the_bound() {
        let text = "a\u{1}\u{1f600}\"é";
        for bytes_max in 0..=20 {
            let prefix = prefix_within(text, bytes_max);
            assert!(encoded_bytes(&prefix) - 2 <= bytes_max);
            let next = text[prefix.len()..].chars().next();
            if let Some(next) = next {
                assert!(encoded_bytes(&format!("{prefix}{next}")) - 2 > bytes_max);
            }
        }
        assert_eq!(prefix_within(text, 15), text);
    }

    #[test]
    fn as_many_entries_are_carried_as_fit_beside_the_rest() {
        // With quotes and comma 1,000 bytes.
        let entry = "\u{1}".repeat(166) + "x";
        assert_eq!(encoded_bytes(&entry) + 1, 1_000);
        let most = RESULT_BYTES_MAX / 1_000;
        for (given, other_bytes, carried) in [
            (most, 0, most),
            (most + 1, 0, most),
            (most, RESULT_BYTES_MAX % 1_000, most),
            (most, RESULT_BYTES_MAX % 1_000 + 1, most - 1),
            (0, 0, 0),
        ] {
            let (fit, left_out) = as_many_as_fit(vec![&entry; given], other_bytes);
            assert_eq!((fit.len(), left_out), (carried, carried < given));
        }
    }

    #[test]
    fn a_result_over_the_limit_is_refused_with_limit_size_and_remedy() {
        let text = "x".repeat(RESULT_BYTES_MAX);
        let failure = check_encoded(&text, "the answer", "ask for less").unwrap_err();
        assert_eq!(failure.kind, FailureType::TooLarge);
        assert_eq!(
            failure.message,
            "the answer has 1048578 bytes as JSON, 1048576 are allowed; ask for less"
        );
        assert_eq!(
            check_encoded(&&text[2..], "the answer", "ask for less"),
            Ok(())
        );
    }
}
