//! Reading messages for a model request: our own form, OpenAI's Chat Completions and Anthropic's
//! Messages, and whatever is near to them.

use serde_json::{Map, Value};

use super::{
    calls,
    content::{Piece, joined, pieces, said, texts},
};
use crate::{Message, UserPart};

/// What a model request needs of a stored message.
pub(super) fn messages(message: &Map<String, Value>) -> Vec<Message> {
    let role = message.get("role").and_then(Value::as_str);
    match role.unwrap_or_default() {
        "user" => user(message),
        "assistant" => assistant(message),
        // `function` is the result of a `function_call`, from before calls had ids.
        "tool" | "function" => tool(message),
        "system" | "developer" => system(message),
        // Nobody whom a model would know.
        _ => Vec::new(),
    }
}

/// Results of tools first, as all APIs want them right behind their calls; then what the user said.
fn user(message: &Map<String, Value>) -> Vec<Message> {
    let pieces = pieces(message.get("content"));
    let mut messages = results(&pieces);
    let mut parts: Vec<UserPart> = texts(&pieces).into_iter().map(said_by_user).collect();
    let blocks = left_blocks(message);
    // A message without anything is an empty prompt, which is how our own form says it.
    if parts.is_empty() && blocks.is_empty() && messages.is_empty() {
        parts.push(said_by_user(""));
    }
    parts.extend(blocks);
    if !parts.is_empty() {
        messages.push(Message::User { parts });
    }
    messages
}

fn said_by_user(text: &str) -> UserPart {
    UserPart::Text {
        text: text.to_owned(),
    }
}

/// Memory blocks that an earlier request left beside a message of our own form.
fn left_blocks(message: &Map<String, Value>) -> Vec<UserPart> {
    let blocks = message.get("memories").and_then(Value::as_array);
    let text_at =
        |block: &Value, key: &str| block.get(key).and_then(Value::as_str).map(str::to_owned);
    blocks
        .into_iter()
        .flatten()
        .filter_map(|block| {
            Some(UserPart::Memory {
                scope_hash: text_at(block, "scope_hash").unwrap_or_default(),
                text: text_at(block, "text")?,
            })
        })
        .collect()
}

fn assistant(message: &Map<String, Value>) -> Vec<Message> {
    let pieces = pieces(message.get("content"));
    let mut text = said(&pieces);
    for further in [text_at(message, "refusal"), transcript(message)] {
        if let Some(further) = further.filter(|further| !further.is_empty()) {
            if !text.is_empty() {
                text.push_str("\n\n");
            }
            text.push_str(&further);
        }
    }
    let mut tool_calls = calls::of_message(message);
    tool_calls.extend(pieces.iter().filter_map(|piece| match piece {
        Piece::Call(call) => Some(call.clone()),
        _ => None,
    }));
    if text.is_empty() && tool_calls.is_empty() {
        // The model is to see that there was an answer.
        let aside = pieces.iter().find_map(|piece| match piece {
            Piece::Aside(mark) => Some(mark.clone()),
            _ => None,
        });
        text = aside.unwrap_or_default();
    }
    let mut messages = vec![Message::Assistant { text, tool_calls }];
    messages.extend(results(&pieces));
    messages
}

/// What an answer in speech says.
fn transcript(message: &Map<String, Value>) -> Option<String> {
    let audio = message.get("audio")?.as_object()?;
    Some(text_at(audio, "transcript").unwrap_or_else(|| "[audio]".to_owned()))
}

fn text_at(object: &Map<String, Value>, key: &str) -> Option<String> {
    object.get(key).and_then(Value::as_str).map(str::to_owned)
}

fn tool(message: &Map<String, Value>) -> Vec<Message> {
    let pieces = pieces(message.get("content"));
    let mut messages = results(&pieces);
    let content = joined(&pieces);
    if messages.is_empty() || !content.is_empty() {
        let id = message.get("tool_call_id");
        messages.push(Message::Tool {
            tool_call_id: calls::id(id.or_else(|| message.get("tool_use_id"))),
            content,
            is_error: calls::is_error(message),
        });
    }
    messages
}

fn results(pieces: &[Piece]) -> Vec<Message> {
    pieces
        .iter()
        .filter_map(|piece| match piece {
            Piece::Result { id, text, is_error } => Some(Message::Tool {
                tool_call_id: id.clone(),
                content: text.clone(),
                is_error: *is_error,
            }),
            _ => None,
        })
        .collect()
}

fn system(message: &Map<String, Value>) -> Vec<Message> {
    let text = joined(&pieces(message.get("content")));
    let said = (!text.is_empty()).then_some(Message::System { text });
    said.into_iter().collect()
}
