//! What search tools answer, read as items.

use notekeeper_domain::{Item, ItemMetadata, check_item_id, is_blank, readable_json, trim_space};
use serde_json::{Map, Value};

use super::kept_items::cut;

/// Names under which tools give the text of a result, in the order in which they count.
const CONTENT_NAMES: [&str; 3] = ["content", "text", "snippet"];

/// The items of a result, in its order. It reads
///
/// - an object with a list under `results`: that list
/// - a list of objects: each with its text under `content`, `text` or `snippet`, and where they are there
///   `score` (a number), `id` (a text or an integer) and `metadata` (an object); all other entries are
///   metadata as well
/// - a list of texts
/// - a text: one item for each part between blank lines
///
/// Anything else is one item with the result's JSON text; null is none. Blank texts are passed over.
///
/// A tool may be anybody's, so all items have the bounds of those that can be kept: of a longer text the
/// first [`ITEM_CHARS_MAX`](notekeeper_domain::ITEM_CHARS_MAX) characters are there, and `truncated` in the metadata; what can't be an id, or
/// metadata that doesn't [fit](ItemMetadata::fitting), is left out.
pub(super) fn items_of(result: Value, source: &str) -> Vec<Item> {
    let result = match result {
        Value::Object(mut object) if object.get("results").is_some_and(Value::is_array) => {
            object.remove("results").unwrap_or_default()
        }
        other => other,
    };
    let items: Vec<Item> = match result {
        Value::Null => Vec::new(),
        Value::String(text) => parts(&text).map(|part| Item::new(part, source)).collect(),
        Value::Array(list) if list.iter().all(Value::is_object) => {
            let objects = list.into_iter().filter_map(|value| match value {
                Value::Object(object) => Some(object),
                _ => None,
            });
            objects.map(|object| item_of(object, source)).collect()
        }
        Value::Array(list) if list.iter().all(Value::is_string) => {
            let texts = list.iter().filter_map(Value::as_str);
            texts.map(|text| Item::new(text, source)).collect()
        }
        other => vec![Item::new(readable_json(&other), source)],
    };
    items.into_iter().filter_map(readable).collect()
}

/// The item of one object of a list.
fn item_of(mut object: Map<String, Value>, source: &str) -> Item {
    let name = CONTENT_NAMES
        .into_iter()
        .find(|name| object.get(*name).is_some_and(Value::is_string));
    let content = match name.and_then(|name| object.remove(name)) {
        Some(Value::String(content)) => content,
        _ => readable_json(&Value::Object(object.clone())),
    };
    let mut item = Item::new(content, source);
    if let Some(score) = object.get("score").and_then(Value::as_f64) {
        item = item.with_score(score);
        object.remove("score");
    }
    if let Some(id) = object.get("id").and_then(id_of) {
        item.id = check_item_id(&id).is_ok().then_some(id);
        object.remove("id");
    }
    // What the tool itself takes for metadata counts more than what stands beside it.
    if let Some(Value::Object(own)) = object.get("metadata").cloned() {
        object.remove("metadata");
        object.extend(own);
    }
    // One that is known of the item goes before: it is what the item is written back under.
    if item.id.is_some() {
        object.remove("id");
    }
    item.with_metadata(ItemMetadata::new(object).unstamped())
}

fn id_of(value: &Value) -> Option<String> {
    match value {
        Value::String(id) => Some(id.clone()),
        Value::Number(id) if id.is_i64() || id.is_u64() => Some(id.to_string()),
        _ => None,
    }
}

/// An item that a model can read and a store can keep; `None` where there is nothing to read.
fn readable(mut item: Item) -> Option<Item> {
    if item.content.contains('\0') {
        item.content = item.content.replace('\0', "\u{fffd}");
    }
    let (content, known) = cut(&item.content, item.metadata.fitting());
    item.metadata = known;
    item.content = content.to_owned();
    (!is_blank(&item.content)).then_some(item)
}

/// What stands between blank lines.
fn parts(text: &str) -> impl Iterator<Item = String> {
    let mut parts: Vec<String> = vec![String::new()];
    for line in text.lines() {
        match parts.last_mut() {
            Some(part) if !is_blank(line) => {
                if !part.is_empty() {
                    part.push('\n');
                }
                part.push_str(line);
            }
            Some(part) if part.is_empty() => {}
            _ => parts.push(String::new()),
        }
    }
    parts.into_iter().map(|part| trim_space(&part).to_owned())
}
