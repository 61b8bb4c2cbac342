//! Where the events are: alone, in a list, in a history, or in the pages that a server answers with.

use serde_json::{Map, Value};

use crate::histories::error::HistoryError;

/// The events of all documents, in the order in which they stand there.
pub(super) fn events_of(documents: Vec<Value>) -> Result<Vec<Value>, HistoryError> {
    let mut events = Vec::new();
    let mut more = false;
    for document in documents {
        more = take(document, &mut events)?;
    }
    if more {
        return Err(HistoryError::Events(
            "it is a page of one, and others follow (`nextPageToken`); write all pages into the file"
                .to_owned(),
        ));
    }
    Ok(events)
}

/// Takes the events of a document, and says whether it is a page after which there are more.
fn take(document: Value, events: &mut Vec<Value>) -> Result<bool, HistoryError> {
    let mut more = false;
    match document {
        Value::Array(items) => {
            for item in items {
                more = take(item, events)?;
            }
        }
        Value::Object(object) if is_event(&object) => events.push(Value::Object(object)),
        Value::Object(mut object) => {
            more = ["nextPageToken", "next_page_token"].iter().any(|key| {
                object
                    .get(*key)
                    .and_then(Value::as_str)
                    .is_some_and(|it| !it.is_empty())
            });
            match (object.remove("events"), object.remove("history")) {
                (Some(Value::Array(items)), _) => events.extend(items),
                (None, Some(history @ Value::Object(_))) => {
                    take(history, events)?;
                }
                _ => return Err(HistoryError::NoHistory(what_it_is(&object).to_owned())),
            }
        }
        _ => return Err(HistoryError::NoHistory("JSON, but no history".to_owned())),
    }
    Ok(more)
}

fn is_event(object: &Map<String, Value>) -> bool {
    ["eventId", "event_id", "eventType", "event_type"]
        .iter()
        .any(|key| object.contains_key(*key))
}

/// What Temporal's tools print that is no history.
fn what_it_is(object: &Map<String, Value>) -> &'static str {
    let has = |key: &str| object.contains_key(key);
    if has("workflowExecutionInfo") {
        "what `temporal workflow describe` prints, and no history"
    } else if has("closeEvent") || (has("workflowId") && (has("result") || has("status"))) {
        "what `temporal workflow result` prints, and no history"
    } else if has("execution") {
        "what `temporal workflow list` prints, and no history"
    } else if has("rawHistory") {
        "an answer with a raw history, which only clients of the server read"
    } else {
        "JSON without `events`, and no history"
    }
}
