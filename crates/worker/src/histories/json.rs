//! Which JSON of a history it is.

use serde_json::{Deserializer, Value};
use temporalio_common::protos::temporal::api::history::v1::History;

use super::{error::HistoryError, expected::expected, proto_json};

/// Reads a history from either JSON.
pub(super) fn read_json(text: &[u8]) -> Result<History, HistoryError> {
    let documents = Deserializer::from_slice(text)
        .into_iter()
        .collect::<Result<Vec<Value>, _>>()
        .map_err(|error| {
            HistoryError::Json(if error.is_eof() {
                format!("it ends too early: {error}")
            } else {
                error.to_string()
            })
        })?;
    if documents.first().is_some_and(is_of_the_sdk) {
        return serde_path_to_error::deserialize(&mut serde_json::Deserializer::from_slice(text))
            .map_err(|error| HistoryError::SdkJson(expected(error.path(), error.inner())));
    }
    proto_json::read(documents)
}

/// Whether the events have the key in which the SDK's own JSON keeps what belongs to their type.
/// In proto3 JSON that key is named after the type.
fn is_of_the_sdk(document: &Value) -> bool {
    document["events"][0].get("attributes").is_some()
}
