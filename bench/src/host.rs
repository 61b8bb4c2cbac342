//! A worker of our own: the product's activities beside one that does nothing, which the product's
//! binary doesn't have.

use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use clap::Args;
use notekeeper_activities::{Notebook, NotebookActivities, Stores};
use notekeeper_contract::DEFAULT_STORE;
use notekeeper_store::{PostgresOptions, PostgresStore, Store};
use temporalio_client::{Client, ClientOptions, Connection, ConnectionOptions, Url};
use temporalio_sdk::{
    Runtime, Worker, WorkerOptions,
    runtime::{
        RuntimeOptions,
        worker_tuner::{FixedSizeSlotSupplier, TunerHolder},
    },
};

use crate::load::{LoadWorkflow, Noop};

/// What a hosted worker serves.
#[derive(Debug, Clone, Args)]
pub(crate) struct HostArgs {
    /// Task queue.
    #[arg(long)]
    pub(crate) queue: String,
    /// Whether it runs workflows too.
    #[arg(long)]
    pub(crate) workflows: bool,
    /// Host and port of Temporal.
    #[arg(long)]
    pub(crate) temporal: String,
    /// Temporal namespace.
    #[arg(long)]
    pub(crate) namespace: String,
    /// URL of the database.
    #[arg(long)]
    pub(crate) database_url: String,
    /// Schema in it.
    #[arg(long)]
    pub(crate) schema: String,
}

/// Slots for each kind of work: as many as the binary has by default.
const SLOTS: usize = 200;

/// What it says on standard output once it polls.
pub(crate) const UP: &str = "up";

/// Serves until the process is ended. The worker's options are those of the binary.
pub(crate) async fn serve(args: HostArgs) -> anyhow::Result<()> {
    let options = PostgresOptions {
        schema: args.schema.clone(),
        ..PostgresOptions::new(&args.database_url)
    };
    let store: Arc<dyn Store> = Arc::new(PostgresStore::connect_lazy(&options)?);
    let stores = Stores::new([(DEFAULT_STORE.to_owned(), store)]);
    let client = connect(&args.temporal, &args.namespace).await?;
    let runtime_options = RuntimeOptions::builder()
        .build()
        .map_err(|error| anyhow!("{error}"))?;
    let runtime = Runtime::from_current_tokio(runtime_options)?;
    let tuner = TunerHolder::builder()
        .workflow_task_slot_supplier(FixedSizeSlotSupplier::new(100))
        .activity_task_slot_supplier(FixedSizeSlotSupplier::new(SLOTS))
        .local_activity_task_slot_supplier(FixedSizeSlotSupplier::new(SLOTS))
        .nexus_task_slot_supplier(FixedSizeSlotSupplier::new(1))
        .build();
    let mut worker_options = WorkerOptions::new(args.queue.as_str())
        .tuner(tuner)
        .register_activities(NotebookActivities::new(Notebook::new(stores)))
        .register_activities(Noop)
        .build();
    if args.workflows {
        worker_options.register_workflow::<LoadWorkflow>()?;
    }
    let mut worker = Worker::new(&runtime, client, worker_options)?;
    println!("{UP}");
    worker.run().await.context("the worker failed")?;
    Ok(())
}

/// A client of the server at `address`.
pub(crate) async fn connect(address: &str, namespace: &str) -> anyhow::Result<Client> {
    let url: Url = format!("http://{address}")
        .parse()
        .with_context(|| format!("`{address}` is no host and port"))?;
    let connection = Connection::connect(ConnectionOptions::new(url).build()).await?;
    let options = ClientOptions::new(namespace)
        .data_converter(notekeeper::data_converter())
        .build();
    Ok(Client::new(connection, options)?)
}
