//! Settings: what flags, environment and file come to.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context as _, anyhow, bail};
use notekeeper_contract::{DEFAULT_STORE, MEMORY_TASK_QUEUE, WORKFLOW_TASK_QUEUE};
use notekeeper_store::PostgresOptions;
use serde::Deserialize;

use crate::{
    cli::{DatabaseArgs, Queue, TemporalArgs, WorkerArgs},
    database_url::DatabaseUrl,
};

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
        url: Option<DatabaseUrl>,
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

    /// The stores by name. Flags and environment speak of the store `default`.
    pub(crate) fn stores(
        &self,
        args: &DatabaseArgs,
    ) -> anyhow::Result<BTreeMap<String, StoreConfig>> {
        let mut sections = self.stores.clone();
        check_not_ignored(args, &sections)?;
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
        let mut queues = match args.queues.as_slice() {
            [] => named.collect(),
            given => given.to_vec(),
        };
        // Two workers on one queue would be refused by the server, late and unclearly.
        queues.sort_unstable();
        queues.dedup();
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
        if config.task_queue.is_empty() || config.workflow_task_queue.is_empty() {
            bail!("a task queue's name is empty; leave the setting out for the default");
        }
        if config.task_queue == config.workflow_task_queue {
            bail!("the two task queues have the same name; give one another name");
        }
        if config.activity_slots == 0 {
            bail!("`worker.activity_slots` must be at least 1");
        }
        Ok(config)
    }
}

/// Reads the file's text. An error never quotes the line, which may hold a password.
fn parse(text: &str) -> anyhow::Result<File> {
    let deserializer =
        toml::Deserializer::parse(text).map_err(|error| unusable(text, None, &error))?;
    serde_path_to_error::deserialize(deserializer).map_err(|error| {
        let key = error.path().to_string();
        let key = (key != ".").then_some(key);
        unusable(text, key.as_deref(), error.inner())
    })
}

/// What is wrong in the file's text, and where.
fn unusable(text: &str, key: Option<&str>, error: &toml::de::Error) -> anyhow::Error {
    let line = error.span().map(|span| {
        let before = text.bytes().take(span.start);
        format!("line {}", before.filter(|byte| *byte == b'\n').count() + 1)
    });
    let key = key.map(|key| format!("`{key}`"));
    // Messages quote a value of the wrong kind, which may be a URL with a password.
    let message = match error.message() {
        message if message.contains("://") || message.contains('@') => {
            "a URL, or what looks like a part of one, stands where none is expected"
        }
        message => message,
    };
    let place: Vec<String> = line.into_iter().chain(key).collect();
    match place.as_slice() {
        [] => anyhow!("{message}"),
        place => anyhow!("{}: {message}", place.join(", ")),
    }
}

