//! `notekeeper config check`: read the settings as a worker does, and try what they name.

use std::{collections::BTreeMap, path::Path, process::ExitCode, sync::Arc, time::Duration};

use anyhow::{Context as _, anyhow};
use clap::{Args, CommandFactory as _};
use notekeeper_activities::{Stores, Workspace};
use notekeeper_recall::{HYBRID_SOURCE, Source};
use notekeeper_store::{FileOptions, FileStore, SqliteOptions, SqliteStore};
use serde::Serialize;
use serde_json::Value;

use crate::{
    arguments::OutputArgs,
    cli::Cli,
    commands::worker::WorkerArgs,
    config::{File, Given, Setting, StoreConfig, WorkerConfig, given, settings},
    connection::{TemporalTarget, describe_namespace},
    exit::Exit,
    output::{print, print_json, table},
    search_tools::SearchTools,
    wiring::{PartsOfSources, check_root, database, open_models, open_sources},
};

/// Longest wait for one store. A store that can't be reached says so in less.
const STORE_TIMEOUT: Duration = Duration::from_secs(15);

#[derive(Debug, Args)]
#[command(after_help = "\
Takes what `notekeeper worker` takes, and reads the same variables and file. Passwords are hidden. \
The exit code is 1 where a setting can't be used, or with --connect where anything can't be reached.

Examples:
  notekeeper config check
  notekeeper config check --config notekeeper.toml --connect
  notekeeper config check --sqlite notes.db --json | jq '.settings[] | .key'")]
pub(crate) struct CheckArgs {
    /// Also reach each store and Temporal, once, and say what is wrong. Notes and workflows are left
    /// alone.
    #[arg(long)]
    connect: bool,

    #[command(flatten)]
    pub(super) output: OutputArgs,

    #[command(flatten)]
    worker: WorkerArgs,
}

/// What was found out.
#[derive(Serialize)]
struct Report {
    ok: bool,
    settings: Vec<Row>,
    stores: Vec<StoreRow>,
    sources: Vec<SourceRow>,
    /// What was reached; empty without `--connect`.
    checks: Vec<Check>,
}

/// A setting, as it is printed.
#[derive(Serialize)]
struct Row {
    key: String,
    value: Value,
    source: String,
}

/// What a store is for.
#[derive(Serialize)]
struct StoreRow {
    name: String,
    kind: &'static str,
    keeps: &'static [&'static str],
}

impl StoreRow {
    fn of(name: &str, config: &StoreConfig) -> Self {
        Self {
            name: name.to_owned(),
            kind: config.kind(),
            keeps: match config.keeps_transcripts() {
                true => &["notes", "transcripts", "facts"],
                false => &["notes"],
            },
        }
    }
}

/// What a source is.
#[derive(Serialize)]
struct SourceRow {
    name: String,
    kind: &'static str,
    accepts_writes: bool,
}

/// One thing that was reached, or not.
#[derive(Serialize)]
struct Check {
    what: String,
    ok: bool,
    message: String,
}

impl Check {
    fn of(what: String, result: anyhow::Result<String>) -> Self {
        let ok = result.is_ok();
        let message = result.unwrap_or_else(|error| format!("{error:#}"));
        Self { what, ok, message }
    }
}

pub(super) fn run(path: Option<&Path>, args: CheckArgs) -> anyhow::Result<ExitCode> {
    let config = File::read(path)?.worker(&args.worker)?;
    let target = TemporalTarget::resolve(&config.temporal)?;
    let sources = sources(&config)?;
    let settings = settings(&config, &target, &arguments(), &given::of_file(path)?);
    super::super::block_on(async {
        for (name, config) in &config.stores {
            if let StoreConfig::Postgres(options) = config {
                // Nothing is connected, but what a worker would refuse at once is refused.
                database(name, options)?;
            }
        }
        let checks = match args.connect {
            true => reached(&config, &target).await,
            false => Vec::new(),
        };
        let report = Report {
            ok: checks.iter().all(|check| check.ok),
            settings: settings.into_iter().map(row).collect(),
            stores: config
                .stores
                .iter()
                .map(|(name, config)| StoreRow::of(name, config))
                .collect(),
            sources,
            checks,
        };
        if args.output.json {
            print_json(&report)?;
        } else {
            print(&rendered(&report))?;
        }
        Ok(if report.ok { Exit::Done } else { Exit::Failed }.into())
    })
}

/// The sources, built as a worker builds them. Nothing is opened or asked.
fn sources(config: &WorkerConfig) -> anyhow::Result<Vec<SourceRow>> {
    let parts = PartsOfSources {
        stores: &Stores::new([]),
        configs: &config.stores,
        embedders: &config.embedders,
        models: open_models(&config.models)?,
        tools: SearchTools::new(Arc::default()),
    };
    let sources = open_sources(&config.sources, parts)?;
    let row = |(name, source): (&str, &Arc<dyn Source>)| SourceRow {
        name: name.to_owned(),
        kind: config
            .sources
            .get(name)
            .map_or(HYBRID_SOURCE, |spec| spec.kind.as_str()),
        accepts_writes: source.accepts_writes(),
    };
    Ok(sources.all().map(row).collect())
}

