//! What a source knows of an item beside its text.

use std::{io, sync::Arc};

use serde::Serialize;
use serde_json::{Map, Value};

use super::InvalidItem;
use crate::{ITEM_METADATA_BYTES_MAX, ITEM_METADATA_LEVELS_MAX, ITEM_ORIGINS};

/// JSON values by key, which nobody changes: what adds or takes away makes a new one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ItemMetadata(Option<Arc<Map<String, Value>>>);

impl ItemMetadata {
    /// These entries.
    pub fn new(entries: Map<String, Value>) -> Self {
        Self((!entries.is_empty()).then(|| Arc::new(entries)))
    }

    /// The entries of a JSON object; `None` for any other value.
    pub fn of_value(value: Value) -> Option<Self> {
        match value {
            Value::Object(entries) => Some(Self::new(entries)),
            _ => None,
        }
    }

    /// The value under a key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.as_ref()?.get(key)
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The entries, ascending by key.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &Value)> {
        let entries = self.0.iter().flat_map(|entries| entries.iter());
        entries.map(|(key, value)| (key.as_str(), value))
    }

    /// A copy with one more entry, in the place of one of the same key.
    #[must_use]
    pub fn with(&self, key: &str, value: Value) -> Self {
        let mut entries = self.to_object();
        entries.insert(key.to_owned(), value);
        Self::new(entries)
    }

    /// A copy without the entries of these keys.
    #[must_use]
    pub fn without(&self, keys: &[&str]) -> Self {
        if !keys.iter().any(|key| self.get(key).is_some()) {
            return self.clone();
        }
        let mut entries = self.to_object();
        entries.retain(|key, _| !keys.contains(&key.as_str()));
        Self::new(entries)
    }

    /// A copy as a JSON object.
    pub fn to_object(&self) -> Map<String, Value> {
        self.0.as_deref().cloned().unwrap_or_default()
    }

    /// A copy without what queries stamp on items ([`ITEM_ORIGINS`]): it speaks of an answer of several
    /// sources, which no source alone can give, whatever is written down behind it.
    #[must_use]
    pub fn unstamped(&self) -> Self {
        self.without(&ITEM_ORIGINS)
    }

    /// A copy that a source can keep: without entries that none can, and with as many of the others,
    /// ascending by key, as fit.
    #[must_use]
    pub fn fitting(&self) -> Self {
        if self.check().is_ok() {
            return self.clone();
        }
        // Beside key and value each entry has a colon and, but for one, a comma; braces enclose them.
        let mut bytes = 1;
        let mut entries = Map::new();
        for (key, value) in self.entries() {
            let more = 2 + json_bytes(key) + json_bytes(value);
            if bytes + more <= ITEM_METADATA_BYTES_MAX && check_entry(key, value).is_ok() {
                bytes += more;
                entries.insert(key.to_owned(), value.clone());
            }
        }
        Self::new(entries)
    }

    /// Whether a source can keep it.
    ///
    /// # Errors
    ///
    /// [`InvalidItem`] says what to change, and quotes nothing.
    pub fn check(&self) -> Result<(), InvalidItem> {
        // First, and without a copy: it bounds what there is to look at.
        let bytes = self.0.as_deref().map_or(0, json_bytes);
        match bytes > ITEM_METADATA_BYTES_MAX {
            true => Err(InvalidItem::MetadataTooLarge { bytes }),
            false => self.check_values(),
        }
    }

    /// Whether a source can keep its values, whatever their size.
    ///
    /// # Errors
    ///
    /// [`InvalidItem`] says what to change, and quotes nothing.
    pub fn check_values(&self) -> Result<(), InvalidItem> {
        self.entries()
            .try_for_each(|(key, value)| check_entry(key, value))
    }
}

fn check_entry(key: &str, value: &Value) -> Result<(), InvalidItem> {
    check_text(key)?;
    check_value(value, ITEM_METADATA_LEVELS_MAX)
}

/// `levels` are those that are left.
fn check_value(value: &Value, levels: usize) -> Result<(), InvalidItem> {
    match value {
        Value::String(text) => check_text(text),
        Value::Array(_) | Value::Object(_) if levels == 0 => Err(InvalidItem::TooDeep),
        Value::Array(values) => values
            .iter()
            .try_for_each(|value| check_value(value, levels - 1)),
        Value::Object(entries) => entries.iter().try_for_each(|(key, value)| {
            check_text(key)?;
            check_value(value, levels - 1)
        }),
        _ => Ok(()),
    }
}

fn check_text(text: &str) -> Result<(), InvalidItem> {
    match text.contains('\0') {
        true => Err(InvalidItem::Nul { part: "metadata" }),
        false => Ok(()),
    }
}

/// Bytes of a value's JSON.
fn json_bytes(value: &(impl Serialize + ?Sized)) -> usize {
    struct Counted(usize);

    impl io::Write for Counted {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    let mut counted = Counted(0);
    match serde_json::to_writer(&mut counted, value) {
        Ok(()) => counted.0,
        // Neither values nor the counter fail.
        Err(_) => usize::MAX,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn metadata(value: Value) -> ItemMetadata {
        ItemMetadata::of_value(value).unwrap()
    }

    #[test]
    fn what_fits_of_metadata_can_be_kept_and_is_all_that_can() {
        let deep = (0..=ITEM_METADATA_LEVELS_MAX).fold(json!(1), |inner, _| json!([inner]));
        let odd = metadata(json!({
            "a": "\0", "b\0": 1, "c": [{"d\0": 1}], "e": deep,
            "f": "x".repeat(ITEM_METADATA_BYTES_MAX), "g": {"h": [1, null]}, "i": "j",
        }));
        assert!(odd.check().is_err());
        assert_eq!(
            odd.fitting(),
            metadata(json!({"g": {"h": [1, null]}, "i": "j"}))
        );

        let empty = metadata(json!({"a": "", "b": ""}));
        let left = ITEM_METADATA_BYTES_MAX - json_bytes(empty.0.as_deref().unwrap());
        let full = empty.with("b", json!("x".repeat(left)));
        assert_eq!((full.check(), full.fitting()), (Ok(()), full.clone()));
        let over = full.with("b", json!("x".repeat(left + 1)));
        assert_eq!(over.fitting(), metadata(json!({"a": ""})));
        // With another that can't be kept in any case all of what fits is there.
        assert_eq!(full.with("\0", json!(1)).fitting(), full);
    }

    #[test]
    fn large_metadata_is_refused_by_its_size_before_anything_in_it_is_looked_at() {
        let long = "k".repeat(ITEM_METADATA_BYTES_MAX);
        let values = vec![json!("\0"); 1_000];
        let error = metadata(json!({ long: values })).check();
        assert!(
            matches!(error, Err(InvalidItem::MetadataTooLarge { .. })),
            "{error:?}"
        );
        assert_eq!(
            metadata(json!({"k": "\0".repeat(ITEM_METADATA_BYTES_MAX)})).check_values(),
            Err(InvalidItem::Nul { part: "metadata" })
        );
    }
}
