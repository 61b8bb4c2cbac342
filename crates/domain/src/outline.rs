//! Outlines: what history policies look at of a message.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{CHARS_PER_TOKEN, Message, StoredMessage};

/// A message of a transcript without its text.
///
/// Policies look at nothing else, so that workflow code decides what is sent without the texts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageOutline {
    /// Its position in the conversation.
    pub position: u64,
    /// Who speaks, as the message says it.
    pub role: String,
    /// Its share of a request, in tokens of four characters, rounded up, at least 1. What counts is
    /// all that a model would read of it: texts, marks like `[image]`, names and arguments of calls,
    /// results.
    pub tokens: u64,
    /// Ids of the tool calls in it, in their order; an id may be empty, or there twice.
    #[serde(default)]
    pub calls: Vec<String>,
    /// Ids of the calls whose results are in it, in their order.
    #[serde(default)]
    pub results: Vec<String>,
    /// Whether a user speaks in it. One with nothing but results of tools is no prompt.
    #[serde(default)]
    pub prompt: bool,
}

/// The outline of a message at a position.
///
/// ```
/// use notekeeper_domain::{StoredMessage, outline};
/// use serde_json::json;
///
/// let message = json!({"role": "user", "content": "Where do I live?"});
/// let outline = outline(7, &StoredMessage::new(message)?);
/// assert_eq!((outline.tokens, outline.prompt), (4, true));
/// # Ok::<(), notekeeper_domain::InvalidMessage>(())
/// ```
pub fn outline(position: u64, message: &StoredMessage) -> MessageOutline {
    outline_of(position, message.role(), &message.to_messages())
}

/// The outline of what a model would read, for messages that aren't stored yet.
pub fn outline_of(position: u64, role: &str, messages: &[Message]) -> MessageOutline {
    let mut outline = MessageOutline {
        position,
        role: role.to_owned(),
        tokens: tokens(messages.iter().map(chars).sum()),
        calls: Vec::new(),
        results: Vec::new(),
        prompt: messages.iter().any(Message::is_user_prompt),
    };
    for message in messages {
        match message {
            Message::Assistant { tool_calls, .. } => outline
                .calls
                .extend(tool_calls.iter().map(|call| call.id.clone())),
            Message::Tool { tool_call_id, .. } => outline.results.push(tool_call_id.clone()),
            Message::System { .. } | Message::User { .. } => {}
        }
    }
    outline
}

/// The tokens that a text counts as: one for every four characters, rounded up, at least 1.
pub fn text_tokens(text: &str) -> u64 {
    tokens(text.chars().count())
}

fn tokens(chars: usize) -> u64 {
    u64::try_from(chars.div_ceil(CHARS_PER_TOKEN).max(1)).unwrap_or(u64::MAX)
}

/// Characters that a model reads of a message.
fn chars(message: &Message) -> usize {
    let count = |text: &str| text.chars().count();
    match message {
        Message::System { text } => count(text),
        Message::User { parts } => parts.iter().map(|part| count(part.text())).sum(),
        Message::Assistant { text, tool_calls } => {
            let calls = tool_calls.iter();
            let calls = calls.map(|call| count(&call.name) + argument_chars(&call.arguments));
            count(text) + calls.sum::<usize>()
        }
        Message::Tool { content, .. } => count(content),
    }
}

fn argument_chars(arguments: &Value) -> usize {
    match arguments {
        Value::Null => 0,
        Value::String(text) => text.chars().count(),
        other => other.to_string().chars().count(),
    }
}
