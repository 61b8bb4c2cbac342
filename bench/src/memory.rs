//! What the release binary holds in memory: at rest, and with many operations in its hands.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use sqlx::{Connection as _, PgConnection};
use temporalio_client::{
    Client, NamespacedClient as _, grpc::WorkflowService, tonic::IntoRequest as _,
};
use temporalio_common::protos::temporal::api::{
    common::v1::WorkflowExecution, enums::v1::PendingActivityState,
    workflowservice::v1::DescribeWorkflowExecutionRequest,
};

use crate::{
    bare::connect_options,
    load::{Call, Load},
    stage::{BinaryWorker, Stage},
    through_temporal,
};

/// Operations that are to be in flight.
const IN_FLIGHT: u32 = 1_000;

/// How long a worker is left alone before it counts as idle.
const SETTLING: Duration = Duration::from_secs(5);

/// Longest time that the table stays locked.
const LOCKED_MAX: Duration = Duration::from_secs(15);

/// Between two looks at the worker.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// A worker's memory, in bytes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct WorkerMemory {
    /// Of both queues served, with nothing to do since it started.
    pub(crate) idle: u64,
    /// Most that it held while operations were in flight.
    pub(crate) in_flight: u64,
    /// Most operations that Temporal counted as started and not ended at one time.
    pub(crate) operations: usize,
}

/// Measures both.
pub(crate) async fn measure(stage: &Stage) -> anyhow::Result<WorkerMemory> {
    let (queue, workflows) = (stage.queue("idle"), stage.queue("idle-workflows"));
    let idle = {
        let worker = BinaryWorker {
            queue: &queue,
            workflow_queue: Some(&workflows),
            ..BinaryWorker::default()
        };
        let worker = stage.binary(worker).await?;
        tokio::time::sleep(SETTLING).await;
        worker.resident_bytes()?
    };
    let (in_flight, operations) = with_operations(stage).await?;
    Ok(WorkerMemory {
        idle,
        in_flight,
        operations,
    })
}

/// Locks the table of notes, so that every write that comes has to wait, and lets writes come.
async fn with_operations(stage: &Stage) -> anyhow::Result<(u64, usize)> {
    let (queue, workflows) = (stage.queue("held"), stage.queue("held-workflows"));
    let config = stage.directory.join("held.toml");
    std::fs::write(&config, format!("[worker]\nactivity_slots = {IN_FLIGHT}\n"))?;
    let _workflows = stage.host(&workflows, true).await?;
    let worker = BinaryWorker {
        queue: &queue,
        config: Some(&config),
        ..BinaryWorker::default()
    };
    let worker = stage.binary(worker).await?;
    let load = Load {
        call: Call::Write,
        queue: Some(queue),
        calls: 1,
        rows: IN_FLIGHT,
        namespace: "held".to_owned(),
        run: stage.queue("held-run"),
    };
    through_temporal::reset(stage.store.as_ref(), &load).await?;
    let id = format!("bench-{}", load.run);
    let options = connect_options(&stage.servers.database_url, &stage.schema)?;
    let mut connection = PgConnection::connect_with(&options).await?;
    let mut lock = connection.begin().await?;
    sqlx::query("lock table notes in access exclusive mode")
        .execute(&mut *lock)
        .await?;
    let done = through_temporal::start(stage, &workflows, load);
    let watched = async {
        let (mut most, mut operations) = (0, 0);
        let since = Instant::now();
        while since.elapsed() < LOCKED_MAX && operations < IN_FLIGHT as usize {
            tokio::time::sleep(LOOK_EVERY).await;
            operations = operations.max(started(&stage.client, &id).await.unwrap_or(0));
            most = most.max(worker.resident_bytes()?);
        }
        lock.rollback().await?;
        anyhow::Ok((most, operations))
    };
    let (watched, done) = tokio::join!(watched, done);
    done?;
    watched
}

/// How many activities of a workflow a worker has in its hands.
async fn started(client: &Client, id: &str) -> anyhow::Result<usize> {
    let request = DescribeWorkflowExecutionRequest {
        namespace: client.namespace(),
        execution: Some(WorkflowExecution {
            workflow_id: id.to_owned(),
            run_id: String::new(),
        }),
    };
    let mut client = client.clone();
    let described =
        WorkflowService::describe_workflow_execution(&mut client, request.into_request()).await?;
    let pending = described.into_inner().pending_activities;
    let started = pending
        .iter()
        .filter(|activity| activity.state() == PendingActivityState::Started)
        .count();
    Ok(started)
}
