//! A bed: a schema, task queues and a client that belong to one test.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use notekeeper::data_converter;
use notekeeper_contract::ChatMessage;
use notekeeper_domain::{ConversationId, NoteName, Scope, StoredMessage};
use notekeeper_store::{
    Expected, MessageSelection, NoteStore as _, PostgresOptions, PostgresStore,
    TranscriptStore as _, WriteRequest,
};
use notekeeper_workflows::{
    ActivityQueue, AgentInput, AgentOutput, AgentState, AgentWorkflow, KnownReply, Reply,
    SendMessage,
};
use serde_json::Value;
use temporalio_client::{
    Client, ClientOptions, Connection, ConnectionOptions, NamespacedClient as _, RpcOptions, Url,
    WorkflowDescribeOptions, WorkflowExecuteUpdateOptions, WorkflowExecutionInfo,
    WorkflowFetchHistoryOptions, WorkflowGetResultOptions, WorkflowHandle, WorkflowQueryOptions,
    WorkflowSignalOptions, WorkflowStartOptions, WorkflowStartUpdateOptions, WorkflowUpdateHandle,
    errors::{WorkflowGetResultError, WorkflowUpdateError},
};
use temporalio_common::protos::temporal::api::{
    failure::v1::{Failure, failure::FailureInfo},
    history::v1::History,
};

use super::in_time;

/// Handle on a conversation, whichever of its runs is open.
pub(crate) type Agent = WorkflowHandle<Client, AgentWorkflow>;

/// Where a conversation's memory activities run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// On the bed's memory queue.
    MemoryQueue,
    /// On the queue of the workflows.
    WorkflowQueue,
    /// Within the workflow task.
    Local,
}

impl Way {
    /// Whatever is promised for one way is promised for all.
    pub(crate) const ALL: [Self; 3] = [Self::MemoryQueue, Self::WorkflowQueue, Self::Local];
}

/// One test's own place on the servers: nothing in it is shared with another test.
pub(crate) struct Bed {
    pub(crate) client: Client,
    pub(crate) store: PostgresStore,
    pub(crate) database_url: String,
    pub(crate) temporal_address: String,
    pub(crate) temporal_namespace: String,
    pub(crate) schema: String,
    pub(crate) task_queue: String,
    pub(crate) workflow_task_queue: String,
    directory: tempfile::TempDir,
}

impl Bed {
    /// Makes a migrated schema and connects.
    pub(crate) async fn new() -> Self {
        let database_url = required("DATABASE_URL");
        let temporal_address = required("TEMPORAL_ADDRESS");
        let temporal_namespace =
            std::env::var("TEMPORAL_NAMESPACE").unwrap_or_else(|_| "default".to_owned());
        let unique = format!("{:016x}", rand::random::<u64>());
        let schema = format!("test_{unique}");
        let options = PostgresOptions {
            schema: schema.clone(),
            connections_max: 4,
            ..PostgresOptions::new(&database_url)
        };
        let store = PostgresStore::connect_lazy(&options).expect("usable DATABASE_URL");
        store.migrate().await.expect("migrate");
        Self {
            client: connect(&temporal_address, &temporal_namespace).await,
            store,
            database_url,
            temporal_address,
            temporal_namespace,
            schema,
            task_queue: format!("memory-{unique}"),
            workflow_task_queue: format!("workflows-{unique}"),
            directory: tempfile::tempdir().expect("temporary directory"),
        }
    }

    /// A path for a file of the test.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Writes the scripted model's turns and says where.
    pub(crate) fn script(&self, turns: &Value) -> PathBuf {
        let path = self.path(&format!("script-{:08x}.json", rand::random::<u32>()));
        write(&path, &serde_json::json!({ "turns": turns }).to_string());
        path
    }

    /// Writes a configuration file and says where, for `NOTEKEEPER_CONFIG`.
    pub(crate) fn config(&self, toml: &str) -> String {
        let path = self.path(&format!("config-{:08x}.toml", rand::random::<u32>()));
        write(&path, toml);
        path.to_str().expect("a path that is text").to_owned()
    }

    /// An agent's input whose memory activities go to this test's queue.
    pub(crate) fn input(&self, namespace: &str) -> AgentInput {
        self.input_by(Way::MemoryQueue, namespace)
    }

    /// An agent's input whose memory activities run this way.
    pub(crate) fn input_by(&self, way: Way, namespace: &str) -> AgentInput {
        let mut input = AgentInput {
            namespace: namespace.to_owned(),
            ..AgentInput::default()
        };
        for memory in &mut input.memories {
            memory.activities.queue = match way {
                Way::MemoryQueue => ActivityQueue::Named(self.task_queue.clone()),
                Way::WorkflowQueue => ActivityQueue::Workflow,
                Way::Local => ActivityQueue::Local,
            };
        }
        input
    }

