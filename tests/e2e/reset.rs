//! Workflow reset: an operation lives as long as the model's answer that names it.

use notekeeper_workflows::{Reply, SendMessage};
use serde_json::{Value, json};
use temporalio_client::{grpc::WorkflowService as _, tonic::IntoRequest as _};
use temporalio_common::protos::temporal::api::{
    common::v1::WorkflowExecution, workflowservice::v1::ResetWorkflowExecutionRequest,
};

use crate::support::{
    Activity, Agent, Bed, Worker, activities_of, history, run_id, say, send, transcript,
};

/// A turn `note` that writes a line under the call id `call_0`.
fn turns(line: &str) -> Value {
    json!([
        {"prompt": "note", "responses": [
            {"tool_calls": [{"id": "call_0", "name": "write_memory", "arguments": {"content": line}}]},
            {"text": "{{last_tool_result}}"},
        ]},
        {"prompt": "hello", "responses": [{"text": "hello"}]},
    ])
}

/// Sends the message `note` under one update id, so that it can be asked for again after a reset.
async fn note(agent: &Agent) -> Reply {
    let message = SendMessage {
        text: "note".to_owned(),
        id: None,
    };
    send(agent, message, Some("note")).await.expect("a reply")
}

/// Takes the conversation back to a workflow task, as if it had not been carried out.
async fn reset(bed: &Bed, agent: &Agent, task: i64) {
    let request = ResetWorkflowExecutionRequest {
        namespace: bed.temporal_namespace.clone(),
        workflow_execution: Some(WorkflowExecution {
            workflow_id: agent.info().workflow_id.clone(),
            run_id: run_id(agent).await,
        }),
        reason: "a test".to_owned(),
        workflow_task_finish_event_id: task,
        request_id: format!("{:032x}", rand::random::<u128>()),
        ..ResetWorkflowExecutionRequest::default()
    };
    let mut client = bed.client.clone();
    client
        .reset_workflow_execution(request.into_request())
        .await
        .expect("reset the workflow");
}

/// The only write of the current run.
async fn write(agent: &Agent) -> Activity {
    let mut writes = activities_of(&history(agent).await, "write_memory");
    assert_eq!(writes.len(), 1);
    writes.remove(0)
}

/// Who speaks in the conversation's messages.
async fn roles(bed: &Bed, agent: &Agent) -> Vec<String> {
    let messages = bed.messages_of(agent, "acme").await;
    let role = |message: &Value| message["role"].as_str().map(str::to_owned);
    messages.iter().filter_map(role).collect()
}

#[tokio::test]
async fn after_a_reset_that_keeps_the_models_answer_its_operation_is_answered_from_the_receipt() {
    let bed = Bed::new().await;
    let _worker = Worker::serving(&bed, &turns("- likes tea")).await;
    let agent = bed.start(bed.input("acme")).await;
    note(&agent).await;
    let before = write(&agent).await;
    let first_run = run_id(&agent).await;

    // The task that scheduled the write: the answer that asks for it stays.
    reset(&bed, &agent, before.decided).await;
    let reply = note(&agent).await;

    assert_ne!(run_id(&agent).await, first_run);
    let after = write(&agent).await;
    assert_eq!(after.input["operation"], before.input["operation"]);
    assert_eq!(before.result()["replayed"], false);
    assert_eq!(after.result()["replayed"], true);
    assert_eq!(after.result()["version"], before.result()["version"]);
    assert!(reply.text.contains("created"), "{reply:?}");
    assert_eq!(
        bed.note("acme/main", "MEMORY.md").await.as_deref(),
        Some("- likes tea\n")
    );
    // The calls are there once, as the first run stored them; each run's answer to them is there.
    let roles = roles(&bed, &agent).await;
    assert_eq!(
        roles,
        ["user", "assistant", "tool", "assistant", "assistant"]
    );
    let requests = activities_of(&history(&agent).await, "call_model");
    let sent = &requests[1].input["conversation"];
    assert_eq!((&sent["from"], &sent["to"]), (&json!(0), &json!(3)));
    assert_eq!(say(&agent, "hello").await.expect("a reply").text, "hello");
    bed.finish().await;
}

#[tokio::test]
async fn after_a_reset_that_drops_the_models_answer_the_new_answers_operations_apply() {
    let bed = Bed::new().await;
    let mut worker = Worker::serving(&bed, &turns("- likes tea")).await;
    let agent = bed.start(bed.input("acme")).await;
    note(&agent).await;
    let before = write(&agent).await;
    let request = activities_of(&history(&agent).await, "call_model").remove(0);
    worker.terminate();
    worker.ended().await;

    // The task that scheduled the model request: the model is asked again, and answers otherwise.
    let _worker = Worker::serving(&bed, &turns("- likes coffee")).await;
    reset(&bed, &agent, request.decided).await;
    note(&agent).await;

    let after = write(&agent).await;
    assert_ne!(after.input["operation"], before.input["operation"]);
    assert_eq!(after.result()["replayed"], false);
    assert_eq!(
        bed.note("acme/main", "MEMORY.md").await.as_deref(),
        Some("- likes tea\n- likes coffee\n")
    );
    // What the first run stored stays, and the model gets it from the new run's second request on.
    let turn = ["user", "assistant", "tool", "assistant"];
    assert_eq!(roles(&bed, &agent).await, [turn, turn].concat());
    let requests = activities_of(&history(&agent).await, "call_model");
    let sent: Vec<_> = requests
        .iter()
        .map(|it| it.input["conversation"]["to"].clone())
        .collect();
    assert_eq!(sent, [json!(0), json!(7)]);
    bed.finish().await;
}

#[tokio::test]
async fn an_operation_id_that_was_used_otherwise_is_a_tool_error_and_the_conversation_goes_on() {
    let bed = Bed::new().await;
    let _worker = Worker::serving(&bed, &turns("- likes tea")).await;
    let agent = bed.start(bed.input("acme")).await;
    note(&agent).await;
    let before = write(&agent).await;
    // Somebody else uses the id for another change, once its receipt is gone.
    bed.execute("delete from receipts").await;
    let other = json!({
        "scope": {"namespace": "acme"},
        "operation": before.input["operation"],
        "content": "- likes coffee",
    });
    bed.call("write_memory", &other).await.result();

    reset(&bed, &agent, before.decided).await;
    let reply = note(&agent).await;

    let after = write(&agent).await;
    assert_eq!(after.input["operation"], before.input["operation"]);
    assert_eq!(after.attempt, 1, "a conflict is not retried");
    let Some(Err(failure)) = &after.outcome else {
        panic!("the write came to {:?}", after.outcome);
    };
    let conflict = failure.cause.as_deref().unwrap_or(failure);
    assert_eq!(crate::support::failure_type(conflict), "OperationConflict");
    assert!(reply.text.contains("already used"), "{reply:?}");
    let messages = serde_json::to_value(transcript(&agent).await).expect("JSON");
    assert_eq!(messages[2]["is_error"], true, "{messages}");
    assert_eq!(say(&agent, "hello").await.expect("a reply").text, "hello");
    assert_eq!(
        bed.note("acme/main", "MEMORY.md").await.as_deref(),
        Some("- likes tea\n- likes coffee\n")
    );
    bed.finish().await;
}
