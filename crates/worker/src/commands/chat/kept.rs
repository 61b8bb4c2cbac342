//! The messages of a conversation that a store keeps, reached through a worker's activities.

use std::time::Duration;

use anyhow::{Context as _, bail};
use notekeeper_contract::{
    ClearMessages, ClearMessagesInput, FailureType, GetMessages, GetMessagesInput,
    GetMessagesOutput, MessageForm, OperationRef, ScopeRef,
};
use notekeeper_workflows::{AgentInput, ConversationState, MemorySettings, conversation_id};
use temporalio_client::Client;
use temporalio_common::protos::temporal::api::enums::v1::TaskQueueType;
use tokio::time::Instant;

use crate::{commands::access::OverTemporal, output::CodedError, random};

use super::{said::Said, workers::is_served};

/// How long a worker may take to begin. A chat doesn't wait longer to show what was said.
const BEGIN_WITHIN: Duration = Duration::from_secs(5);

/// How long a worker that has just begun may take until Temporal knows of it.
const KNOWN_WITHIN: Duration = Duration::from_secs(2);

/// How often to ask Temporal for it.
const INTERVAL: Duration = Duration::from_millis(100);

/// Messages that are read first where the latest exchanges are asked for; four times as many next,
/// and so on.
const FIRST_READ: u64 = 50;

/// Where the messages of a conversation are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) store: String,
    pub(super) workspace: Option<String>,
    pub(super) scope: ScopeRef,
    pub(super) conversation: String,
}

impl Place {
    /// Where a workflow of this id and input keeps its messages. `known` is what its run says.
    pub(super) fn of(
        input: &AgentInput,
        workflow_id: &str,
        known: Option<ConversationState>,
    ) -> Self {
        let first = input.memories.first().cloned();
        let MemorySettings {
            store,
            namespace,
            agent_name,
            ..
        } = first.unwrap_or_default();
        let given = input.conversation.clone();
        let (id, known_store) = known.map(|it| (it.id, it.store)).unzip();
        Self {
            store: known_store.or(given.store).unwrap_or(store),
            workspace: input.workspace.clone(),
            scope: ScopeRef {
                namespace: namespace.unwrap_or_else(|| input.namespace.clone()),
                agent_name,
            },
            conversation: id
                .or(given.id)
                .unwrap_or_else(|| conversation_id(workflow_id)),
        }
    }
}

/// The messages of a conversation.
pub(super) struct Kept {
    remote: OverTemporal,
    /// `None` where nobody can say: then nothing is read or removed, of this conversation or another.
    place: Option<Place>,
}

/// What is known of them.
#[derive(Debug)]
pub(super) enum Known {
    /// How many there are.
    Messages(u64),
    /// There are none, though there were some: they were cleared.
    Cleared,
    /// The store keeps no transcripts.
    NotKept,
    /// Nobody can say, and why.
    Nothing(anyhow::Error),
}

impl Kept {
    pub(super) fn new(client: Client, task_queue: String, place: Option<Place>) -> Self {
        Self {
            remote: OverTemporal {
                client,
                task_queue,
                begin_within: BEGIN_WITHIN,
            },
            place,
        }
    }

    /// How many messages there are.
    pub(super) async fn count(&self) -> Known {
        match self.page(Some(0), None).await {
            Ok(there) => match there.next.saturating_sub(there.oldest) {
                0 if there.next > 0 => Known::Cleared,
                count => Known::Messages(count),
            },
            Err(error) if is_of(&error, FailureType::Unsupported) => Known::NotKept,
            Err(error) => Known::Nothing(error),
        }
    }

    /// The latest exchanges, so many, of the messages before a position.
    pub(super) async fn latest(&self, exchanges: usize, before: u64) -> anyhow::Result<Vec<Said>> {
        let mut limit = FIRST_READ;
        loop {
            let mut said = Vec::new();
            let read = self.each_page(Some(limit), before, |page| said.extend(page));
            let all = read.await?;
            let prompts = said.iter().filter(|said| said.is_prompt()).count();
            if all || prompts >= exchanges {
                return Ok(said);
            }
            limit = limit.saturating_mul(4);
        }
    }

