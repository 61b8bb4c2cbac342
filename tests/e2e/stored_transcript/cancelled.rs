//! Runs that are cancelled, or that their input ends, while they hold messages that aren't stored.

use notekeeper_domain::HistoryView;
use notekeeper_workflows::{
    AgentInput, Exchange, MemorySettings, ResumedConversation,
    contract::{ChatMessage, OperationRef},
};
use serde_json::{Value, json};
use temporalio_client::{
    WorkflowCancelOptions, WorkflowDescribeOptions, errors::WorkflowGetResultError,
};

use super::{LOCK, conversing, failing, heard, impatient, message, pairs, said, turn};
use crate::support::{
    Agent, Application, Bed, Proxy, Way, Worker, WorkerOptions, activities_of, begin, close, ended,
    eventually, failure_type, history, reply, say, send, state,
};

async fn cancel(agent: &Agent) {
    let asked = agent.cancel(WorkflowCancelOptions::default()).await;
    asked.expect("ask for the cancellation");
}

async fn is_cancelled(agent: &Agent) {
    let end = ended(agent).await;
    assert!(
        matches!(end, Err(WorkflowGetResultError::Cancelled { .. })),
        "{end:?}"
    );
}

/// Attempts so far of the only activity that is under way.
async fn attempts(agent: &Agent) -> Option<i32> {
    let described = agent.describe(WorkflowDescribeOptions::default()).await;
    let pending = described.expect("describe the run").into_raw();
    pending.pending_activities.first().map(|it| it.attempt)
}

#[tokio::test]
async fn a_cancelled_run_stores_what_it_holds_though_the_store_is_away_for_a_moment() {
    for way in [Way::MemoryQueue, Way::Local] {
        let bed = Bed::new().await;
        let proxy = Proxy::start(Proxy::target(&bed.database_url)).await;
        let options = WorkerOptions {
            script: Some(bed.script(&json!([turn("one", "first"), turn("two", "second")]))),
            database_url: Some(proxy.url(&bed.database_url)),
            ..WorkerOptions::default()
        };
        let _worker = Worker::start(&bed, options).await;
        let agent = bed.start(bed.input_by(way, "acme")).await;
        assert_eq!(heard(&agent, "one").await, "first");
        for statement in LOCK.split_inclusive("$$;") {
            bed.execute(statement).await;
        }
        let failure = say(&agent, "two").await.expect_err("it can't be stored");
        assert_eq!(failure_type(&failure), "Unavailable", "{failure:?}");
        bed.execute("drop trigger locked on messages").await;

        proxy.cut();
        cancel(&agent).await;
        if way == Way::MemoryQueue {
            eventually("the store is found to be away", async || {
                attempts(&agent).await.filter(|attempts| *attempts > 1)
            })
            .await;
        }
        proxy.mend();

        is_cancelled(&agent).await;
        let expected = pairs([
            ("user", "one"),
            ("assistant", "first"),
            ("user", "two"),
            ("assistant", "second"),
        ]);
        assert_eq!(
            said(&bed.messages_of(&agent, "acme").await),
            expected,
            "{way:?}"
        );
        let held = state(&agent).await.conversation.expect("it is stored");
        assert_eq!(held.unstored, 0, "{way:?}");
        bed.finish().await;
    }
}

#[tokio::test]
async fn a_run_that_is_cancelled_in_a_turn_stores_the_calls_that_it_carried_out() {
    let bed = Bed::new().await;
    let application = Application::start(&bed);
    let call = |id: &str, name: &str| json!({"id": id, "name": name, "arguments": {}});
    let calls = json!([
        call("a", "look_up"),
        call("b", "gate"),
        call("c", "look_up")
    ]);
    let turns = json!([
        turn("hello", "hello"),
        {"prompt": "wait", "responses": [{"tool_calls": calls}, {"text": "never"}]},
    ]);
    let _worker = Worker::serving(&bed, &turns).await;
    let agent = application.talk(&bed, "acme").await;
    assert_eq!(heard(&agent, "hello").await, "hello");

    let waiting = begin(&agent, "wait").await;
    application.at_the_gate(1).await;
    let behind = begin(&agent, "hello").await;
    cancel(&agent).await;

    for pending in [waiting, behind] {
        let failure = reply(pending).await.expect_err("no reply");
        assert_eq!(failure_type(&failure), "Cancelled", "{failure:?}");
    }
    is_cancelled(&agent).await;
    let messages = bed.messages_of(&agent, "acme").await;
    let roles: Vec<_> = messages.iter().map(|it| it["role"].clone()).collect();
    assert_eq!(
        roles,
        [
            "user",
            "assistant",
            "user",
            "assistant",
            "tool",
            "tool",
            "tool"
        ],
        "nothing of the message that had no turn: {messages:?}"
    );
    assert_eq!(messages[5]["content"], "the tool failed: Cancelled");
    assert_eq!(messages[4]["is_error"], Value::Null, "{messages:?}");
    bed.finish().await;
}

