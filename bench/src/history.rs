//! How much history a long conversation writes, and how much it would write with every block in it.

use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow, bail};
use notekeeper_contract::{
    CallModelInput, LoadSnapshotOutput, MemoryBlock, SnapshotAnswer, SnapshotStats,
};
use notekeeper_workflows::{ActivityQueue, AgentInput, AgentWorkflow, SendMessage};
use prost::Message as _;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::json;
use temporalio_client::{
    Client, NamespacedClient as _, WorkflowExecuteUpdateOptions, WorkflowExecutionInfo,
    WorkflowFetchHistoryOptions, WorkflowGetResultOptions, WorkflowHandle, WorkflowSignalOptions,
    WorkflowStartOptions,
};
use temporalio_common::protos::temporal::api::{
    common::v1::Payloads,
    history::v1::{History, history_event::Attributes},
};

use crate::{
    dataset,
    stage::{BinaryWorker, Stage},
};

/// Messages of the conversation.
pub(crate) const TURNS: u32 = 1_000;

/// How long a message may be refused because its run is about to continue as a new one.
const CONTINUING_TIMEOUT: Duration = Duration::from_secs(30);

/// Bytes of histories, summed over all runs of the conversation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct HistoryBytes {
    pub(crate) turns: u32,
    /// Runs, each continued as the next.
    pub(crate) runs: u32,
    pub(crate) events: usize,
    /// Characters of the block that never changed.
    pub(crate) block_chars: usize,
    /// Whole histories, as recorded.
    pub(crate) recorded: usize,
    /// The same with the block in every snapshot result and model input.
    pub(crate) inlined: usize,
    /// Results of `load_snapshot`, as recorded.
    pub(crate) results_recorded: usize,
    /// The same with the block in each.
    pub(crate) results_inlined: usize,
    /// Of the recorded bytes: the conversation itself in model inputs, and where a run hands it to
    /// the next.
    pub(crate) transcript: usize,
    /// Of the recorded bytes: instructions and tool definitions in model inputs.
    pub(crate) instructions: usize,
    /// Of the recorded bytes: arguments and results of `load_snapshot`, and what model inputs say
    /// of memory.
    pub(crate) memory: usize,
    pub(crate) seconds: f64,
}

/// Holds the conversation and measures its histories.
pub(crate) async fn measure(stage: &Stage) -> anyhow::Result<HistoryBytes> {
    let (queue, workflow_queue) = (stage.queue("agent"), stage.queue("agent-workflows"));
    let script = stage.directory.join("script.json");
    let reply = "Nothing new since we spoke. I will tell you as soon as it ships.";
    std::fs::write(&script, json!({"turns": [], "fallback": reply}).to_string())?;
    let worker = BinaryWorker {
        queue: &queue,
        workflow_queue: Some(&workflow_queue),
        script: Some(&script),
        ..BinaryWorker::default()
    };
    let _worker = stage.binary(worker).await?;
    let notes: Vec<_> = dataset::notes().into_iter().take(dataset::NOTES).collect();
    dataset::fill(stage.store.as_ref(), &notes).await?;
    let started = Instant::now();
    let mut input = AgentInput {
        // The scope of a notebook with twenty notes.
        namespace: String::new(),
        ..AgentInput::default()
    };
    for memory in &mut input.memories {
        memory.agent_name = dataset::scope(0);
        memory.activities.queue = ActivityQueue::Named(queue.clone());
    }
    let id = stage.queue("conversation");
    let options = WorkflowStartOptions::new(&workflow_queue, &id).build();
    let first = stage
        .client
        .start_workflow(AgentWorkflow::run, input.into(), options)
        .await?;
    let first_run = first.run_id().context("a run without an id")?.to_owned();
    let agent = stage.client.get_workflow_handle::<AgentWorkflow>(&id);
    for turn in 1..=TURNS {
        say(&agent, turn).await?;
        if turn % 250 == 0 {
            println!(
                "  {turn} turns after {:.0} s",
                started.elapsed().as_secs_f64()
            );
        }
    }
    let close = WorkflowSignalOptions::default();
    agent.signal(AgentWorkflow::close, ().into(), close).await?;
    agent
        .get_result(WorkflowGetResultOptions::default())
        .await?;
    let seconds = started.elapsed().as_secs_f64();

    let mut bytes = HistoryBytes {
        turns: TURNS,
        seconds,
        ..HistoryBytes::default()
    };
    let mut block = Block::default();
    let mut next = Some(first_run);
    while let Some(run) = next {
        let history = fetch(&stage.client, &id, &run).await?;
        next = continued(&history);
        bytes.runs += 1;
        bytes.events += history.events.len();
        bytes.recorded += history.encoded_len();
        let inlined = block.inline(stage, history, &mut bytes).await?;
        bytes.inlined += inlined.encoded_len();
    }
    bytes.block_chars = block.text.chars().count();
    Ok(bytes)
}

