//! Sources in this process.

use std::{collections::BTreeSet, path::Path, sync::Arc, time::Duration};

use crate::{
    commands::access::coded,
    config::{SourcesConfig, StoreConfig},
    connection::TemporalTarget,
    search_tools::{LateClient, SearchTools},
    wiring::{OpenStores, PartsOfSources, close_stores, open_models, open_sources, open_stores},
};
use notekeeper_activities::{Failure, Notebook, Sources, Stores};

use super::tree::{Leg, legs};

/// Longest wait for the connections of a store to close.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// Of calls for what isn't there, or can't be seen from here.
const NO_STORE: &str = "NoStore";

/// Sources that are open here.
pub(super) struct Direct {
    opened: OpenStores,
    pub(super) sources: Sources,
}

impl Direct {
    /// One source, and what it is made of.
    pub(super) async fn open_one(
        config: SourcesConfig,
        target: &TemporalTarget,
        name: &str,
        may_make: bool,
    ) -> anyhow::Result<Self> {
        // Settings that can't be used are refused first, and so is a name that there isn't.
        let sources = built(&config, &Stores::new([]), target)?;
        let known = sources.get(name);
        known.map_err(|failure| coded(failure.kind.as_str(), failure.message))?;
        let legs = legs(&config.sources, &sources, [name.to_owned()]);
        if let Some(leg) = legs.iter().find(|leg| is_elsewhere(leg, &config)) {
            return Err(coded(
                NO_STORE,
                format!(
                    "source `{}` is kept in the memory of its worker, where no other process sees it; \
                     reach it with `--via temporal`",
                    leg.path
                ),
            ));
        }
        if !may_make {
            check_there(&config, &legs)?;
        }
        Self::open(&config, &legs, target).await
    }

    /// The sources over those stores alone that these legs work on.
    pub(super) async fn open(
        config: &SourcesConfig,
        legs: &[Leg],
        target: &TemporalTarget,
    ) -> anyhow::Result<Self> {
        let used = stores_of(legs);
        let mut stores = config.stores.clone();
        stores.retain(|name, _| used.contains(name.as_str()));
        let opened = open_stores(&stores, &config.workspaces).await?;
        let sources = match built(config, &opened.stores, target) {
            Ok(sources) => sources,
            Err(error) => {
                close_stores(&opened.databases, &opened.files, CLOSE_TIMEOUT).await;
                return Err(error);
            }
        };
        Ok(Self { opened, sources })
    }

    /// What asks these sources.
    pub(super) fn notebook(&self) -> Notebook {
        self.notebook_of(self.sources.clone())
    }

    /// What asks these sources over the same stores. Who looks at what is found changes nothing by it, and
    /// this process ends too soon to see to embeddings.
    pub(super) fn notebook_of(&self, sources: Sources) -> Notebook {
        Notebook::new(self.opened.stores.clone())
            .with_sources(sources)
            .without_upkeep()
    }

    /// What keeps the store of a leg from comparing embeddings, which a search among none needn't meet.
    pub(super) async fn obstacle(&self, leg: &Leg) -> Option<Failure> {
        if !matches!(leg.kind, "vector" | "hybrid") {
            return None;
        }
        let store = self.opened.stores.get(leg.store.as_deref()?, None).ok()?;
        let store = store.open().await.ok()?;
        store
            .vectors()?
            .check_vectors()
            .await
            .err()
            .map(Failure::from)
    }

    pub(super) async fn close(&self) {
        close_stores(&self.opened.databases, &self.opened.files, CLOSE_TIMEOUT).await;
    }
}

/// The sources of these settings. Nothing is opened or asked.
pub(super) fn built(
    config: &SourcesConfig,
    stores: &Stores,
    target: &TemporalTarget,
) -> anyhow::Result<Sources> {
    let temporal = Arc::new(LateClient::default());
    temporal.is_at(target);
    let parts = PartsOfSources {
        stores,
        configs: &config.stores,
        embedders: &config.embedders,
        models: open_models(&config.models)?,
        tools: SearchTools::new(temporal),
    };
    open_sources(&config.sources, parts)
}

/// A file that is named by mistake shouldn't be made by looking into it.
pub(super) fn check_there(config: &SourcesConfig, legs: &[Leg]) -> anyhow::Result<()> {
    for name in stores_of(legs) {
        let missing = match config.stores.get(name) {
            Some(StoreConfig::Sqlite(options)) => missing("file", &options.path),
            Some(StoreConfig::File(options)) => missing("directory", &options.root),
            _ => None,
        };
        if let Some(missing) = missing {
            return Err(coded(
                NO_STORE,
                format!("store `{name}`: there is no {missing}; the first worker makes it"),
            ));
        }
    }
    Ok(())
}

fn missing(what: &str, path: &Path) -> Option<String> {
    (!path.exists()).then(|| format!("{what} `{}`", path.display()))
}

fn stores_of(legs: &[Leg]) -> BTreeSet<&str> {
    let stores = legs.iter().filter_map(|leg| leg.store.as_deref());
    stores.collect()
}

fn is_elsewhere(leg: &Leg, config: &SourcesConfig) -> bool {
    let store = leg.store.as_ref().and_then(|name| config.stores.get(name));
    leg.ends_with_process || matches!(store, Some(StoreConfig::InMemory))
}
