//! Continue-as-new: the conversation goes on in a new run, and nothing happens twice or is lost.

use notekeeper_workflows::{AgentInput, SendMessage};
use serde_json::{Value, json};
use temporalio_client::{WorkflowExecuteUpdateOptions, errors::WorkflowUpdateError};

use crate::support::{
    Agent, Bed, Worker, activities_of, close, ended, eventually, failure_type, history, in_time,
    run_id, say, send, state,
};

/// Turns that write a line under the same call id each time, and one that fills the history.
fn turns() -> Value {
    let write = |line: &str| {
        json!({"prompt": line, "responses": [
            {"tool_calls": [{"id": "call_0", "name": "write_memory", "arguments": {"content": line}}]},
            {"text": format!("wrote {line}")},
        ]})
    };
    let reads: Vec<_> = (0..17)
        .map(|n| json!({"id": format!("call_{n}"), "name": "read_memory", "arguments": {"file": "none"}}))
        .collect();
    let mut turns: Vec<_> = ["alpha", "beta", "gamma"].map(write).into();
    turns.extend((0..8).map(|n| write(&format!("line {n}"))));
    turns.push(json!({"prompt": "fill", "responses": [{"tool_calls": reads}, {"text": "filled"}]}));
    turns.into()
}

/// An input whose runs are as short as they may be.
fn short_runs(bed: &Bed) -> AgentInput {
    AgentInput {
        continue_as_new_events: Some(100),
        ..bed.input("acme")
    }
}

/// Makes the run continue as new, and waits until the next one is there.
async fn continue_as_new(agent: &Agent) {
    let before = run_id(agent).await;
    say(agent, "fill").await.expect("a reply");
    eventually("the conversation has continued as a new run", || async {
        (run_id(agent).await != before).then_some(())
    })
    .await;
}

#[tokio::test]
async fn the_same_message_id_is_answered_once_also_by_the_next_run() {
    let bed = Bed::new().await;
    let _worker = Worker::serving(&bed, &turns()).await;
    let agent = bed.start(short_runs(&bed)).await;
    let message = SendMessage {
        text: "alpha".to_owned(),
        id: Some("m-1".to_owned()),
    };

    let first = send(&agent, message.clone(), None).await.expect("a reply");
    let hash = state(&agent).await.scope_hash;
    continue_as_new(&agent).await;
    let again = send(&agent, message, None).await.expect("a reply");

    assert_eq!(again, first);
    let state = state(&agent).await;
    assert_eq!((state.turns, state.steps), (2, 0));
    assert_eq!(state.scope_hash, hash);
    assert_eq!(activities_of(&history(&agent).await, "call_model").len(), 0);
    assert_eq!(
        bed.note("acme/main", "MEMORY.md").await.as_deref(),
        Some("alpha\n")
    );
    bed.finish().await;
}

#[tokio::test]
async fn the_same_update_id_is_answered_once_also_by_the_next_run() {
    let bed = Bed::new().await;
    let _worker = Worker::serving(&bed, &turns()).await;
    let agent = bed.start(short_runs(&bed)).await;
    let message = || SendMessage {
        text: "alpha".to_owned(),
        id: None,
    };

    let first = send(&agent, message(), Some("u-1")).await.expect("a reply");
    continue_as_new(&agent).await;
    let again = send(&agent, message(), Some("u-1")).await.expect("a reply");
    let other = send(&agent, message(), Some("u-2")).await.expect("a reply");

    assert_eq!(again, first);
    assert_eq!(other.text, "wrote alpha");
    assert_eq!(
        bed.note("acme/main", "MEMORY.md").await.as_deref(),
        Some("alpha\nalpha\n")
    );
    bed.finish().await;
}

#[tokio::test]
async fn constant_call_ids_are_operations_of_their_own_in_every_turn_and_every_run() {
    let bed = Bed::new().await;
    let _worker = Worker::serving(&bed, &turns()).await;
    let input = AgentInput {
        // Two turns of calls fit into each.
        continue_as_new_events: Some(200),
        ..bed.input("acme")
    };
    let agent = bed.start(input).await;

    say(&agent, "alpha").await.expect("a reply");
    say(&agent, "beta").await.expect("a reply");
    let first_run = activities_of(&history(&agent).await, "write_memory");
    continue_as_new(&agent).await;
    let third = say(&agent, "gamma").await.expect("a reply");
    let again = say(&agent, "alpha").await.expect("a reply");

    assert_eq!(third.text, "wrote gamma");
    assert_eq!(again.text, "wrote alpha");
    assert_eq!(
        bed.note("acme/main", "MEMORY.md").await.as_deref(),
        Some("alpha\nbeta\ngamma\nalpha\n")
    );
    let second_run = activities_of(&history(&agent).await, "write_memory");
    let writes: Vec<_> = first_run.into_iter().chain(second_run).collect();
    let mut ids = Vec::new();
    for write in &writes {
        assert_eq!(write.result()["replayed"], false);
        ids.push(
            write.input["operation"]["id"]
                .as_str()
                .expect("an id")
                .to_owned(),
        );
    }
    let receipts: Vec<_> = bed
        .receipts("acme/main")
        .await
        .into_iter()
        .map(|r| r.id)
        .collect();
    assert_eq!(receipts, ids);
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 4, "four different operations");
    bed.finish().await;
}

#[tokio::test]
async fn messages_that_arrive_while_runs_continue_are_each_answered_once() {
    let bed = Bed::new().await;
    let _worker = Worker::serving(&bed, &turns()).await;
    let agent = bed.start(short_runs(&bed)).await;
    let first_run = run_id(&agent).await;

    let senders = (0..8).map(|n| insist(&agent, n));
    let replies = futures::future::join_all(senders).await;

    for (n, reply) in replies.iter().enumerate() {
        assert_eq!(reply, &format!("wrote line {n}"));
    }
    assert_ne!(run_id(&agent).await, first_run, "no run continued");
    let note = bed.note("acme/main", "MEMORY.md").await.expect("a note");
    let mut lines: Vec<_> = note.lines().collect();
    lines.sort_unstable();
    let expected: Vec<_> = (0..8).map(|n| format!("line {n}")).collect();
    assert_eq!(lines, expected);
    assert_eq!(state(&agent).await.turns, 8);
    close(&agent).await;
    let output = ended(&agent).await;
    assert_eq!(output.expect("the conversation ends well").turns, 8);
    bed.finish().await;
}

/// Sends a message until it is answered, as a client does that was refused meanwhile.
async fn insist(agent: &Agent, n: usize) -> String {
    let message = SendMessage {
        text: format!("line {n}"),
        id: Some(format!("message-{n}")),
    };
    eventually(&format!("message {n} is answered"), || async {
        let options = WorkflowExecuteUpdateOptions::default();
        let update = notekeeper_workflows::AgentWorkflow::send_message;
        let update = agent.execute_update(update, message.clone().into(), options);
        match in_time("an answer", update).await {
            Ok(reply) => Some(reply.text),
            Err(WorkflowUpdateError::Failed(failure)) => {
                assert_eq!(failure_type(&failure), "Unavailable", "{failure:?}");
                None
            }
            Err(other) => panic!("message {n}: {other:?}"),
        }
    })
    .await
}
