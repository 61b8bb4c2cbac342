//! Models, by name and kind.

use std::path::PathBuf;

use serde::Deserialize;

/// A model by its kind.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum ModelSection {
    /// A model that reads its turns from a file.
    Scripted {
        /// The JSON file.
        script: PathBuf,
    },
}