    /// Starts a conversation.
    pub(crate) async fn start(&self, input: AgentInput) -> Agent {
        self.start_within(Duration::from_secs(10), input).await
    }

    /// Starts a conversation whose workflow tasks may take so long, whole seconds: what a dead worker
    /// costs, and how long a local activity may take before its worker must ask for more time.
    pub(crate) async fn start_within(&self, task_timeout: Duration, input: AgentInput) -> Agent {
        let id = format!("agent-{:016x}", rand::random::<u64>());
        let options = WorkflowStartOptions::new(&self.workflow_task_queue, &id)
            .run_timeout(Duration::from_secs(15 * 60))
            .task_timeout(task_timeout)
            .build();
        self.client
            .start_workflow(AgentWorkflow::run, input.into(), options)
            .await
            .expect("start the workflow");
        self.client.get_workflow_handle::<AgentWorkflow>(id)
    }

    /// The text of a note; `None` where there is none. `scope` is its path form.
    pub(crate) async fn note(&self, scope: &str, name: &str) -> Option<String> {
        let scope = Scope::parse(scope).expect("scope");
        let name = NoteName::parse(name).expect("name");
        let note = self
            .store
            .read(&scope, &name, 1_000_000)
            .await
            .expect("read");
        note.map(|note| note.content)
    }

    /// The messages of a conversation, as the store has them. `scope` is its path form.
    pub(crate) async fn messages(&self, scope: &str, conversation: &str) -> Vec<Value> {
        let scope = Scope::parse(scope).expect("scope");
        let id = ConversationId::parse(conversation).expect("id");
        let all = MessageSelection::All;
        let part = self.store.messages(&scope, &id, all, usize::MAX).await;
        let part = part.expect("read the messages");
        part.messages
            .into_iter()
            .map(StoredMessage::into_value)
            .collect()
    }

    /// The ids of a scope's conversations.
    pub(crate) async fn conversations(&self, scope: &str) -> Vec<String> {
        let scope = Scope::parse(scope).expect("scope");
        let listed = self.store.conversations(&scope, None, 100).await;
        let listed = listed.expect("list the conversations").conversations;
        listed.iter().map(|it| it.id.as_str().to_owned()).collect()
    }

    /// A store of a worker's configuration, named `steady`: the bed's database, by no way but its own.
    pub(crate) fn steady_store(&self) -> String {
        format!(
            "[stores.steady]\nkind = 'postgres'\nurl = '{}'\nschema = '{}'\n",
            self.database_url, self.schema
        )
    }

    /// The messages of an agent's conversation that has the id of its workflow.
    pub(crate) async fn messages_of(&self, agent: &Agent, namespace: &str) -> Vec<Value> {
        let scope = format!("{namespace}/main");
        self.messages(&scope, &agent.info().workflow_id).await
    }

    /// Puts a note into the store, as a person outside would.
    pub(crate) async fn put(&self, scope: &str, name: &str, content: &str) {
        let scope = Scope::parse(scope).expect("scope");
        let name = NoteName::parse(name).expect("name");
        self.store
            .write(
                &scope,
                &name,
                &WriteRequest::new(content, &Expected::Any),
                None,
            )
            .await
            .expect("write");
    }

    /// Drops the schema.
    pub(crate) async fn finish(self) {
        let pool = sqlx::PgPool::connect(&self.database_url)
            .await
            .expect("connect");
        let drop = format!("drop schema \"{}\" cascade", self.schema);
        sqlx::raw_sql(sqlx::AssertSqlSafe(drop))
            .execute(&pool)
            .await
            .expect("drop the schema");
    }
}

/// Sends a message and waits for the reply.
pub(crate) async fn say(agent: &Agent, text: &str) -> Result<Reply, Box<Failure>> {
    send(
        agent,
        SendMessage {
            text: text.to_owned(),
            id: None,
        },
        None,
    )
    .await
}

/// Sends a message under an update id and waits for the reply.
pub(crate) async fn send(
    agent: &Agent,
    message: SendMessage,
    update_id: Option<&str>,
) -> Result<Reply, Box<Failure>> {
    let options = WorkflowExecuteUpdateOptions::builder()
        .maybe_update_id(update_id.map(str::to_owned))
        .build();
    let update = agent.execute_update(AgentWorkflow::send_message, message.into(), options);
    match in_time("a reply", update).await {
        Ok(reply) => Ok(reply),
        Err(WorkflowUpdateError::Failed(failure)) => Err(failure),
        Err(other) => panic!("the update came to neither reply nor failure: {other:?}"),
    }
}

/// A message that was taken and may not have a reply yet.
pub(crate) type Pending = WorkflowUpdateHandle<Client, Reply>;

/// Sends a message and waits until it is taken, not for the reply.
pub(crate) async fn begin(agent: &Agent, text: &str) -> Pending {
    let message = SendMessage {
        text: text.to_owned(),
        id: None,
    };
    let update = agent.start_update(
        AgentWorkflow::send_message,
        message.into(),
        WorkflowStartUpdateOptions::default(),
    );
    in_time("a message to be taken", update)
        .await
        .expect("the message is taken")
}

