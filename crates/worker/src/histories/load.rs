//! Loading a history from a file of any form.

use std::{fs::File, io::Read as _, path::Path};

use prost::Message as _;
use temporalio_common::protos::temporal::api::history::v1::History;

use super::{checks::check, error::HistoryError, json::read_json};

/// Most bytes of a file that are read. Servers end a run at 50 MiB of history by default, which JSON
/// with its base64 and its indentation makes several times as long.
const FILE_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// Loads a history, whatever the file is called: protobuf binary, the Rust SDK's JSON, or proto3
/// JSON, as `temporal workflow show --output json`, the web UI, the HTTP API and other SDKs write
/// it.
///
/// # Errors
///
/// [`HistoryError`]. A history that the SDK's core would choke on is refused here, and so is one
/// with a part that can't be read: nothing is passed over but fields that are not known. Of a file at
/// most 256 MiB are read; a longer one, and a device without an end, is refused.
pub fn load_history(file: &Path) -> Result<History, HistoryError> {
    let history = decode(&read(File::open(file)?, FILE_BYTES_MAX)?)?;
    check(&history)?;
    Ok(history)
}

/// All bytes of a source of at most `limit` bytes; its length is not asked for, since a pipe or a
/// device tells none.
fn read(source: impl std::io::Read, limit: u64) -> Result<Vec<u8>, HistoryError> {
    let mut bytes = Vec::new();
    let count = source.take(limit + 1).read_to_end(&mut bytes)?;
    if count as u64 > limit {
        return Err(HistoryError::TooLarge { limit });
    }
    Ok(bytes)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_read_to_the_limit_and_no_further() {
        assert_eq!(read(&b"four"[..], 4).expect("it fits"), b"four");
        let mut longer = &b"longer"[..];
        let refused = read(&mut longer, 4).expect_err("it doesn't fit");
        assert!(matches!(refused, HistoryError::TooLarge { limit: 4 }));
        assert_eq!(longer, b"r");
    }

    #[cfg(unix)]
    #[test]
    fn a_device_without_an_end_is_refused_with_the_limit() {
        let refused = load_history(Path::new("/dev/zero")).expect_err("it has no end");
        assert_eq!(
            refused.to_string(),
            "has more than 256 MiB, the most that is read of a history"
        );
    }
}
