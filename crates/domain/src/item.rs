//! Items: what a source is asked for, and what it keeps.

mod filter;
mod metadata;
mod record_ids;

use std::hash::{Hash, Hasher};

use serde_json::Value;

pub use self::{
    filter::{InvalidWhere, Where},
    metadata::ItemMetadata,
    record_ids::RecordIds,
};

use crate::{
    ITEM_CHARS_MAX, ITEM_ID_BYTES_MAX, ITEM_METADATA_BYTES_MAX, ITEM_METADATA_LEVELS_MAX,
    ITEM_ORIGINS, is_blank,
};

/// What a source found, or is to keep.
///
/// Two items are equal where all five fields are. The hash leaves `id` and `metadata` out, as two
/// records of one passage mostly differ in these: they fall into one bucket and are told apart there.
///
/// ```
/// use notekeeper_domain::Item;
///
/// let item = Item::new("Refunds take 5 days.", "handbook").with_score(0.5);
/// assert_eq!(item.score(), Some(0.5));
/// assert_eq!(item.clone().with_score(f64::NAN).score(), None);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// The text, ready for a model to read.
    pub content: String,
    /// Name of the source that found it. What an item says here that is written is passed over: who
    /// finds it later puts its own name there.
    pub source: String,
    /// Stable within its source; `None` where the source knows none.
    pub id: Option<String>,
    score: Option<f64>,
    /// What else the source knows of it.
    pub metadata: ItemMetadata,
}

impl Item {
    /// An item without id, score and metadata.
    pub fn new(content: impl Into<String>, source: impl Into<String>) -> Self {
        Self {
            content: content.into(),
            source: source.into(),
            id: None,
            score: None,
            metadata: ItemMetadata::default(),
        }
    }

    /// The same with an id. An empty one is none.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into()).filter(|id| !id.is_empty());
        self
    }

    /// The same with a score. One that isn't finite is none.
    #[must_use]
    pub fn with_score(mut self, score: f64) -> Self {
        // The one zero: equal items have equal hashes.
        self.score = score.is_finite().then_some(score + 0.0);
        self
    }

    /// The same without a score.
    #[must_use]
    pub fn without_score(mut self) -> Self {
        self.score = None;
        self
    }

    /// The same with metadata in the place of its own.
    #[must_use]
    pub fn with_metadata(mut self, metadata: ItemMetadata) -> Self {
        self.metadata = metadata;
        self
    }

    /// How relevant the source takes it to be, by the source's own measure, higher is better; `None`
    /// where it doesn't rank. Always finite.
    pub fn score(&self) -> Option<f64> {
        self.score
    }

    /// Whether a source can keep it.
    ///
    /// # Errors
    ///
    /// [`InvalidItem`] says what to change, and quotes nothing.
    pub fn check(&self) -> Result<(), InvalidItem> {
        let chars = self.content.chars().count();
        if chars > ITEM_CHARS_MAX {
            return Err(InvalidItem::TooLong { chars });
        }
        if is_blank(&self.content) {
            return Err(InvalidItem::Blank);
        }
        if self.content.contains('\0') {
            return Err(InvalidItem::Nul { part: "content" });
        }
        if let Some(id) = &self.id {
            check_item_id(id)?;
        }
        self.metadata.check()
    }
}

/// Checks the id of an item that is to be kept.
///
/// # Errors
///
/// [`InvalidItem::Id`].
pub fn check_item_id(id: &str) -> Result<(), InvalidItem> {
    let fits = (1..=ITEM_ID_BYTES_MAX).contains(&id.len());
    match fits && !id.chars().any(char::is_control) {
        true => Ok(()),
        false => Err(InvalidItem::Id),
    }
}

impl Eq for Item {}

impl Hash for Item {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.content.hash(state);
        self.source.hash(state);
        self.score.map(f64::to_bits).hash(state);
    }
}

/// Why an item can't be kept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidItem {
    /// There is nothing to read in it.
    #[error("has no content; leave the item out")]
    Blank,
    /// The content is too long.
    #[error(
        "has a content of {chars} characters, {ITEM_CHARS_MAX} are allowed; split it into several items"
    )]
    TooLong {
        /// How long it is.
        chars: usize,
    },
    /// A NUL character stands in it.
    #[error("contains a NUL character (U+0000) in `{part}`; leave it out")]
    Nul {
        /// Where: `content` or `metadata`. Its keys may be anything, so none is told.
        part: &'static str,
    },
    /// The id can't be one.
    #[error("has an id that is not 1 to {ITEM_ID_BYTES_MAX} bytes without control characters")]
    Id,
    /// The metadata is too large.
    #[error(
        "has metadata of {bytes} bytes as JSON, {ITEM_METADATA_BYTES_MAX} are allowed; keep less there"
    )]
    MetadataTooLarge {
        /// How large it is.
        bytes: usize,
    },
    /// Lists and objects stand too deep in one another.
    #[error("has metadata with more than {ITEM_METADATA_LEVELS_MAX} levels; make it flatter")]
    TooDeep,
}

