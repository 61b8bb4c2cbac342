//! What a source knows of an item beside its text.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::InvalidItem;
use crate::{ITEM_METADATA_BYTES_MAX, ITEM_METADATA_LEVELS_MAX};

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

    /// Whether a source can keep it.
    ///
    /// # Errors
    ///
    /// [`InvalidItem`] says what to change, and quotes nothing but keys.
    pub fn check(&self) -> Result<(), InvalidItem> {
        for (key, value) in self.entries() {
            if key.contains('\0') {
                return Err(InvalidItem::Nul {
                    path: "metadata".to_owned(),
                });
            }
            check_value(value, &format!("metadata.{key}"), ITEM_METADATA_LEVELS_MAX)?;
        }
        let bytes = self.0.as_deref().map_or(0, |entries| {
            serde_json::to_string(entries).map_or(0, |text| text.len())
        });
        match bytes > ITEM_METADATA_BYTES_MAX {
            true => Err(InvalidItem::MetadataTooLarge { bytes }),
            false => Ok(()),
        }
    }
}

/// `levels` are those that are left.
fn check_value(value: &Value, path: &str, levels: usize) -> Result<(), InvalidItem> {
    match value {
        Value::String(text) if text.contains('\0') => Err(InvalidItem::Nul {
            path: path.to_owned(),
        }),
        Value::Array(_) | Value::Object(_) if levels == 0 => Err(InvalidItem::TooDeep),
        Value::Array(values) => (0..)
            .zip(values)
            .try_for_each(|(index, value): (usize, _)| {
                check_value(value, &format!("{path}[{index}]"), levels - 1)
            }),
        Value::Object(entries) => entries.iter().try_for_each(|(key, value)| {
            if key.contains('\0') {
                return Err(InvalidItem::Nul {
                    path: path.to_owned(),
                });
            }
            check_value(value, &format!("{path}.{key}"), levels - 1)
        }),
        _ => Ok(()),
    }
}
