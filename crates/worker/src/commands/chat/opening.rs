//! Finding a conversation: an open workflow, or messages that a store keeps of one.

use std::io::{self, IsTerminal as _};

use anyhow::{Context as _, bail};
use notekeeper_workflows::{ActivityQueue, AgentInput, AgentWorkflow};
use temporalio_client::{
    Client, NamespacedClient as _, WorkflowDescribeOptions, WorkflowExecutionStatus,
    WorkflowHandle, errors::WorkflowInteractionError, grpc::WorkflowService,
    tonic::IntoRequest as _,
};
use temporalio_common::{
    WorkflowDefinition as _,
    protos::temporal::api::{
        common::v1::WorkflowExecution, history::v1::history_event::Attributes,
        workflowservice::v1::GetWorkflowExecutionHistoryRequest,
    },
};

use crate::commands::confirm::is_meant;

use super::{
    conversation::{Beginning, Conversation, QUERY_TIMEOUT},
    kept::{Kept, Known, Place},
};

/// How a chat finds a conversation.
pub(super) enum Opening {
    /// There is none.
    New,
    /// Its workflow is open.
    GoesOn {
        /// Flags of this call that say otherwise than how it began, which counts.
        unheeded: Vec<&'static str>,
    },
    /// A store keeps so many messages of it, and another workflow goes on with them.
    Resumes(u64),
    /// So many messages were cleared, and another workflow begins.
    Cleared(u64),
    /// No workflow of it is known, and whether a store keeps messages of it neither.
    Unknown(anyhow::Error),
}

/// What Temporal knows of a workflow id.
enum Found {
    Nothing,
    Open { task_queue: String },
    Ended(WorkflowExecutionStatus),
}

impl Conversation {
    /// Looks whether there is a conversation of this id, or messages that a store keeps of one.
    pub(super) async fn find(
        client: Client,
        id: String,
        beginning: Beginning,
    ) -> anyhow::Result<(Self, Opening)> {
        let handle = client.get_workflow_handle::<AgentWorkflow>(id.clone());
        let found = look(&handle, &id).await?;
        let mut conversation = Self {
            kept: beginning.kept(&client, &id),
            workflow_task_queue: beginning.workflow_task_queue.clone(),
            goes_on: false,
            takes_over: false,
            client,
            handle,
            id,
            beginning,
        };
        let opening = conversation.open(found).await?;
        Ok((conversation, opening))
    }

    async fn open(&mut self, found: Found) -> anyhow::Result<Opening> {
        let id = &self.id;
        let ended = match found {
            Found::Open { .. } if self.beginning.anew => bail!(
                "conversation `{id}` is still open; leave --new out to go on with it, or end it \
                 with /close"
            ),
            Found::Open { task_queue } => {
                self.workflow_task_queue = task_queue;
                self.goes_on = true;
                let unheeded = self.take_as_it_began().await;
                return Ok(Opening::GoesOn { unheeded });
            }
            Found::Ended(status) => Some(how_it_ended(status)),
            Found::Nothing => None,
        };
        self.takes_over = ended.is_some();
        match (self.kept.count().await, self.beginning.anew) {
            (Known::Messages(0) | Known::Cleared | Known::NotKept, true) => Ok(Opening::New),
            // Nothing is lost where one begins that was cleared.
            (Known::Cleared, false) => Ok(Opening::New),
            (Known::Messages(count), true) => {
                let question = format!(
                    "remove the {count} messages that are kept of conversation `{id}`, which can't be \
                     had back?"
                );
                if io::stdin().is_terminal() && !is_meant(&question)? {
                    bail!("nothing is removed; leave --new out to go on with the conversation");
                }
                Ok(Opening::Cleared(self.kept.clear().await?))
            }
            (Known::Nothing(error), true) => Err(error.context(format!(
                "messages that are kept of conversation `{id}` can't be removed"
            ))),
            (Known::Messages(0) | Known::NotKept, false) => match ended {
                None => Ok(Opening::New),
                Some(how) => bail!(
                    "conversation `{id}` {how}; give --new to begin another under this id, or choose \
                     another id"
                ),
            },
            (Known::Messages(count), false) => Ok(Opening::Resumes(count)),
            (Known::Nothing(error), false) => match ended {
                None => Ok(Opening::Unknown(error)),
                Some(how) => Err(error.context(format!(
                    "conversation `{id}` {how}, and whether its messages are kept can't be seen"
                ))),
            },
        }
    }

    /// Takes in where the open run keeps its messages: what it began with counts, not what is said now. Gives
    /// the flags that say otherwise.
    async fn take_as_it_began(&mut self) -> Vec<&'static str> {
        let given = &self.beginning.given;
        let queue = self.beginning.task_queue.clone();
        // This call's flags may name another tenant than the run's.
        let Some(input) = began_with(&self.client, &self.id).await else {
            self.kept = Kept::new(self.client.clone(), queue, None);
            return given.unheeded(None);
        };
        // Continued runs have the conversation from the first.
        let known = self.state().await.ok().and_then(|state| state.conversation);
        let place = Place::of(&input, &self.id, known);
        let queue = match input.memories.first().map(|it| &it.activities.queue) {
            Some(ActivityQueue::Named(queue)) => queue.clone(),
            _ => queue,
        };
        let unheeded = given.unheeded(Some((&input, &place)));
        self.kept = Kept::new(self.client.clone(), queue, Some(place));
        unheeded
    }
}

impl Beginning {
    fn kept(&self, client: &Client, id: &str) -> Kept {
        let place = Place::of(&self.input(), id, None);
        Kept::new(client.clone(), self.task_queue.clone(), Some(place))
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

/// What Temporal knows of the id.
async fn look(handle: &WorkflowHandle<Client, AgentWorkflow>, id: &str) -> anyhow::Result<Found> {
    match handle.describe(WorkflowDescribeOptions::default()).await {
        Err(WorkflowInteractionError::NotFound(_)) => Ok(Found::Nothing),
        Err(error) => Err(error).context("Temporal can't say whether there is one"),
        Ok(found) if found.workflow_type() != AgentWorkflow::run.name() => bail!(
            "`{id}` is the id of a workflow of the type `{}`, not of a conversation; choose \
             another id",
            found.workflow_type()
        ),
        Ok(found) => Ok(match found.status() {
            WorkflowExecutionStatus::Running => Found::Open {
                task_queue: found.task_queue().to_owned(),
            },
            ended => Found::Ended(ended),
        }),
    }
}

/// The input of the latest run; `None` where it can't be read.
async fn began_with(client: &Client, id: &str) -> Option<AgentInput> {
    let mut client = client.clone();
    let request = GetWorkflowExecutionHistoryRequest {
        namespace: client.namespace(),
        execution: Some(WorkflowExecution {
            workflow_id: id.to_owned(),
            run_id: String::new(),
        }),
        maximum_page_size: 1,
        ..GetWorkflowExecutionHistoryRequest::default()
    };
    let history =
        WorkflowService::get_workflow_execution_history(&mut client, request.into_request());
    let history = tokio::time::timeout(QUERY_TIMEOUT, history).await;
    let history = history.ok()?.ok()?.into_inner().history?;
    let first = history.events.into_iter().next()?.attributes?;
    let Attributes::WorkflowExecutionStartedEventAttributes(started) = first else {
        return None;
    };
    let payload = started.input?.payloads.into_iter().next()?;
    serde_json::from_slice(&payload.data).ok()
}
