//! A conversation, as its client sees it.

use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use notekeeper_contract::ChatMessage;
use notekeeper_workflows::{
    ActivityQueue, AgentInput, AgentWorkflow, MemorySettings, Reply, SendMessage,
    TRANSCRIPT_BYTES_MAX,
};
use temporalio_client::{
    Client, RpcOptions, WorkflowDescribeOptions, WorkflowExecutionStatus, WorkflowHandle,
    WorkflowIdConflictPolicy, WorkflowIdReusePolicy, WorkflowQueryOptions, WorkflowSignalOptions,
    WorkflowStartUpdateOptions, WorkflowUpdateHandle, WorkflowUpdateWithStartOptions,
    errors::{WorkflowInteractionError, WorkflowQueryError},
};
use temporalio_common::WorkflowDefinition as _;

use crate::random;

use super::{
    failure::{Refusal, Unanswered},
    watch::{Queues, Stage, Watch},
};

/// Longest wait for the transcript: the worker that answers may be away.
const QUERY_TIMEOUT: Duration = Duration::from_secs(5);

/// How long to wait before a message is sent again.
const AGAIN: Duration = Duration::from_millis(300);

/// How a conversation begins. It counts once: its run keeps it.
pub(super) struct Beginning {
    /// Whether a closed conversation of this id is no obstacle.
    pub(super) anew: bool,
    pub(super) namespace: String,
    pub(super) agent_name: String,
    pub(super) model: String,
    pub(super) instructions: String,
    pub(super) task_queue: String,
    pub(super) workflow_task_queue: String,
}

/// A conversation that goes on, or begins with the first message.
pub(super) struct Conversation {
    client: Client,
    handle: WorkflowHandle<Client, AgentWorkflow>,
    id: String,
    beginning: Beginning,
    goes_on: bool,
    /// Where its workflow runs: what it began with counts, not what is said now.
    workflow_task_queue: String,
}

