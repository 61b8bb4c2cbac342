//! `notekeeper worker`: serve the task queues.

use std::{
    os::unix::process::CommandExt as _, path::Path, process::ExitCode, sync::Arc, time::Duration,
};

use anyhow::Context as _;
use clap::Args;
use notekeeper_activities::{
    ModelActivities, ModelRequests, Models, Notebook, NotebookActivities, Stores,
};
use notekeeper_recall::unreached_timeouts;
use notekeeper_store::{PostgresStore, SqliteStore, StoreError, VectorStore as _};

use crate::{
    arguments::{DatabaseArgs, ExitArgs, ModelArgs, QueueArgs, TemporalArgs},
    config::{File, Queue, WorkerConfig},
    connection::{TemporalTarget, check_namespace, patiently},
    program::own_program,
    search_tools::{LateClient, SearchTools},
    shutdown::Shutdown,
    telemetry::SpanExport,
    wiring::{
        OpenStores, PartsOfSources, check_roots, close_stores, open_models, open_sources,
        open_stores,
    },
    workers::{self, Activities},
};

/// Read by Temporal's core when a poll is stopped: how long it waits for a task that is on its
/// way, in milliseconds. Without it a closing poll can swallow an activity, which then costs its
/// whole start-to-close timeout.
///
/// A worker that serves workflows does without. Core stops processing workflow tasks at once but
/// would go on polling for them, so each one that came meanwhile would be lost until its time-out
/// of ten seconds: every conversation that is under way.
const POLL_SHUTDOWN_WAIT: (&str, &str) = ("TEMPORAL_POLL_SHUTDOWN_INTERRUPT_WAIT_MS", "1500");

/// Longest wait for the connections of a store to close, at the end.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(300);

#[derive(Debug, Args)]
#[command(after_help = "\
SIGTERM or SIGINT stops polling and lets activities in hand end (exit code 0); a second one ends the \
process at once (130). While a server is away, the worker says so and tries again.

Spans go to the OpenTelemetry collector that OTEL_EXPORTER_OTLP_ENDPOINT or [telemetry] in the file \
names, and nowhere without one.

Examples:
  notekeeper worker --sqlite notes.db
  notekeeper worker --database-url postgres://localhost/app --queues memory
  notekeeper worker --config notekeeper.toml --temporal-address temporal.internal:7233")]
pub(crate) struct WorkerArgs {
    #[command(flatten)]
    pub(crate) database: DatabaseArgs,
    #[command(flatten)]
    pub(crate) temporal: TemporalArgs,
    #[command(flatten)]
    pub(crate) queues: QueueArgs,
    #[command(flatten)]
    pub(crate) models: ModelArgs,
    #[command(flatten)]
    pub(crate) exit: ExitArgs,

    /// Where to stop this process, for tests: `point=kill-once:MARKER` or `point=fail:N`.
    #[cfg(feature = "fault-points")]
    #[arg(long, env = "NOTEKEEPER_FAULT", value_name = "SPEC", hide = true)]
    pub(crate) fault: Option<String>,
}