/// The reply to a message that was taken.
pub(crate) async fn reply(pending: Pending) -> Result<Reply, Box<Failure>> {
    match in_time("a reply", pending.get_result(RpcOptions::default())).await {
        Ok(reply) => Ok(reply),
        Err(WorkflowUpdateError::Failed(failure)) => Err(failure),
        Err(other) => panic!("the update came to neither reply nor failure: {other:?}"),
    }
}

/// Longest wait for a turn that brings many mebibytes: less than a test may take in all.
const LONG_PATIENCE: Duration = Duration::from_secs(150);

/// Sends a message and waits for the reply, which may take its time: much has to go through the server first.
pub(crate) async fn say_much(agent: &Agent, text: &str) -> Result<Reply, Box<Failure>> {
    let pending = begin(agent, text).await;
    let reply = pending.get_result(RpcOptions::default());
    match tokio::time::timeout(LONG_PATIENCE, reply).await {
        Ok(Ok(reply)) => Ok(reply),
        Ok(Err(WorkflowUpdateError::Failed(failure))) => Err(failure),
        Ok(Err(other)) => panic!("the update came to neither reply nor failure: {other:?}"),
        Err(_) => panic!("waited in vain for a long reply"),
    }
}

/// What the conversation ends with, in whichever run.
pub(crate) async fn ended(agent: &Agent) -> Result<AgentOutput, WorkflowGetResultError> {
    let result = agent.get_result(WorkflowGetResultOptions::default());
    in_time("the end of the conversation", result).await
}

/// Run id of the open or last run.
pub(crate) async fn run_id(agent: &Agent) -> String {
    let described = agent.describe(WorkflowDescribeOptions::default()).await;
    described
        .expect("describe the workflow")
        .run_id()
        .to_owned()
}

/// Type of an application failure; empty for any other.
pub(crate) fn failure_type(failure: &Failure) -> &str {
    match &failure.failure_info {
        Some(FailureInfo::ApplicationFailureInfo(info)) => &info.r#type,
        _ => "",
    }
}

/// The query `state`.
pub(crate) async fn state(agent: &Agent) -> AgentState {
    let query = agent.query(AgentWorkflow::state, (), WorkflowQueryOptions::default());
    in_time("the state", query).await.expect("query the state")
}

/// The query `transcript`.
pub(crate) async fn transcript(agent: &Agent) -> Vec<ChatMessage> {
    let query = agent.query(
        AgentWorkflow::transcript,
        (),
        WorkflowQueryOptions::default(),
    );
    in_time("the transcript", query)
        .await
        .expect("query the transcript")
}

/// The query `reply`, of the message with this id.
pub(crate) async fn known_reply(agent: &Agent, id: &str) -> Option<KnownReply> {
    let options = WorkflowQueryOptions::default();
    let query = agent.query(AgentWorkflow::reply, id.to_owned(), options);
    in_time("a known reply", query)
        .await
        .expect("query the reply")
}

/// Asks the conversation to close.
pub(crate) async fn close(agent: &Agent) {
    agent
        .signal(
            AgentWorkflow::close,
            ().into(),
            WorkflowSignalOptions::default(),
        )
        .await
        .expect("signal close");
}

/// The history of the open or last run.
pub(crate) async fn history(agent: &Agent) -> History {
    let events = agent
        .fetch_history(WorkflowFetchHistoryOptions::default())
        .into_events()
        .await
        .expect("fetch the history");
    History { events }
}

/// The history of one of a conversation's runs.
pub(crate) async fn history_of_run(bed: &Bed, agent: &Agent, run_id: &str) -> History {
    let events = WorkflowExecutionInfo::builder()
        .namespace(bed.client.namespace())
        .workflow_id(agent.info().workflow_id.as_str())
        .run_id(run_id)
        .build()
        .bind_untyped(bed.client.clone())
        .fetch_history(WorkflowFetchHistoryOptions::default())
        .into_events()
        .await
        .expect("fetch the history");
    History { events }
}

pub(super) async fn connect(address: &str, namespace: &str) -> Client {
    let url: Url = format!("http://{address}")
        .parse()
        .expect("usable TEMPORAL_ADDRESS");
    let connection = Connection::connect(ConnectionOptions::new(url).build())
        .await
        .expect("connect to Temporal");
    let options = ClientOptions::new(namespace)
        .data_converter(data_converter())
        .build();
    Client::new(connection, options).expect("client")
}

fn required(name: &str) -> String {
    std::env::var(name)
        .unwrap_or_else(|_| panic!("{name} is not set; run the tests with `make test`"))
}

fn write(path: &Path, text: &str) {
    std::fs::write(path, text).expect("write a file of the test");
}
