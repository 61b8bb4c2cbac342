//! `shelf-worker`: a worker with a store of one's own beside one of Notekeeper's.
//!
//! ```text
//! shelf-worker --shelf shelf.json --sqlite notes.db --task-queue shelf
//! ```
//!
//! Workflows and other callers choose by name: `"store": "shelf"`, or nothing for `default`.

use std::{path::PathBuf, sync::Arc};

use clap::Parser;
use notekeeper_activities::{
    ModelActivities, ModelRequests, Models, Notebook, NotebookActivities, Stores,
};
use notekeeper_example_custom_store::ShelfStore;
use notekeeper_models::{ChatModel, ScriptedModel};
use notekeeper_store::{SqliteOptions, SqliteStore, Store};
use notekeeper_workflows::{AgentWorkflow, agent_interceptor};
use temporalio_client::{Client, ClientOptions, Connection, ConnectionOptions, Url};
use temporalio_sdk::{Runtime, Worker, WorkerOptions, runtime::RuntimeOptions};

/// Serves Notekeeper's activities and conversations over two stores: `shelf`, and `default`.
#[derive(Debug, Parser)]
struct Settings {
    /// The file of the store `shelf`.
    #[arg(long)]
    shelf: PathBuf,

    /// The file of the store `default`.
    #[arg(long)]
    sqlite: PathBuf,

    /// What the model says; none for a worker without a model.
    #[arg(long)]
    script: Option<PathBuf>,

    /// Temporal's address.
    #[arg(long, env, default_value = "localhost:7233")]
    temporal_address: String,

    /// Temporal's namespace.
    #[arg(long, env, default_value = "default")]
    temporal_namespace: String,

    /// The task queue to serve.
    #[arg(long, default_value = "notekeeper")]
    task_queue: String,
}

// One thread carries out workflows; the threads of the runtime do the rest.
#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let settings = Settings::parse();
    let database = SqliteStore::open(&SqliteOptions::new(&settings.sqlite)).await?;
    let shelf = ShelfStore::open(&settings.shelf)?;
    let stores = Stores::new([
        (
            "default".to_owned(),
            Arc::new(database.clone()) as Arc<dyn Store>,
        ),
        ("shelf".to_owned(), Arc::new(shelf)),
    ]);
    let mut models = Vec::new();
    if let Some(script) = &settings.script {
        let model: Arc<dyn ChatModel> = Arc::new(ScriptedModel::from_file(script)?);
        models.push(("default".to_owned(), model));
    }

    let mut options = WorkerOptions::new(&settings.task_queue)
        .register_activities(NotebookActivities::new(Notebook::new(stores.clone())))
        .register_activities(ModelActivities::new(ModelRequests::new(
            Models::new(models),
            stores,
        )))
        .build();
    options.register_workflow::<AgentWorkflow>()?;
    options.workflow_interceptor(agent_interceptor());

    let runtime_options = RuntimeOptions::builder()
        .build()
        .map_err(|error| anyhow::anyhow!("{error}"))?;
    let runtime = Runtime::from_current_tokio(runtime_options)?;
    let mut worker = Worker::new(&runtime, connect(&settings).await?, options)?;
    let stop = worker.shutdown_handle();
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            stop();
        }
    });
    eprintln!("serving `{}`", settings.task_queue);
    let served = worker.run().await;
    database.close().await;
    Ok(served?)
}

async fn connect(settings: &Settings) -> anyhow::Result<Client> {
    let url: Url = format!("http://{}", settings.temporal_address).parse()?;
    let connection = Connection::connect(ConnectionOptions::new(url).build()).await?;
    let options = ClientOptions::new(&settings.temporal_namespace).build();
    Ok(Client::new(connection, options)?)
}
