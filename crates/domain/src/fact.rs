//! Facts: what an agent keeps under a key, apart from what was said.

use crate::{FACT_KEY_BYTES_MAX, FACT_VALUE_CHARS_MAX, is_blank};

/// Key of a fact inside a scope, compared as it is written.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FactKey(String);

/// A fact: a value under a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// What it is found and replaced by.
    pub key: FactKey,
    /// At most [`FACT_VALUE_CHARS_MAX`] characters, without U+0000; may be empty.
    value: String,
}

/// Why key and value make no fact. The text quotes neither.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidFact {
    /// The key is blank or too long.
    #[error("key must have 1 to {FACT_KEY_BYTES_MAX} bytes and not be blank")]
    Key,
    /// Key or value holds U+0000.
    #[error("{part} contains a NUL character (U+0000); leave it out")]
    Nul {
        /// `key` or `value`.
        part: &'static str,
    },
    /// The value is too long.
    #[error(
        "value has {chars} characters, {FACT_VALUE_CHARS_MAX} are allowed; shorten it, or keep it in a note"
    )]
    TooLarge {
        /// Characters of the value.
        chars: usize,
    },
}

impl InvalidFact {
    /// Stable code, as it stands in results.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Key => "invalid_key",
            Self::Nul { .. } => "nul",
            Self::TooLarge { .. } => "too_large",
        }
    }
}

impl FactKey {
    /// Accepts a key of 1 to [`FACT_KEY_BYTES_MAX`] bytes that is not blank and holds no U+0000.
    ///
    /// # Errors
    ///
    /// [`InvalidFact`].
    pub fn parse(key: &str) -> Result<Self, InvalidFact> {
        if key.contains('\0') {
            return Err(InvalidFact::Nul { part: "key" });
        }
        if key.len() > FACT_KEY_BYTES_MAX || is_blank(key) {
            return Err(InvalidFact::Key);
        }
        Ok(Self(key.to_owned()))
    }

    /// The key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Fact {
    /// Checks key and value.
    ///
    /// # Errors
    ///
    /// [`InvalidFact`].
    pub fn new(key: &str, value: impl Into<String>) -> Result<Self, InvalidFact> {
        let key = FactKey::parse(key)?;
        let value = value.into();
        if value.contains('\0') {
            return Err(InvalidFact::Nul { part: "value" });
        }
        let chars = value.chars().count();
        if chars > FACT_VALUE_CHARS_MAX {
            return Err(InvalidFact::TooLarge { chars });
        }
        Ok(Self { key, value })
    }

    /// The value.
    pub fn value(&self) -> &str {
        &self.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_values_are_bounded() {
        let key = "k".repeat(FACT_KEY_BYTES_MAX);
        let value = "\u{1f600}".repeat(FACT_VALUE_CHARS_MAX);
        let fact = Fact::new(&key, value.clone()).unwrap();
        assert_eq!((fact.key.as_str(), fact.value()), (&*key, &*value));
        assert_eq!(Fact::new("a", "").unwrap().value(), "");
        assert_eq!(FactKey::parse(&(key + "k")), Err(InvalidFact::Key));
        assert_eq!(FactKey::parse(" \n"), Err(InvalidFact::Key));
        assert_eq!(FactKey::parse("a\0"), Err(InvalidFact::Nul { part: "key" }));
        assert_eq!(
            Fact::new("a", "\0"),
            Err(InvalidFact::Nul { part: "value" })
        );
        let chars = FACT_VALUE_CHARS_MAX + 1;
        assert_eq!(
            Fact::new("a", value + "x"),
            Err(InvalidFact::TooLarge { chars })
        );
    }
}
