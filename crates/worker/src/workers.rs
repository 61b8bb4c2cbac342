//! The two workers: activities alone, and workflows with the same activities.

use std::{thread, time::Duration};

use anyhow::{Context as _, anyhow, bail};
use notekeeper_activities::{ModelActivities, NotebookActivities};
use notekeeper_workflows::{AgentWorkflow, agent_interceptor};
use temporalio_client::Client;
use temporalio_sdk::{
    Runtime, Worker, WorkerOptions,
    runtime::{
        RuntimeOptions,
        worker_tuner::{FixedSizeSlotSupplier, TunerHolder},
    },
};
use tokio::{
    runtime::Handle,
    sync::{mpsc, oneshot},
};

use crate::{
    config::{Queue, WorkerConfig},
    drain::{InHand, in_vain},
    exit_limits::Begun,
    shutdown::Shutdown,
};

/// What a worker carries out.
#[derive(Clone)]
pub(crate) struct Activities {
    pub(crate) notebook: NotebookActivities,
    pub(crate) model: ModelActivities,
}

/// What one worker is made of.
struct Work {
    client: Client,
    options: WorkerOptions,
    in_hand: InHand,
    drain: Duration,
    /// Hears once that the worker is up.
    up: mpsc::UnboundedSender<()>,
}

/// Serves the configured queues, one client each, until a stop is asked for, or a limit reached at
/// which the worker asks for one itself, and all work in hand is done. Giving some of it up is an
/// error. `ready` is called once all of them are up.
///
/// Each worker has a thread of its own, because one thread runs all of a worker's workflow code
/// and its polling. A worker that fails stops the others: the process ends, and its supervisor
/// starts it anew as a whole.
pub(crate) async fn serve(
    config: &WorkerConfig,
    activities: &Activities,
    clients: Vec<Client>,
    shutdown: &Shutdown,
    ready: impl FnOnce(),
) -> anyhow::Result<()> {
    let begun = Begun::default();
    let (up, ups) = mpsc::unbounded_channel();
    let count = clients.len();
    let mut running = Vec::with_capacity(clients.len());
    for (queue, client) in config.queues.iter().copied().zip(clients) {
        let in_hand = InHand::counted_in(begun.clone());
        let work = Work {
            client,
            options: options(config, queue, activities, &in_hand)?,
            in_hand,
            drain: config.drain,
            up: up.clone(),
        };
        running.push(spawn(queue, work, shutdown.clone())?);
    }
    drop(up);
    let (ended, watched, ()) = tokio::join!(
        all_ended(running, shutdown),
        config.exit.watch(begun, shutdown.clone()),
        all_up(ups, count, ready)
    );
    watched.and(ended)
}

/// Waits until every worker has ended; the first one that does ends the others.
async fn all_ended(
    mut running: Vec<oneshot::Receiver<anyhow::Result<()>>>,
    shutdown: &Shutdown,
) -> anyhow::Result<()> {
    let mut results = Vec::with_capacity(running.len());
    while !running.is_empty() {
        let (result, _, rest) = futures::future::select_all(running).await;
        results.push(result.unwrap_or_else(|_| Err(anyhow!("a worker's thread panicked"))));
        shutdown.ask();
        running = rest;
    }
    results.into_iter().collect()
}

/// Calls `ready` once `count` workers are up, unless one of them ends before it is.
async fn all_up(mut ups: mpsc::UnboundedReceiver<()>, count: usize, ready: impl FnOnce()) {
    for _ in 0..count {
        if ups.recv().await.is_none() {
            return;
        }
    }
    ready();
}

/// Starts a worker on a thread of its own. The receiver resolves when it has ended.
fn spawn(
    queue: Queue,
    work: Work,
    shutdown: Shutdown,
) -> anyhow::Result<oneshot::Receiver<anyhow::Result<()>>> {
    let (ended, receiver) = oneshot::channel();
    let tokio = Handle::current();
    thread::Builder::new()
        .name(format!("{queue:?}").to_lowercase())
        .spawn(move || {
            let result = tokio.block_on(run(work, shutdown));
            // The receiver is gone only where the process is ending anyway.
            let _ = ended.send(result);
        })
        .context("can't start a thread")?;
    Ok(receiver)
}

async fn run(work: Work, shutdown: Shutdown) -> anyhow::Result<()> {
    let Work {
        client,
        options,
        in_hand,
        drain,
        up,
    } = work;
    let task_queue = options.task_queue.clone();
    let runtime_options = RuntimeOptions::builder()
        .build()
        .map_err(|error| anyhow!("{error}"))?;
    let runtime = Runtime::from_current_tokio(runtime_options)?;
    let mut worker = Worker::new(&runtime, client.clone(), options)?;
    let stop = worker.shutdown_handle();
    let asked = shutdown.clone();
    tokio::spawn(async move {
        asked.asked().await;
        stop();
    });
    tracing::info!(task_queue, "worker is up");
    // Nobody may listen any more where another worker has failed.
    let _ = up.send(());
    drop(up);
    let given_up = async {
        shutdown.asked().await;
        in_vain(&client, &in_hand, drain).await
    };
    tokio::select! {
        result = worker.run() => {
            result.with_context(|| format!("worker on task queue `{task_queue}` failed"))?;
            tracing::info!(task_queue, "worker has drained");
        }
        unfinished = given_up => {
            if unfinished {
                bail!(
                    "worker on task queue `{task_queue}` stopped without Temporal, which can't be \
                     reached; unfinished activities will be retried elsewhere"
                );
            }
            tracing::warn!(
                task_queue,
                "stopped without Temporal, which can't be reached; nothing was in hand"
            );
        }
    }
    Ok(())
}

fn options(
    config: &WorkerConfig,
    queue: Queue,
    activities: &Activities,
    in_hand: &InHand,
) -> anyhow::Result<WorkerOptions> {
    let name = match queue {
        Queue::Memory => &config.task_queue,
        Queue::Workflows => &config.workflow_task_queue,
    };
    let slots = config.activity_slots;
    let tuner = TunerHolder::builder()
        .workflow_task_slot_supplier(FixedSizeSlotSupplier::new(100))
        .activity_task_slot_supplier(FixedSizeSlotSupplier::new(slots))
        .local_activity_task_slot_supplier(FixedSizeSlotSupplier::new(slots))
        .nexus_task_slot_supplier(FixedSizeSlotSupplier::new(1))
        .build();
    let mut options = WorkerOptions::new(name.as_str())
        .tuner(tuner)
        .graceful_shutdown_period(config.drain)
        .activity_inbound_interceptor(in_hand.clone())
        .register_activities(activities.notebook.clone())
        .register_activities(activities.model.clone())
        .build();
    if queue == Queue::Workflows {
        options.register_workflow::<AgentWorkflow>()?;
        options.workflow_interceptor(agent_interceptor());
    }
    Ok(options)
}
