//! Recall: free-text search over facts.

/// What is looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecallQuery {
    text: String,
}

/// A fact that may match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecallCandidate<'a> {
    /// Its key.
    pub key: &'a str,
    /// Its value.
    pub value: &'a str,
    /// Grows with each time that a fact of the store is remembered.
    pub order: i64,
    /// Seconds since it was remembered last.
    pub age_seconds: u64,
}

/// A fact that matches.
#[derive(Debug, Clone, PartialEq)]
pub struct RecalledFact {
    /// Its key.
    pub key: String,
    /// Its value.
    pub value: String,
    /// How well it matches, 0 to 1; 0 where nothing was looked for.
    pub score: f64,
    /// Grows with each time that a fact of the store is remembered.
    pub order: i64,
    /// Seconds since it was remembered last.
    pub age_seconds: u64,
}

impl RecallQuery {
    /// Takes any text for what it says: nothing in it is syntax.
    pub fn parse(text: &str) -> Self {
        Self {
            text: text.to_owned(),
        }
    }

    /// Whether there is nothing to look for.
    pub fn is_empty(&self) -> bool {
        self.text.trim().is_empty()
    }
}
