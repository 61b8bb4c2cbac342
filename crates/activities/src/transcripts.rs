//! What the operations on transcripts and facts have in common.

use notekeeper_contract::FailureType;
use notekeeper_domain::{ConversationId, InvalidMessage, LISTED_MAX, StoredMessage};
use notekeeper_store::{FactStore, Store, TranscriptStore};
use serde_json::Value;

use crate::{Failure, StoreAt};

/// Fields of messages whose names may be told: those that the APIs of models give them. Others are
/// the caller's own, and keys of arguments are content.
const TOLD_FIELDS: [&str; 20] = [
    "role",
    "content",
    "name",
    "id",
    "type",
    "text",
    "tool_calls",
    "tool_call_id",
    "function",
    "arguments",
    "is_error",
    "tool_use_id",
    "input",
    "thinking",
    "reasoning_content",
    "refusal",
    "source",
    "image_url",
    "url",
    "data",
];

/// Fields below which a caller's own keys begin.
const FREE_FORM: [&str; 2] = ["arguments", "input"];

/// Position after the last one that a store can count. Stores count in 64 bits with a sign.
pub(crate) const LAST_POSITION: u64 = i64::MAX as u64;

/// Where a store keeps transcripts.
pub(crate) fn transcripts<'a>(
    at: &StoreAt<'_>,
    store: &'a dyn Store,
) -> Result<&'a dyn TranscriptStore, Failure> {
    store.transcripts().ok_or_else(|| none_kept(at))
}

/// Where a store keeps facts.
pub(crate) fn facts<'a>(
    at: &StoreAt<'_>,
    store: &'a dyn Store,
) -> Result<&'a dyn FactStore, Failure> {
    store.facts().ok_or_else(|| none_kept(at))
}

/// Refuses a store that keeps neither before it is opened.
pub(crate) fn check_keeps(at: &StoreAt<'_>) -> Result<(), Failure> {
    match at.keeps_transcripts() {
        true => Ok(()),
        false => Err(none_kept(at)),
    }
}

fn none_kept(at: &StoreAt<'_>) -> Failure {
    Failure::new(
        FailureType::Unsupported,
        format!(
            "`store` is of the kind `{}`, which keeps no transcripts and no facts; name one that \
             does, such as one of the kind `postgres` or `sqlite`",
            at.kind()
        ),
    )
}

/// How much of a list a caller asks for.
pub(crate) fn listed_limit(limit: usize) -> Result<usize, Failure> {
    if (1..=LISTED_MAX).contains(&limit) {
        return Ok(limit);
    }
    Err(Failure::invalid(format!(
        "`limit` must be 1 to {LISTED_MAX}"
    )))
}

/// The conversation that a field of a payload names.
pub(crate) fn conversation_id(field: &str, id: &str) -> Result<ConversationId, Failure> {
    ConversationId::parse(id)
        .map_err(|error| Failure::invalid(format!("`{field}` names no conversation: {error}")))
}

/// The messages of a payload, checked.
pub(crate) fn stored_messages(messages: Vec<Value>) -> Result<Vec<StoredMessage>, Failure> {
    let messages = messages.into_iter().enumerate();
    let checked = messages.map(|(index, message)| {
        StoredMessage::new(message).map_err(|fault| unusable(index, &fault))
    });
    checked.collect()
}

fn unusable(index: usize, fault: &InvalidMessage) -> Failure {
    let at = format!("messages[{index}]");
    match fault {
        InvalidMessage::Nul { path } => Failure::invalid(format!(
            "`{at}{}` contains a NUL character (U+0000); leave it out",
            told(path)
        )),
        InvalidMessage::TooLarge { .. } => {
            Failure::new(FailureType::TooLarge, format!("`{at}` {fault}"))
        }
        InvalidMessage::NoObject | InvalidMessage::Role => {
            Failure::invalid(format!("`{at}` {fault}"))
        }
    }
}

/// The beginning of a path in which nothing is the caller's own, such as `.content[0].text`.
fn told(path: &str) -> String {
    let mut told = String::new();
    for step in path.split('.') {
        let (field, indexes) = step.split_once('[').unwrap_or((step, ""));
        let is_index = |c: char| c.is_ascii_digit() || "[]".contains(c);
        if !TOLD_FIELDS.contains(&field) || !indexes.chars().all(is_index) {
            break;
        }
        told.extend([".", step]);
        if FREE_FORM.contains(&field) {
            break;
        }
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_told_up_to_the_first_key_that_is_the_callers_own() {
        for (path, expected) in [
            ("content", ".content"),
            ("content[12].text", ".content[12].text"),
            (
                "tool_calls[0].function.arguments",
                ".tool_calls[0].function.arguments",
            ),
            ("tool_calls[0].arguments.text", ".tool_calls[0].arguments"),
            ("content[0].input.data", ".content[0].input"),
            ("customer_name", ""),
            ("content.ada@example.org", ".content"),
            ("content[secret]", ""),
            ("con\\u0000tent", ""),
            ("", ""),
        ] {
            assert_eq!(told(path), expected, "{path}");
        }
    }
}
