//! proto3 JSON of histories, which all of Temporal's other tools write and read.
//!
//! A reader that passes over unknown fields, as one of newer servers' histories must, also passes
//! over unknown *names of enum values*: an event whose type it doesn't know becomes an event
//! without a type. So the JSON is brought into a form first in which nothing is unknown, or is
//! refused, and is then read by a reader that passes over nothing.

mod enums;
mod known;
mod pages;
mod payloads;

use std::sync::LazyLock;

use prost_reflect::{DescriptorPool, DeserializeOptions, DynamicMessage, MessageDescriptor};
use serde_json::Value;
use serde_path_to_error::{Deserializer, Track};
use temporalio_common::protos::temporal::api::history::v1::{History, HistoryEvent};

use self::{known::keep_what_is_known, pages::events_of};
use super::{error::HistoryError, expected::expected};

/// What a history and its events are made of.
static HISTORY: LazyLock<MessageDescriptor> =
    LazyLock::new(|| message("temporal.api.history.v1.History"));
static EVENT: LazyLock<MessageDescriptor> =
    LazyLock::new(|| message("temporal.api.history.v1.HistoryEvent"));

fn message(name: &str) -> MessageDescriptor {
    static POOL: LazyLock<DescriptorPool> = LazyLock::new(|| {
        let descriptors = include_bytes!(concat!(env!("OUT_DIR"), "/history.fds"));
        DescriptorPool::decode(descriptors.as_slice()).expect("descriptors that the build wrote")
    });
    let message = POOL.get_message_by_name(name);
    message.expect("descriptors with what they were made for")
}

/// Reads a history from its documents: one, or a page each.
pub(super) fn read(documents: Vec<Value>) -> Result<History, HistoryError> {
    let mut events = events_of(documents)?;
    put_in_order(&mut events);
    let events = events
        .into_iter()
        .zip(1..)
        .map(|(event, number)| read_event(event).map_err(|why| HistoryError::Event { number, why }))
        .collect::<Result<_, _>>()?;
    Ok(History { events })
}

/// Writes a history as `temporal workflow show --output json` does.
pub(super) fn write(history: &History) -> anyhow::Result<Vec<u8>> {
    let kind = HISTORY.clone();
    let mut message = DynamicMessage::new(kind);
    message.transcode_from(history)?;
    let mut json = serde_json::to_vec_pretty(&message)?;
    json.push(b'\n');
    Ok(json)
}

/// Older web UIs, and `temporal workflow show --reverse`, write the newest event first.
fn put_in_order(events: &mut [Value]) {
    let id = |event: Option<&Value>| -> Option<i64> {
        let event = event?;
        let id = event.get("eventId").or_else(|| event.get("event_id"))?;
        id.as_i64().or_else(|| id.as_str()?.parse().ok())
    };
    if id(events.first()) > id(events.last()) && id(events.last()).is_some() {
        events.reverse();
    }
}

fn read_event(mut event: Value) -> Result<HistoryEvent, String> {
    if !event.is_object() {
        return Err("is no JSON object".to_owned());
    }
    keep_what_is_known(&mut event, &EVENT).map_err(|problem| problem.to_string())?;
    let options = DeserializeOptions::new().deny_unknown_fields(true);
    let mut track = Track::new();
    let tracked = Deserializer::new(event, &mut track);
    DynamicMessage::deserialize_with_options(EVENT.clone(), tracked, &options)
        .map_err(|error| format!("can't be read: {}", expected(&track.path(), &error)))?
        .transcode_to()
        .map_err(|error| format!("can't be read: {error}"))
}
