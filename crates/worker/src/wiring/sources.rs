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

#[cfg(test)]
mod tests {
    use crate::{
        arguments::{DatabaseArgs, ModelArgs},
        config::File,
        wiring::open_models,
    };

    use super::*;

    fn environment(_: &str) -> Option<String> {
        Some("a-key".to_owned())
    }

    /// The file of the page, with a store, built as a worker builds it.
    #[test]
    fn the_sources_of_the_documentation_are_sources() {
        let page = include_str!("../../../../docs/sources.md");
        let mut blocks = page.split("```toml\n").skip(1);
        let (toml, _) = blocks
            .next()
            .and_then(|block| block.split_once("```"))
            .expect("a block");
        assert!(blocks.next().is_none(), "each block has to be tried");
        let file = tempfile::NamedTempFile::new().expect("a file");
        let store = "[stores.default]\nkind = 'sqlite'\npath = 'notes.db'\n";
        std::fs::write(file.path(), format!("{store}{toml}")).expect("write the file");
        let file = File::read(Some(file.path())).expect("a usable file");
        let config = file.sources(&DatabaseArgs::default(), &ModelArgs::default());
        let config = config.expect("usable settings");
        let parts = PartsOfSources {
            stores: &Stores::new([]),
            configs: &config.stores,
            embedders: &config.embedders,
            models: open_models(&config.models).expect("models"),
            tools: SearchTools::with_environment(environment),
        };
        let sources = open_sources(&config.sources, parts).expect("sources");
        let told: Vec<_> = sources
            .all()
            .map(|(name, source)| (name, source.accepts_writes()))
            .collect();
        assert_eq!(
            told,
            [
                ("guarded", true),
                ("handbook", true),
                ("hybrid", false),
                ("kb", true),
                ("registry", true),
                ("search", false),
                ("tickets", false),
                ("tiers", true),
            ]
        );
    }
}
