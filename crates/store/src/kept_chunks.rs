//! Chunks as rows of a database hold them.

use std::collections::BTreeMap;

use notekeeper_domain::{ItemMetadata, Where};
use serde_json::{Map, Number, Value};

use crate::{
    Chunk, FoundChunk,
    counts::bounded,
    nearness::{Pauses, bounded_similarity, unit},
};

/// Bytes of one number of an embedding.
const NUMBER_BYTES: usize = size_of::<f32>();

/// Whole numbers up to here are the same to all who read JSON.
const WHOLE_MAX: f64 = 9_007_199_254_740_992.0;

/// Chunks of one call, ascending by id; of two with one id the later.
#[derive(Debug)]
pub(crate) struct Batch<'c>(BTreeMap<&'c str, &'c Chunk>);

impl<'c> Batch<'c> {
    pub(crate) fn new(chunks: &'c [Chunk]) -> Self {
        Self(chunks.iter().map(|chunk| (&*chunk.id, chunk)).collect())
    }

    pub(crate) fn chunks(&self) -> impl Iterator<Item = &'c Chunk> {
        self.0.values().copied()
    }

    /// How many numbers each embedding has; those of a call have as many.
    pub(crate) fn dimensions(&self) -> i32 {
        let first = self.chunks().next();
        bounded(first.map_or(0, |chunk| chunk.embedding.len()))
    }

    /// The numbers of all embeddings as they are kept, one after the other.
    pub(crate) async fn numbers(&self) -> Vec<f32> {
        self.embeddings(|numbers| numbers).await
    }

    /// The same as bytes.
    pub(crate) async fn bytes(&self) -> Vec<u8> {
        self.embeddings(|numbers| bytes_of(&numbers)).await
    }

    async fn embeddings<T>(&self, part: impl Fn(Vec<f32>) -> Vec<T>) -> Vec<T> {
        let (mut parts, mut pauses) = (Vec::new(), Pauses::default());
        for chunk in self.chunks() {
            parts.extend(part(unit(&chunk.embedding)));
            pauses.after(chunk.embedding.len()).await;
        }
        parts
    }
}

/// Those of some ids that a chunk can have: databases refuse a text with U+0000.
pub(crate) fn possible_ids(ids: &[String]) -> Vec<&str> {
    let ids = ids.iter().map(String::as_str);
    ids.filter(|id| !id.contains('\0')).collect()
}

/// Numbers as bytes.
fn bytes_of(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|n| n.to_le_bytes()).collect()
}

/// Numbers from their bytes.
pub(crate) fn numbers_of(bytes: &[u8]) -> Vec<f32> {
    let (numbers, _) = bytes.as_chunks::<NUMBER_BYTES>();
    numbers.iter().map(|n| f32::from_le_bytes(*n)).collect()
}

/// Metadata as the text that is kept.
pub(crate) fn metadata_text(metadata: &ItemMetadata) -> String {
    Value::Object(metadata.to_object()).to_string()
}

/// The metadata of a row; `None` where a person with a console left something else there.
pub(crate) fn kept_item_metadata(text: &str) -> Option<ItemMetadata> {
    let entries: Option<Map<String, Value>> = serde_json::from_str(text).ok();
    if entries.is_none() {
        tracing::warn!("the store holds a chunk with metadata that no operation accepts");
    }
    entries.map(ItemMetadata::new)
}

/// What a database can leave out before [`Where::matches`] decides.
#[derive(Debug, PartialEq)]
pub(crate) struct Prefilter {
    /// Values that metadata must hold, in the sense of `@>`, as a JSON object; `None` where there is
    /// nothing to leave out.
    pub(crate) held: Option<String>,
    /// Whether what holds these matches, so that nothing is left to decide.
    pub(crate) exact: bool,
}

impl Prefilter {
    /// `None` where nothing can match: no metadata has U+0000 in them.
    pub(crate) fn of(condition: &Where) -> Option<Self> {
        let (mut held, mut exact) = (Map::new(), true);
        for (key, wanted) in condition.conditions() {
            if key.contains('\0') {
                return None;
            }
            let wanted = match wanted {
                Value::Array(values) => {
                    let kinds: Vec<Kind> = values.iter().map(Kind::of).collect();
                    if kinds.contains(&Kind::Never) {
                        return None;
                    }
                    exact &= kinds.iter().all(|kind| *kind == Kind::Plain);
                    let plain = values.iter().zip(kinds);
                    let plain = plain.filter(|(_, kind)| *kind == Kind::Plain);
                    plain.map(|(value, _)| value.clone()).collect()
                }
                value => match Kind::of(value) {
                    Kind::Never => return None,
                    Kind::Plain => value.clone(),
                    Kind::Intricate => {
                        exact = false;
                        continue;
                    }
                },
            };
            held.insert(key.to_owned(), wanted);
        }
        let held = (!held.is_empty()).then(|| Value::Object(held).to_string());
        Some(Self { held, exact })
    }
}

