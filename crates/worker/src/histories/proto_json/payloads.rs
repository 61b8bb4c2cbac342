//! Payloads, which tools write for people to read.
//!
//! | form | who writes it |
//! | --- | --- |
//! | `{"metadata": {"encoding": "anNvbi9wbGFpbg=="}, "data": "MQ=="}` | proto3 JSON: the command line, the web UI by default, the SDKs |
//! | `{"metadata": {"encoding": "json/plain"}, "data": 1}` | the web UI, where it is to download a decoded history |
//! | `1` | older web UIs then, and the server's HTTP API unless told otherwise |
//!
//! The second one must not be taken for the first: `json/plain` happens to be base64 of something.

use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig, general_purpose::STANDARD},
};
use serde_json::{Map, Value, json};

/// The key under which the HTTP API puts the type of a protobuf message beside its fields.
const MESSAGE_TYPE: &str = "_protoMessageType";

/// A note of older web UIs beside the encoding, which was never part of the payload.
const NOTE: &str = "encodingDecoded";

/// Gives the payloads of a list the form of proto3 JSON.
pub(super) fn restore_all(json: &mut Value) {
    if let Value::Array(items) = json {
        *json = json!({ "payloads": std::mem::take(items) });
    }
    let Some(Value::Array(items)) = json.get_mut("payloads") else {
        return;
    };
    for item in items {
        // An empty list member is a payload; an empty field is none.
        if item.is_null() {
            *item = json!({ "metadata": { "encoding": STANDARD.encode("binary/null") } });
        }
    }
}

/// Gives a payload the form of proto3 JSON.
pub(super) fn restore_one(json: &mut Value) -> Result<(), String> {
    match json {
        Value::Object(object) if is_payload(object) => restore(object),
        value => {
            *value = of_value(std::mem::take(value));
            Ok(())
        }
    }
}

/// Whether it is a payload, and not the value of one.
fn is_payload(object: &Map<String, Value>) -> bool {
    let keys = ["metadata", "data", "externalPayloads", "external_payloads"];
    let nothing_else = object.keys().all(|key| keys.contains(&key.as_str()));
    match object.get("metadata") {
        // A payload of a newer server may have fields that aren't known.
        Some(Value::Object(metadata)) => {
            (nothing_else || metadata.contains_key("encoding"))
                && metadata.values().all(Value::is_string)
        }
        Some(_) => false,
        None => nothing_else,
    }
}

/// The payload of a value, as the SDKs make it.
fn of_value(mut value: Value) -> Value {
    let message_type = value
        .as_object_mut()
        .and_then(|object| object.remove(MESSAGE_TYPE));
    match message_type {
        Some(Value::String(message_type)) => json!({
            "metadata": {
                "encoding": STANDARD.encode("json/protobuf"),
                "messageType": STANDARD.encode(message_type),
            },
            "data": STANDARD.encode(value.to_string()),
        }),
        _ => json!({
            "metadata": { "encoding": STANDARD.encode("json/plain") },
            "data": STANDARD.encode(value.to_string()),
        }),
    }
}

fn restore(payload: &mut Map<String, Value>) -> Result<(), String> {
    let Some(Value::Object(metadata)) = payload.get_mut("metadata") else {
        return Ok(());
    };
    if metadata.len() > 1 {
        metadata.remove(NOTE);
    }
    let Some(encoding) = metadata.get("encoding").and_then(Value::as_str) else {
        return Ok(());
    };
    let encoding = encoding.to_owned();
    if let Some(encoding) = decoded(&encoding) {
        // What is base64 is left to the reader; data that isn't was decoded beside its encoding.
        return match payload.get_mut("data") {
            None | Some(Value::String(_) | Value::Null) => Ok(()),
            Some(data) => encode_data(data, &encoding),
        };
    }
    for value in metadata.values_mut() {
        *value = STANDARD.encode(value.as_str().unwrap_or_default()).into();
    }
    match payload.get_mut("data") {
        Some(data) => encode_data(data, &encoding),
        None => Ok(()),
    }
}

/// The text, where this is base64 of one. Names of encodings are words of ASCII.
fn decoded(encoding: &str) -> Option<String> {
    // As lenient as readers of proto3 JSON are.
    let config = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    let bytes = [&alphabet::STANDARD, &alphabet::URL_SAFE]
        .into_iter()
        .find_map(|alphabet| GeneralPurpose::new(alphabet, config).decode(encoding).ok())?;
    let text = String::from_utf8(bytes).ok()?;
    text.chars()
        .all(|letter| letter.is_ascii_graphic())
        .then_some(text)
}

/// Encodes data that was decoded for a person. The value is what it was; its bytes may differ in
/// the order of keys and in white space.
fn encode_data(data: &mut Value, encoding: &str) -> Result<(), String> {
    let text = match (encoding, &*data) {
        ("binary/null", _) => String::new(),
        (json, value) if json.starts_with("json/") => value.to_string(),
        _ => {
            return Err(format!(
                "was decoded from `{encoding}`, and can't be encoded again; take the history as it \
                 is recorded"
            ));
        }
    };
    *data = STANDARD.encode(text).into();
    Ok(())
}