/// Says one message; one that is refused because the run continues as a new one is said again.
async fn say(agent: &WorkflowHandle<Client, AgentWorkflow>, turn: u32) -> anyhow::Result<()> {
    let message = SendMessage {
        text: format!("Message {turn:04}: has the order from Tuesday been shipped by now?"),
        id: None,
    };
    let since = Instant::now();
    loop {
        let options = WorkflowExecuteUpdateOptions::default();
        let update =
            agent.execute_update(AgentWorkflow::send_message, message.clone().into(), options);
        match update.await {
            Ok(_) => return Ok(()),
            Err(error) if since.elapsed() > CONTINUING_TIMEOUT => {
                return Err(anyhow!("message {turn} got no reply: {error}"));
            }
            Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
}

async fn fetch(client: &Client, id: &str, run: &str) -> anyhow::Result<History> {
    let handle = WorkflowExecutionInfo::builder()
        .namespace(client.namespace())
        .workflow_id(id)
        .run_id(run)
        .build()
        .bind_untyped(client.clone());
    let events = handle
        .fetch_history(WorkflowFetchHistoryOptions::default())
        .into_events()
        .await
        .context("can't fetch a history")?;
    Ok(History { events })
}

/// The run that a run continued as.
fn continued(history: &History) -> Option<String> {
    match &history.events.last()?.attributes {
        Some(Attributes::WorkflowExecutionContinuedAsNewEventAttributes(attributes)) => {
            Some(attributes.new_execution_run_id.clone())
        }
        _ => None,
    }
}

/// The block that the conversation's model sees.
#[derive(Default)]
struct Block {
    text: String,
    stats: SnapshotStats,
}

impl Block {
    /// A history with the block in every snapshot result and model input. What is found on the way
    /// is counted.
    async fn inline(
        &mut self,
        stage: &Stage,
        mut history: History,
        bytes: &mut HistoryBytes,
    ) -> anyhow::Result<History> {
        let mut kinds = std::collections::HashMap::new();
        for event in &mut history.events {
            let id = event.event_id;
            match &mut event.attributes {
                Some(Attributes::ActivityTaskScheduledEventAttributes(scheduled)) => {
                    let kind = scheduled.activity_type.clone().unwrap_or_default().name;
                    match kind.as_str() {
                        "call_model" => self.in_request(&mut scheduled.input, bytes)?,
                        "load_snapshot" => bytes.memory += size(scheduled.input.as_ref()),
                        other => bail!("an activity `{other}` that nobody asked for"),
                    }
                    kinds.insert(id, kind);
                }
                Some(Attributes::ActivityTaskCompletedEventAttributes(completed)) => {
                    let kind = kinds.get(&completed.scheduled_event_id).map(String::as_str);
                    if kind == Some("load_snapshot") {
                        self.in_result(stage, &mut completed.result, bytes).await?;
                    }
                }
                Some(Attributes::WorkflowExecutionStartedEventAttributes(started)) => {
                    bytes.transcript += size(started.input.as_ref());
                }
                Some(Attributes::WorkflowExecutionContinuedAsNewEventAttributes(continued)) => {
                    bytes.transcript += size(continued.input.as_ref());
                }
                _ => {}
            }
        }
        Ok(history)
    }

    async fn in_result(
        &mut self,
        stage: &Stage,
        result: &mut Option<Payloads>,
        bytes: &mut HistoryBytes,
    ) -> anyhow::Result<()> {
        bytes.results_recorded += size(result.as_ref());
        bytes.memory += size(result.as_ref());
        let mut output: LoadSnapshotOutput = read(result.as_ref())?;
        for answer in &mut output.snapshots {
            let digest = match answer {
                SnapshotAnswer::Block { digest, stats, .. } => {
                    self.stats = *stats;
                    self.text = kept(stage, digest).await?;
                    digest.clone()
                }
                SnapshotAnswer::Unchanged { digest } => digest.clone(),
                other => bail!("a snapshot came to {other:?}"),
            };
            let (text, stats) = (Some(self.text.clone()), self.stats);
            *answer = SnapshotAnswer::Block {
                digest,
                text,
                stats,
            };
        }
        write(result, &output)?;
        bytes.results_inlined += size(result.as_ref());
        Ok(())
    }

    fn in_request(
        &self,
        input: &mut Option<Payloads>,
        bytes: &mut HistoryBytes,
    ) -> anyhow::Result<()> {
        let mut request: CallModelInput = read(input.as_ref())?;
        bytes.transcript += json_bytes(&request.messages)?;
        bytes.instructions += json_bytes(&request.instructions)? + json_bytes(&request.tools)?;
        bytes.memory += json_bytes(&request.memories)?;
        for block in &mut request.memories {
            let MemoryBlock::Reference { scope, .. } = block else {
                bail!("a model request without a reference");
            };
            let (scope, text) = (scope.clone(), self.text.clone());
            *block = MemoryBlock::Inline { scope, text };
        }
        write(input, &request)
    }
}

/// The text of a block that a history refers to.
async fn kept(stage: &Stage, digest: &str) -> anyhow::Result<String> {
    use notekeeper_store::SnapshotStore as _;
    let scope = notekeeper_domain::Scope::parse(&dataset::scope(0))?;
    let text = stage.store.snapshot(&scope, digest).await?;
    text.context("a block that a history refers to is not kept")
}

fn size(payloads: Option<&Payloads>) -> usize {
    let payloads = payloads.map_or(&[][..], |payloads| &payloads.payloads);
    payloads.iter().map(|payload| payload.data.len()).sum()
}

fn json_bytes(value: &impl Serialize) -> anyhow::Result<usize> {
    Ok(serde_json::to_vec(value)?.len())
}

fn read<T: DeserializeOwned>(payloads: Option<&Payloads>) -> anyhow::Result<T> {
    let payload = payloads.and_then(|payloads| payloads.payloads.first());
    Ok(serde_json::from_slice(
        &payload.context("no payload")?.data,
    )?)
}

fn write(payloads: &mut Option<Payloads>, value: &impl Serialize) -> anyhow::Result<()> {
    let payload = payloads
        .as_mut()
        .and_then(|payloads| payloads.payloads.first_mut());
    payload.context("no payload")?.data = serde_json::to_vec(value)?;
    Ok(())
}
