//! The scratchpad as a source: values by key that a workflow holds, looked through without a store.
//! Workflow code and activities share these rules.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::{
    ITEM_CHARS_MAX, Item, ItemMetadata, RecordIds, Where, char_prefix, query_words, readable_json,
};

/// Digits of the ids that items get which bring none.
const DERIVED_ID_CHARS: usize = 64;

/// Under this key the metadata of an item tells the key of its entry, where no id can hold that.
pub const SCRATCHPAD_KEY: &str = "scratchpad_key";

/// The entries that match a query, ascending by key: at most `limit`, each under the [id of its key](RecordIds::of_scratchpad),
/// and none with a score.
///
/// An entry matches where one of the query's [words](query_words) is in its key or in the text of its
/// value, both in lower case; for a query without words every entry does. What [`scratchpad_entry`] made
/// of an item is that item again; of another value the item's content is [`keyed_text`], and there is no
/// metadata. Of a longer text the first
/// [`ITEM_CHARS_MAX`] characters are the item, and looked at; its metadata has `truncated`. Where a key is
/// too long for an id, or has control characters, a digest stands in the id, and the key in the metadata
/// under [`SCRATCHPAD_KEY`]; an `id` that stands in an entry's metadata isn't shown, since the item has one.
///
/// ```
/// use std::collections::BTreeMap;
///
/// use notekeeper_domain::{Where, scratchpad_items};
/// use serde_json::json;
///
/// let entries = BTreeMap::from([
///     ("customer".to_owned(), json!("Ada")),
///     ("order".to_owned(), json!({"number": 7})),
/// ]);
/// let items = scratchpad_items("pad", &entries, "Which ORDER?", &Where::default(), 5);
/// assert_eq!(items.len(), 1);
/// assert_eq!(items[0].content, r#"order: {"number":7}"#);
/// assert_eq!(items[0].id.as_deref(), Some("scratchpad:order"));
/// ```
pub fn scratchpad_items(
    source: &str,
    entries: &BTreeMap<String, Value>,
    query: &str,
    condition: &Where,
    limit: usize,
) -> Vec<Item> {
    let words = query_words(query);
    let ids = RecordIds::of_scratchpad();
    let matching = entries.iter().filter_map(|(key, value)| {
        let (text, metadata) = text_and_metadata(value);
        let id = ids.id(key);
        let metadata = match ids.is_digest(&id) {
            true => metadata.with(SCRATCHPAD_KEY, json!(key)),
            false => metadata,
        };
        // What was found can be written back, where an item brings one id.
        let metadata = metadata.without(&["id"]);
        let keyed = keyed_text(key, &text);
        let (content, is_cut) = char_prefix(&keyed, ITEM_CHARS_MAX);
        let metadata = match is_cut {
            true => metadata.unstamped().with("truncated", json!(true)),
            false => metadata.unstamped(),
        };
        let (text, _) = char_prefix(&text, ITEM_CHARS_MAX);
        let (key_lower, text_lower) = (key.to_lowercase(), text.to_lowercase());
        let has = |word: &String| key_lower.contains(word) || text_lower.contains(word);
        if !(words.is_empty() || words.iter().any(has)) || !condition.matches(&metadata) {
            return None;
        }
        let item = Item::new(content, source).with_id(id);
        Some(item.with_metadata(metadata))
    });
    matching.take(limit).collect()
}

/// The value under which a workflow keeps an item: its content, with its metadata where it has any.
pub fn scratchpad_entry(item: &Item) -> Value {
    match item.metadata.is_empty() {
        true => json!(item.content),
        false => json!({"content": item.content, "metadata": item.metadata.to_object()}),
    }
}

