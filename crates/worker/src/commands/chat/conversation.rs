//! A conversation, as its client sees it.

use std::{future::Future, time::Duration};

use anyhow::{Context as _, anyhow, bail};
use notekeeper_contract::{ChatMessage, FailureType};
use notekeeper_workflows::{
    ActivityQueue, AgentInput, AgentState, AgentWorkflow, ConversationPlace, KnownReply,
    MemorySettings, Reply, SendMessage, TRANSCRIPT_BYTES_MAX,
};
use temporalio_client::{
    Client, RpcOptions, WorkflowHandle, WorkflowIdConflictPolicy, WorkflowIdReusePolicy,
    WorkflowQueryOptions, WorkflowSignalOptions, WorkflowStartUpdateOptions, WorkflowUpdateHandle,
    WorkflowUpdateWithStartOptions,
    errors::{WorkflowInteractionError, WorkflowQueryError},
};

use crate::random;

use super::{
    arguments::Given,
    failure::{Refusal, Unanswered},
    kept::{Kept, Known},
    said::{Said, latest_exchanges},
    screen::Screen,
    watch::{Queues, Stage, Watch},
};

/// Longest wait for the transcript: the worker that answers may be away.
pub(super) const QUERY_TIMEOUT: Duration = Duration::from_secs(5);

/// How long to wait before a message is sent again.
const AGAIN: Duration = Duration::from_millis(300);

/// How a conversation begins. It counts once: its run keeps it.
pub(super) struct Beginning {
    /// Whether a closed conversation of this id is no obstacle, and what is kept of it goes.
    pub(super) anew: bool,
    pub(super) given: Given,
    pub(super) task_queue: String,
    pub(super) workflow_task_queue: String,
}

/// The answer to a message.
pub(super) enum Answer {
    /// It is kept.
    Kept(Reply),
    /// Its store couldn't keep it yet; the next message tries again.
    Unstored(Reply),
}

/// A conversation that goes on, or begins with the first message.
pub(super) struct Conversation {
    pub(super) client: Client,
    pub(super) handle: WorkflowHandle<Client, AgentWorkflow>,
    pub(super) id: String,
    pub(super) beginning: Beginning,
    /// Whether its workflow is open.
    pub(super) goes_on: bool,
    /// Whether a workflow that has ended has its id, which another one takes.
    pub(super) takes_over: bool,
    pub(super) kept: Kept,
    /// Where its workflow runs: what it began with counts, not what is said now.
    pub(super) workflow_task_queue: String,
}

impl Conversation {
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

    /// What its run holds of what was said.
    pub(super) async fn transcript(&self) -> anyhow::Result<Vec<ChatMessage>> {
        let query = self.handle.query(
            AgentWorkflow::transcript,
            (),
            WorkflowQueryOptions::default(),
        );
        self.answered(query).await
    }

    /// Shows the latest exchanges, or all that was said. What is under way isn't kept yet; the run has
    /// it. Says whether there was anything.
    pub(super) async fn show(
        &self,
        exchanges: Option<usize>,
        screen: Screen,
    ) -> anyhow::Result<bool> {
        let (mut before, mut under_way) = (u64::MAX, Vec::new());
        if self.goes_on {
            let state = self.state().await?;
            let held = Said::of_run(self.transcript().await?);
            let Some(kept) = state.conversation else {
                screen.history(&held, exchanges.unwrap_or(usize::MAX));
                return Ok(!held.is_empty());
            };
            let unkept = kept.unstored + usize::from(state.transcript_bytes > 0);
            if unkept > 0 {
                before = kept.next;
                under_way = latest_exchanges(&held, unkept).to_vec();
            }
        }
        let Some(exchanges) = exchanges else {
            let mut any = !under_way.is_empty();
            let show = |page: Vec<Said>| {
                any |= !page.is_empty();
                screen.said(&page);
            };
            self.kept.each_page(None, before, show).await?;
            screen.said(&under_way);
            return Ok(any);
        };
        let mut said = self.kept.latest(exchanges, before).await?;
        said.extend(under_way);
        screen.history(&said, exchanges);
        Ok(!said.is_empty())
    }

