//! Write metadata: who made the current version of a note, and what else an application records
//! of it.

use std::{collections::BTreeMap, fmt};

use crate::WRITE_METADATA_CHARS_MAX;

/// What an application records of one write: texts by name, such as `updated_by`.
///
/// It describes the write that made a note's current version. The application supplies it; no
/// model sees or chooses it. It always has at least one entry: no entries are no metadata.
#[derive(Clone, PartialEq, Eq)]
pub struct WriteMetadata {
    entries: BTreeMap<String, String>,
}

impl WriteMetadata {
    /// Checks entries; `None` where there are none.
    ///
    /// ```
    /// use notekeeper_domain::WriteMetadata;
    ///
    /// let entries = [("updated_by".to_owned(), "ui".to_owned())];
    /// let metadata = WriteMetadata::new(entries.into())?.expect("it has an entry");
    /// assert_eq!(metadata.get("updated_by"), Some("ui"));
    /// assert_eq!(metadata.to_json(), r#"{"updated_by":"ui"}"#);
    /// assert_eq!(WriteMetadata::new([].into())?, None);
    /// # Ok::<(), notekeeper_domain::InvalidMetadata>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`InvalidMetadata`] says what to change; it quotes neither keys nor values.
    pub fn new(entries: BTreeMap<String, String>) -> Result<Option<Self>, InvalidMetadata> {
        if entries.is_empty() {
            return Ok(None);
        }
        for (key, value) in &entries {
            if key.contains('\0') {
                return Err(InvalidMetadata::Nul { part: "key" });
            }
            if value.contains('\0') {
                return Err(InvalidMetadata::Nul { part: "value" });
            }
        }
        let metadata = Self { entries };
        let chars = metadata.to_json().chars().count();
        if chars > WRITE_METADATA_CHARS_MAX {
            return Err(InvalidMetadata::TooLarge { chars });
        }
        Ok(Some(metadata))
    }

    /// Reads entries from JSON text: an object whose values are all strings. Of a key that stands
    /// there twice the later value counts.
    ///
    /// # Errors
    ///
    /// As [`WriteMetadata::new`], and [`InvalidMetadata::NotTexts`] for anything else.
    pub fn from_json(json: &str) -> Result<Option<Self>, InvalidMetadata> {
        let entries = serde_json::from_str(json).map_err(|_| InvalidMetadata::NotTexts)?;
        Self::new(entries)
    }

    /// Its JSON text: an object with its keys ascending by code point, without spaces, characters
    /// outside ASCII as they are. This is what [`WRITE_METADATA_CHARS_MAX`] measures.
    pub fn to_json(&self) -> String {
        let entries = self
            .entries
            .iter()
            .map(|(key, value)| format!("{}:{}", quoted(key), quoted(value)));
        format!("{{{}}}", entries.collect::<Vec<_>>().join(","))
    }

    /// The value under a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.entries.get(key).map(String::as_str)
    }

    /// Its entries; never empty.
    pub fn entries(&self) -> &BTreeMap<String, String> {
        &self.entries
    }

    /// Its entries; never empty.
    pub fn into_entries(self) -> BTreeMap<String, String> {
        self.entries
    }
}

