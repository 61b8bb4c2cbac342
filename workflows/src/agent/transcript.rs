//! The messages that a run carries: those of the exchange under way, and all where no store keeps the
//! transcript.

use notekeeper_contract::ChatMessage;

/// Most that a run carries of a transcript, in bytes of its JSON: a quarter of Temporal's 2 MiB payload
/// limit. Where a store keeps the transcript that is one exchange, such as calls with their results;
/// where none does it is all of it, for each model request records it again and continue-as-new carries
/// it.
pub const TRANSCRIPT_BYTES_MAX: usize = 512 * 1024;

/// Messages and their size.
#[derive(Debug, Default)]
pub(super) struct Transcript {
    messages: Vec<ChatMessage>,
    bytes: usize,
}

impl Transcript {
    pub(super) fn resume(messages: Vec<ChatMessage>) -> Self {
        let bytes = messages.iter().map(encoded_bytes).sum();
        Self { messages, bytes }
    }

    pub(super) fn messages(&self) -> &[ChatMessage] {
        &self.messages
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn push(&mut self, message: ChatMessage) {
        self.bytes += encoded_bytes(&message);
        self.messages.push(message);
    }

    /// Drops all messages after the first `len`.
    pub(super) fn truncate(&mut self, len: usize) {
        for message in self.messages.drain(len..) {
            self.bytes -= encoded_bytes(&message);
        }
    }

    /// Puts others in the place of all messages after the first `len`.
    pub(super) fn replace_from(&mut self, len: usize, other: impl Fn(ChatMessage) -> ChatMessage) {
        for message in self.messages.split_off(len) {
            self.bytes -= encoded_bytes(&message);
            self.push(other(message));
        }
    }

    /// Takes all messages out.
    pub(super) fn take(&mut self) -> Vec<ChatMessage> {
        self.bytes = 0;
        std::mem::take(&mut self.messages)
    }

    pub(super) fn is_full(&self) -> bool {
        self.bytes > TRANSCRIPT_BYTES_MAX
    }
}

/// Bytes of a message in a JSON list, its comma included.
pub(super) fn encoded_bytes(message: &ChatMessage) -> usize {
    serde_json::to_vec(message).map_or(0, |json| json.len() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(text: &str) -> ChatMessage {
        ChatMessage::user(text)
    }

    #[test]
    fn size_follows_pushes_and_cuts() {
        let mut transcript = Transcript::default();
        transcript.push(user("a"));
        let one = transcript.bytes();
        transcript.push(user("\u{1}\u{1}"));
        transcript.truncate(1);
        assert_eq!(transcript.bytes(), one);
        assert_eq!(
            Transcript::resume(transcript.messages().to_vec()).bytes(),
            one
        );
    }

    #[test]
    fn it_is_full_beyond_the_bound_only() {
        let overhead = Transcript::resume(vec![user("")]).bytes();
        let at_bound = "x".repeat(TRANSCRIPT_BYTES_MAX - overhead);
        assert!(!Transcript::resume(vec![user(&at_bound)]).is_full());
        assert!(Transcript::resume(vec![user(&(at_bound + "x"))]).is_full());
    }
}
