//! Messages and conversations for tests.

use notekeeper_domain::{ConversationId, StoredMessage};
use serde_json::json;

pub(crate) fn conversation(id: &str) -> ConversationId {
    ConversationId::parse(id).expect("valid id")
}

/// What a user says.
pub(crate) fn message(text: &str) -> StoredMessage {
    StoredMessage::new(json!({"role": "user", "content": text})).expect("a message")
}

/// What it says.
pub(crate) fn said(message: &StoredMessage) -> &str {
    message.object()["content"].as_str().expect("a text")
}
