//! Each setting as a worker has it, and where it comes from.

use std::collections::{BTreeMap, BTreeSet};

use notekeeper_activities::Workspace;
use serde_json::{Value, json};

use crate::{connection::TemporalTarget, exit_limits::ExitLimits};

use super::{
    EmbedderConfig, KeyPlace, ModelConfig, StoreConfig, TelemetryConfig, WorkerConfig,
    given::{Given, Source, safe},
};

/// A setting as a worker has it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Setting {
    /// As in the file, with dots between; of a flag that the file has no key for, the flag.
    pub(crate) key: String,
    /// Without secrets.
    pub(crate) value: Value,
    pub(crate) source: Source,
}

/// Arguments that speak of a key of the file, by their ids. One that isn't here is listed under its
/// flag.
const KEYS: &[(&str, &str)] = &[
    ("sqlite", "stores.default.path"),
    ("database_url", "stores.default.url"),
    ("schema", "stores.default.schema"),
    ("temporal_address", "temporal.address"),
    ("temporal_namespace", "temporal.namespace"),
    ("queues", "worker.queues"),
    ("task_queue", "worker.task_queue"),
    ("workflow_task_queue", "worker.workflow_task_queue"),
    ("script", "models.default.script"),
    ("model", "models.default.model"),
    ("model_url", "models.default.base_url"),
    ("exit_after_activities", "worker.exit_after_activities"),
    ("exit_above_resident_mb", "worker.exit_above_resident_mb"),
];

/// Key of the collector's URL.
const ENDPOINT: &str = "telemetry.endpoint";

/// All settings, by key. What somebody gave appears in any case, also where this program's list of
/// what there is doesn't have it.
pub(crate) fn settings(
    config: &WorkerConfig,
    target: &TemporalTarget,
    arguments: &BTreeMap<String, Given>,
    file: &BTreeMap<String, Given>,
) -> Vec<Setting> {
    let resolved = resolved(config, target);
    let mut given = file.clone();
    for (id, argument) in arguments {
        let key = KEYS.iter().find(|(known, _)| known == id);
        let key = key.map_or_else(
            || format!("--{}", id.replace('_', "-")),
            |(_, key)| (*key).to_owned(),
        );
        given.insert(key, argument.clone());
    }
    // The kind of the store `default` follows from what names it, where the file doesn't say it.
    if let Some(by) = ["sqlite", "database_url"]
        .iter()
        .find_map(|id| arguments.get(*id))
    {
        given
            .entry("stores.default.kind".to_owned())
            .or_insert_with(|| by.clone());
    }
    // This variable goes before the file and is no argument's.
    let collector = config.telemetry.collector.as_ref();
    if let Some(name) = collector.and_then(|collector| collector.variable) {
        let source = Source::Variable(name.to_owned());
        let value = Value::Null;
        given.insert(ENDPOINT.to_owned(), Given { value, source });
    }
    let keys: BTreeSet<&String> = resolved.keys().chain(given.keys()).collect();
    keys.into_iter()
        .map(|key| setting(key, &resolved, &given))
        .collect()
}

fn setting(
    key: &str,
    resolved: &BTreeMap<String, Resolved>,
    given: &BTreeMap<String, Given>,
) -> Setting {
    let by = given.get(key).map(|given| given.source.clone());
    let (value, source) = match (resolved.get(key), by) {
        (Some(resolved), by) => (
            safe(key, &resolved.value),
            by.unwrap_or_else(|| resolved.otherwise.clone()),
        ),
        (None, by) => {
            let value = given.get(key).map(|given| given.value.clone());
            (value.unwrap_or_default(), by.unwrap_or(Source::Default))
        }
    };
    Setting {
        key: key.to_owned(),
        value,
        source,
    }
}

/// What a worker has, and where that comes from where nobody gave it.
struct Resolved {
    value: Value,
    otherwise: Source,
}

