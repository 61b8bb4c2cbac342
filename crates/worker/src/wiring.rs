//! From settings to stores, models and activities.

use std::{collections::BTreeMap, sync::Arc};

use anyhow::Context as _;
use notekeeper_activities::{Models, Stores};
use notekeeper_models::{ChatModel, ScriptedModel};
use notekeeper_store::{InMemoryStore, PostgresStore, Store};

use crate::config::{ModelSection, StoreConfig};

/// The stores of a worker, by name.
pub(crate) struct OpenStores {
    pub(crate) stores: Stores,
    /// Those of them that have to be reached and checked before work starts.
    pub(crate) databases: Vec<(String, Arc<PostgresStore>)>,
}

/// Builds the stores. Nothing is connected yet.
pub(crate) fn open_stores(configs: &BTreeMap<String, StoreConfig>) -> anyhow::Result<OpenStores> {
    let mut stores: Vec<(String, Arc<dyn Store>)> = Vec::new();
    let mut databases = Vec::new();
    for (name, config) in configs {
        let store: Arc<dyn Store> = match config {
            StoreConfig::Postgres(options) => {
                let store = PostgresStore::connect_lazy(options)
                    .with_context(|| format!("store `{name}` can't be used"))?;
                let store = Arc::new(store);
                databases.push((name.clone(), Arc::clone(&store)));
                store
            }
            StoreConfig::InMemory => {
                tracing::warn!("store `{name}` lives in memory: its notes end with this process");
                Arc::new(InMemoryStore::default())
            }
        };
        stores.push((name.clone(), store));
    }
    Ok(OpenStores {
        stores: Stores::new(stores),
        databases,
    })
}

/// Builds the models.
pub(crate) fn open_models(configs: &BTreeMap<String, ModelSection>) -> anyhow::Result<Models> {
    let mut models: Vec<(String, Arc<dyn ChatModel>)> = Vec::new();
    for (name, config) in configs {
        match config {
            ModelSection::Scripted { script } => {
                let model = ScriptedModel::from_file(script)
                    .with_context(|| format!("model `{name}` can't be used"))?;
                models.push((name.clone(), Arc::new(model)));
            }
        }
    }
    Ok(Models::new(models))
}
