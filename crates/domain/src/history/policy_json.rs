//! Reading a policy: an object with one key, which is its name.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, Visitor, value::MapAccessDeserializer},
};

use super::policy::{HistoryPolicy, SummaryPolicy, TokensPolicy, WindowPolicy};

/// What is said of an entry that is no policy, or more than one.
pub const EXACTLY_ONE_POLICY: &str =
    "expected an object with exactly one of `window`, `tokens` and `summary`";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    window: Option<WindowPolicy>,
    tokens: Option<TokensPolicy>,
    summary: Option<SummaryPolicy>,
}

impl<'de> Deserialize<'de> for HistoryPolicy {
    /// By the form of the value, so that an error says which policies there are.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(PolicyVisitor)
    }
}

struct PolicyVisitor;

impl<'de> Visitor<'de> for PolicyVisitor {
    type Value = HistoryPolicy;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let expected = EXACTLY_ONE_POLICY.trim_start_matches("expected ");
        f.write_str(expected)
    }

    fn visit_map<A: MapAccess<'de>>(self, policy: A) -> Result<HistoryPolicy, A::Error> {
        let given = Given::deserialize(MapAccessDeserializer::new(policy))?;
        match (given.window, given.tokens, given.summary) {
            (Some(window), None, None) => Ok(HistoryPolicy::Window(window)),
            (None, Some(tokens), None) => Ok(HistoryPolicy::Tokens(tokens)),
            (None, None, Some(summary)) => Ok(HistoryPolicy::Summary(summary)),
            _ => Err(A::Error::custom(EXACTLY_ONE_POLICY)),
        }
    }
}