    /// Removes the messages that a store keeps. A run goes on with what is left, which is none, and so does
    /// everybody else who talks in it.
    pub(super) async fn clear(&self) -> anyhow::Result<u64> {
        match self.kept.count().await {
            Known::Messages(_) | Known::Cleared => {}
            Known::NotKept => bail!("no store keeps its messages; /close ends it with them"),
            Known::Nothing(error) => return Err(error),
        }
        if self.goes_on {
            let state = self.state().await?;
            // The run would store these afterwards.
            if state.waiting > 0 {
                bail!("a message is being answered; nothing is removed before its answer is there");
            }
            if state.conversation.is_some_and(|kept| kept.unstored > 0) {
                bail!(
                    "an answer couldn't be stored yet, so nothing is removed; it is stored before the next \
                     message is answered"
                );
            }
        }
        self.kept.clear().await
    }

    /// What its run knows of itself.
    pub(super) async fn state(&self) -> anyhow::Result<AgentState> {
        let options = WorkflowQueryOptions::default();
        self.answered(self.handle.query(AgentWorkflow::state, (), options))
            .await
    }

    /// The answer that a message has though its turn failed, because it couldn't be stored yet; nothing where
    /// there is none, or where the worker that is asked is too old to know.
    async fn unstored_reply(&self, message: &SendMessage) -> Option<Reply> {
        let id = message.id.clone()?;
        let options = WorkflowQueryOptions::default();
        let asked = self.handle.query(AgentWorkflow::reply, id, options);
        let known: Option<KnownReply> = self.answered(asked).await.ok()?;
        known.filter(|it| it.unstored).map(|it| it.reply)
    }

    async fn answered<T>(
        &self,
        query: impl Future<Output = Result<T, WorkflowQueryError>>,
    ) -> anyhow::Result<T> {
        match tokio::time::timeout(QUERY_TIMEOUT, query).await {
            Ok(Ok(answer)) => Ok(answer),
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
    ) -> Result<Answer, Unanswered> {
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
                Ok(reply) => return Ok(Answer::Kept(reply)),
                Err(refusal) => refusal,
            };
            match refusal {
                Refusal::Final(unanswered) => return self.in_spite_of(unanswered, &message).await,
                Refusal::Again => {}
                Refusal::Away => watch.temporal_is_away(),
            }
            watch
                .over(Stage::Sending, tokio::time::sleep(AGAIN))
                .await?;
        }
    }

    /// A failed message may have an answer nevertheless, which nobody keeps yet.
    async fn in_spite_of(
        &self,
        unanswered: Unanswered,
        message: &SendMessage,
    ) -> Result<Answer, Unanswered> {
        match &unanswered {
            Unanswered::Failed { kind, .. } if kind == FailureType::Unavailable.as_str() => {
                let reply = self.unstored_reply(message).await;
                reply.map(Answer::Unstored).ok_or(unanswered)
            }
            _ => Err(unanswered),
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
        .id_reuse_policy(match self.takes_over {
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

impl Beginning {
    pub(super) fn input(&self) -> AgentInput {
        let given = &self.given;
        let mut memory = MemorySettings {
            agent_name: given.agent_name().to_owned(),
            ..MemorySettings::default()
        };
        memory.activities.queue = ActivityQueue::Named(self.task_queue.clone());
        AgentInput {
            namespace: given.namespace().to_owned(),
            memories: vec![memory],
            instructions: given.instructions.clone().unwrap_or_default(),
            model: given.model().to_owned(),
            conversation: ConversationPlace {
                id: given.conversation.clone(),
                store: None,
            },
            history: given.history.clone().unwrap_or_default(),
            fact_tools: given.facts,
            ..AgentInput::default()
        }
    }
}
