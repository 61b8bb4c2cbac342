//! What is let in: inputs of runs, messages, and what comes after a conversation was closed.

use std::time::Duration;

use notekeeper_contract::FailureType;
use notekeeper_workflows::{AgentOutput, AgentWorkflow, SendMessage, Session};
use serde_json::{Value, json};
use temporalio_client::{
    UntypedSignal, UntypedUpdate, WorkflowStartOptions, WorkflowStartUpdateOptions,
    errors::{WorkflowGetResultError, WorkflowUpdateError},
};
use temporalio_common::{
    UntypedWorkflow, data_converters::RawValue, protos::temporal::api::common::v1::Payload,
};

use crate::support::{
    Agent, Application, Bed, Worker, begin, close, ended, eventually, failure_type, history,
    in_time, payload, raw_payload, reply, say, send, state, updates_accepted,
};

/// Starts a run with any payloads.
async fn start_raw(bed: &Bed, payloads: Vec<Payload>) -> Agent {
    let id = format!("agent-{:016x}", rand::random::<u64>());
    let options = WorkflowStartOptions::new(&bed.workflow_task_queue, &id)
        .run_timeout(Duration::from_secs(20))
        .build();
    bed.client
        .start_workflow(
            UntypedWorkflow::new("AgentWorkflow"),
            RawValue::new(payloads),
            options,
        )
        .await
        .expect("start the workflow");
    bed.client.get_workflow_handle::<AgentWorkflow>(id)
}

/// Sends any payloads as a message.
async fn send_raw(agent: &Agent, payloads: Vec<Payload>) -> Result<(), WorkflowUpdateError> {
    let update = UntypedUpdate::new("send_message");
    let options = WorkflowStartUpdateOptions::default();
    let started = agent
        .start_update(update, RawValue::new(payloads), options)
        .await?;
    let result = started.get_result(Default::default());
    in_time("an answer", result).await.map(|_: RawValue| ())
}

fn json(value: Value) -> Vec<Payload> {
    vec![payload(&value)]
}

/// Inputs that are no agent's input, and what the failure says.
fn invalid_inputs() -> Vec<(Vec<Payload>, &'static str)> {
    let tool =
        json!({"name": "write_memory", "description": "", "parameters": {}, "activity": "a"});
    let plain = raw_payload("binary/plain", b"{}".to_vec());
    let requests = json!({"max_requests_per_message": 0});
    let memory = json!({"max_tokens": 0});
    vec![
        (vec![], "expected one JSON object"),
        (vec![plain], "json/plain"),
        (json(Value::Null), "workflow input"),
        (json(json!([1])), "workflow input"),
        (
            json(json!({"namespaces": "acme"})),
            "`namespaces` is no known field; did you mean `namespace`?",
        ),
        (
            json(json!({"memories": [{"heding": "x"}]})),
            "`memories[0].heding` is no known field; did you mean `heading`?",
        ),
        (
            json(json!({"memories": [{}, {"backend": "file", "directory": "/etc"}]})),
            "`directory` belongs in the worker's configuration",
        ),
        (json(json!({"namespace": 7})), "`namespace`"),
        (json(json!({"memories": []})), "`memories`"),
        (json(json!({"memories": [memory]})), "`max_tokens`"),
        (
            json(json!({"memories": [{}, {"max_tokens": 7}]})),
            "two memories have the id `memory` and differ in `max_tokens`",
        ),
        (
            json(json!({"memories": [{}, {"namespace": "org"}]})),
            "two memories have the id `memory` and differ in `namespace`",
        ),
        (
            json(json!({"memories": [{}, {"id": "org", "prefix": "org"}]})),
            "the memories `memory` and `org` share one scope of one store",
        ),
        (
            json(json!({"memories": [{}, {"id": "org", "agent_name": "org"}]})),
            "the memories `memory` and `org` both have the tool `write_memory`",
        ),
        (json(requests), "max_requests_per_message"),
        (json(json!({"tools": [tool]})), "two tools"),
    ]
}

