//! Calls and their results, as model APIs want to see them.

use std::collections::BTreeMap;

use super::pairing::OpenCalls;
use crate::{Message, ToolCall, distinct_call_ids};

/// What a call is answered with whose result isn't there.
const NO_RESULT: &str = "there is no result of this call; it may or may not have taken effect";

/// `messages` as model APIs accept them: each call has its one result, right behind the message
/// that makes the call.
///
/// A transcript can hold others: after it was cleared in the middle of a turn, where a turn failed,
/// or where several writers add to one conversation. A result whose call isn't there is dropped, one
/// that stands further down moves up to its call, and a call without a result gets an error that
/// says so. Of calls in one message whose ids are empty or repeat, each gets an id of its own.
pub fn whole_exchanges(messages: Vec<Message>) -> Vec<Message> {
    let mut results = paired(&messages);
    let mut whole = Vec::with_capacity(messages.len());
    for (index, message) in messages.into_iter().enumerate() {
        match message {
            Message::Tool { .. } => {}
            Message::Assistant { text, tool_calls } => {
                let tool_calls = with_ids_of_their_own(tool_calls);
                let answers: Vec<Message> = tool_calls
                    .iter()
                    .enumerate()
                    .map(|(call, ToolCall { id, .. })| {
                        let (content, is_error) = results
                            .remove(&(index, call))
                            .unwrap_or_else(|| (NO_RESULT.to_owned(), true));
                        Message::Tool {
                            tool_call_id: id.clone(),
                            content,
                            is_error,
                        }
                    })
                    .collect();
                whole.push(Message::Assistant { text, tool_calls });
                whole.extend(answers);
            }
            other => whole.push(other),
        }
    }
    whole
}

/// The results by the places of their calls.
fn paired(messages: &[Message]) -> BTreeMap<(usize, usize), (String, bool)> {
    let mut calls = OpenCalls::default();
    let mut results = BTreeMap::new();
    for (index, message) in messages.iter().enumerate() {
        match message {
            Message::Assistant { tool_calls, .. } => {
                for (call, ToolCall { id, .. }) in tool_calls.iter().enumerate() {
                    calls.call(id, (index, call));
                }
            }
            Message::Tool {
                tool_call_id,
                content,
                is_error,
            } => {
                if let Some(place) = calls.result(tool_call_id) {
                    results.insert(place, (content.clone(), *is_error));
                }
            }
            Message::User { .. } if message.is_user_prompt() => calls.prompt(),
            Message::User { .. } | Message::System { .. } => {}
        }
    }
    results
}

/// The calls with ids that none of them shares, and none empty.
fn with_ids_of_their_own(calls: Vec<ToolCall>) -> Vec<ToolCall> {
    let ids = distinct_call_ids(calls.iter().map(|call| call.id.as_str()));
    let calls = calls.into_iter().zip(ids);
    calls.map(|(call, id)| ToolCall { id, ..call }).collect()
}
