//! Members of compositions and decorators.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, Visitor, value::MapAccessDeserializer},
};

use super::SourceSpec;

/// A member of a composition, or what a decorator decorates.
#[derive(Debug, Clone, PartialEq)]
pub enum Member {
    /// The source with this name.
    Named(String),
    /// A source that is written in place.
    Inline(Box<SourceSpec>),
}

impl<'de> Deserialize<'de> for Member {
    /// By the form of the value, so that an error speaks of what stands there.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(MemberVisitor)
    }
}

struct MemberVisitor;

impl<'de> Visitor<'de> for MemberVisitor {
    type Value = Member;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a source, or a table with its `kind`")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Member, E> {
        Ok(Member::Named(name.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<Member, A::Error> {
        let spec = SourceSpec::deserialize(MapAccessDeserializer::new(table))?;
        Ok(Member::Inline(Box::new(spec)))
    }
}