/// Inputs that Temporal would refuse later, by failing the workflow task again and again.
fn inputs_that_temporal_refuses() -> Vec<(Vec<Payload>, &'static str)> {
    let tool = |more: Value| {
        let mut tool = json!({"name": "t", "description": "", "parameters": {}, "activity": "a"});
        tool.as_object_mut()
            .expect("an object")
            .extend(more.as_object().expect("one").clone());
        json(json!({"tools": [tool]}))
    };
    let memory = |activities: Value| json(json!({"memories": [{"activities": activities}]}));
    let two_queues = json!([{}, {"id": "b", "agent_name": "b", "prefix": "b", "activities": {"queue": "workflow"}}]);
    vec![
        (tool(json!({"activity": ""})), "`activity`"),
        (tool(json!({"activity": "a".repeat(201)})), "`activity`"),
        (tool(json!({"task_queue": ""})), "`task_queue`"),
        (
            tool(json!({"start_to_close_ms": u64::MAX})),
            "`start_to_close_ms`",
        ),
        (
            tool(json!({"schedule_to_close_ms": 0})),
            "`schedule_to_close_ms`",
        ),
        (memory(json!({"queue": {"named": ""}})), "activities.queue"),
        (
            memory(json!({"start_to_close_ms": u64::MAX})),
            "activities.start_to_close_ms",
        ),
        (
            memory(json!({"snapshot_give_up_ms": u64::MAX})),
            "activities.snapshot_give_up_ms",
        ),
        (
            json(json!({"model_schedule_to_close_ms": u64::MAX})),
            "model_schedule_to_close_ms",
        ),
        (json(json!({"model": ""})), "`model`"),
        (
            json(json!({"max_requests_per_message": 1_001})),
            "max_requests_per_message",
        ),
        (
            json(json!({"instructions": "x".repeat(300_000)})),
            "262144 are allowed",
        ),
        (
            json(json!({"memories": two_queues})),
            "different task queues",
        ),
    ]
}

/// Inputs whose namespace or agent name makes no scope.
fn inputs_without_a_scope() -> Vec<Vec<Payload>> {
    vec![
        json(json!({"namespace": "acme//x"})),
        json(json!({"namespace": "acme/../x"})),
        json(json!({"namespace": "acme\u{0}"})),
        json(json!({"memories": [{"agent_name": "a/b"}]})),
        json(json!({"memories": [{"agent_name": ""}]})),
    ]
}

#[tokio::test]
async fn a_run_whose_input_cannot_be_used_ends_with_a_typed_failure_at_once() {
    let bed = Bed::new().await;
    let _worker = Worker::serving(&bed, &json!([])).await;
    let resumed = json!({"scope_hash": "0123456789abcdef", "transcript": [], "turns": 0});
    let mut inputs = Vec::new();
    for (payloads, part) in invalid_inputs()
        .into_iter()
        .chain(inputs_that_temporal_refuses())
    {
        inputs.push((payloads, FailureType::InvalidArgument, part));
    }
    for payloads in inputs_without_a_scope() {
        inputs.push((payloads, FailureType::InvalidScope, "can't be opened"));
    }
    let elsewhere = json(json!({"namespace": "acme", "resumed": resumed}));
    inputs.push((elsewhere, FailureType::ScopeChanged, "another scope"));
    let mut runs = Vec::new();
    for (payloads, expected, part) in inputs {
        runs.push((start_raw(&bed, payloads).await, expected, part));
    }

    for (agent, expected, part) in runs {
        let ended = ended(&agent).await;
        let Err(WorkflowGetResultError::Failed(error)) = ended else {
            panic!("`{part}` ended as {ended:?}");
        };
        let failure = error.failure();
        assert_eq!(failure_type(failure), expected.as_str(), "{failure:?}");
        assert!(failure.message.contains(part), "{}", failure.message);
    }
    bed.finish().await;
}

#[tokio::test]
async fn a_refused_message_leaves_no_event() {
    let bed = Bed::new().await;
    let _worker = Worker::serving(
        &bed,
        &json!([{"prompt": "hello", "responses": [{"text": "hi"}]}]),
    )
    .await;
    let agent = bed.start(bed.input("acme")).await;
    say(&agent, "hello").await.expect("a reply");
    // The last workflow task of the turn may still be on its way.
    let before = eventually("the turn is over", || async {
        let history = history(&agent).await;
        let last = history.events.last()?.event_type();
        let settled = last.as_str_name().contains("UPDATE_COMPLETED");
        settled.then_some(history.events.len())
    })
    .await;

    let messages = [
        (json(json!({"text": ""})), "`text` is empty"),
        (json(json!({"text": " \n"})), "`text` is empty"),
        (json(json!({"text": "a\u{0}b"})), "NUL"),
        (json(json!({"txt": "hello"})), "message"),
        (json(json!({"text": "hello", "mood": "good"})), "message"),
        (json(json!({"text": 7})), "`text`"),
        (json(json!({"text": "hello", "id": ""})), "`id`"),
        (
            json(json!({"text": "hello", "id": "x".repeat(201)})),
            "`id`",
        ),
        (json(json!("hello")), "message"),
        (vec![], "expected one JSON object"),
    ];
    for (payloads, part) in messages {
        let refused = send_raw(&agent, payloads).await;
        let Err(WorkflowUpdateError::Failed(failure)) = refused else {
            panic!("`{part}` came to {refused:?}");
        };
        assert!(failure.message.contains(part), "{part}: {failure:?}");
        assert_eq!(failure_type(&failure), "InvalidArgument", "{failure:?}");
    }

    assert_eq!(history(&agent).await.events.len(), before);
    assert_eq!(say(&agent, "hello").await.expect("a reply").text, "hi");
    assert_eq!(state(&agent).await.turns, 2);
    bed.finish().await;
}

