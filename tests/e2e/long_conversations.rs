//! Conversations of many turns: their histories stay short, their transcripts whole, and each of
//! their runs replays.

use notekeeper_domain::{HistoryPolicy, SummaryPolicy};
use notekeeper_workflows::{AgentInput, AgentWorkflow, SendMessage};
use prost::Message as _;
use serde_json::{Value, json};
use temporalio_client::{WorkflowExecuteUpdateOptions, errors::WorkflowUpdateError};
use temporalio_common::protos::temporal::api::history::v1::{History, history_event::Attributes};

use crate::support::{
    Agent, Bed, Worker, activities_of, assert_replays, close, ended, eventually, failure_type,
    history_of_run, in_time, run_id,
};

/// Messages of the user.
const TURNS: usize = 24;

/// Tool calls in each turn, one after the other: ten messages with prompt and answer.
const CALLS: usize = 4;

/// Messages that are sent at most before they are summarised.
const OVER_MESSAGES: u64 = 40;

/// Events of a run's history after which it continues as new; a turn takes some hundred.
const RUN_EVENTS: u32 = 800;

/// Most events of a run: those at which it continues, and a turn's of some hundred and twenty.
const RUN_EVENTS_MAX: usize = RUN_EVENTS as usize + 250;

/// Most bytes of all histories for each turn of ten messages. Its five requests and five exchanges take some
/// 24,000; with the block of 1,200 characters in each snapshot and request they would take 12,000 more.
const TURN_BYTES_MAX: usize = 32_000;

/// Most bytes that a model request may put into the history, whatever came before it.
const REQUEST_BYTES_MAX: usize = 1_500;

#[tokio::test]
async fn turns_of_ten_messages_stay_small_and_whole_and_each_of_their_runs_replays() {
    let bed = Bed::new().await;
    bed.put("acme/main", "MEMORY.md", &"- likes tea\n".repeat(100))
        .await;
    let _worker = Worker::serving(&bed, &answers()).await;
    let agent = bed
        .start(AgentInput {
            history: vec![HistoryPolicy::Summary(SummaryPolicy {
                over_messages: Some(OVER_MESSAGES),
                keep_messages: Some(20),
                ..SummaryPolicy::default()
            })],
            fact_tools: true,
            continue_as_new_events: Some(RUN_EVENTS),
            ..bed.input("acme")
        })
        .await;
    let first = run_id(&agent).await;

    for turn in 0..TURNS {
        insist(&agent, turn).await;
    }
    close(&agent).await;
    let output = ended(&agent).await.expect("it ends well");

    assert_eq!(output.turns, TURNS as u64);
    assert_whole(&bed.messages_of(&agent, "acme").await);
    let runs = runs(&bed, &agent, first).await;
    assert!(runs.len() > 1, "nothing continued as new");
    let bytes: usize = runs.iter().map(|(_, it)| it.encoded_len()).sum();
    println!(
        "{} runs, {} bytes of history for each turn",
        runs.len(),
        bytes / TURNS
    );
    assert!(
        bytes / TURNS < TURN_BYTES_MAX,
        "{} bytes for each turn",
        bytes / TURNS
    );
    let mut summaries = 0;
    for (run, history) in &runs {
        assert_small(history);
        summaries += activities_of(history, "summarize_messages").len();
        assert_replays(&bed, &agent, run).await;
    }
    assert!(summaries > 1, "nothing was summarised");
    bed.finish().await;
}

/// Four calls of fact tools in each turn, then an answer.
fn answers() -> Value {
    let call = |number: usize| {
        let (name, arguments) = match number {
            0 => (
                "remember",
                json!({"key": "asked", "value": "about the order"}),
            ),
            _ => ("recall", json!({"query": "order"})),
        };
        json!({"tool_calls": [{"id": format!("call_{number}"), "name": name, "arguments": arguments}]})
    };
    let responses: Vec<_> = (0..CALLS)
        .map(call)
        .chain([json!({"text": "Not yet."})])
        .collect();
    json!([
        {"prompt_contains": "Write the summary now.", "responses": [{"text": "The order isn't shipped yet."}]},
        {"prompt_contains": "Is it shipped?", "responses": responses},
    ])
}

fn question(turn: usize) -> String {
    format!("{turn}: Is it shipped?")
}

/// Sends a message until it is answered, as a client does that was refused meanwhile.
async fn insist(agent: &Agent, turn: usize) {
    let message = SendMessage {
        text: question(turn),
        id: Some(format!("message-{turn}")),
    };
    eventually(&format!("message {turn} is answered"), || async {
        let options = WorkflowExecuteUpdateOptions::default();
        let update =
            agent.execute_update(AgentWorkflow::send_message, message.clone().into(), options);
        match in_time("an answer", update).await {
            Ok(_) => Some(()),
            Err(WorkflowUpdateError::Failed(failure)) => {
                assert_eq!(failure_type(&failure), "Unavailable", "{failure:?}");
                None
            }
            Err(other) => panic!("message {turn}: {other:?}"),
        }
    })
    .await;
}

/// Checks that each turn is there: prompt, calls each with its result, answer.
fn assert_whole(messages: &[Value]) {
    let each = 2 + 2 * CALLS;
    assert_eq!(messages.len(), TURNS * each);
    for (turn, exchange) in messages.chunks(each).enumerate() {
        assert_eq!(
            exchange[0],
            json!({"role": "user", "content": question(turn)})
        );
        for (number, pair) in exchange[1..=2 * CALLS].chunks(2).enumerate() {
            let id = format!("call_{number}");
            assert_eq!(
                pair[0]["tool_calls"][0]["id"],
                id.as_str(),
                "turn {turn}: {pair:?}"
            );
            assert_eq!(
                pair[1]["tool_call_id"],
                id.as_str(),
                "turn {turn}: {pair:?}"
            );
        }
        assert_eq!(
            exchange[each - 1],
            json!({"role": "assistant", "content": "Not yet."})
        );
    }
}

fn assert_small(history: &History) {
    let events = history.events.len();
    assert!(events < RUN_EVENTS_MAX, "{events} events");
    let requests = activities_of(history, "call_model");
    // The first of a run may have to send instructions and tools along.
    for request in requests.iter().skip(1) {
        let bytes = request.input.to_string().len();
        assert!(
            bytes < REQUEST_BYTES_MAX,
            "{bytes} bytes: {}",
            request.input
        );
        let resolved = &request.input["conversation"];
        let sent = resolved["to"].as_u64().zip(resolved["from"].as_u64());
        let sent = sent.map(|(to, from)| to - from);
        assert!(
            sent.is_some_and(|sent| sent <= OVER_MESSAGES),
            "{}",
            request.input
        );
    }
}

/// The histories of all runs, from the first one.
async fn runs(bed: &Bed, agent: &Agent, first: String) -> Vec<(String, History)> {
    let mut runs = Vec::new();
    let mut next = Some(first);
    while let Some(run) = next {
        let history = history_of_run(bed, agent, &run).await;
        next = match history
            .events
            .last()
            .and_then(|event| event.attributes.as_ref())
        {
            Some(Attributes::WorkflowExecutionContinuedAsNewEventAttributes(attributes)) => {
                Some(attributes.new_execution_run_id.clone())
            }
            _ => None,
        };
        runs.push((run, history));
    }
    runs
}
