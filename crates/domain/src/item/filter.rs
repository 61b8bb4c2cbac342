//! Which items a query wants.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

use super::{InvalidItem, ItemMetadata};
use crate::{WHERE_VALUES_MAX, canonical_json};

/// Conditions on the metadata of items, one for each key; all have to hold. Nothing in them is a
/// pattern.
///
/// A text, a number, a truth value, null or an object wants the same value under its key: numbers by
/// what they are worth, so that `1` is `1.0`. A list wants a list under its key that has all of its
/// values, in any order; an empty one any list. Where an item has nothing under the key it doesn't
/// match.
///
/// ```
/// use notekeeper_domain::{ItemMetadata, Where};
/// use serde_json::json;
///
/// let item = ItemMetadata::of_value(json!({"tier": "public", "tags": ["a", "b"]})).expect("an object");
/// let matches = |condition| Where::of_value(condition).is_some_and(|it| it.matches(&item));
/// assert!(matches(json!({"tier": "public"})));
/// assert!(matches(json!({"tags": ["b"]})));
/// assert!(!matches(json!({"tier": "pub%"})));
/// assert!(!matches(json!({"owner": null})));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Where(Map<String, Value>);

impl Where {
    /// These conditions.
    pub fn new(conditions: Map<String, Value>) -> Self {
        Self(conditions)
    }

    /// The conditions of a JSON object; `None` for any other value.
    pub fn of_value(value: Value) -> Option<Self> {
        match value {
            Value::Object(conditions) => Some(Self(conditions)),
            _ => None,
        }
    }

    /// Whether there are no conditions.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The conditions, ascending by key.
    pub fn conditions(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// Whether an item with this metadata is wanted.
    pub fn matches(&self, metadata: &ItemMetadata) -> bool {
        self.conditions()
            .all(|(key, wanted)| metadata.get(key).is_some_and(|found| holds(wanted, found)))
    }

    /// Whether they can be asked: they have the bounds of an item's metadata, and their lists at most
    /// [`WHERE_VALUES_MAX`] values together.
    ///
    /// # Errors
    ///
    /// [`InvalidWhere`] says what to change, and quotes nothing.
    pub fn check(&self) -> Result<(), InvalidWhere> {
        let lists = self.0.values().filter_map(Value::as_array);
        let values = lists.map(Vec::len).sum();
        if values > WHERE_VALUES_MAX {
            return Err(InvalidWhere::TooManyValues { values });
        }
        Ok(ItemMetadata::new(self.0.clone()).check()?)
    }

    /// Canonical JSON: the same text for the same conditions.
    pub fn canonical(&self) -> String {
        canonical_json(&Value::Object(self.0.clone()))
    }
}

/// Why conditions can't be asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidWhere {
    /// Their lists are too long.
    #[error("wants {values} values in lists, {WHERE_VALUES_MAX} are allowed; ask for fewer")]
    TooManyValues {
        /// How many there are in all lists together.
        values: usize,
    },
    /// No item could have such metadata.
    #[error(transparent)]
    Values(#[from] InvalidItem),
}

fn holds(wanted: &Value, found: &Value) -> bool {
    match (wanted, found) {
        (Value::Array(wanted), Value::Array(found)) => wanted
            .iter()
            .all(|wanted| found.iter().any(|found| same(wanted, found))),
        _ => same(wanted, found),
    }
}

/// Whether two JSON values are worth the same.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => same_number(one, other),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .zip(other)
                    .all(|((key, value), (other_key, other))| {
                        key == other_key && same(value, other)
                    })
        }
        _ => one == other,
    }
}

fn same_number(one: &Number, other: &Number) -> bool {
    match (integer(one), integer(other)) {
        (Some(one), Some(other)) => one == other,
        (None, None) => one.as_f64() == other.as_f64(),
        _ => false,
    }
}

/// The number as an integer, where it is one. Fractions of JSON have no more digits than an `f64`.
fn integer(number: &Number) -> Option<i128> {
    if let Some(number) = number.as_i64() {
        return Some(number.into());
    }
    if let Some(number) = number.as_u64() {
        return Some(number.into());
    }
    let number = number.as_f64()?;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "it is a whole number in the range of the type"
    )]
    let whole = || number as i128;
    (number.fract() == 0.0 && number.abs() < 1e30).then(whole)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn matches(wanted: Value, item: Value) -> bool {
        let item = ItemMetadata::of_value(item).unwrap();
        Where::of_value(wanted).unwrap().matches(&item)
    }

    #[test]
    fn each_key_wants_the_same_value() {
        let item = json!({"t": "a", "n": 1, "b": false, "z": null, "o": {"x": [1, 2]}});
        for wanted in [
            json!({}),
            json!({"t": "a"}),
            json!({"t": "a", "n": 1}),
            json!({"n": 1.0}),
            json!({"b": false}),
            json!({"z": null}),
            json!({"o": {"x": [1.0, 2]}}),
        ] {
            assert!(matches(wanted.clone(), item.clone()), "{wanted}");
        }
        for wanted in [
            json!({"t": "A"}),
            json!({"t": "a", "n": 2}),
            json!({"n": "1"}),
            json!({"b": 0}),
            json!({"o": {"x": [2, 1]}}),
            json!({"o": {}}),
            json!({"unknown": null}),
            json!({"": "a"}),
        ] {
            assert!(!matches(wanted.clone(), item.clone()), "{wanted}");
        }
    }

    #[test]
    fn a_list_wants_all_of_its_values_in_a_list() {
        let item = json!({"tags": ["a", "b", 3], "one": "a"});
        for wanted in [json!(["a"]), json!(["b", "a"]), json!([3.0]), json!([])] {
            assert!(
                matches(json!({"tags": wanted.clone()}), item.clone()),
                "{wanted}"
            );
        }
        assert!(!matches(json!({"tags": ["a", "c"]}), item.clone()));
        assert!(!matches(json!({"tags": "a"}), item.clone()));
        assert!(!matches(json!({"one": ["a"]}), item.clone()));
    }

    #[test]
    fn conditions_have_bounds() {
        let check = |conditions| Where::of_value(conditions).unwrap().check();
        let half = vec![json!("a"); WHERE_VALUES_MAX / 2];
        assert_eq!(check(json!({"a": half, "b": half, "c": "d"})), Ok(()));
        let error = check(json!({"a": half, "b": half, "c": ["d"]})).unwrap_err();
        insta::assert_snapshot!(error, @"wants 101 values in lists, 100 are allowed; ask for fewer");
        let error = check(json!({"a": {"b": "\0"}})).unwrap_err();
        assert_eq!(
            error,
            InvalidWhere::Values(InvalidItem::Nul { part: "metadata" })
        );
    }

    #[test]
    fn pattern_characters_are_literal() {
        for pattern in ["%", "_", "*", "a%", ".*", "[a]", "\\"] {
            assert!(
                !matches(json!({"t": pattern}), json!({"t": "a"})),
                "{pattern}"
            );
            assert!(
                matches(json!({"t": pattern}), json!({"t": pattern})),
                "{pattern}"
            );
        }
    }

    #[test]
    fn large_numbers_are_told_apart() {
        let item = json!({"n": 9_007_199_254_740_993_u64});
        assert!(!matches(
            json!({"n": 9_007_199_254_740_992_u64}),
            item.clone()
        ));
        assert!(!matches(
            json!({"n": 9_007_199_254_740_992.0}),
            item.clone()
        ));
        assert!(matches(json!({"n": u64::MAX}), json!({"n": u64::MAX})));
        assert!(matches(json!({"n": 1e300}), json!({"n": 1e300})));
    }
}
