//! Holding a conversation.

use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow};
use notekeeper_workflows::{ActivityQueue, AgentInput, AgentWorkflow, SendMessage};
use prost::Message as _;
use serde_json::{Value, json};
use temporalio_client::{
    Client, NamespacedClient as _, WorkflowExecuteUpdateOptions, WorkflowExecutionInfo,
    WorkflowFetchHistoryOptions, WorkflowGetResultOptions, WorkflowHandle, WorkflowSignalOptions,
    WorkflowStartOptions,
};
use temporalio_common::protos::temporal::api::history::v1::{History, history_event::Attributes};

use super::Plan;
use crate::{
    dataset,
    stage::{BinaryWorker, Stage},
};

/// How long a message may be refused because its run is about to continue as a new one.
const CONTINUING_TIMEOUT: Duration = Duration::from_secs(30);

/// What the model answers to each message in the end.
pub(super) const REPLY: &str = "Nothing new since we spoke. I will tell you as soon as it ships.";

/// What it answers where it is asked for a summary.
const SUMMARY: &str =
    "The user asks again and again whether the order from Tuesday has been shipped; it hasn't.";

/// Messages that a request has at most besides the summary, about: beyond them it is summarised.
const OVER_MESSAGES: u64 = 60;
const KEEP_MESSAGES: u64 = 20;

/// A conversation that has ended.
pub(super) struct Held {
    pub(super) workflow_id: String,
    /// Path of the scope.
    pub(super) scope: String,
    /// The histories of its runs, in order, by run id.
    pub(super) runs: Vec<(String, History)>,
}

/// Says a message so many times, closes the conversation, and fetches the histories of its runs.
pub(super) async fn hold(stage: &Stage, plan: Plan) -> anyhow::Result<Held> {
    let queue = stage.queue(plan.name);
    let workflow_queue = stage.queue(&format!("{}-workflows", plan.name));
    let script = stage.directory.join(format!("{}.json", plan.name));
    std::fs::write(&script, answers(plan).to_string())?;
    let worker = BinaryWorker {
        queue: &queue,
        workflow_queue: Some(&workflow_queue),
        script: Some(&script),
        ..BinaryWorker::default()
    };
    let _worker = stage.binary(worker).await?;
    let scope = dataset::scope(plan.calls + u32::from(plan.local));
    let notes = dataset::notes()
        .into_iter()
        .filter(|note| note.scope == scope);
    dataset::fill(stage.store.as_ref(), &notes.collect::<Vec<_>>()).await?;
    let id = stage.queue(&format!("{}-conversation", plan.name));
    let options = WorkflowStartOptions::new(&workflow_queue, &id).build();
    let memory_queue = match plan.local {
        true => ActivityQueue::Local,
        false => ActivityQueue::Named(queue.clone()),
    };
    let input = input(&scope, &memory_queue)?;
    let first = stage
        .client
        .start_workflow(AgentWorkflow::run, input.into(), options)
        .await?;
    let first_run = first.run_id().context("a run without an id")?.to_owned();
    let agent = stage.client.get_workflow_handle::<AgentWorkflow>(&id);
    let started = Instant::now();
    for turn in 1..=plan.turns {
        say(&agent, turn).await?;
        if turn % 100 == 0 {
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
    let runs = runs(&stage.client, &id, first_run).await?;
    Ok(Held {
        workflow_id: id,
        scope,
        runs,
    })
}

/// A conversation about the notes of a scope, summarised as it grows.
fn input(scope: &str, queue: &ActivityQueue) -> anyhow::Result<AgentInput> {
    let mut input: AgentInput = serde_json::from_value(json!({
        "fact_tools": true,
        "history": [{"summary": {"over_messages": OVER_MESSAGES, "keep_messages": KEEP_MESSAGES}}],
    }))?;
    for memory in &mut input.memories {
        memory.agent_name = scope.to_owned();
        memory.activities.queue = queue.clone();
    }
    Ok(input)
}

/// The model's script.
fn answers(plan: Plan) -> Value {
    let mut turns = vec![json!({
        "prompt_contains": "Write the summary now.",
        "responses": [{"text": SUMMARY}],
    })];
    if plan.calls > 0 {
        let call = |number: u32| match number {
            0 => json!({"id": "call_0", "name": "remember", "arguments":
                {"key": "last question", "value": "whether the order from Tuesday has been shipped"}}),
            _ => {
                json!({"id": format!("call_{number}"), "name": "recall", "arguments": {"query": "order"}})
            }
        };
        let responses = (0..plan.calls).map(|number| json!({"tool_calls": [call(number)]}));
        let responses: Vec<_> = responses.chain([json!({"text": REPLY})]).collect();
        turns
            .push(json!({"prompt_contains": "has the order from Tuesday", "responses": responses}));
    }
    json!({"turns": turns, "fallback": REPLY})
}

/// What the user says in a turn.
pub(super) fn question(turn: u32) -> String {
    format!("Message {turn:04}: has the order from Tuesday been shipped by now?")
}

/// Says one message; one that is refused because the run continues as a new one is said again.
async fn say(agent: &WorkflowHandle<Client, AgentWorkflow>, turn: u32) -> anyhow::Result<()> {
    let message = SendMessage {
        text: question(turn),
        id: Some(format!("turn-{turn}")),
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

/// The histories of all runs, from the first one.
async fn runs(client: &Client, id: &str, first: String) -> anyhow::Result<Vec<(String, History)>> {
    let mut runs = Vec::new();
    let mut next = Some(first);
    while let Some(run) = next {
        let history = fetch(client, id, &run).await?;
        next = continued(&history);
        println!(
            "  run {run}: {} events, {} bytes",
            history.events.len(),
            history.encoded_len()
        );
        runs.push((run, history));
    }
    Ok(runs)
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