/// Flags and variables go before the file: what they ask for is never passed over in silence.
fn check_not_ignored(
    args: &DatabaseArgs,
    sections: &BTreeMap<String, StoreSection>,
) -> anyhow::Result<()> {
    match sections.get(DEFAULT_STORE) {
        Some(StoreSection::Postgres { .. }) => {}
        Some(StoreSection::InMemory) if args.database_url.is_some() => bail!(
            "--database-url (DATABASE_URL) names a database for the store `default`, and \
             [stores.default] of the configuration file says kind = \"in_memory\"; \
             remove one of them"
        ),
        Some(StoreSection::InMemory) if args.schema.is_some() => bail!(
            "--schema (NOTEKEEPER_SCHEMA) is for a database, and [stores.default] of the \
             configuration file says kind = \"in_memory\"; remove one of them"
        ),
        None if args.schema.is_some() && args.database_url.is_none() && !sections.is_empty() => {
            bail!(
                "--schema (NOTEKEEPER_SCHEMA) is for the store `default`, and the configuration \
                 file has other stores alone; give their `schema` in [stores.NAME]"
            )
        }
        Some(StoreSection::InMemory) | None => {}
    }
    Ok(())
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
            let mut options = PostgresOptions::new(url.into_string());
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said of a file, as the program says it.
    fn refused(toml: &str) -> String {
        let error = parse(toml).expect_err("the file can't be used");
        format!("{error:#}")
    }

    fn stores(toml: &str, args: &DatabaseArgs) -> anyhow::Result<Vec<String>> {
        let stores = parse(toml).expect("a usable file").stores(args)?;
        Ok(stores.into_keys().collect())
    }

    fn args(database_url: Option<&str>, schema: Option<&str>) -> DatabaseArgs {
        DatabaseArgs {
            database_url: database_url.map(DatabaseUrl::from),
            schema: schema.map(str::to_owned),
        }
    }

    #[test]
    fn an_error_in_the_file_never_shows_the_password_that_stands_there() {
        let files = [
            "[stores.default]\nurl = postgres://app:hunter2@db/app",
            "[stores.default]\nkind = 'postgres'\nurl = 'postgres://app:hunter2@db/app",
            "[stores.default]\nkind = 'postgres'\nurl = 'postgres://app:hunter2@db/app'\nurl = ''",
            "[stores.default]\nkind = 'postgres://app:hunter2@db/app'",
            "[stores.default]\nkind = 'postgres'\nconnections_max = 'postgres://app:hunter2@db/app'",
            "[worker]\nqueues = 'app:hunter2@db'",
            "stores = 'postgres://app:hunter2@db/app'",
            "postgres://app:hunter2@db/app",
        ];
        for file in files {
            let said = refused(file);
            assert!(!said.contains("hunter2"), "{said}");
            assert!(said.starts_with("line "), "{said}");
        }
    }

    #[test]
    fn an_error_in_the_file_says_the_line_the_key_and_what_is_wrong() {
        assert_eq!(
            refused("[worker]\n\nactivity_slots = 'many'"),
            "line 3, `worker.activity_slots`: invalid type: string \"many\", expected usize"
        );
        let misspelt = refused("[temporal]\nadress = 'x'");
        assert!(
            misspelt.starts_with("line 2, `temporal.adress`: unknown field `adress`"),
            "{misspelt}"
        );
    }

    #[test]
    fn a_flag_that_the_file_leaves_no_use_for_is_an_error_that_names_both() {
        let in_memory = "[stores.default]\nkind = 'in_memory'";
        let other = "[stores.eu]\nkind = 'postgres'\nurl = 'postgres://eu/app'";
        let url = Some("postgres://db/app");
        let cases = [
            (in_memory, args(url, None), "--database-url (DATABASE_URL)"),
            (
                in_memory,
                args(url, Some("s")),
                "--database-url (DATABASE_URL)",
            ),
            (
                in_memory,
                args(None, Some("s")),
                "--schema (NOTEKEEPER_SCHEMA)",
            ),
            (other, args(None, Some("s")), "--schema (NOTEKEEPER_SCHEMA)"),
        ];
        for (toml, args, flag) in cases {
            let said = stores(toml, &args)
                .expect_err("nothing is ignored")
                .to_string();
            assert!(said.contains(flag) && said.contains("[stores."), "{said}");
        }
    }

    #[test]
    fn a_database_of_the_flags_stands_beside_the_other_stores_of_the_file() {
        let toml = "[stores.scratch]\nkind = 'in_memory'";
        let both = args(Some("postgres://db/app"), Some("s"));
        assert_eq!(stores(toml, &both).expect("stores"), ["default", "scratch"]);
        assert_eq!(
            stores(toml, &args(None, None)).expect("stores"),
            ["scratch"]
        );
    }

    #[test]
    fn what_holds_the_url_of_a_database_does_not_show_it() {
        let secret = args(Some("postgres://app:hunter2@db/app"), None);
        let file = parse("[stores.default]\nkind = 'postgres'\nurl = 'postgres://a:hunter2@b/c'");
        let shown = format!("{secret:?} {:?}", file.expect("a usable file"));
        assert!(!shown.contains("hunter2"), "{shown}");
        assert!(shown.contains("DatabaseUrl"), "{shown}");
    }
}
