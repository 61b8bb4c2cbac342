//! `profile-worker`: an application's worker, whose tools remember in the database of Notekeeper's.
//!
//! ```text
//! profile-worker --database-url postgres://localhost/notekeeper --task-queue profile
//! ```

use std::sync::Arc;

use clap::Parser;
use notekeeper_activities::{Notebook, Stores};
use notekeeper_example_profile_tool::ProfileTools;
use notekeeper_store::{PostgresOptions, PostgresStore, Store};
use temporalio_client::{Client, ClientOptions, Connection, ConnectionOptions, Url};
use temporalio_sdk::{Runtime, Worker, WorkerOptions, runtime::RuntimeOptions};

/// Serves the tools `save_preference` and `lookup`.
#[derive(Debug, Parser)]
struct Settings {
    /// The database of Notekeeper's worker, migrated by `notekeeper migrate`.
    #[arg(long, env, hide_env_values = true)]
    database_url: String,

    /// Temporal's address.
    #[arg(long, env, default_value = "localhost:7233")]
    temporal_address: String,

    /// Temporal's namespace.
    #[arg(long, env, default_value = "default")]
    temporal_namespace: String,

    /// The task queue to serve.
    #[arg(long, default_value = "profile")]
    task_queue: String,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let settings = Settings::parse();
    let database = PostgresStore::connect_lazy(&PostgresOptions::new(&settings.database_url))?;
    let store: Arc<dyn Store> = Arc::new(database.clone());
    let notebook = Notebook::new(Stores::new([("default".to_owned(), store)]));
    let options = WorkerOptions::new(&settings.task_queue)
        .register_activities(ProfileTools::new(notebook, "default"))
        .build();

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