pub(crate) fn run(config: Option<&Path>, args: WorkerArgs) -> anyhow::Result<ExitCode> {
    let config = File::read(config)?.worker(&args)?;
    if !config.queues.contains(&Queue::Workflows) {
        with_poll_shutdown_wait()?;
    }
    #[cfg(feature = "fault-points")]
    if let Some(fault) = &args.fault {
        notekeeper_activities::fault::arm(fault)?;
    }
    super::block_on(async {
        let shutdown = Shutdown::on_signals()?;
        let target = TemporalTarget::resolve(&config.temporal)?;
        let opened = Opened::open(&config).await?;
        serve(&config, opened, &target, &shutdown, || {}).await
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Starts this program again in the same process, once, with the variable set: it has to stand in
/// the environment before any thread runs.
fn with_poll_shutdown_wait() -> anyhow::Result<()> {
    let (name, value) = POLL_SHUTDOWN_WAIT;
    if std::env::var_os(name).is_some() {
        return Ok(());
    }
    let program = own_program().context("can't find this program's file")?;
    let error = std::process::Command::new(program)
        .args(std::env::args_os().skip(1))
        .env(name, value)
        .exec();
    Err(error).context("can't start this program again")
}

/// What a worker works with: files are open, no server was asked yet.
pub(crate) struct Opened {
    activities: Activities,
    databases: Vec<(String, Arc<PostgresStore>)>,
    files: Vec<(String, Arc<SqliteStore>)>,
    /// For tools that are activities.
    temporal: Arc<LateClient>,
}

impl Opened {
    /// Opens stores, models and sources.
    pub(crate) async fn open(config: &WorkerConfig) -> anyhow::Result<Self> {
        let models = open_models(&config.models)?;
        check_roots(&config.workspaces)?;
        let temporal = Arc::new(LateClient::default());
        let sources = |stores: &Stores| {
            let parts = PartsOfSources {
                stores,
                configs: &config.stores,
                embedders: &config.embedders,
                models: models.clone(),
                tools: SearchTools::new(Arc::clone(&temporal)),
            };
            open_sources(&config.sources, parts)
        };
        // Before anything is opened, so that no file is made for sources that can't work.
        sources(&Stores::new([]))?;
        let names = config.sources.keys().map(String::as_str);
        for unreached in unreached_timeouts(&config.sources, names) {
            tracing::warn!("{unreached}");
        }
        let OpenStores {
            stores,
            databases,
            files,
        } = open_stores(&config.stores, &config.workspaces).await?;
        let sources = sources(&stores)?;
        let key = config.telemetry.scope_hash_key.clone();
        let mut notebook = Notebook::new(stores.clone())
            .with_sources(sources)
            .with_scope_hash_key(key);
        for (name, template) in &config.metadata {
            notebook = notebook.with_metadata_resolver(name, Arc::new(template.clone()));
        }
        let activities = Activities {
            notebook: NotebookActivities::new(notebook),
            model: ModelActivities::new(ModelRequests::new(Models::new(models), stores)),
        };
        Ok(Self {
            activities,
            databases,
            files,
            temporal,
        })
    }

    /// Closes the stores.
    pub(crate) async fn close(&self) {
        close_stores(&self.databases, &self.files, CLOSE_TIMEOUT).await;
    }
}

/// Serves until a stop is asked for, closes the stores, and sends the spans that are left within
/// what is left of the drain. `ready` is called once every worker is up.
pub(crate) async fn serve(
    config: &WorkerConfig,
    opened: Opened,
    target: &TemporalTarget,
    shutdown: &Shutdown,
    ready: impl FnOnce(),
) -> anyhow::Result<()> {
    let spans = match SpanExport::start(config.telemetry.collector.as_ref()) {
        Ok(spans) => spans,
        Err(error) => {
            opened.close().await;
            return Err(error);
        }
    };
    let result = serve_opened(config, &opened, target, shutdown, ready).await;
    opened.close().await;
    spans
        .finish(config.drain.saturating_sub(shutdown.since_asked()))
        .await;
    result
}

async fn serve_opened(
    config: &WorkerConfig,
    opened: &Opened,
    target: &TemporalTarget,
    shutdown: &Shutdown,
    ready: impl FnOnce(),
) -> anyhow::Result<()> {
    opened.temporal.is_at(target);
    for (name, database) in &opened.databases {
        let what = format!("store `{name}`");
        let checked = patiently(&what, shutdown, || async {
            match database.check().await {
                Err(error @ StoreError::Unavailable(_)) => Err(error),
                settled => Ok(settled),
            }
        });
        match checked.await {
            None => return Ok(()),
            Some(settled) => settled.with_context(|| what.clone())?,
        }
        // All else works without it.
        if let Err(StoreError::Unusable(obstacle)) = database.check_vectors().await {
            tracing::warn!("{what}: vectors can't be searched: {obstacle}");
        }
    }
    let Some(clients) = connect(config, target, shutdown).await else {
        return Ok(());
    };
    if let Some(client) = clients.first() {
        tokio::select! {
            checked = check_namespace(client) => checked?,
            () = shutdown.asked() => return Ok(()),
        }
    }
    workers::serve(config, &opened.activities, clients, shutdown, ready).await
}

/// One connection for each queue.
async fn connect(
    config: &WorkerConfig,
    target: &TemporalTarget,
    shutdown: &Shutdown,
) -> Option<Vec<temporalio_client::Client>> {
    let what = format!("Temporal at {}", target.address());
    let mut clients = Vec::with_capacity(config.queues.len());
    for _ in &config.queues {
        clients.push(patiently(&what, shutdown, || target.connect()).await?);
    }
    Some(clients)
}
