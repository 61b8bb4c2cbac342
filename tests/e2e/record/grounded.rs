//! Conversations that are grounded on a composition of sources, which the model may search as well.

use notekeeper_workflows::{AgentGrounding, AgentInput, AgentSource, InjectionErrors};
use serde_json::{Value, json};

use super::{Form, Recorder, SCOPE, call, calls, closed, input_by, named, text, turn};
use crate::support::{Agent, Bed, Way, Worker, WorkerOptions, activities_of, say, state};

/// A composition of three: a collection of vectors, the facts, and the notes.
const CONFIG: &str = "[embedders.default]\nkind = 'hashing'\n\
    [sources.handbook]\nkind = 'vector'\n\
    [sources.known]\nkind = 'facts'\n\
    [sources.notes]\nkind = 'file'\n\
    [sources.kb]\nkind = 'composite'\nsources = ['handbook', 'known', 'notes']\n";

#[tokio::test]
async fn a_grounded_conversation_recorded_now_replays() {
    record_grounded(&Recorder::discarding(), Way::MemoryQueue).await;
}

#[tokio::test]
#[ignore = "writes files: `make record`"]
async fn grounded() {
    record_grounded(&Recorder::of("agent_workflow"), Way::MemoryQueue).await;
}

#[tokio::test]
#[ignore = "writes files: `make record`"]
async fn local_grounded() {
    record_grounded(&Recorder::of("agent_workflow"), Way::Local).await;
}

/// Three parts that each have something to say on refunds; a call of the tool; and a second message, for
/// which nobody is asked.
async fn record_grounded(recorder: &Recorder, way: Way) {
    let bed = Bed::new().await;
    let look_up = call("look_up", json!({"query": "store credit"}));
    let turns = json!([
        turn(
            "How long do refunds take?",
            [
                calls([look_up]),
                text("{{instructions}}|{{last_tool_result}}")
            ]
        ),
        turn("Thanks.", [text("{{instructions}}")]),
    ]);
    let _worker = with_sources(&bed, &turns).await;
    let agent = bed.start(grounded_input(way, &bed)).await;

    let first = told(&agent, "How long do refunds take?").await;
    let (instructions, found) = first.split_once('|').expect("two parts");
    for part in [
        "[handbook] Refunds are issued within 5 business days.",
        "[known] ",
        "[notes] Refunds go to the card that paid.",
    ] {
        assert!(instructions.contains(part), "{instructions}");
    }
    assert!(found.contains("Store credit never expires."), "{found}");
    assert_eq!(told(&agent, "Thanks.").await, instructions);

    assert_eq!(state(&agent).await.grounding.expect("grounding").items, 4);
    let history = closed(&agent).await;
    assert_eq!(activities_of(&history, "query_source").len(), 2);
    recorder
        .write_agent(&named("grounded", way), Form::Json, &history)
        .await;
    bed.finish().await;
}

/// Each message asks anew, and a source that fails is passed over.
#[tokio::test]
#[ignore = "writes files: `make record`"]
async fn grounded_anew() {
    let bed = Bed::new().await;
    let turns = json!([
        turn("How long do refunds take?", [text("{{instructions}}")]),
        turn("Does store credit expire?", [text("{{instructions}}")]),
    ]);
    let mut worker = with_sources(&bed, &turns).await;
    let mut input = grounded_input(Way::MemoryQueue, &bed);
    input.memories[0].activities.snapshot_give_up_ms = 2_000;
    let grounding = input.grounding.as_mut().expect("grounding");
    grounding.reground_every_turn = true;
    grounding.k = Some(1);
    let agent = bed.start(input).await;

    let refunds = told(&agent, "How long do refunds take?").await;
    let credit = told(&agent, "Does store credit expire?").await;
    worker.terminate();
    worker.ended().await;
    let _without = without_sources(&bed, &turns).await;
    let without = say(&agent, "Does store credit expire?").await;

    assert!(refunds.contains("efunds"), "{refunds}");
    assert!(credit.contains("Store credit never expires."), "{credit}");
    let without = without.expect("a reply");
    assert!(without.grounding_skipped.is_some(), "{without:?}");
    assert_eq!(without.text, "Answer by the context.");
    let history = closed(&agent).await;
    Recorder::of("agent_workflow")
        .write_agent("grounded_anew", Form::Json, &history)
        .await;
    bed.finish().await;
}

fn grounded_input(way: Way, bed: &Bed) -> AgentInput {
    let mut input = input_by(way, bed);
    "Answer by the context.".clone_into(&mut input.instructions);
    let source: AgentSource =
        serde_json::from_value(json!({"source": "kb", "tool": "look_up"})).expect("a source");
    input.sources = vec![source];
    let grounding: AgentGrounding =
        serde_json::from_value(json!({"source": "kb"})).expect("grounding");
    assert_eq!(grounding.errors, InjectionErrors::Ignore);
    input.grounding = Some(grounding);
    input
}

/// A worker whose source of that name has nothing behind it.
async fn without_sources(bed: &Bed, turns: &Value) -> Worker {
    let nobody = "[sources.kb]\nkind = 'tool'\nurl = 'http://127.0.0.1:9/'\n";
    let options = WorkerOptions {
        script: Some(bed.script(turns)),
        environment: vec![("NOTEKEEPER_CONFIG", bed.config(nobody))],
        ..WorkerOptions::default()
    };
    Worker::start(bed, options).await
}

/// A worker with the sources, and something in each.
async fn with_sources(bed: &Bed, turns: &Value) -> Worker {
    let options = WorkerOptions {
        script: Some(bed.script(turns)),
        environment: vec![("NOTEKEEPER_CONFIG", bed.config(CONFIG))],
        ..WorkerOptions::default()
    };
    let worker = Worker::start(bed, options).await;
    let scope = json!({"namespace": super::NAMESPACE});
    let passages = json!([
        {"content": "Refunds are issued within 5 business days."},
        {"content": "Store credit never expires."},
    ]);
    let write = json!({"source": "handbook", "scope": scope, "items": passages});
    assert_eq!(
        bed.call("write_source", &write).await.result()["accepted"],
        json!(["handbook"])
    );
    let fact = json!({"scope": scope, "key": "refunds", "value": "ask before 30 days are over"});
    bed.call("remember", &fact).await.result();
    bed.put(SCOPE, "refunds.md", "Refunds go to the card that paid.")
        .await;
    worker
}

async fn told(agent: &Agent, prompt: &str) -> String {
    say(agent, prompt).await.expect("a reply").text
}
