//! Exchanges: messages that are stored together.

use notekeeper_contract::{ChatMessage, FailureType, OperationRef};
use notekeeper_domain::{MESSAGES_ADDED_MAX, Message, MessageOutline, StoredMessage, outline_of};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Reply;
use crate::CallFailure;

/// Messages that are stored together: a prompt and its answer, or calls and their results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Exchange {
    /// Under which operation.
    pub operation: OperationRef,
    /// The messages, in their order.
    pub messages: Vec<ChatMessage>,
    /// The reply that it brings, and the id of the message that is answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<(Option<String>, Reply)>,
}

impl Exchange {
    /// The messages as they are stored.
    pub(super) fn values(&self) -> Vec<Value> {
        self.messages.iter().map(stored_form).collect()
    }

    /// Whether this failure is about the exchange, so that no repetition can pass. What is about the store,
    /// or about what the worker is configured with, an operator may mend.
    pub(super) fn is_refused(&self, failure: &CallFailure) -> bool {
        match failure.failure_type() {
            Some(FailureType::TooLarge) => true,
            // The name of a store that the worker doesn't have is none of the exchange.
            Some(FailureType::InvalidArgument) => !self.values().iter().all(is_storable),
            _ => false,
        }
    }
}

/// A message as it is stored. Stores keep no U+0000, so U+FFFD takes its place, and no JSON that is nested too
/// deep, so arguments of calls become text then: what the model said or a tool answered is no reason to lose
/// an exchange.
pub(super) fn stored_form(message: &ChatMessage) -> Value {
    let value = serde_json::to_value(message).unwrap_or_default();
    let value = without_nul(value);
    match is_storable(&value) {
        true => value,
        false => with_arguments_as_text(value),
    }
}

pub(super) fn is_storable(message: &Value) -> bool {
    StoredMessage::new(message.clone()).is_ok()
}

fn with_arguments_as_text(mut message: Value) -> Value {
    let calls = message.get_mut("tool_calls").and_then(Value::as_array_mut);
    for call in calls.into_iter().flatten() {
        if let Some(arguments) = call.get_mut("arguments")
            && (arguments.is_object() || arguments.is_array())
        {
            *arguments = Value::String(arguments.to_string());
        }
    }
    message
}

fn without_nul(value: Value) -> Value {
    let replaced = |text: String| match text.contains('\0') {
        true => text.replace('\0', "\u{fffd}"),
        false => text,
    };
    match value {
        Value::String(text) => Value::String(replaced(text)),
        Value::Array(items) => items.into_iter().map(without_nul).collect(),
        Value::Object(fields) => fields
            .into_iter()
            .map(|(key, value)| (replaced(key), without_nul(value)))
            .collect(),
        other => other,
    }
}

pub(super) fn is_prompt(message: &ChatMessage) -> bool {
    matches!(message, ChatMessage::User { .. })
}

/// The messages in parts of at most [`MESSAGES_ADDED_MAX`], each of which begins with a prompt as far
/// as that can be.
pub(super) fn parts(messages: Vec<ChatMessage>) -> Vec<Vec<ChatMessage>> {
    let mut parts: Vec<Vec<ChatMessage>> = Vec::new();
    let mut turn: Vec<ChatMessage> = Vec::new();
    let close = |turn: Vec<ChatMessage>, parts: &mut Vec<Vec<ChatMessage>>| match parts.last_mut() {
        Some(part) if part.len() + turn.len() <= MESSAGES_ADDED_MAX => part.extend(turn),
        _ if turn.is_empty() => {}
        _ => parts.push(turn),
    };
    for message in messages {
        if is_prompt(&message) || turn.len() == MESSAGES_ADDED_MAX {
            close(std::mem::take(&mut turn), &mut parts);
        }
        turn.push(message);
    }
    close(turn, &mut parts);
    parts
}

pub(super) fn outlines(
    first: u64,
    messages: &[ChatMessage],
) -> impl Iterator<Item = MessageOutline> + use<'_> {
    (first..).zip(messages).map(|(position, message)| {
        let role = match message {
            ChatMessage::User { .. } => "user",
            ChatMessage::Assistant { .. } => "assistant",
            ChatMessage::Tool { .. } => "tool",
        };
        outline_of(position, role, &[Message::from(message.clone())])
    })
}

/// Position after the first messages that are those that are sought, by who speaks, calls and results.
pub(super) fn end_of(outlines: &[MessageOutline], sought: &[MessageOutline]) -> Option<u64> {
    let same = |one: &MessageOutline, other: &MessageOutline| {
        (&one.role, &one.calls, &one.results) == (&other.role, &other.calls, &other.results)
    };
    if sought.is_empty() {
        return None;
    }
    let found = outlines.windows(sought.len()).find(|window| {
        window
            .iter()
            .zip(sought)
            .all(|(one, other)| same(one, other))
    })?;
    found.last().map(|last| last.position + 1)
}
