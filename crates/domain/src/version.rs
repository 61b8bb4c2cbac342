//! Versions: what compare-and-swap compares.

/// Opaque token of a note's current state. It never repeats for a note, not even after the note
/// was deleted and made anew. Compare for equality only.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Version(String);

impl Version {
    /// Wraps a token as a store or a caller gave it. Any text is accepted: an unknown token
    /// equals no current version.
    pub fn new(token: impl Into<String>) -> Self {
        Self(token.into())
    }

    /// The token as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_text() {
        assert_eq!(Version::new("1").as_str(), "1");
        for other in ["01", "+1", " 1", "1 ", ""] {
            assert_ne!(Version::new("1"), Version::new(other));
        }
    }
}