impl fmt::Debug for WriteMetadata {
    /// Shows how many entries there are: keys and values may name people.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WriteMetadata({} entries)", self.entries.len())
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Why entries make no write metadata.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidMetadata {
    /// It isn't an object of texts.
    #[error("write metadata must be a JSON object whose values are strings")]
    NotTexts,
    /// A key or a value holds U+0000.
    #[error("write metadata has a {part} with a NUL character (U+0000); leave it out")]
    Nul {
        /// `key` or `value`.
        part: &'static str,
    },
    /// The JSON text is over the bound.
    #[error(
        "write metadata has {chars} characters as JSON, {WRITE_METADATA_CHARS_MAX} are allowed; record less, or a reference"
    )]
    TooLarge {
        /// Characters of the JSON text.
        chars: usize,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(entries: &[(&str, &str)]) -> Result<Option<WriteMetadata>, InvalidMetadata> {
        let entries = entries.iter();
        WriteMetadata::new(
            entries
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                .collect(),
        )
    }

    fn json(entries: &[(&str, &str)]) -> String {
        metadata(entries).unwrap().unwrap().to_json()
    }

    #[test]
    fn the_json_text_is_sorted_and_dense_and_keeps_what_is_not_ascii() {
        assert_eq!(json(&[("b", "1"), ("a", "")]), r#"{"a":"","b":"1"}"#);
        assert_eq!(json(&[("", "x")]), r#"{"":"x"}"#);
        assert_eq!(
            json(&[("é", "😀\u{2028}\u{7f}/")]),
            "{\"é\":\"😀\u{2028}\u{7f}/\"}"
        );
        // By code point, which is not the order of UTF-16.
        assert_eq!(
            json(&[("\u{1f600}", "2"), ("\u{ff5e}", "1")]),
            "{\"\u{ff5e}\":\"1\",\"\u{1f600}\":\"2\"}"
        );
    }

    #[test]
    fn escapes_count_as_the_characters_that_they_are_written_with() {
        assert_eq!(
            json(&[("a", "\"\\\n\r\t\u{8}\u{c}\u{1}\u{1f}")]),
            r#"{"a":"\"\\\n\r\t\b\f\u0001\u001f"}"#
        );
        // `{"a":""}` has eight characters.
        let room = WRITE_METADATA_CHARS_MAX - 8;
        for (piece, chars) in [("x", 1), ("é", 1), ("😀", 1), ("\n", 2), ("\u{1}", 6)] {
            let fits = piece.repeat(room / chars);
            assert!(metadata(&[("a", &fits)]).is_ok(), "{piece:?}");
            let over = format!("{fits}{}", piece.repeat(room % chars + 1));
            let error = metadata(&[("a", &over)]).unwrap_err();
            assert!(
                matches!(error, InvalidMetadata::TooLarge { .. }),
                "{piece:?}"
            );
        }
        let at_the_bound = metadata(&[("a", &"x".repeat(room))]).unwrap().unwrap();
        assert_eq!(
            at_the_bound.to_json().chars().count(),
            WRITE_METADATA_CHARS_MAX
        );
        assert_eq!(
            metadata(&[("a", &"x".repeat(room + 1))]),
            Err(InvalidMetadata::TooLarge {
                chars: WRITE_METADATA_CHARS_MAX + 1
            })
        );
    }

    #[test]
    fn no_entries_are_no_metadata() {
        assert_eq!(metadata(&[]), Ok(None));
        assert_eq!(WriteMetadata::from_json("{}"), Ok(None));
    }

    #[test]
    fn json_text_is_read_back_and_anything_but_an_object_of_strings_is_refused() {
        for entries in [
            [("a", ""), ("b", "\u{1}\u{1f}\u{7f}")],
            [("é", "😀\u{202e}\"\\"), ("\n", "\u{2028}")],
        ] {
            let metadata = metadata(&entries).unwrap();
            let json = metadata.as_ref().map(WriteMetadata::to_json).unwrap();
            assert_eq!(WriteMetadata::from_json(&json), Ok(metadata));
        }
        for json in [
            "",
            "null",
            "[]",
            "\"a\"",
            "{\"a\":1}",
            "{\"a\":null}",
            "{\"a\":true}",
            "{\"a\":{\"b\":\"c\"}}",
            "{\"a\":[\"b\"]}",
            "{\"a\":\"\\ud800\"}",
            "{\"a\":\"b\"",
        ] {
            let read = WriteMetadata::from_json(json);
            assert_eq!(read, Err(InvalidMetadata::NotTexts), "{json}");
        }
    }

    #[test]
    fn nul_characters_are_refused_in_keys_and_values() {
        for (entries, part) in [
            ([("a\0", "x")], "key"),
            ([("\0", "x")], "key"),
            ([("a", "x\0y")], "value"),
            ([("a", "\0")], "value"),
        ] {
            assert_eq!(metadata(&entries), Err(InvalidMetadata::Nul { part }));
        }
    }

    #[test]
    fn neither_debug_output_nor_errors_show_keys_or_values() {
        let shown = metadata(&[("secret-key", "secret-value")]).unwrap();
        assert_eq!(format!("{shown:?}"), "Some(WriteMetadata(1 entries))");
        let errors = [
            metadata(&[("secret\0", "x")]).unwrap_err(),
            metadata(&[("a", "secret\0")]).unwrap_err(),
            metadata(&[("secret", &"secret".repeat(1_000))]).unwrap_err(),
        ];
        for error in &errors {
            assert!(!format!("{error} {error:?}").contains("secret"));
        }
        insta::assert_snapshot!(errors.map(|error| error.to_string()).join("\n"), @"
        write metadata has a key with a NUL character (U+0000); leave it out
        write metadata has a value with a NUL character (U+0000); leave it out
        write metadata has 6013 characters as JSON, 4096 are allowed; record less, or a reference
        ");
    }
}
