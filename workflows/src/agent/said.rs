//! What was said in a run's own turns.

use std::collections::VecDeque;

use notekeeper_contract::ChatMessage;

use super::transcript::encoded_bytes;

/// Most that a run holds of its own messages once they are stored, in bytes of their JSON: a look at
/// what was said last for the query `transcript`. The store has all.
const SAID_BYTES_MAX: usize = 64 * 1024;

/// The newest messages, as far as they fit.
#[derive(Debug, Default)]
pub(super) struct Said {
    messages: VecDeque<ChatMessage>,
    bytes: usize,
}

impl Said {
    pub(super) fn push(&mut self, messages: &[ChatMessage]) {
        for message in messages {
            self.bytes += encoded_bytes(message);
            self.messages.push_back(message.clone());
        }
        while self.bytes > SAID_BYTES_MAX {
            let Some(oldest) = self.messages.pop_front() else {
                return;
            };
            self.bytes -= encoded_bytes(&oldest);
        }
    }

    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }

    pub(super) fn messages(&self) -> impl Iterator<Item = &ChatMessage> {
        self.messages.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_messages_are_held_as_far_as_they_fit() {
        let mut said = Said::default();
        for text in ["a", "b", "c", "d"] {
            said.push(&[ChatMessage::user(text.repeat(SAID_BYTES_MAX / 3))]);
        }
        let held: Vec<_> = said.messages().cloned().collect();
        assert_eq!(held.len(), 2);
        assert_eq!(held[1], ChatMessage::user("d".repeat(SAID_BYTES_MAX / 3)));
        said.push(&[ChatMessage::user("x".repeat(SAID_BYTES_MAX))]);
        assert_eq!(said.messages().count(), 0);
        assert_eq!(said.bytes, 0);
    }
}