#[tokio::test]
async fn what_was_stored_though_nobody_heard_of_it_is_there_once_after_a_cancellation() {
    let bed = Bed::new().await;
    let turns = json!([turn("one", "first")]);
    let mut broken = failing(&bed, &turns, "add_messages.after_commit=fail:1000").await;
    let agent = bed.start(impatient(&bed, Way::MemoryQueue)).await;
    say(&agent, "one").await.expect_err("nobody hears of it");

    broken.terminate();
    broken.ended().await;
    cancel(&agent).await;
    let _worker = Worker::serving(&bed, &turns).await;

    is_cancelled(&agent).await;
    let expected = pairs([("user", "one"), ("assistant", "first")]);
    assert_eq!(said(&bed.messages_of(&agent, "acme").await), expected);
    let added = activities_of(&history(&agent).await, "add_messages");
    assert_eq!(added.len(), 2);
    assert_eq!(added[1].result()["replayed"], true);
    bed.finish().await;
}

#[tokio::test]
async fn a_cancelled_run_ends_though_its_store_stays_away_and_says_what_is_lost() {
    for way in [Way::MemoryQueue, Way::Local] {
        let bed = Bed::new().await;
        let turns = json!([turn("one", "first")]);
        let _broken = failing(&bed, &turns, "add_messages.before_commit=fail:1000").await;
        let agent = bed.start(impatient(&bed, way)).await;
        send(&agent, message("one", "m-1"), None)
            .await
            .expect_err("it can't be stored");

        cancel(&agent).await;

        is_cancelled(&agent).await;
        let held = state(&agent).await.conversation.expect("it is stored");
        assert_eq!(held.unstored, 1, "{way:?}");
        assert_eq!(bed.messages_of(&agent, "acme").await, Vec::<Value>::new());
        bed.finish().await;
    }
}

/// Two memories, the second in a store that a worker may have or not.
fn of_two_stores(bed: &Bed) -> AgentInput {
    let mut input = conversing(bed, "acme", "ticket");
    let mut extra = MemorySettings {
        id: "extra".to_owned(),
        store: "extra".to_owned(),
        prefix: "extra".to_owned(),
        ..MemorySettings::default()
    };
    extra.activities = input.memories[0].activities.clone();
    input.memories.push(extra);
    input
}

#[tokio::test]
async fn a_run_that_its_input_ends_stores_what_the_run_before_handed_over() {
    let bed = Bed::new().await;
    let config = "[stores.extra]\nkind = 'in_memory'\n";
    let options = WorkerOptions {
        script: Some(bed.script(&json!([]))),
        environment: vec![("NOTEKEEPER_CONFIG", bed.config(config))],
        ..WorkerOptions::default()
    };
    let mut worker = Worker::start(&bed, options).await;
    let before = bed.start(of_two_stores(&bed)).await;
    let scope_hash = state(&before).await.scope_hash;
    close(&before).await;
    ended(&before).await.expect("a good end");
    worker.terminate();
    worker.ended().await;
    let operation = OperationRef {
        id: "an-exchange".to_owned(),
    };
    let resumed = ResumedConversation {
        id: "ticket".to_owned(),
        view: HistoryView::default(),
        summary: None,
        skipped: None,
        oldest: 0,
        next: 0,
        unstored: vec![Exchange {
            operation,
            messages: vec![ChatMessage::user("one")],
            reply: None,
        }],
        lost: false,
    };
    let mut input = of_two_stores(&bed);
    let handed_over = json!({"scope_hash": scope_hash, "turns": 1, "conversation": resumed});
    input.resumed = Some(serde_json::from_value(handed_over).expect("what is handed over"));

    let agent = bed.start(input).await;
    // It comes while the run starts, and waits for that.
    let no_turns = json!([]);
    let (answer, _without_the_store) =
        tokio::join!(say(&agent, "two"), Worker::serving(&bed, &no_turns));

    let failure = answer.expect_err("the run is over before it serves");
    assert_eq!(failure_type(&failure), "InvalidArgument", "{failure:?}");
    match ended(&agent).await {
        Err(WorkflowGetResultError::Failed(error)) => {
            let failure = error.failure();
            assert_eq!(failure_type(failure), "InvalidArgument", "{failure:?}");
        }
        other => panic!("it ended as {other:?}"),
    }
    let messages = bed.messages("acme/main", "ticket").await;
    assert_eq!(said(&messages), pairs([("user", "one")]));
    bed.finish().await;
}
