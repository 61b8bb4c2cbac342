//! From settings to stores, models and activities.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use anyhow::Context as _;
use notekeeper_activities::{Models, Stores};
use notekeeper_models::{ChatModel, OpenAiModel, ScriptedModel};
use notekeeper_store::{
    FileStore, InMemoryStore, PostgresOptions, PostgresStore, SqliteStore, Store,
};

use crate::config::{ModelConfig, StoreConfig};

/// The stores of a worker, by name.
pub(crate) struct OpenStores {
    pub(crate) stores: Stores,
    /// Those of them that have to be reached and checked before work starts.
    pub(crate) databases: Vec<(String, Arc<PostgresStore>)>,
    /// Those of them that were opened, and checked with it.
    pub(crate) files: Vec<(String, Arc<SqliteStore>)>,
}

/// Builds the stores. Files are opened, and made or migrated where they need it; to no server is
/// anything said yet.
pub(crate) async fn open_stores(
    configs: &BTreeMap<String, StoreConfig>,
) -> anyhow::Result<OpenStores> {
    let mut stores: Vec<(String, Arc<dyn Store>)> = Vec::new();
    let mut databases = Vec::new();
    let mut files = Vec::new();
    for (name, config) in configs {
        let store: Arc<dyn Store> = match config {
            StoreConfig::Postgres(options) => {
                let store = Arc::new(database(name, options)?);
                databases.push((name.clone(), Arc::clone(&store)));
                store
            }
            StoreConfig::Sqlite(options) => {
                let opened = SqliteStore::open(options).await;
                let store = Arc::new(opened.with_context(|| format!("store `{name}`"))?);
                files.push((name.clone(), Arc::clone(&store)));
                store
            }
            StoreConfig::File(options) => {
                // Nothing of it has to be closed: whatever it answered is in the files.
                let opened = FileStore::open(options.clone()).await;
                Arc::new(opened.with_context(|| format!("store `{name}`"))?)
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
        files,
    })
}

/// A PostgreSQL store that nothing has been asked of yet.
pub(crate) fn database(name: &str, options: &PostgresOptions) -> anyhow::Result<PostgresStore> {
    PostgresStore::connect_lazy(options).with_context(|| format!("store `{name}` can't be used"))
}

/// Closes stores that are done with, each within a time: what was given up may still hold a
/// connection.
pub(crate) async fn close_stores(
    databases: &[(String, Arc<PostgresStore>)],
    files: &[(String, Arc<SqliteStore>)],
    timeout: Duration,
) {
    for (_, database) in databases {
        let _ = tokio::time::timeout(timeout, database.close()).await;
    }
    for (_, file) in files {
        let _ = tokio::time::timeout(timeout, file.close()).await;
    }
}

/// Builds the models.
pub(crate) fn open_models(configs: &BTreeMap<String, ModelConfig>) -> anyhow::Result<Models> {
    let mut models: Vec<(String, Arc<dyn ChatModel>)> = Vec::new();
    for (name, config) in configs {
        let unusable = || format!("model `{name}` can't be used");
        let model: Arc<dyn ChatModel> = match config {
            ModelConfig::Scripted { script } => {
                Arc::new(ScriptedModel::from_file(script).with_context(unusable)?)
            }
            ModelConfig::OpenAi(options) => {
                Arc::new(OpenAiModel::new(options.clone()).with_context(unusable)?)
            }
        };
        models.push((name.clone(), model));
    }
    Ok(Models::new(models))
}
