//! From settings to sources.

use std::{collections::BTreeMap, sync::Arc};

use anyhow::Context as _;
use notekeeper_activities::{Sources, Stores};
use notekeeper_models::{ChatModel, EmbeddingModel, HashingEmbedder, OpenAiEmbedder};
use notekeeper_recall::{SourceParts, SourceSpec, StoreKeeps, build};

use crate::{
    config::{EmbedderConfig, StoreConfig},
    search_tools::SearchTools,
};

/// What a program has for its sources.
pub(crate) struct PartsOfSources<'a> {
    pub(crate) stores: &'a Stores,
    pub(crate) configs: &'a BTreeMap<String, StoreConfig>,
    pub(crate) embedders: &'a BTreeMap<String, EmbedderConfig>,
    pub(crate) models: BTreeMap<String, Arc<dyn ChatModel>>,
    pub(crate) tools: SearchTools,
}

/// Builds the sources. Nothing is asked yet, but what can't work is refused, with the path of the
/// setting.
pub(crate) fn open_sources(
    specs: &BTreeMap<String, SourceSpec>,
    parts: PartsOfSources<'_>,
) -> anyhow::Result<Sources> {
    let kept = parts.configs.iter();
    let kept = kept.map(|(name, config)| (name.clone(), keeps(config)));
    let parts = SourceParts {
        embedders: open_embedders(parts.embedders)?,
        models: parts.models,
        tools: Arc::new(parts.tools),
        ..SourceParts::new(Arc::new(parts.stores.clone()), kept.collect())
    };
    Ok(Sources::new(build(specs.clone(), &parts)?))
}

/// What a store keeps beside notes; known without opening it.
fn keeps(config: &StoreConfig) -> StoreKeeps {
    match config.keeps_transcripts() {
        true => StoreKeeps::everything(),
        false => StoreKeeps::default(),
    }
}

fn open_embedders(
    configs: &BTreeMap<String, EmbedderConfig>,
) -> anyhow::Result<BTreeMap<String, Arc<dyn EmbeddingModel>>> {
    let mut embedders: BTreeMap<String, Arc<dyn EmbeddingModel>> = BTreeMap::new();
    for (name, config) in configs {
        let unusable = || format!("embedder `{name}` can't be used");
        let embedder: Arc<dyn EmbeddingModel> = match config {
            EmbedderConfig::Hashing { dimensions } => {
                Arc::new(HashingEmbedder::new(*dimensions).with_context(unusable)?)
            }
            EmbedderConfig::OpenAi(options) => {
                Arc::new(OpenAiEmbedder::new(options.clone()).with_context(unusable)?)
            }
        };
        embedders.insert(name.clone(), embedder);
    }
    Ok(embedders)
}