/// What was given on the command line and in the environment. It is read once more, because parsed
/// arguments no longer say where they come from.
fn arguments() -> BTreeMap<String, Given> {
    let mut root = Cli::command();
    root.build();
    let matches = root.clone().get_matches();
    let (mut command, mut matches) = (&root, &matches);
    while let Some((name, inner)) = matches.subcommand()
        && let Some(found) = command.find_subcommand(name)
    {
        (command, matches) = (found, inner);
    }
    let mut given = given::of_arguments(command, matches);
    // How this command prints is no setting of a worker.
    for own in ["connect", "json"] {
        given.remove(own);
    }
    given
}

fn row(setting: Setting) -> Row {
    Row {
        key: setting.key,
        value: setting.value,
        source: setting.source.to_string(),
    }
}

/// Reaches everything, one after the other.
async fn reached(config: &WorkerConfig, target: &TemporalTarget) -> Vec<Check> {
    let mut checks = Vec::new();
    for (name, config) in &config.stores {
        let reached = tokio::time::timeout(STORE_TIMEOUT, store(name, config)).await;
        let result = reached.unwrap_or_else(|_| Err(anyhow!("no answer within {STORE_TIMEOUT:?}")));
        checks.push(Check::of(format!("store `{name}`"), result));
    }
    for (name, it) in &config.workspaces {
        checks.push(Check::of(format!("workspace `{name}`"), workspace(it)));
    }
    let what = format!("Temporal at {}", target.address());
    checks.push(Check::of(what, temporal(target).await));
    checks
}

async fn store(name: &str, config: &StoreConfig) -> anyhow::Result<String> {
    match config {
        StoreConfig::Postgres(options) => {
            let database = database(name, options)?;
            let checked = database.check().await;
            database.close().await;
            checked?;
            Ok("reached, migrated".to_owned())
        }
        StoreConfig::Sqlite(options) => file(options).await,
        StoreConfig::File(options) => files(options).await,
        StoreConfig::WorkspaceFiles(files) => Ok(match &files.workspace {
            Some(name) => format!("in workspace `{name}`"),
            None => "in the workspace that a run names".to_owned(),
        }),
        StoreConfig::InMemory => Ok("in the worker's memory: ends with it".to_owned()),
    }
}

/// A root that other workers have isn't looked for here.
fn workspace(workspace: &Workspace) -> anyhow::Result<String> {
    let access = if workspace.read_only {
        "read-only"
    } else {
        "writable"
    };
    match &workspace.task_queue {
        Some(queue) if !workspace.is_served => Ok(format!(
            "{access}, not looked at: served on task queue `{queue}` and not by this worker"
        )),
        _ => {
            check_root(&workspace.root)?;
            Ok(format!("there, {access}"))
        }
    }
}

/// A file is opened as a worker opens it, but not made.
async fn file(options: &SqliteOptions) -> anyhow::Result<String> {
    if options.path.exists() {
        let opened = SqliteStore::open(options).await?;
        opened.close().await;
        return Ok("opened, migrated".to_owned());
    }
    check_above(&options.path)?;
    Ok("not there yet: the first worker makes it".to_owned())
}

/// A directory is opened as a worker opens it, but not made.
async fn files(options: &FileOptions) -> anyhow::Result<String> {
    if options.root.exists() {
        let opened = FileStore::open(options.clone()).await?;
        opened.close().await;
        return Ok("opened".to_owned());
    }
    check_above(&options.root)?;
    Ok("not there yet: the first worker makes it".to_owned())
}

/// Where something is to be made there must be a directory.
fn check_above(path: &Path) -> anyhow::Result<()> {
    let directory = path.parent().filter(|path| *path != Path::new(""));
    let directory = directory.unwrap_or(Path::new("."));
    let found = std::fs::metadata(directory)
        .with_context(|| format!("the directory `{}` can't be used", directory.display()))?;
    if !found.is_dir() {
        return Err(anyhow!("`{}` is no directory", directory.display()));
    }
    Ok(())
}

async fn temporal(target: &TemporalTarget) -> anyhow::Result<String> {
    let client = target.connect().await?;
    describe_namespace(&client).await?;
    Ok(format!(
        "reached, Temporal namespace `{}`",
        target.namespace()
    ))
}

fn rendered(report: &Report) -> String {
    let settings = report
        .settings
        .iter()
        .map(|row| [row.key.clone(), as_text(&row.value), row.source.clone()]);
    let mut text = table(["SETTING", "VALUE", "FROM"], &[], settings);
    let stores = report.stores.iter().map(|store| {
        [
            store.name.clone(),
            store.kind.to_owned(),
            store.keeps.join(", "),
        ]
    });
    text.push('\n');
    text.push_str(&table(["STORE", "KIND", "KEEPS"], &[], stores));
    if !report.sources.is_empty() {
        let sources = report.sources.iter().map(|source| {
            let writes = if source.accepts_writes { "yes" } else { "no" };
            [
                source.name.clone(),
                source.kind.to_owned(),
                writes.to_owned(),
            ]
        });
        text.push('\n');
        text.push_str(&table(["SOURCE", "KIND", "WRITES"], &[], sources));
    }
    if !report.checks.is_empty() {
        let checks = report.checks.iter().map(|check| {
            let ok = if check.ok { "ok" } else { "failed" };
            [check.what.clone(), ok.to_owned(), check.message.clone()]
        });
        text.push('\n');
        text.push_str(&table(["CHECK", "RESULT", ""], &[], checks));
    }
    text
}

fn as_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(values) => {
            let values: Vec<_> = values.iter().map(as_text).collect();
            values.join(",")
        }
        other => other.to_string(),
    }
}
