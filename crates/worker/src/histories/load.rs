//! Loading a history from a file of any form.

use std::path::Path;

use prost::Message as _;
use temporalio_common::protos::temporal::api::history::v1::History;

use super::{checks::check, error::HistoryError, json::read_json};

/// Loads a history, whatever the file is called: protobuf binary, the Rust SDK's JSON, or proto3
/// JSON, as `temporal workflow show --output json`, the web UI, the HTTP API and other SDKs write
/// it.
///
/// # Errors
///
/// [`HistoryError`]. A history that the SDK's core would choke on is refused here, and so is one
/// with a part that can't be read: nothing is passed over but fields that are not known.
pub fn load_history(file: &Path) -> Result<History, HistoryError> {
    let history = decode(&std::fs::read(file)?)?;
    check(&history)?;
    Ok(history)
}

fn decode(bytes: &[u8]) -> Result<History, HistoryError> {
    if let Some(text) = text_of_windows(bytes) {
        return read_json(text?.as_bytes());
    }
    match bytes.iter().find(|byte| !byte.is_ascii_whitespace()) {
        None => Err(HistoryError::Empty),
        // The first byte of the binary form is a line feed to whoever reads text, and the second,
        // a length, may be a bracket.
        Some(b'{' | b'[') => read_json(bytes).or_else(|error| match History::decode(bytes) {
            Ok(history) if bytes[0] == b'\n' => Ok(history),
            _ => Err(error),
        }),
        Some(_) => Ok(History::decode(bytes)?),
    }
}

/// The text of a file that begins with a byte order mark, as where PowerShell's redirection wrote
/// what a command printed. No binary form of a history begins so.
fn text_of_windows(bytes: &[u8]) -> Option<Result<String, HistoryError>> {
    let utf16 = |rest: &[u8], unit: fn([u8; 2]) -> u16| {
        let units = rest.chunks(2).map(|pair| match pair {
            [one, other] => unit([*one, *other]),
            _ => 0xD800, // half a unit: as wrong as half a pair
        });
        char::decode_utf16(units)
            .collect::<Result<String, _>>()
            .ok()
    };
    let text = match bytes {
        [0xEF, 0xBB, 0xBF, rest @ ..] => str::from_utf8(rest).ok().map(str::to_owned),
        [0xFF, 0xFE, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xFE, 0xFF, rest @ ..] => utf16(rest, u16::from_be_bytes),
        _ => return None,
    };
    let text = text.ok_or_else(|| {
        HistoryError::Json("its bytes are not in the encoding that its first bytes tell".to_owned())
    });
    Some(text.and_then(|text| match text.trim() {
        "" => Err(HistoryError::Empty),
        _ => Ok(text),
    }))
}