impl Conversation {
    /// Looks whether there is a conversation of this id.
    pub(super) async fn find(
        client: Client,
        id: String,
        beginning: Beginning,
    ) -> anyhow::Result<Self> {
        let handle = client.get_workflow_handle::<AgentWorkflow>(id.clone());
        let mut workflow_task_queue = beginning.workflow_task_queue.clone();
        let goes_on = match handle.describe(WorkflowDescribeOptions::default()).await {
            Err(WorkflowInteractionError::NotFound(_)) => false,
            Err(error) => return Err(error).context("Temporal can't say whether there is one"),
            Ok(found) if found.workflow_type() != AgentWorkflow::run.name() => bail!(
                "`{id}` is the id of a workflow of the type `{}`, not of a conversation; choose \
                 another id",
                found.workflow_type()
            ),
            Ok(found) => match (found.status(), beginning.anew) {
                (WorkflowExecutionStatus::Running, false) => {
                    workflow_task_queue = found.task_queue().to_owned();
                    true
                }
                (WorkflowExecutionStatus::Running, true) => bail!(
                    "conversation `{id}` is still open; leave --new out to go on with it, or end it \
                     with /close"
                ),
                (_, true) => false,
                (ended, false) => bail!(
                    "conversation `{id}` {}; give --new to begin another under this id, or choose \
                     another id",
                    how_it_ended(ended)
                ),
            },
        };
        Ok(Self {
            client,
            handle,
            id,
            beginning,
            goes_on,
            workflow_task_queue,
        })
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// Whether there is a conversation yet.
    pub(super) fn goes_on(&self) -> bool {
        self.goes_on
    }

    /// Who has to be there for a message to be answered.
    pub(super) fn queues(&self) -> Queues {
        Queues {
            client: self.client.clone(),
            conversation: self.client.get_workflow_handle(self.id.clone()),
            activities: self.beginning.task_queue.clone(),
            workflows: self.workflow_task_queue.clone(),
        }
    }

    /// What was said so far.
    pub(super) async fn transcript(&self) -> anyhow::Result<Vec<ChatMessage>> {
        let query = self.handle.query(
            AgentWorkflow::transcript,
            (),
            WorkflowQueryOptions::default(),
        );
        match tokio::time::timeout(QUERY_TIMEOUT, query).await {
            Ok(Ok(messages)) => Ok(messages),
            Ok(Err(WorkflowQueryError::Rpc(status))) => Err(anyhow!("{}", status.message())),
            Ok(Err(error)) => Err(error.into()),
            Err(_) => Err(anyhow!(
                "no worker answered on `{}` within {QUERY_TIMEOUT:?}",
                self.workflow_task_queue
            )),
        }
    }

    /// Ends the conversation once the messages taken are answered.
    pub(super) async fn close(&self) -> anyhow::Result<()> {
        let options = WorkflowSignalOptions::default();
        let closed = self.handle.signal(AgentWorkflow::close, ().into(), options);
        match closed.await {
            // It is closed already.
            Ok(()) | Err(WorkflowInteractionError::NotFound(_)) => Ok(()),
            Err(error) => Err(error).context("the conversation can't be closed"),
        }
    }

    /// Sends a message and waits for its answer. However often it has to be sent, because
    /// Temporal was away or the conversation was just continuing as a new run, it is one message
    /// and is answered once.
    pub(super) async fn send(
        &mut self,
        text: &str,
        watch: &mut Watch,
    ) -> Result<Reply, Unanswered> {
        if text.len() > TRANSCRIPT_BYTES_MAX {
            return Err(Unanswered::Failed {
                kind: "TooLarge".to_owned(),
                message: format!(
                    "the message has {} bytes, {TRANSCRIPT_BYTES_MAX} are allowed",
                    text.len()
                ),
            });
        }
        let message = SendMessage {
            text: text.to_owned(),
            id: Some(random::name()),
        };
        watch.begin();
        loop {
            let refusal = match self.send_once(&message, watch).await? {
                Ok(reply) => return Ok(reply),
                Err(refusal) => refusal,
            };
            match refusal {
                Refusal::Final(unanswered) => return Err(unanswered),
                Refusal::Again => {}
                Refusal::Away => watch.temporal_is_away(),
            }
            watch
                .over(Stage::Sending, tokio::time::sleep(AGAIN))
                .await?;
        }
    }

    /// Sends the message under an update id of its own. The message's id, which stays, is what
    /// makes it the same message.
    async fn send_once(
        &mut self,
        message: &SendMessage,
        watch: &mut Watch,
    ) -> Result<Result<Reply, Refusal>, Unanswered> {
        let taken = watch.over(Stage::Sending, self.start(message)).await?;
        let pending = match taken {
            Ok(pending) => pending,
            Err(refusal) => return Ok(Err(refusal)),
        };
        self.goes_on = true;
        let reply = pending.get_result(RpcOptions::default());
        let reply = watch.over(Stage::Answering, reply).await?;
        Ok(reply.map_err(Refusal::from))
    }

    /// Hands the message over, to a new conversation where there is none yet.
    async fn start(
        &self,
        message: &SendMessage,
    ) -> Result<WorkflowUpdateHandle<Client, Reply>, Refusal> {
        let input = message.clone().into();
        if self.goes_on {
            let options = WorkflowStartUpdateOptions::builder()
                .update_id(random::name())
                .build();
            let update = AgentWorkflow::send_message;
            return Ok(self.handle.start_update(update, input, options).await?);
        }
        let options = WorkflowUpdateWithStartOptions::new(
            &self.beginning.workflow_task_queue,
            &self.id,
            WorkflowIdConflictPolicy::UseExisting,
        )
        .id_reuse_policy(match self.beginning.anew {
            true => WorkflowIdReusePolicy::AllowDuplicate,
            false => WorkflowIdReusePolicy::RejectDuplicate,
        })
        .update_id(random::name())
        .build();
        let started = self.client.start_update_with_start_workflow(
            AgentWorkflow::run,
            self.beginning.input().into(),
            AgentWorkflow::send_message,
            input,
            options,
        );
        Ok(started.await?)
    }
}

fn how_it_ended(status: WorkflowExecutionStatus) -> &'static str {
    match status {
        WorkflowExecutionStatus::Completed => "was closed",
        WorkflowExecutionStatus::Failed => "failed",
        WorkflowExecutionStatus::Canceled => "was cancelled",
        WorkflowExecutionStatus::Terminated => "was terminated",
        WorkflowExecutionStatus::TimedOut => "timed out",
        _ => "has ended",
    }
}

impl Beginning {
    fn input(&self) -> AgentInput {
        let mut memory = MemorySettings {
            agent_name: self.agent_name.clone(),
            ..MemorySettings::default()
        };
        memory.activities.queue = ActivityQueue::Named(self.task_queue.clone());
        AgentInput {
            namespace: self.namespace.clone(),
            memories: vec![memory],
            instructions: self.instructions.clone(),
            model: self.model.clone(),
            ..AgentInput::default()
        }
    }
}
