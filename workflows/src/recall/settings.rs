//! Settings of a source's handle.

use notekeeper_domain::{
    AGENT_NAME_DEFAULT, HYBRID_SOURCE, ITEM_METADATA_BYTES_MAX, ITEM_METADATA_LEVELS_MAX,
    InvalidItem, InvalidWhere, SOURCE_LIMIT_DEFAULT, SOURCE_LIMIT_MAX, SOURCE_NAME_BYTES_MAX,
    Where, check_source_name,
};
use serde::{Deserialize, Serialize};

use crate::ActivitySettings;

/// Which source a handle asks, and how. Every field has a default, also in JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RecallSettings {
    /// Name of one of the worker's sources: 1 to 100 ASCII letters, digits, `_`, `-` and `.`. Where none
    /// is given it is `hybrid`, the search over notes and facts that a worker has by itself.
    pub source: String,
    /// The tenant, for a resolver that answers with it. Any other resolver has to agree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Storage segment inside the namespace; the model never sees it.
    pub agent_name: String,
    /// Most items of a query that doesn't say, 1 to 100.
    pub k: usize,
    /// What the metadata of the items must be, for a query that doesn't say. `where` in JSON.
    #[serde(rename = "where", skip_serializing_if = "Where::is_empty")]
    pub condition: Where,
    /// Where and how long activities run.
    pub activities: ActivitySettings,
}

impl Default for RecallSettings {
    fn default() -> Self {
        Self {
            source: HYBRID_SOURCE.to_owned(),
            namespace: None,
            agent_name: AGENT_NAME_DEFAULT.to_owned(),
            k: SOURCE_LIMIT_DEFAULT,
            condition: Where::default(),
            activities: ActivitySettings::default(),
        }
    }
}

impl RecallSettings {
    /// Names the first setting that is out of bounds.
    pub(super) fn check(&self) -> Result<(), String> {
        check_source_name(&self.source).map_err(|_| {
            format!(
                "`source` must be 1 to {SOURCE_NAME_BYTES_MAX} ASCII letters, digits, `_`, `-` and `.`"
            )
        })?;
        check_k("k", self.k)?;
        check_condition("where", &self.condition)?;
        self.activities.check()
    }
}

/// Says what is wrong with how many items are asked for, if anything is.
pub(crate) fn check_k(name: &str, k: usize) -> Result<(), String> {
    match (1..=SOURCE_LIMIT_MAX).contains(&k) {
        true => Ok(()),
        false => Err(format!("`{name}` must be 1 to {SOURCE_LIMIT_MAX}")),
    }
}

/// Says what is wrong with conditions, if anything is.
pub(crate) fn check_condition(name: &str, condition: &Where) -> Result<(), String> {
    match condition.check() {
        Ok(()) => Ok(()),
        Err(InvalidWhere::Values(InvalidItem::Nul { .. })) => Err(format!(
            "`{name}` contains a NUL character (U+0000); leave it out"
        )),
        Err(error @ InvalidWhere::TooManyValues { .. }) => Err(format!("`{name}` {error}")),
        Err(InvalidWhere::Values(_)) => Err(format!(
            "`{name}` must have at most {ITEM_METADATA_BYTES_MAX} bytes as JSON, and lists and objects in \
             at most {ITEM_METADATA_LEVELS_MAX} levels"
        )),
    }
}