/// What a database makes of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The same as [`Where`] does.
    Plain,
    /// Something else, perhaps: lists and objects inside of one another, which hold more than they are
    /// worth to it; and numbers that it takes by their digits.
    Intricate,
    /// Nothing: no text that is kept has a U+0000.
    Never,
}

impl Kind {
    fn of(value: &Value) -> Self {
        match value {
            Value::String(text) if text.contains('\0') => Self::Never,
            Value::Number(number) if !is_plain(number) => Self::Intricate,
            Value::Array(_) | Value::Object(_) => Self::Intricate,
            _ => Self::Plain,
        }
    }
}

fn is_plain(number: &Number) -> bool {
    number
        .as_f64()
        .is_some_and(|number| number.abs() <= WHOLE_MAX)
}

/// The chunks of rows, in their order, until there are as many as were asked for.
#[derive(Debug)]
pub(crate) struct FoundRows<'w> {
    condition: &'w Where,
    limit: usize,
    found: Vec<FoundChunk>,
}

impl<'w> FoundRows<'w> {
    pub(crate) fn new(condition: &'w Where, limit: usize) -> Self {
        Self {
            condition,
            limit,
            found: Vec::new(),
        }
    }

    /// Whether there are as many as were asked for.
    pub(crate) fn is_full(&self) -> bool {
        self.found.len() >= self.limit
    }

    /// Takes a row that matches: scope, id, content, metadata, similarity.
    pub(crate) fn take(&mut self, row: (String, String, String, String, f64)) {
        let (scope, id, content, metadata, similarity) = row;
        if let Some(metadata) = kept_item_metadata(&metadata)
            && self.condition.matches(&metadata)
        {
            self.found.push(FoundChunk {
                scope,
                id,
                content,
                metadata,
                similarity: bounded_similarity(similarity),
            });
        }
    }

    pub(crate) fn finish(self) -> Vec<FoundChunk> {
        self.found
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(condition: Value) -> Option<(Option<String>, bool)> {
        let condition = Where::of_value(condition).expect("an object");
        Prefilter::of(&condition).map(|prefilter| (prefilter.held, prefilter.exact))
    }

    fn exact(held: &str) -> Option<(Option<String>, bool)> {
        Some((Some(held.to_owned()), true))
    }

    #[test]
    fn texts_and_plain_numbers_are_left_to_the_database() {
        assert_eq!(of(json!({})), Some((None, true)));
        for condition in [
            json!({"a": "x%", "b": null, "c": true}),
            json!({"a": 1, "b": 0.5, "c": -9_007_199_254_740_992_i64}),
            json!({"a": ["x", 1], "b": []}),
        ] {
            assert_eq!(of(condition.clone()), exact(&condition.to_string()));
        }
    }

    #[test]
    fn what_it_reads_in_another_way_is_not() {
        for condition in [
            json!({"a": {"b": 1}}),
            json!({"a": 1e300}),
            json!({"a": u64::MAX}),
        ] {
            assert_eq!(of(condition), Some((None, false)));
        }
        let some = of(json!({"a": ["x", ["y"], {}], "b": {}, "c": 1}));
        assert_eq!(some, Some((Some(r#"{"a":["x"],"c":1}"#.to_owned()), false)));
    }

    #[test]
    fn nothing_that_is_kept_has_a_nul() {
        for condition in [
            json!({"a\0": 1}),
            json!({"a": "\0"}),
            json!({"a": ["b", "\0"]}),
        ] {
            assert_eq!(of(condition), None);
        }
    }

    #[test]
    fn numbers_come_back_from_their_bytes() {
        let numbers = [0.0, -1.5, f32::MIN_POSITIVE, f32::MAX];
        assert_eq!(numbers_of(&bytes_of(&numbers)), numbers);
        assert_eq!(bytes_of(&[1.0]), [0, 0, 0x80, 0x3f]);
    }
}
