//! Keys that a type has fields for, and keys that it has none for.

use std::{cell::Cell, fmt};

use notekeeper_domain::nearest;
use serde::{
    Deserializer,
    de::{DeserializeOwned, DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor, value},
    forward_to_deserialize_any,
};

/// A key that a type has no field for, and the field that was probably meant.
///
/// Its text quotes the key only where that looks like a name; any other may be content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownKey {
    /// Its place, such as `memories[0].max_token`.
    path: String,
    key: String,
    nearest: Option<&'static str>,
}

impl UnknownKey {
    /// The key at this place of a `T`.
    pub fn of<T: DeserializeOwned>(path: &serde_ignored::Path<'_>) -> Self {
        let steps = steps(path);
        let (key, nearest) = match steps.split_last() {
            Some((Step::Key(key), parent)) => {
                let known = fields::<T>(parent).iter().copied();
                (key.clone(), nearest(key, known))
            }
            _ => (String::new(), None),
        };
        Self {
            path: text(&steps),
            key,
            nearest,
        }
    }

    /// The key itself, without its place.
    pub fn key(&self) -> &str {
        &self.key
    }
}

impl fmt::Display for UnknownKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let looks_like_a_name = self.path.len() <= 64
            && self
                .path
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"_-.[]".contains(&b));
        match self.nearest.filter(|_| looks_like_a_name) {
            Some(nearest) => write!(
                f,
                "`{}` is no known field; did you mean `{nearest}`?",
                self.path
            ),
            None if looks_like_a_name => {
                write!(f, "`{}` is no known field; correct or remove it", self.path)
            }
            None => f.write_str("a key is no known field; correct or remove it"),
        }
    }
}

/// One step from a value into it.
enum Step {
    Key(String),
    Index(usize),
}

fn text(steps: &[Step]) -> String {
    let mut text = String::new();
    for step in steps {
        match step {
            Step::Key(key) if text.is_empty() => text.push_str(key),
            Step::Key(key) => text.extend([".", key]),
            Step::Index(index) => text.push_str(&format!("[{index}]")),
        }
    }
    text
}

fn steps(path: &serde_ignored::Path<'_>) -> Vec<Step> {
    use serde_ignored::Path;
    let (parent, step) = match path {
        Path::Root => return Vec::new(),
        Path::Map { parent, key } => (parent, Some(Step::Key(key.clone()))),
        Path::Seq { parent, index } => (parent, Some(Step::Index(*index))),
        // What wraps a value has no place of its own in JSON.
        Path::Some { parent }
        | Path::NewtypeStruct { parent }
        | Path::NewtypeVariant { parent } => (parent, None),
    };
    let mut steps = steps(parent);
    steps.extend(step);
    steps
}

/// Names of the fields of the struct that is so many steps inside of a `T`, as declared: what the
/// struct asks a deserializer for. Empty where there is none, or an enum on the way.
fn fields<T: DeserializeOwned>(steps: &[Step]) -> &'static [&'static str] {
    let found = Cell::new(&[] as &[&str]);
    // Nothing is there to be read, so it always ends with an error.
    let _ = T::deserialize(Descent {
        steps,
        found: &found,
    });
    found.get()
}

/// Names of the fields of a struct, as declared.
#[cfg(test)]
pub(crate) fn fields_of<T: DeserializeOwned>() -> &'static [&'static str] {
    fields::<T>(&[])
}

/// A value that has what the steps name and nothing else, and notes what is asked for at their end.
#[derive(Clone, Copy)]
struct Descent<'a> {
    steps: &'a [Step],
    found: &'a Cell<&'static [&'static str]>,
}

impl<'a> Descent<'a> {
    fn next(self) -> Option<(&'a Step, Self)> {
        let (step, steps) = self.steps.split_first()?;
        Some((step, Self { steps, ..self }))
    }
}

fn nothing() -> value::Error {
    value::Error::custom("there is nothing to read")
}

