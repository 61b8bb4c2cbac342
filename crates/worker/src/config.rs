//! Settings: what flags, environment and file come to.

mod embedders;
pub(crate) mod given;
mod metadata;
mod models;
mod parse;
mod resolved;
mod sources;
mod stores;
mod telemetry;
mod worker;
mod workspaces;

use std::{collections::BTreeMap, path::Path};

use anyhow::Context as _;
use notekeeper_recall::SourceSpec;
use serde::Deserialize;

use crate::arguments::TemporalArgs;

pub(crate) use self::{
    embedders::EmbedderConfig,
    given::{Given, names_a_variable},
    models::{BaseUrl, ModelConfig, environment},
    resolved::{Setting, settings},
    sources::SourcesConfig,
    stores::StoreConfig,
    telemetry::{CollectorConfig, KeyPlace, TelemetryConfig},
    worker::{Queue, WorkerConfig},
};
use self::{
    embedders::EmbedderSection, metadata::MetadataSection, models::ModelSection, parse::parse,
    stores::StoreSection, telemetry::TelemetrySection, worker::WorkerSection,
    workspaces::WorkspaceSection,
};

/// What the TOML file may hold. An unknown key is an error.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct File {
    temporal: TemporalSection,
    worker: WorkerSection,
    stores: BTreeMap<String, StoreSection>,
    workspaces: BTreeMap<String, WorkspaceSection>,
    models: BTreeMap<String, ModelSection>,
    embedders: BTreeMap<String, EmbedderSection>,
    sources: BTreeMap<String, SourceSpec>,
    metadata: BTreeMap<String, MetadataSection>,
    telemetry: TelemetrySection,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct TemporalSection {
    address: Option<String>,
    namespace: Option<String>,
}

/// Which server to talk to. What is missing here comes from Temporal's own settings.
#[derive(Debug, Clone, Default)]
pub(crate) struct TemporalConfig {
    pub(crate) address: Option<String>,
    pub(crate) namespace: Option<String>,
}

impl File {
    /// Reads the file; an empty one where no path is given.
    pub(crate) fn read(path: Option<&Path>) -> anyhow::Result<Self> {
        let Some(path) = path else {
            return Ok(Self::default());
        };
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("can't read the configuration `{}`", path.display()))?;
        parse(&text).with_context(|| format!("configuration `{}` can't be used", path.display()))
    }

    /// Which server to talk to.
    pub(crate) fn temporal(&self, args: &TemporalArgs) -> TemporalConfig {
        TemporalConfig {
            address: args
                .address
                .clone()
                .or_else(|| self.temporal.address.clone()),
            namespace: args
                .namespace
                .clone()
                .or_else(|| self.temporal.namespace.clone()),
        }
    }
}
