//! What the operations on transcripts and facts have in common.

use notekeeper_contract::FailureType;
use notekeeper_domain::{ConversationId, InvalidMessage, LISTED_MAX, StoredMessage};
use notekeeper_store::{FactStore, Store, TranscriptStore};
use serde_json::Value;

use crate::{Failure, StoreAt};

/// Position after the last one that a store can count. Stores count in 64 bits with a sign.
pub(crate) const LAST_POSITION: u64 = i64::MAX as u64;

/// Where a store keeps transcripts.
pub(crate) fn transcripts<'a>(
    at: &StoreAt<'_>,
    store: &'a dyn Store,
) -> Result<&'a dyn TranscriptStore, Failure> {
    store
        .transcripts()
        .ok_or_else(|| none_kept(at, "transcripts"))
}

/// Where a store keeps facts.
pub(crate) fn facts<'a>(
    at: &StoreAt<'_>,
    store: &'a dyn Store,
) -> Result<&'a dyn FactStore, Failure> {
    store.facts().ok_or_else(|| none_kept(at, "facts"))
}

/// Refuses a store that keeps no transcripts before it is opened.
pub(crate) fn check_keeps_transcripts(at: &StoreAt<'_>) -> Result<(), Failure> {
    match at.keeps_transcripts() {
        true => Ok(()),
        false => Err(none_kept(at, "transcripts")),
    }
}

/// Refuses a store that keeps no facts before it is opened.
pub(crate) fn check_keeps_facts(at: &StoreAt<'_>) -> Result<(), Failure> {
    match at.keeps_facts() {
        true => Ok(()),
        false => Err(none_kept(at, "facts")),
    }
}

fn none_kept(at: &StoreAt<'_>, what: &str) -> Failure {
    Failure::new(
        FailureType::Unsupported,
        format!(
            "`store` is of the kind `{}`, which keeps no {what}; name one that does, such as one of \
             the kind `postgres` or `sqlite`",
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
        InvalidMessage::Nul { path } => {
            let dot = if path.is_empty() { "" } else { "." };
            Failure::invalid(format!(
                "`{at}{dot}{path}` contains a NUL character (U+0000); leave it out"
            ))
        }
        InvalidMessage::TooLarge { .. } => {
            Failure::new(FailureType::TooLarge, format!("`{at}` {fault}"))
        }
        InvalidMessage::NoObject | InvalidMessage::Role | InvalidMessage::TooDeep => {
            Failure::invalid(format!("`{at}` {fault}"))
        }
    }
}
