//! The order in which the fields of a struct are declared, which a schema doesn't keep.

use std::cell::Cell;

use serde::{
    Deserialize, Deserializer,
    de::{Error as _, Visitor, value::Error},
    forward_to_deserialize_any,
};

/// Names of the fields, as declared: what the struct asks a deserializer for.
pub(super) fn of<'de, T: Deserialize<'de>>() -> &'static [&'static str] {
    let fields = Cell::new(&[] as &[&str]);
    let asked = T::deserialize(Asked(&fields));
    assert!(asked.is_err(), "there is nothing to read");
    fields.get()
}

struct Asked<'a>(&'a Cell<&'static [&'static str]>);

impl<'de> Deserializer<'de> for Asked<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        Err(Error::custom("no struct"))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Error> {
        self.0.set(fields);
        Err(Error::custom("nothing to read"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}