impl<'de> Deserializer<'de> for Descent<'_> {
    type Error = value::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, value::Error> {
        match self.next() {
            Some((Step::Key(key), inside)) => visitor.visit_map(One(Some((key, inside)))),
            Some((Step::Index(_), inside)) => visitor.visit_seq(One(Some(("", inside)))),
            None => Err(nothing()),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, value::Error> {
        if self.steps.is_empty() {
            self.found.set(fields);
        }
        self.deserialize_any(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, value::Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, value::Error> {
        visitor.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

/// A map or a list of one entry.
struct One<'a>(Option<(&'a str, Descent<'a>)>);

impl<'de> MapAccess<'de> for One<'_> {
    type Error = value::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, value::Error> {
        let key = self.0.map(|(key, _)| value::StrDeserializer::new(key));
        key.map(|key| seed.deserialize(key)).transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, value::Error> {
        let (_, inside) = self.0.take().ok_or_else(nothing)?;
        seed.deserialize(inside)
    }
}

impl<'de> SeqAccess<'de> for One<'_> {
    type Error = value::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, value::Error> {
        let element = self.0.take();
        element
            .map(|(_, inside)| seed.deserialize(inside))
            .transpose()
    }
}

/// Reads a value, whatever its format, in which every key must be known.
///
/// # Errors
///
/// What is wrong with the value, or the first key that is unknown.
pub fn read_strictly<'de, T, D>(deserializer: D) -> Result<T, Unreadable<D::Error>>
where
    T: DeserializeOwned,
    D: Deserializer<'de>,
{
    let mut unknown = None;
    let value = serde_ignored::deserialize(deserializer, |path: serde_ignored::Path<'_>| {
        unknown.get_or_insert_with(|| UnknownKey::of::<T>(&path));
    });
    match (value, unknown) {
        (_, Some(unknown)) => Err(Unreadable::UnknownKey(unknown)),
        (value, None) => value.map_err(Unreadable::Value),
    }
}

/// Why a value can't be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable<E> {
    /// It has a key that the type has no field for.
    #[error("{0}")]
    UnknownKey(UnknownKey),
    /// It is wrong otherwise.
    #[error("{0}")]
    Value(E),
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, Default, Deserialize)]
    #[serde(default)]
    struct Outer {
        #[serde(rename = "named")]
        _list: Vec<Middle>,
        _map: BTreeMap<String, Middle>,
        _maybe: Option<Middle>,
        _free: serde_json::Value,
    }

    #[derive(Debug, Deserialize)]
    struct Middle {
        #[serde(rename = "needed")]
        _needed: u8,
        #[serde(default, rename = "inner", alias = "core")]
        _inner: Wrapped,
    }

    #[derive(Debug, Default, Deserialize)]
    struct Wrapped(#[expect(dead_code, reason = "what it holds is read and not looked at")] Inner);

    #[derive(Debug, Default, Deserialize)]
    #[serde(default)]
    struct Inner {
        #[serde(rename = "seconds")]
        _seconds: u8,
    }

    #[track_caller]
    fn told(json: serde_json::Value, expected: &str) {
        let error = read_strictly::<Outer, _>(json).expect_err("an unknown key");
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn an_unknown_key_is_told_with_its_place_and_the_nearest_known_one() {
        told(
            json!({"name": []}),
            "`name` is no known field; did you mean `named`?",
        );
        told(
            json!({"named": [{"needed": 1}, {"needed": 1, "iner": {}}]}),
            "`named[1].iner` is no known field; did you mean `inner`?",
        );
        told(
            json!({"_map": {"some": {"needed": 1, "corr": {}}}}),
            "`_map.some.corr` is no known field; did you mean `core`?",
        );
        told(
            json!({"_maybe": {"needed": 1, "inner": {"second": 1}}}),
            "`_maybe.inner.second` is no known field; did you mean `seconds`?",
        );
    }

    #[test]
    fn a_key_that_may_be_content_is_not_quoted() {
        told(
            json!({"a secret thing": 1}),
            "a key is no known field; correct or remove it",
        );
    }

    #[test]
    fn an_unknown_key_goes_before_what_else_is_wrong() {
        told(
            json!({"named": [{"neded": 1}]}),
            "`named[0].neded` is no known field; did you mean `needed`?",
        );
    }

    #[test]
    fn keys_of_free_form_values_are_nobodys() {
        read_strictly::<Outer, _>(json!({"_free": {"any": {"thing": 1}}}))
            .expect("no fields there");
        assert_eq!(fields::<Outer>(&[Step::Key("_free".to_owned())]), [""; 0]);
    }

    #[test]
    fn fields_come_in_the_order_of_their_declaration() {
        assert_eq!(fields_of::<Outer>(), ["named", "_map", "_maybe", "_free"]);
    }
}
