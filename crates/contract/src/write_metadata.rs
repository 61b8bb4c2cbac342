//! Where the metadata of a write comes from.

use std::collections::BTreeMap;

use serde::{
    Deserialize, Deserializer, Serialize,
    de::{Error as _, Unexpected},
};
use serde_json::Value;

/// Where the metadata of a write comes from: `{"fixed": {…}}` or `{"resolver": "…"}` in JSON.
///
/// It is the application's to say; no model sees it, and no tool has an argument for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
#[cfg_attr(any(test, feature = "schemars"), schemars(rename = "WriteMetadata"))]
#[serde(rename_all = "snake_case", try_from = "SourceJson")]
pub enum MetadataSource {
    /// These texts, by name. None are no metadata.
    Fixed(BTreeMap<String, String>),
    /// What the resolver that the worker has under this name answers, asked once for each write.
    Resolver(String),
}

/// What is said of a source that names none or both.
pub(crate) const ONE_SOURCE: &str = "give `fixed` or `resolver`, one of them";

/// Where the metadata of a write comes from: one of the two. An unknown key is an error.
#[derive(Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
#[cfg_attr(any(test, feature = "schemars"), schemars(extend("minProperties" = 1, "maxProperties" = 1)))]
#[serde(deny_unknown_fields)]
pub(crate) struct SourceJson {
    /// Texts by name, such as `updated_by`, without NUL, at most 4,096 characters as JSON; none where
    /// it is empty.
    #[serde(default, deserialize_with = "texts")]
    fixed: Option<BTreeMap<String, String>>,
    /// Name of a resolver that the worker has.
    resolver: Option<String>,
}

impl TryFrom<SourceJson> for MetadataSource {
    type Error = &'static str;

    fn try_from(json: SourceJson) -> Result<Self, Self::Error> {
        match (json.fixed, json.resolver) {
            (Some(fixed), None) => Ok(Self::Fixed(fixed)),
            (None, Some(resolver)) => Ok(Self::Resolver(resolver)),
            _ => Err(ONE_SOURCE),
        }
    }
}

/// Reads texts by name as a whole, so that what is wrong with one doesn't tell its name, which may
/// be a person's.
fn texts<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<BTreeMap<String, String>>, D::Error> {
    let given = Value::deserialize(deserializer)?;
    if given.is_null() {
        return Ok(None);
    }
    serde_json::from_value(given).map(Some).map_err(|_| {
        let found = Unexpected::Other("something else");
        D::Error::invalid_type(found, &"an object whose values are strings")
    })
}
