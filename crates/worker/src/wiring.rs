//! From settings to stores, models and activities.

mod sources;

use std::{collections::BTreeMap, path::Path, sync::Arc, time::Duration};

use anyhow::{Context as _, bail};
use notekeeper_activities::{FileStores, OpenFiles, Stores, Workspace};
use notekeeper_models::{ChatModel, OpenAiModel, ScriptedModel};
use notekeeper_store::{
    FileStore, InMemoryStore, PostgresOptions, PostgresStore, SqliteStore, Store,
};

use crate::{
    config::{ModelConfig, StoreConfig},
    workspace_files::WorkspaceFiles,
};

pub(crate) use self::sources::{PartsOfSources, open_sources};

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
    workspaces: &BTreeMap<String, Workspace>,
) -> anyhow::Result<OpenStores> {
    let mut stores: Vec<(String, Arc<dyn Store>)> = Vec::new();
    let mut in_workspaces = Vec::new();
    let opener: Arc<dyn OpenFiles> = Arc::new(WorkspaceFiles::default());
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
            StoreConfig::WorkspaceFiles(config) => {
                // Opened in each workspace when a run first needs it there.
                let (own, opener) = (config.workspace.clone(), Arc::clone(&opener));
                let files = FileStores::new(&config.directory, own, opener);
                in_workspaces.push((name.clone(), files));
                continue;
            }
            StoreConfig::InMemory => {
                tracing::warn!("store `{name}` lives in memory: its notes end with this process");
                Arc::new(InMemoryStore::default())
            }
        };
        stores.push((name.clone(), store));
    }
    Ok(OpenStores {
        stores: Stores::with_workspaces(stores, in_workspaces, workspaces.clone()),
        databases,
        files,
    })
}

/// Refuses to serve a workspace that isn't on this machine.
pub(crate) fn check_roots(workspaces: &BTreeMap<String, Workspace>) -> anyhow::Result<()> {
    for (name, workspace) in workspaces {
        if workspace.is_served {
            check_root(&workspace.root).with_context(|| format!("workspace `{name}`"))?;
        }
    }
    Ok(())
}

/// Refuses a root that is no directory here.
pub(crate) fn check_root(root: &Path) -> anyhow::Result<()> {
    let found = std::fs::metadata(root).with_context(|| {
        format!(
            "its root `{}` can't be used here; make it, or give the workspace the `task_queue` of \
             the workers that have it",
            root.display()
        )
    })?;
    if !found.is_dir() {
        bail!("its root `{}` is no directory", root.display());
    }
    Ok(())
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
pub(crate) fn open_models(
    configs: &BTreeMap<String, ModelConfig>,
) -> anyhow::Result<BTreeMap<String, Arc<dyn ChatModel>>> {
    let mut models: BTreeMap<String, Arc<dyn ChatModel>> = BTreeMap::new();
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
        models.insert(name.clone(), model);
    }
    Ok(models)
}

#[cfg(test)]
mod tests {
    use notekeeper_store::{FileOptions, SqliteOptions};

    use super::*;

    #[tokio::test]
    async fn a_store_keeps_what_its_settings_say_that_it_keeps() {
        let directory = tempfile::tempdir().expect("a directory");
        let postgres = PostgresOptions::new("postgres://nowhere.invalid/app");
        let configs = BTreeMap::from([
            ("postgres".to_owned(), StoreConfig::Postgres(postgres)),
            (
                "sqlite".to_owned(),
                StoreConfig::Sqlite(SqliteOptions::new(directory.path().join("notes.db"))),
            ),
            (
                "file".to_owned(),
                StoreConfig::File(FileOptions::new(directory.path().join("notes"))),
            ),
            ("in_memory".to_owned(), StoreConfig::InMemory),
        ]);
        let opened = open_stores(&configs, &BTreeMap::new()).await;
        let opened = opened.expect("open them");
        for (name, config) in &configs {
            let store = opened.stores.get(name, None).expect("it is there");
            assert_eq!(
                store.keeps_transcripts(),
                config.keeps_transcripts(),
                "{name}"
            );
            assert_eq!(store.kind(), config.kind(), "{name}");
        }
        close_stores(&opened.databases, &opened.files, Duration::from_secs(1)).await;
    }
}