#[tokio::test]
async fn a_closed_conversation_answers_what_it_took_takes_nothing_more_and_ends() {
    let bed = Bed::new().await;
    let application = Application::start(&bed);
    let _worker = Worker::serving(
        &bed,
        &json!([
            {"prompt": "one", "responses": [{"tool_calls": [{"id": "call_0", "name": "gate"}]}, {"text": "first"}]},
            {"prompt": "two", "responses": [{"text": "second"}]},
        ]),
    )
    .await;
    let agent = application.talk(&bed, "acme").await;

    let one = begin(&agent, "one").await;
    application.at_the_gate(1).await;
    let two = begin(&agent, "two").await;
    close(&agent).await;
    eventually("the conversation is closing", || async {
        state(&agent).await.closing.then_some(())
    })
    .await;
    let late = say(&agent, "three").await.expect_err("a refusal");
    application.open_the_gate();

    assert_eq!(failure_type(&late), "Unsupported", "{late:?}");
    assert_eq!(reply(one).await.expect("a reply").text, "first");
    assert_eq!(reply(two).await.expect("a reply").text, "second");
    let output = ended(&agent).await;
    let expected = AgentOutput {
        unstored: 0,
        turns: 2,
        messages: 6,
    };
    assert_eq!(output.expect("the conversation ends well"), expected);
    assert_eq!(updates_accepted(&history(&agent).await), 2);
    bed.finish().await;
}

#[tokio::test]
async fn the_same_message_id_is_answered_once_and_another_id_is_another_message() {
    let bed = Bed::new().await;
    let _worker = Worker::serving(
        &bed,
        &json!([{"prompt": "add", "responses": [
            {"tool_calls": [{"id": "call_0", "name": "write_memory", "arguments": {"content": "line"}}]},
            {"text": "added"},
        ]}]),
    )
    .await;
    let agent = bed.start(bed.input("acme")).await;
    let message = |id: &str| SendMessage {
        text: "add".to_owned(),
        id: Some(id.to_owned()),
    };

    let first = send(&agent, message("m-1"), None).await.expect("a reply");
    let again = send(&agent, message("m-1"), None).await.expect("a reply");
    let other = send(&agent, message("m-2"), None).await.expect("a reply");

    assert_eq!(first, again);
    assert_eq!(first, other);
    assert_eq!(state(&agent).await.turns, 2);
    assert_eq!(
        bed.note("acme/main", "MEMORY.md").await.as_deref(),
        Some("line\nline\n")
    );
    bed.finish().await;
}

#[tokio::test]
async fn what_a_newer_worker_hands_over_is_taken_up() {
    let bed = Bed::new().await;
    let script = json!([{"prompt": "again", "responses": [{"text": "{{message_count}}"}]}]);
    let _worker = Worker::serving(&bed, &script).await;
    let input = bed.input("acme");
    let session = Session::new();
    for memory in &input.memories {
        session
            .open(memory.clone(), &input, |input| input.namespace.clone())
            .expect("a memory");
    }
    let mut newer = serde_json::to_value(&input).expect("JSON");
    newer["a_newer_setting"] = json!(true);
    newer["memories"][0]["another"] = json!({});
    newer["resumed"] = json!({
        "scope_hash": session.scope_hash(),
        "transcript": [{"role": "user", "content": "before"}, {"role": "assistant", "content": "yes"}],
        "turns": 1,
        "a_newer_field": [1],
    });
    let agent = start_raw(&bed, json(newer)).await;

    let answered = say(&agent, "again").await.expect("a reply");

    assert_eq!(answered.text, "3");
    assert_eq!(state(&agent).await.turns, 2);
    bed.finish().await;
}

#[tokio::test]
async fn a_close_with_something_sent_along_closes() {
    let bed = Bed::new().await;
    let _worker = Worker::serving(&bed, &json!([])).await;
    let agent = bed.start(bed.input("acme")).await;
    let sent_along = RawValue::new(json(json!({"reason": "lunch"})));
    agent
        .signal(UntypedSignal::new("close"), sent_along, Default::default())
        .await
        .expect("signal close");

    let output = ended(&agent).await.expect("it ends");

    assert_eq!(output.messages, 0);
    bed.finish().await;
}