    /// Hands over what was said before a position, page by page: of the newest messages, or of all.
    /// Says whether that was all.
    pub(super) async fn each_page(
        &self,
        limit: Option<u64>,
        before: u64,
        mut show: impl FnMut(Vec<Said>),
    ) -> anyhow::Result<bool> {
        let mut cursor = None;
        let mut all = None;
        loop {
            let page = self.page(limit, cursor).await?;
            let all = *all.get_or_insert(page.first <= page.oldest);
            let messages = (page.first..before).zip(page.messages);
            show(
                messages
                    .flat_map(|(_, message)| Said::of(message))
                    .collect(),
            );
            match page.cursor {
                Some(next) => cursor = Some(next),
                None => return Ok(all),
            }
        }
    }

    /// Removes them, and says how many there were.
    pub(super) async fn clear(&self) -> anyhow::Result<u64> {
        let Place {
            store,
            workspace,
            scope,
            conversation,
        } = self.place()?;
        self.check_served().await?;
        let input = ClearMessagesInput {
            store,
            workspace,
            scope,
            conversation,
            operation: Some(OperationRef { id: random::name() }),
        };
        Ok(self.remote.call(ClearMessages, input).await?.cleared)
    }

    async fn page(
        &self,
        limit: Option<u64>,
        cursor: Option<String>,
    ) -> anyhow::Result<GetMessagesOutput> {
        let Place {
            store,
            workspace,
            scope,
            conversation,
        } = self.place()?;
        if cursor.is_none() {
            self.check_served().await?;
        }
        let input = GetMessagesInput {
            store,
            workspace,
            scope,
            conversation,
            limit,
            cursor,
            from: None,
            form: MessageForm::Whole,
        };
        self.remote.call(GetMessages, input).await
    }

    fn place(&self) -> anyhow::Result<Place> {
        self.place.clone().context(
            "what the conversation began with, and so whose it is, can't be read from Temporal; try \
             again",
        )
    }

    /// Where nobody is there, nothing has to be waited for.
    async fn check_served(&self) -> anyhow::Result<()> {
        let queue = &self.remote.task_queue;
        let deadline = Instant::now() + KNOWN_WITHIN;
        let kind = TaskQueueType::Activity;
        while is_served(&self.remote.client, queue, kind).await == Some(false) {
            if Instant::now() > deadline {
                bail!(
                    "no worker serves the task queue `{queue}`; start `notekeeper dev` or \
                     `notekeeper worker`"
                );
            }
            tokio::time::sleep(INTERVAL).await;
        }
        Ok(())
    }
}

fn is_of(error: &anyhow::Error, kind: FailureType) -> bool {
    let coded = error.downcast_ref::<CodedError>();
    coded.is_some_and(|coded| coded.code == kind.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_a_conversation_is_that_of_its_first_memory_and_its_workflow() {
        let input: AgentInput = serde_json::from_value(serde_json::json!({
            "namespace": "acme",
            "memories": [{"agent_name": "planner", "store": "eu"}, {}],
        }))
        .expect("an input");
        let place = Place::of(&input, "travel", None);
        let scope = ScopeRef {
            namespace: "acme".to_owned(),
            agent_name: "planner".to_owned(),
        };
        let expected = Place {
            store: "eu".to_owned(),
            workspace: None,
            scope,
            conversation: "travel".to_owned(),
        };
        assert_eq!(place, expected);
        let mut named = input.clone();
        named.conversation.id = Some("other".to_owned());
        named.conversation.store = Some("us".to_owned());
        let place = Place::of(&named, "travel", None);
        assert_eq!(
            (place.conversation.as_str(), place.store.as_str()),
            ("other", "us")
        );
        let long = Place::of(&input, &"x".repeat(201), None).conversation;
        assert!(long.starts_with("sha256-"), "{long}");
    }
}
