//! Items that are to be kept, as every source that keeps some takes them; and what all say that work on
//! stores.

use notekeeper_domain::{
    Fingerprint, ITEM_CHARS_MAX, ITEMS_WRITTEN_MAX, InvalidItem, Item, ItemMetadata, Operation,
    OperationId, char_prefix, taken_id,
};
use notekeeper_store::Store;
use serde_json::Value;

use crate::{SourceError, WriteOperation};

/// Under this key the metadata of an item says that its content isn't all of what it is the item of.
pub(crate) const TRUNCATED: &str = "truncated";

/// The items with the ids under which they are kept, without what queries stamped on them. One that
/// says that it is a part of what its id names isn't kept: it would take the place of the whole. All are
/// looked at before anything is kept, so that of a write with one that can't be kept nothing is.
pub(crate) fn kept_items(
    items: &[Item],
    operation: &WriteOperation,
) -> Result<Vec<Item>, SourceError> {
    if items.len() > ITEMS_WRITTEN_MAX {
        return Err(SourceError::TooLarge(format!(
            "there are {} items, {ITEMS_WRITTEN_MAX} can be written at once; write them in several steps",
            items.len()
        )));
    }
    let kept = items.iter().enumerate().map(|(index, item)| {
        // A text is taken as the id, and anything else would be lost without a word.
        if let Some(id) = item.metadata.get("id")
            && !id.is_string()
        {
            return Err(of_item(
                index,
                "has an `id` in its metadata that is no text; give a text, or leave it out",
            ));
        }
        let mut kept = taken_id(item.clone());
        kept.check().map_err(|error| invalid_item(index, &error))?;
        // Under a new id it takes the place of nothing.
        if kept.id.is_some() && is_cut(&kept) {
            return Err(only_a_part(index));
        }
        if kept.id.is_none() {
            kept.id = Some(operation.item_id(index, &kept.content));
        }
        Ok(kept)
    });
    kept.collect()
}

/// One of the changes of a write. Each has the arguments of the whole write, so that no other write passes
/// for a repetition because it begins alike.
pub(crate) fn part(id: OperationId, source: &str, items: &[Item]) -> Operation {
    Operation {
        id,
        fingerprint: Fingerprint::of_written_items(source, items),
    }
}

/// Says which item can't be kept, and why.
pub(crate) fn invalid_item(index: usize, error: &InvalidItem) -> SourceError {
    let told = format!("`items[{index}]` {error}");
    match error {
        InvalidItem::TooLong { .. } | InvalidItem::MetadataTooLarge { .. } => {
            SourceError::TooLarge(told)
        }
        _ => SourceError::Invalid(told),
    }
}

/// Says which item makes no sense to a source, and why.
pub(crate) fn of_item(index: usize, what: &str) -> SourceError {
    SourceError::Invalid(format!("`items[{index}]` {what}"))
}

/// Whether an item has a part of a record and not all of it, and says so.
pub(crate) fn is_cut(item: &Item) -> bool {
    item.metadata.get(TRUNCATED) == Some(&Value::Bool(true))
}

/// The item, which says that it isn't all of its record.
pub(crate) fn marked_cut(mut item: Item) -> Item {
    item.metadata = item.metadata.with(TRUNCATED, Value::Bool(true));
    item
}

/// Says that an item would take the place of what it is but a part of.
pub(crate) fn only_a_part(index: usize) -> SourceError {
    of_item(
        index,
        "is only a part of what its id or `path` names, and would take the place of all of it; give the \
         whole text, without what a query said of the part, such as `truncated` in its metadata",
    )
}

/// The first characters of a text, as many as an item may have, and the metadata, which says so where that
/// isn't all.
pub(crate) fn cut(text: &str, known: ItemMetadata) -> (&str, ItemMetadata) {
    match char_prefix(text, ITEM_CHARS_MAX) {
        (text, false) => (text, known),
        (text, true) => (text, known.with(TRUNCATED, Value::Bool(true))),
    }
}

/// Says that a store keeps nothing of the kind that a source works on.
pub(crate) fn lacks(store: &dyn Store, what: &str, remedy: &str) -> SourceError {
    SourceError::Unsupported(format!(
        "the store, of kind `{}`, {what}; {remedy}",
        store.kind()
    ))
}

/// These entries as metadata.
pub(crate) fn metadata<const N: usize>(entries: [(&str, Value); N]) -> ItemMetadata {
    let entries = entries.map(|(key, value)| (key.to_owned(), value));
    ItemMetadata::new(entries.into_iter().collect())
}
