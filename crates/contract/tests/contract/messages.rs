//! Our own messages, read back from a transcript.

use notekeeper_contract::{ChatMemory, ChatMessage, ChatToolCall};
use notekeeper_domain::{Message, StoredMessage};
use serde_json::{Value, json};

fn call(id: &str, arguments: Value) -> ChatToolCall {
    ChatToolCall {
        id: id.to_owned(),
        name: "probe".to_owned(),
        arguments,
    }
}

fn user(content: &str, memories: &[(&str, &str)]) -> ChatMessage {
    let memories = memories.iter().map(|(scope_hash, text)| ChatMemory {
        scope_hash: (*scope_hash).to_owned(),
        text: (*text).to_owned(),
    });
    ChatMessage::User {
        content: content.to_owned(),
        memories: memories.collect(),
    }
}

fn assistant(content: &str, tool_calls: Vec<ChatToolCall>) -> ChatMessage {
    ChatMessage::Assistant {
        content: content.to_owned(),
        tool_calls,
    }
}

fn tool(content: &str, is_error: bool) -> ChatMessage {
    ChatMessage::Tool {
        tool_call_id: "c#1".to_owned(),
        content: content.to_owned(),
        is_error,
    }
}

#[test]
fn a_stored_message_says_to_a_model_what_it_said_before_it_was_stored() {
    let texts = [
        "",
        "tea?",
        " \n",
        "[image]",
        "{\"type\": \"text\"}",
        "固 \u{1f469}",
    ];
    let arguments = [
        Value::Null,
        json!({}),
        json!({"a": [0.1, -1, 18_446_744_073_709_551_615_u64, null]}),
        json!("{\"a\": 1}"),
        json!("cut {"),
        json!([1]),
    ];
    let calls: Vec<ChatToolCall> = arguments
        .into_iter()
        .zip(["", "c", "c", "c#1", "d", "e"])
        .map(|(arguments, id)| call(id, arguments))
        .collect();
    let mut messages = Vec::new();
    for text in texts {
        messages.extend([
            user(text, &[]),
            user(
                text,
                &[("0d6e4079e36703eb", "<memory>\na\n</memory>"), ("", "")],
            ),
            assistant(text, Vec::new()),
            assistant(text, calls.clone()),
            tool(text, false),
            tool(text, true),
        ]);
    }
    for message in messages {
        let stored = StoredMessage::new(serde_json::to_value(&message).unwrap()).unwrap();
        let read = StoredMessage::from_json(stored.as_json()).unwrap();
        assert_eq!(read.to_messages(), [Message::from(message)]);
    }
}
