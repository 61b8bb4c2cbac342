//! What sources are made of, for commands that need no whole worker.

use std::collections::BTreeMap;

use notekeeper_activities::Workspace;
use notekeeper_recall::SourceSpec;

use super::{EmbedderConfig, File, ModelConfig, StoreConfig, models::environment};
use crate::arguments::{DatabaseArgs, ModelArgs};

/// What sources are made of.
#[derive(Debug)]
pub(crate) struct SourcesConfig {
    pub(crate) stores: BTreeMap<String, StoreConfig>,
    /// All of them: whoever has the files before them needs no worker that serves them.
    pub(crate) workspaces: BTreeMap<String, Workspace>,
    pub(crate) models: BTreeMap<String, ModelConfig>,
    pub(crate) embedders: BTreeMap<String, EmbedderConfig>,
    pub(crate) sources: BTreeMap<String, SourceSpec>,
}

impl File {
    /// What sources are made of.
    pub(crate) fn sources(
        self,
        database: &DatabaseArgs,
        models: &ModelArgs,
    ) -> anyhow::Result<SourcesConfig> {
        Ok(SourcesConfig {
            stores: self.stores(database)?,
            workspaces: self.workspaces(|_| true)?,
            models: self.models(models, &environment)?,
            embedders: self.embedders(&environment)?,
            sources: self.sources,
        })
    }
}
