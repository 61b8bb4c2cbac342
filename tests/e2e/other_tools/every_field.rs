//! A history with one event of each type, in which every field is set.

use std::collections::HashMap;

use prost_reflect::{
    Cardinality, DescriptorPool, DynamicMessage, FieldDescriptor, Kind, MapKey, MessageDescriptor,
    Value,
};
use temporalio_common::protos::temporal::api::history::v1::History;

/// How deep messages go that may hold themselves, as failures do.
const DEPTH: usize = 7;

/// As proto3 JSON.
pub(super) fn history() -> serde_json::Value {
    serde_json::to_value(dynamic()).expect("JSON")
}

/// As a decoded message.
pub(super) fn message() -> History {
    dynamic().transcode_to().expect("a history")
}

fn dynamic() -> DynamicMessage {
    let descriptors = include_bytes!(concat!(env!("OUT_DIR"), "/history.fds"));
    let pool = DescriptorPool::decode(descriptors.as_slice()).expect("descriptors");
    let find = |name| pool.get_message_by_name(name).expect("it is there");
    let event = find("temporal.api.history.v1.HistoryEvent");
    let types = pool
        .get_enum_by_name("temporal.api.enums.v1.EventType")
        .expect("it is there");
    let mut filler = Filler::default();
    let events = types
        .values()
        .filter(|kind| kind.number() != 0)
        .zip(1..)
        .map(|(kind, id)| {
            let name = kind
                .name()
                .strip_prefix("EVENT_TYPE_")
                .expect("the prefix")
                .to_lowercase();
            let attributes = format!("{name}_event_attributes");
            let mut message = filler.message(&event, DEPTH, &|field| field.name() == attributes);
            assert!(message.has_field_by_name(&attributes), "{attributes}");
            message.set_field_by_name("event_type", Value::EnumNumber(kind.number()));
            message.set_field_by_name("event_id", Value::I64(id));
            Value::Message(message)
        });
    let events = events.collect();
    let mut history = DynamicMessage::new(find("temporal.api.history.v1.History"));
    history.set_field_by_name("events", Value::List(events));
    history
}

/// Gives each field another value.
#[derive(Default)]
struct Filler(u32);

impl Filler {
    /// A message with every field set; of alternatives the one that is `chosen`, or else one after
    /// the other.
    fn message(
        &mut self,
        kind: &MessageDescriptor,
        depth: usize,
        chosen: &dyn Fn(&FieldDescriptor) -> bool,
    ) -> DynamicMessage {
        self.0 += 1;
        let mut message = DynamicMessage::new(kind.clone());
        match kind.full_name() {
            "google.protobuf.Timestamp" => {
                message.set_field_by_name("seconds", Value::I64(1_796_000_000 + i64::from(self.0)));
                message.set_field_by_name("nanos", Value::I32(self.0 as i32 * 1_001));
                return message;
            }
            "google.protobuf.Duration" => {
                message.set_field_by_name("seconds", Value::I64(i64::from(self.0)));
                message.set_field_by_name("nanos", Value::I32(self.0 as i32 * 1_000));
                return message;
            }
            name if name.starts_with("google.protobuf.") => return message,
            _ => {}
        }
        let turn = self.0 as usize;
        for field in kind.fields() {
            let alternatives = field
                .containing_oneof()
                .map(|oneof| oneof.fields().collect::<Vec<_>>());
            let is_meant = alternatives.is_none_or(|alternatives| {
                let choice = alternatives.iter().find(|field| chosen(field));
                choice.unwrap_or(&alternatives[turn % alternatives.len()]) == &field
            });
            if is_meant && let Some(value) = self.field(&field, depth) {
                message.set_field(&field, value);
            }
        }
        message
    }

    fn field(&mut self, field: &FieldDescriptor, depth: usize) -> Option<Value> {
        let kind = field.kind();
        if field.is_map() {
            let value = kind.as_message()?.map_entry_value_field();
            let entries = ["a key", "a-b", "eventType"].map(|key| {
                Some((
                    MapKey::String(key.to_owned()),
                    self.value(&value.kind(), depth)?,
                ))
            });
            let entries: Option<HashMap<_, _>> = entries.into_iter().collect();
            return entries.map(Value::Map);
        }
        if field.cardinality() == Cardinality::Repeated {
            let items = [self.value(&kind, depth)?, self.value(&kind, depth)?];
            return Some(Value::List(items.to_vec()));
        }
        self.value(&kind, depth)
    }

    fn value(&mut self, kind: &Kind, depth: usize) -> Option<Value> {
        self.0 += 1;
        let number = self.0;
        Some(match kind {
            Kind::Double => Value::F64(f64::from(number) + 0.1),
            Kind::Float => Value::F32(number as f32 + 0.5),
            Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => Value::I32(-(number as i32)),
            Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => Value::I64(i64::MAX - i64::from(number)),
            Kind::Uint32 | Kind::Fixed32 => Value::U32(u32::MAX - number),
            Kind::Uint64 | Kind::Fixed64 => Value::U64(u64::MAX - u64::from(number)),
            Kind::Bool => Value::Bool(true),
            Kind::String => Value::String(format!("text {number} \u{2713} \u{1F375} \"\\\u{7f}")),
            Kind::Bytes => Value::Bytes(vec![0, 0xFF, number as u8, (number >> 8) as u8].into()),
            Kind::Message(_) if depth == 0 => return None,
            Kind::Message(message) => Value::Message(self.message(message, depth - 1, &|_| false)),
            Kind::Enum(kind) => {
                let values: Vec<_> = kind.values().filter(|value| value.number() != 0).collect();
                Value::EnumNumber(values[number as usize % values.len()].number())
            }
        })
    }
}