/// Takes the id out of the metadata of an item that is to be kept: a text under `id`, which is the
/// item's own id afterwards. Keys that queries stamp on items ([`ITEM_ORIGINS`]) go as well.
pub fn taken_id(mut item: Item) -> Item {
    let id = item
        .metadata
        .get("id")
        .and_then(Value::as_str)
        .map(str::to_owned);
    let kept = item
        .metadata
        .without(&[&["id"], &ITEM_ORIGINS[..]].concat());
    item.metadata = kept;
    match id {
        Some(id) => item.with_id(id),
        None => item,
    }
}

#[cfg(test)]
mod tests {
    use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};

    use serde_json::json;

    use super::*;

    fn metadata(value: Value) -> ItemMetadata {
        ItemMetadata::of_value(value).unwrap()
    }

    fn hash(item: &Item) -> u64 {
        BuildHasherDefault::<DefaultHasher>::default().hash_one(item)
    }

    #[test]
    fn equal_items_have_all_in_common_and_hashes_leave_out_id_and_metadata() {
        let item = Item::new("c", "s").with_score(0.0);
        let annotated = item.clone().with_metadata(metadata(json!({"path": "/a"})));
        assert_ne!(item, annotated);
        assert_ne!(item, item.clone().with_id("1"));
        assert_ne!(hash(&item), hash(&item.clone().with_score(0.5)));
        assert_eq!(hash(&item), hash(&annotated.with_id("1")));
        let zero = item.clone().with_score(-0.0);
        assert_eq!((&item, hash(&item)), (&zero, hash(&zero)));
    }

    #[test]
    fn metadata_that_is_passed_on_is_never_changed_for_others() {
        let item = Item::new("c", "s").with_metadata(metadata(json!({"path": "/a"})));
        let other = item.clone();
        let stamped = item.metadata.with("chunk", json!(3));
        assert_eq!(stamped.get("chunk"), Some(&json!(3)));
        assert_eq!(other.metadata.get("chunk"), None);
    }

    #[test]
    fn an_empty_id_is_none() {
        assert_eq!(Item::new("c", "s").with_id("").id, None);
    }

    #[test]
    fn the_id_is_taken_out_of_metadata_and_stamps_of_queries_go() {
        let item = Item::new("c", "s").with_metadata(metadata(
            json!({"id": "7", "tier": "public", "dedupe_sources": ["a"], "dedupe_count": 2}),
        ));
        let kept = taken_id(item);
        assert_eq!(kept.id.as_deref(), Some("7"));
        assert_eq!(kept.metadata, metadata(json!({"tier": "public"})));
    }

    #[test]
    fn what_cannot_be_kept_is_told_by_what_to_change() {
        let deep = (0..=ITEM_METADATA_LEVELS_MAX).fold(json!(1), |inner, _| json!([inner]));
        let items = [
            Item::new(" \n\u{1c}", "s"),
            Item::new("x".repeat(ITEM_CHARS_MAX + 1), "s"),
            Item::new("a\0", "s"),
            Item::new("a", "s").with_id("x".repeat(ITEM_ID_BYTES_MAX + 1)),
            Item::new("a", "s").with_id("a\n"),
            Item::new("a", "s").with_metadata(metadata(json!({"a": [{"b": "\0"}]}))),
            Item::new("a", "s").with_metadata(metadata(json!({"a\0": 1}))),
            Item::new("a", "s")
                .with_metadata(metadata(json!({"a": "x".repeat(ITEM_METADATA_BYTES_MAX)}))),
            Item::new("a", "s").with_metadata(metadata(json!({"a": deep}))),
        ];
        let said: Vec<String> = items
            .iter()
            .map(|item| item.check().unwrap_err().to_string())
            .collect();
        insta::assert_snapshot!(said.join("\n"));
        assert_eq!(Item::new("a", "s").check(), Ok(()));
    }
}