/// The value of an entry after a write: what stands there `before` where the text that is `written` is what
/// [`scratchpad_items`] makes of it, so that a number, a list or an object that is written back stays one.
///
/// ```
/// use notekeeper_domain::scratchpad_value;
/// use serde_json::json;
///
/// assert_eq!(scratchpad_value(Some(&json!(7)), json!("7")), json!(7));
/// assert_eq!(scratchpad_value(Some(&json!(7)), json!("8")), json!("8"));
/// assert_eq!(scratchpad_value(None, json!("7")), json!("7"));
/// ```
pub fn scratchpad_value(before: Option<&Value>, written: Value) -> Value {
    match (before, &written) {
        (Some(before), Value::String(text)) if text_and_metadata(before).0 == *text => match before
        {
            // What was an item with metadata is one without them now.
            Value::Object(object) if written_item(object).is_some() => written,
            before => before.clone(),
        },
        _ => written,
    }
}

/// A text that was kept under a key, as a model is to read it: after its key, unless that is one which
/// an item got because it had none.
///
/// ```
/// use notekeeper_domain::keyed_text;
///
/// assert_eq!(keyed_text("colour", "blue"), "colour: blue");
/// assert_eq!(keyed_text(&"0f".repeat(32), "a passage"), "a passage");
/// ```
pub fn keyed_text(key: &str, text: &str) -> String {
    let digit = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    match key.len() == DERIVED_ID_CHARS && key.bytes().all(digit) {
        true => text.to_owned(),
        false => format!("{key}: {text}"),
    }
}

/// What [`keyed_text`] made a text of, so that what was found under a key can be kept under it again.
///
/// ```
/// use notekeeper_domain::unkeyed_text;
///
/// assert_eq!(unkeyed_text("colour", "colour: blue"), "blue");
/// assert_eq!(unkeyed_text("colour", "blue"), "blue");
/// ```
pub fn unkeyed_text<'t>(key: &str, text: &'t str) -> &'t str {
    let after = text.strip_prefix(key);
    after.and_then(|it| it.strip_prefix(": ")).unwrap_or(text)
}

fn text_and_metadata(value: &Value) -> (String, ItemMetadata) {
    match value {
        Value::String(text) => (text.clone(), ItemMetadata::default()),
        Value::Object(object) => match written_item(object) {
            Some((content, metadata)) => (content.to_owned(), ItemMetadata::new(metadata.clone())),
            None => (readable_json(value), ItemMetadata::default()),
        },
        _ => (readable_json(value), ItemMetadata::default()),
    }
}

