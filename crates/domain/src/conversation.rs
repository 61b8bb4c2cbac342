//! Conversations: which transcript of a scope is meant.

use std::fmt;

use crate::CONVERSATION_ID_BYTES_MAX;

/// Conversation that is meant where a caller names none.
pub const CONVERSATION_DEFAULT: &str = "main";

/// Id of a conversation inside a scope, compared as it is written.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConversationId(String);

/// Why a text is no conversation id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "conversation id must have 1 to {CONVERSATION_ID_BYTES_MAX} bytes, none of them of a control character"
)]
pub struct InvalidConversation;

impl ConversationId {
    /// Accepts an id of 1 to [`CONVERSATION_ID_BYTES_MAX`] bytes without control characters.
    ///
    /// # Errors
    ///
    /// [`InvalidConversation`].
    pub fn parse(id: &str) -> Result<Self, InvalidConversation> {
        let fits = (1..=CONVERSATION_ID_BYTES_MAX).contains(&id.len());
        if fits && !id.chars().any(char::is_control) {
            Ok(Self(id.to_owned()))
        } else {
            Err(InvalidConversation)
        }
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for ConversationId {
    fn default() -> Self {
        Self(CONVERSATION_DEFAULT.to_owned())
    }
}

impl fmt::Display for ConversationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_bounded_and_without_controls() {
        for id in [
            "main",
            "a",
            "\u{5ba2}/7 #2",
            &"x".repeat(CONVERSATION_ID_BYTES_MAX),
        ] {
            assert_eq!(ConversationId::parse(id).unwrap().as_str(), id);
        }
        let long = "x".repeat(CONVERSATION_ID_BYTES_MAX + 1);
        for id in ["", "a\0", "a\n", "\u{85}", long.as_str()] {
            assert_eq!(
                ConversationId::parse(id),
                Err(InvalidConversation),
                "{id:?}"
            );
        }
    }
}
