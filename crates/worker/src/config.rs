//! Settings: what flags, environment and file come to.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context as _, bail};
use notekeeper_contract::{DEFAULT_STORE, MEMORY_TASK_QUEUE, WORKFLOW_TASK_QUEUE};
use notekeeper_store::PostgresOptions;
use serde::Deserialize;

use crate::cli::{DatabaseArgs, Queue, TemporalArgs, WorkerArgs};

/// What the TOML file may hold. An unknown key is an error.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct File {
    temporal: TemporalSection,
    worker: WorkerSection,
    stores: BTreeMap<String, StoreSection>,
    models: BTreeMap<String, ModelSection>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct TemporalSection {
    address: Option<String>,
    namespace: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct WorkerSection {
    queues: Option<Vec<QueueName>>,
    task_queue: Option<String>,
    workflow_task_queue: Option<String>,
    activity_slots: Option<usize>,
    drain_seconds: Option<u64>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum QueueName {
    Memory,
    Workflows,
}

/// A store by its kind.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum StoreSection {
    /// Notes in PostgreSQL.
    Postgres {
        /// `postgres://…`; for the store `default` the flag and `DATABASE_URL` go before it.
        url: Option<String>,
        /// Schema that holds the tables.
        schema: Option<String>,
        /// Most connections at a time.
        connections_max: Option<u32>,
    },
    /// Notes in this process's memory: for trying things out.
    InMemory,
}

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

/// Which server to talk to. What is missing here comes from Temporal's own settings.
#[derive(Debug, Clone, Default)]
pub(crate) struct TemporalConfig {
    pub(crate) address: Option<String>,
    pub(crate) namespace: Option<String>,
}

/// All that a worker needs.
#[derive(Debug)]
pub(crate) struct WorkerConfig {
    pub(crate) temporal: TemporalConfig,
    pub(crate) stores: BTreeMap<String, StoreConfig>,
    pub(crate) models: BTreeMap<String, ModelSection>,
    pub(crate) queues: Vec<Queue>,
    pub(crate) task_queue: String,
    pub(crate) workflow_task_queue: String,
    /// Activities at a time on each queue.
    pub(crate) activity_slots: usize,
    /// How long activities may go on after a stop signal before they are cancelled.
    pub(crate) drain: Duration,
}

/// A store that can be built.
#[derive(Debug, Clone)]
pub(crate) enum StoreConfig {
    Postgres(PostgresOptions),
    InMemory,
}

/// Activities at a time on each queue. A write holds a connection for a few milliseconds, so this
/// keeps the pool busy and the memory of a worker small.
const ACTIVITY_SLOTS_DEFAULT: usize = 200;

/// One second more than an activity may take, so that a drain lets every one end.
const DRAIN_DEFAULT: Duration = Duration::from_secs(11);

impl File {
    /// Reads the file; an empty one where no path is given.
    pub(crate) fn read(path: Option<&Path>) -> anyhow::Result<Self> {
        let Some(path) = path else {
            return Ok(Self::default());
        };
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("can't read the configuration `{}`", path.display()))?;
        toml::from_str(&text)
            .with_context(|| format!("configuration `{}` can't be used", path.display()))
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

    /// The stores by name. Flags and environment speak of the store `default`.
    pub(crate) fn stores(
        &self,
        args: &DatabaseArgs,
    ) -> anyhow::Result<BTreeMap<String, StoreConfig>> {
        let mut sections = self.stores.clone();
        if args.database_url.is_some() && !sections.contains_key(DEFAULT_STORE) {
            let section = StoreSection::Postgres {
                url: None,
                schema: None,
                connections_max: None,
            };
            sections.insert(DEFAULT_STORE.to_owned(), section);
        }
        if sections.is_empty() {
            bail!(
                "no store is configured; set DATABASE_URL or give --database-url, or add \
                 [stores.default] to the configuration file"
            );
        }
        let none = DatabaseArgs::default();
        sections
            .into_iter()
            .map(|(name, section)| {
                let args = if name == DEFAULT_STORE { args } else { &none };
                Ok((name.clone(), store(&name, section, args)?))
            })
            .collect()
    }

    /// All that a worker needs.
    pub(crate) fn worker(self, args: &WorkerArgs) -> anyhow::Result<WorkerConfig> {
        let temporal = self.temporal(&args.temporal);
        let stores = self.stores(&args.database)?;
        let mut models = self.models;
        if let Some(script) = &args.script {
            let section = ModelSection::Scripted {
                script: script.clone(),
            };
            models.insert("default".to_owned(), section);
        }
        let named = self
            .worker
            .queues
            .into_iter()
            .flatten()
            .map(|queue| match queue {
                QueueName::Memory => Queue::Memory,
                QueueName::Workflows => Queue::Workflows,
            });
        let queues = match args.queues.as_slice() {
            [] => named.collect(),
            given => given.to_vec(),
        };
        let name = |flag: &Option<String>, file: Option<String>, default: &str| {
            flag.clone().or(file).unwrap_or_else(|| default.to_owned())
        };
        let config = WorkerConfig {
            temporal,
            stores,
            models,
            queues: if queues.is_empty() {
                vec![Queue::Memory, Queue::Workflows]
            } else {
                queues
            },
            task_queue: name(&args.task_queue, self.worker.task_queue, MEMORY_TASK_QUEUE),
            workflow_task_queue: name(
                &args.workflow_task_queue,
                self.worker.workflow_task_queue,
                WORKFLOW_TASK_QUEUE,
            ),
            activity_slots: self.worker.activity_slots.unwrap_or(ACTIVITY_SLOTS_DEFAULT),
            drain: self
                .worker
                .drain_seconds
                .map_or(DRAIN_DEFAULT, Duration::from_secs),
        };
        if config.task_queue == config.workflow_task_queue {
            bail!("the two task queues have the same name; give one another name");
        }
        if config.activity_slots == 0 {
            bail!("`worker.activity_slots` must be at least 1");
        }
        Ok(config)
    }
}

fn store(name: &str, section: StoreSection, args: &DatabaseArgs) -> anyhow::Result<StoreConfig> {
    match section {
        StoreSection::InMemory => Ok(StoreConfig::InMemory),
        StoreSection::Postgres {
            url,
            schema,
            connections_max,
        } => {
            let url = args.database_url.clone().or(url).with_context(|| {
                format!("store `{name}` has no `url`; add it, or for `default` set DATABASE_URL")
            })?;
            let mut options = PostgresOptions::new(url);
            if let Some(schema) = args.schema.clone().or(schema) {
                options.schema = schema;
            }
            if let Some(connections_max) = connections_max {
                options.connections_max = connections_max;
            }
            Ok(StoreConfig::Postgres(options))
        }
    }
}
