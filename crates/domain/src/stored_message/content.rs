//! What stands in the `content` of a message, piece by piece, whichever dialect wrote it.

use serde_json::{Map, Value};

use super::calls;
use crate::ToolCall;

/// Blocks inside blocks that are looked into. A result inside a message is two deep, a document
/// inside a result three.
const DEPTH_MAX: usize = 4;

/// Longest kind of a block that a mark names, in characters.
const KIND_CHARS_MAX: usize = 40;

/// One piece of a message.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Piece {
    /// Text for the model.
    Text(String),
    /// What stands in place of something that is no text, such as `[image]`.
    Mark(String),
    /// What is between the model and its provider, thoughts and the provider's own tools, with the
    /// mark that would stand in its place. It isn't sent.
    Aside(String),
    /// A call that stands among the content.
    Call(ToolCall),
    /// A result that stands among the content.
    Result {
        id: String,
        text: String,
        is_error: bool,
    },
}

/// The pieces of `content`: a text, blocks, or nothing.
pub(super) fn pieces(content: Option<&Value>) -> Vec<Piece> {
    pieces_within(content, DEPTH_MAX)
}

fn pieces_within(content: Option<&Value>, depth: usize) -> Vec<Piece> {
    match content {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(blocks)) => blocks.iter().map(|block| piece(block, depth)).collect(),
        Some(block) => vec![piece(block, depth)],
    }
}

fn piece(block: &Value, depth: usize) -> Piece {
    match block {
        Value::String(text) => Piece::Text(text.clone()),
        Value::Object(block) => piece_of_object(block, depth),
        _ => mark("unknown"),
    }
}

fn piece_of_object(block: &Map<String, Value>, depth: usize) -> Piece {
    let text_at = |key: &str| block.get(key).and_then(Value::as_str);
    let kind = text_at("type").unwrap_or("unknown");
    match kind {
        "tool_use" => return Piece::Call(calls::of_tool_use(block)),
        "tool_result" => return tool_result(block, depth),
        "thinking" | "redacted_thinking" | "reasoning" => return Piece::Aside(bracketed(kind)),
        _ if kind.ends_with("_tool_use") || kind.ends_with("_tool_result") => {
            return Piece::Aside(bracketed(kind));
        }
        _ => {}
    }
    if let Some(text) = text_at("text").or_else(|| text_at("refusal")) {
        return Piece::Text(text.to_owned());
    }
    text_inside(block, depth).map_or_else(|| mark(kind), Piece::Text)
}

fn tool_result(block: &Map<String, Value>, depth: usize) -> Piece {
    Piece::Result {
        id: calls::id(block.get("tool_use_id")),
        text: joined(&within(block.get("content"), depth)),
        is_error: calls::is_error(block),
    }
}

/// Text of a document or of a search result, which keep it one or two levels further down.
fn text_inside(block: &Map<String, Value>, depth: usize) -> Option<String> {
    let source = block.get("source").and_then(Value::as_object);
    let plain = source.filter(|source| source.get("type").is_some_and(|kind| kind == "text"));
    if let Some(text) = plain.and_then(|source| source.get("data")?.as_str()) {
        return Some(text.to_owned());
    }
    let inside = [
        block.get("content"),
        source.and_then(|source| source.get("content")),
    ];
    let mut pieces = inside
        .into_iter()
        .flat_map(|content| within(content, depth))
        .peekable();
    pieces.peek()?;
    let pieces: Vec<Piece> = pieces.collect();
    let any_text = pieces.iter().any(|piece| matches!(piece, Piece::Text(_)));
    any_text.then(|| joined(&pieces))
}

fn within(content: Option<&Value>, depth: usize) -> Vec<Piece> {
    match depth.checked_sub(1) {
        Some(depth) => pieces_within(content, depth),
        None => Vec::new(),
    }
}

fn mark(kind: &str) -> Piece {
    Piece::Mark(bracketed(kind))
}

/// The kind of a block in brackets. Kinds come from whoever wrote the message, so they are held to
/// what kinds look like.
fn bracketed(kind: &str) -> String {
    let kind = match kind {
        "image_url" | "input_image" => "image",
        "input_audio" => "audio",
        "input_file" => "file",
        other => other,
    };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let fits = !kind.is_empty() && kind.len() <= KIND_CHARS_MAX && kind.chars().all(is_plain);
    format!("[{}]", if fits { kind } else { "unknown" })
}

/// The texts and marks, empty texts left out.
pub(super) fn texts(pieces: &[Piece]) -> Vec<&str> {
    pieces
        .iter()
        .filter_map(|piece| match piece {
            Piece::Text(text) | Piece::Mark(text) if !text.is_empty() => Some(text.as_str()),
            _ => None,
        })
        .collect()
}

/// The texts and marks as one text, with blank lines between.
pub(super) fn joined(pieces: &[Piece]) -> String {
    texts(pieces).join("\n\n")
}

/// The texts and marks as what one speaker said in one go: texts that follow one another are one
/// text, which providers take apart where they put citations in.
pub(super) fn said(pieces: &[Piece]) -> String {
    let mut said = String::new();
    let mut goes_on = true;
    for piece in pieces {
        let text = match piece {
            Piece::Text(text) | Piece::Mark(text) if !text.is_empty() => text,
            Piece::Text(_) => continue,
            _ => {
                goes_on = false;
                continue;
            }
        };
        let is_text = matches!(piece, Piece::Text(_));
        if !(said.is_empty() || goes_on && is_text) {
            said.push_str("\n\n");
        }
        said.push_str(text);
        goes_on = is_text;
    }
    said
}