/// Content and metadata of what [`scratchpad_entry`] made.
fn written_item(object: &Map<String, Value>) -> Option<(&str, &Map<String, Value>)> {
    let content = object.get("content")?.as_str()?;
    let metadata = object.get("metadata")?.as_object()?;
    (object.len() == 2).then_some((content, metadata))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(value: Value) -> BTreeMap<String, Value> {
        serde_json::from_value(value).unwrap()
    }

    fn found(of: &BTreeMap<String, Value>, query: &str, limit: usize) -> Vec<String> {
        let items = scratchpad_items("pad", of, query, &Where::default(), limit);
        let ids = items.into_iter().filter_map(|item| item.id);
        ids.map(|id| id.strip_prefix("scratchpad:").unwrap().to_owned())
            .collect()
    }

    #[test]
    fn entries_match_by_a_word_in_key_or_text_and_come_in_the_order_of_keys() {
        let pad = entries(json!({
            "Zone": "eu-west-1",
            "budget": 7,
            "customer": {"name": "Ada", "langs": ["C++", "Go"]},
            "empty": null,
            "ort": {"Straße": "Köln"},
        }));
        for (query, keys) in [
            ("zone", vec!["Zone"]),
            ("EU-WEST", vec!["Zone"]),
            ("where is ada?", vec!["customer"]),
            ("c++", vec!["customer"]),
            ("7 zone", vec!["Zone", "budget"]),
            ("name:", vec!["customer"]),
            ("KÖLN", vec!["ort"]),
            ("straße", vec!["ort"]),
            ("a%", vec![]),
            ("_", vec![]),
            ("a.a", vec![]),
            ("", vec!["Zone", "budget", "customer", "empty", "ort"]),
            ("\n ", vec!["Zone", "budget", "customer", "empty", "ort"]),
        ] {
            assert_eq!(found(&pad, query, 10), keys, "{query:?}");
        }
        assert_eq!(found(&pad, "", 2), ["Zone", "budget"]);
        assert_eq!(found(&pad, "", 0), [""; 0]);
    }

    #[test]
    fn no_entry_is_ranked() {
        let pad = entries(json!({"a": "x", "b": "x x"}));
        let items = scratchpad_items("pad", &pad, "x", &Where::default(), 5);
        assert!(items.iter().all(|item| item.score().is_none()));
        assert!(items.iter().all(|item| item.source == "pad"));
    }

    #[test]
    fn an_item_that_was_kept_comes_back_with_its_metadata_and_can_be_filtered_by_it() {
        let metadata = ItemMetadata::of_value(json!({"tier": "public"})).unwrap();
        let item = Item::new("Refunds take 5 days.", "x").with_metadata(metadata.clone());
        let id = "0f".repeat(32);
        let pad = BTreeMap::from([
            (id.clone(), scratchpad_entry(&item)),
            (
                "plain".to_owned(),
                scratchpad_entry(&Item::new("plain", "x")),
            ),
        ]);
        let wanted = Where::of_value(json!({"tier": "public"})).unwrap();
        let items = scratchpad_items("pad", &pad, "", &wanted, 5);
        let kept = Item::new("Refunds take 5 days.", "pad").with_id(format!("scratchpad:{id}"));
        assert_eq!(items, [kept.with_metadata(metadata)]);
        assert_eq!(pad["plain"], json!("plain"));
    }

    #[test]
    fn of_a_long_text_the_beginning_is_found_and_says_so_and_stamps_of_queries_are_not_believed() {
        let long = format!("alpha {} omega", "x".repeat(ITEM_CHARS_MAX));
        let stamped =
            json!({"content": "alpha", "metadata": {"dedupe_count": 9, "tier": "public"}});
        let pad = entries(json!({"long": long, "stamped": stamped}));
        let items = scratchpad_items("pad", &pad, "alpha", &Where::default(), 5);
        assert_eq!(items[0].content.chars().count(), ITEM_CHARS_MAX);
        assert!(items[0].content.starts_with("long: alpha x"));
        let known: Vec<Value> = items
            .iter()
            .map(|it| json!(it.metadata.to_object()))
            .collect();
        assert_eq!(
            known,
            [json!({"truncated": true}), json!({"tier": "public"})]
        );
        assert_eq!(found(&pad, "omega", 5), [""; 0]);
    }

    #[test]
    fn a_value_that_is_written_back_as_it_was_found_keeps_its_type() {
        let pad = entries(json!({
            "flag": true, "list": [1, "a"], "n": 1.5, "nothing": null, "object": {"b": 1, "a": 2},
            "text": "1.5", "item": {"content": "x", "metadata": {"tier": "public"}},
        }));
        for item in scratchpad_items("pad", &pad, "", &Where::default(), 10) {
            let key = item
                .id
                .as_deref()
                .and_then(|id| id.strip_prefix("scratchpad:"));
            let key = key.unwrap();
            let text = unkeyed_text(key, &item.content);
            let back = Item::new(text, "pad").with_metadata(item.metadata.clone());
            let value = scratchpad_value(pad.get(key), scratchpad_entry(&back));
            assert_eq!(value, pad[key], "{key}");
            let changed = scratchpad_value(pad.get(key), json!("other"));
            assert_eq!(changed, json!("other"));
        }
        // Metadata that are gone are gone.
        assert_eq!(scratchpad_value(pad.get("item"), json!("x")), json!("x"));
    }

    #[test]
    fn an_object_of_the_workflows_own_is_no_item() {
        for value in [
            json!({"content": "x"}),
            json!({"content": "x", "metadata": {}, "more": 1}),
            json!({"content": 1, "metadata": {}}),
        ] {
            let pad = BTreeMap::from([("k".to_owned(), value.clone())]);
            let items = scratchpad_items("pad", &pad, "", &Where::default(), 5);
            assert_eq!(items[0].content, format!("k: {}", readable_json(&value)));
            assert!(items[0].metadata.is_empty());
        }
    }
}