/// What a worker has. Nothing may be left out: a new field has to be taken up here.
fn resolved(config: &WorkerConfig, target: &TemporalTarget) -> BTreeMap<String, Resolved> {
    let WorkerConfig {
        temporal: _,
        stores,
        workspaces,
        models,
        embedders,
        // As the file has them, like those below.
        sources: _,
        // As the file has them: there is nothing that it leaves open.
        metadata: _,
        queues,
        task_queue,
        workflow_task_queue,
        activity_slots,
        drain,
        exit: ExitLimits {
            after_activities,
            above_resident_mb,
        },
        telemetry,
    } = config;
    let mut all = BTreeMap::new();
    let mut put = |key: &str, value: Value, otherwise: Source| {
        all.insert(key.to_owned(), Resolved { value, otherwise });
    };
    let queues: Vec<_> = queues.iter().map(|queue| queue.name()).collect();
    put("worker.queues", json!(queues), Source::Default);
    put("worker.task_queue", json!(task_queue), Source::Default);
    let workflows = json!(workflow_task_queue);
    put("worker.workflow_task_queue", workflows, Source::Default);
    put(
        "worker.activity_slots",
        json!(activity_slots),
        Source::Default,
    );
    put(
        "worker.drain_seconds",
        json!(drain.as_secs()),
        Source::Default,
    );
    // Null where a worker never ends by itself.
    for (key, limit) in [
        ("worker.exit_after_activities", after_activities),
        ("worker.exit_above_resident_mb", above_resident_mb),
    ] {
        put(key, json!(limit), Source::Default);
    }
    for (key, value, is_default) in target.settings() {
        let otherwise = match is_default {
            true => Source::Default,
            false => Source::Temporal,
        };
        put(key, value, otherwise);
    }
    for (key, value) in of_telemetry(telemetry) {
        put(key, value, Source::Default);
    }
    let named = named("stores", stores, of_store)
        .chain(named("workspaces", workspaces, of_workspace))
        .chain(named("models", models, of_model))
        .chain(named("embedders", embedders, of_embedder));
    for (key, value) in named {
        put(&key, value, Source::Default);
    }
    all
}

/// The settings of each entry of a section whose entries have names.
fn named<T>(
    section: &str,
    entries: &BTreeMap<String, T>,
    of: fn(&T) -> Vec<(&'static str, Value)>,
) -> impl Iterator<Item = (String, Value)> {
    entries.iter().flat_map(move |(name, entry)| {
        of(entry)
            .into_iter()
            .map(move |(key, value)| (format!("{section}.{name}.{key}"), value))
    })
}

/// Where spans go, and where the key of scope hashes stands; null for nowhere.
fn of_telemetry(telemetry: &TelemetryConfig) -> [(&'static str, Value); 3] {
    let TelemetryConfig {
        collector,
        scope_hash_key: _,
        key_place,
    } = telemetry;
    let (variable, file) = match key_place {
        None => (None, None),
        Some(KeyPlace::Variable(name)) => (Some(name), None),
        Some(KeyPlace::File(path)) => (None, Some(path)),
    };
    let url = collector.as_ref().map(|collector| collector.url.as_str());
    [
        (ENDPOINT, json!(url)),
        ("telemetry.scope_hash_key_env", json!(variable)),
        ("telemetry.scope_hash_key_file", json!(file)),
    ]
}

/// What every model of a kind has. What may be missing is listed as it was given.
fn of_model(model: &ModelConfig) -> Vec<(&'static str, Value)> {
    match model {
        ModelConfig::Scripted { script } => {
            vec![("kind", json!("scripted")), ("script", json!(script))]
        }
        ModelConfig::OpenAi(options) => vec![
            ("kind", json!("openai")),
            ("model", json!(options.model)),
            ("base_url", json!(options.base_url)),
            ("timeout_seconds", json!(options.timeout.as_secs())),
        ],
    }
}

/// What every embedder of a kind has.
fn of_embedder(embedder: &EmbedderConfig) -> Vec<(&'static str, Value)> {
    match embedder {
        EmbedderConfig::Hashing { dimensions } => vec![
            ("kind", json!("hashing")),
            ("dimensions", json!(dimensions)),
        ],
        EmbedderConfig::OpenAi(options) => vec![
            ("kind", json!("openai")),
            ("model", json!(options.model)),
            ("base_url", json!(options.base_url)),
            ("timeout_seconds", json!(options.timeout.as_secs())),
        ],
    }
}

/// Null where any worker may touch its files. Whether this worker may follows from its queues.
fn of_workspace(workspace: &Workspace) -> Vec<(&'static str, Value)> {
    let Workspace {
        root,
        read_only,
        task_queue,
        is_served: _,
    } = workspace;
    vec![
        ("root", json!(root)),
        ("read_only", json!(read_only)),
        ("task_queue", json!(task_queue)),
    ]
}

fn of_store(store: &StoreConfig) -> Vec<(&'static str, Value)> {
    match store {
        StoreConfig::Postgres(options) => vec![
            ("kind", json!("postgres")),
            ("url", json!(options.url)),
            ("schema", json!(options.schema)),
            ("connections_max", json!(options.connections_max)),
        ],
        StoreConfig::Sqlite(options) => {
            vec![("kind", json!("sqlite")), ("path", json!(options.path))]
        }
        StoreConfig::File(options) => {
            vec![("kind", json!("file")), ("directory", json!(options.root))]
        }
        StoreConfig::WorkspaceFiles(files) => vec![
            ("kind", json!("file")),
            ("directory", json!(files.directory)),
            // Null for the run's.
            ("workspace", json!(files.workspace)),
        ],
        StoreConfig::InMemory => vec![("kind", json!("in_memory"))],
    }
}
