//! Reading which scopes a guard lets through.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, Visitor, value::MapAccessDeserializer},
};

use super::Require;

/// What a setting may say.
const FORMS: &str = r#""namespace", { prefix = "…" }, { exact = "…" } or { policy = "…" }"#;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    prefix: Option<String>,
    exact: Option<String>,
    policy: Option<String>,
}

impl<'de> Deserialize<'de> for Require {
    /// By the form of the value, so that an error says which there are.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RequireVisitor)
    }
}

struct RequireVisitor;

impl<'de> Visitor<'de> for RequireVisitor {
    type Value = Require;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(FORMS)
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<Require, E> {
        match word {
            "namespace" => Ok(Require::Namespace),
            // What stands there may be a tenant's name, so it isn't repeated.
            _ => Err(E::custom(format!("unknown policy; give {FORMS}"))),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<Require, A::Error> {
        let table = Table::deserialize(MapAccessDeserializer::new(table))?;
        match (table.prefix, table.exact, table.policy) {
            (Some(prefix), None, None) => Ok(Require::Prefix(prefix)),
            (None, Some(namespace), None) => Ok(Require::Exact(namespace)),
            (None, None, Some(policy)) => Ok(Require::Policy(policy)),
            _ => Err(A::Error::custom(format!("it takes one of {FORMS}"))),
        }
    }
}
