//! Holding the conversations while a worker dies.

use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use notekeeper_workflows::{ActivityQueue, AgentInput, AgentWorkflow, SendMessage};
use temporalio_client::{
    Client, WorkflowExecuteUpdateOptions, WorkflowFetchHistoryOptions, WorkflowGetResultOptions,
    WorkflowHandle, WorkflowSignalOptions, WorkflowStartOptions,
};
use temporalio_common::protos::temporal::api::history::v1::History;

use super::{TENANTS, plan, stage::Stage};

/// Longest that one conversation may take.
const RUN_TIMEOUT: Duration = Duration::from_secs(180);

/// A conversation that was held.
pub(super) struct Agent {
    tenant: &'static str,
    handle: WorkflowHandle<Client, AgentWorkflow>,
}

impl Agent {
    pub(super) fn tenant(&self) -> &'static str {
        self.tenant
    }

    pub(super) async fn history(&self) -> anyhow::Result<History> {
        let events = self
            .handle
            .fetch_history(WorkflowFetchHistoryOptions::default())
            .into_events()
            .await
            .context("can't fetch a history")?;
        Ok(History { events })
    }
}

/// Holds all conversations at once. The first worker is killed in one of the first writes; then
/// another is started, and the conversations go on.
pub(super) async fn hold(stage: &mut Stage) -> anyhow::Result<Vec<Agent>> {
    stage.start_worker()?;
    let mut agents = Vec::with_capacity(TENANTS.len());
    for tenant in TENANTS {
        agents.push(start(stage, tenant).await?);
    }
    see_through(stage, &agents).await?;
    println!("All {} conversations are done.", agents.len());
    Ok(agents)
}

/// Waits for the conversations through the death of the first worker.
async fn see_through(stage: &mut Stage, agents: &[Agent]) -> anyhow::Result<()> {
    let talks = futures::future::try_join_all(agents.iter().map(talk));
    tokio::pin!(talks);
    let status = tokio::select! {
        done = &mut talks => {
            done?;
            bail!("the conversations ended and the worker was not killed");
        }
        status = stage.worker_ended() => status?,
    };
    println!(
        "Worker 1 was killed ({status}) after the store committed a write and before Temporal \
         heard of it."
    );
    stage.start_worker()?;
    tokio::select! {
        done = &mut talks => done?,
        status = stage.worker_ended() => bail!("worker 2 ended ({})", status?),
    };
    Ok(())
}

async fn start(stage: &Stage, tenant: &'static str) -> anyhow::Result<Agent> {
    let mut input = AgentInput {
        namespace: Stage::namespace(tenant),
        fact_tools: true,
        ..AgentInput::default()
    };
    for memory in &mut input.memories {
        memory.activities.queue = ActivityQueue::Named(stage.task_queue.clone());
        // What the killed worker had in hand is given to another one after this time.
        memory.activities.start_to_close_ms = 3_000;
    }
    let id = stage.conversation(tenant);
    let options = WorkflowStartOptions::new(&stage.workflow_task_queue, &id)
        .run_timeout(RUN_TIMEOUT)
        .build();
    stage
        .client
        .start_workflow(AgentWorkflow::run, input.into(), options)
        .await
        .context("can't start a conversation")?;
    Ok(Agent {
        tenant,
        handle: stage.client.get_workflow_handle::<AgentWorkflow>(id),
    })
}

/// Says everything of the plan and checks each reply.
async fn talk(agent: &Agent) -> anyhow::Result<()> {
    for (message, expected) in plan::messages().zip(plan::replies()) {
        let message = SendMessage {
            text: message.to_owned(),
            id: None,
        };
        let reply = agent
            .handle
            .execute_update(
                AgentWorkflow::send_message,
                message.into(),
                WorkflowExecuteUpdateOptions::default(),
            )
            .await
            .map_err(|error| anyhow!("{} got no reply: {error}", agent.tenant))?;
        if reply.text != expected {
            bail!(
                "{} got another reply than planned: {:?}",
                agent.tenant,
                reply.text
            );
        }
    }
    agent
        .handle
        .signal(
            AgentWorkflow::close,
            ().into(),
            WorkflowSignalOptions::default(),
        )
        .await?;
    agent
        .handle
        .get_result(WorkflowGetResultOptions::default())
        .await?;
    Ok(())
}
