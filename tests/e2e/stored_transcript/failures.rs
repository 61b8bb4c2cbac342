//! Storing that fails, in every way: no exchange is torn, lost in silence, or there twice.

use std::time::Duration;

use notekeeper_workflows::AgentInput;
use serde_json::{Value, json};

use super::{LOCK, failing, heard, impatient, message, pairs, said, tool_turn, turn};
use crate::support::{
    Activity, Application, Bed, Proxy, Way, Worker, WorkerOptions, activities, activities_of,
    close, ended, failure_type, history, known_reply, say, send, state, tasks_timed_out,
};

#[tokio::test]
async fn an_exchange_that_cannot_be_stored_is_stored_before_the_next_message_and_answers_once() {
    for way in [Way::MemoryQueue, Way::Local] {
        let bed = Bed::new().await;
        let turns = json!([
            turn("one", "first of {{message_count}}"),
            turn("two", "second of {{message_count}}"),
        ]);
        let mut broken = failing(&bed, &turns, "add_messages.before_commit=fail:1000").await;
        let agent = bed.start(impatient(&bed, way)).await;

        let failure = send(&agent, message("one", "m-1"), None)
            .await
            .expect_err("it can't be stored");
        assert_eq!(failure_type(&failure), "Unavailable", "{failure:?}");
        assert!(
            failure.message.contains("couldn't be stored yet"),
            "{failure:?}"
        );
        let held = state(&agent).await;
        assert_eq!(
            (held.turns, held.conversation.expect("stored").unstored),
            (0, 1)
        );
        assert_eq!(bed.messages_of(&agent, "acme").await, Vec::<Value>::new());
        let known = known_reply(&agent, "m-1").await.expect("it is answered");
        assert_eq!((&*known.reply.text, known.unstored), ("first of 1", true));
        assert_eq!(known_reply(&agent, "m-2").await, None);
        broken.terminate();
        broken.ended().await;
        let _worker = Worker::serving(&bed, &turns).await;
        let again = send(&agent, message("one", "m-1"), None).await;
        let next = heard(&agent, "two").await;

        assert_eq!(again.expect("its reply").text, "first of 1");
        let known = known_reply(&agent, "m-1").await.expect("it is answered");
        assert_eq!((&*known.reply.text, known.unstored), ("first of 1", false));
        assert_eq!(next, "second of 3");
        let expected = pairs([
            ("user", "one"),
            ("assistant", "first of 1"),
            ("user", "two"),
            ("assistant", "second of 3"),
        ]);
        assert_eq!(said(&bed.messages_of(&agent, "acme").await), expected);
        let history = history(&agent).await;
        assert_eq!(
            activities_of(&history, "call_model").len(),
            2,
            "asked once each"
        );
        let state = state(&agent).await;
        assert_eq!((state.turns, state.messages), (2, 4));
        bed.finish().await;
    }
}

#[tokio::test]
async fn an_exchange_that_meets_a_fault_of_the_database_is_stored_when_that_is_mended() {
    let bed = Bed::new().await;
    let turns = json!([
        turn("one", "first of {{message_count}}"),
        turn("two", "second of {{message_count}}"),
    ]);
    let _worker = Worker::serving(&bed, &turns).await;
    // A run that goes on from what an earlier one carried, which is stored at its start.
    let plain = bed.start(bed.input("acme")).await;
    let resumed = json!({
        "scope_hash": state(&plain).await.scope_hash,
        "transcript": [
            {"role": "user", "content": "before"},
            {"role": "assistant", "content": "yes"},
        ],
        "turns": 1,
    });
    let input = AgentInput {
        resumed: serde_json::from_value(resumed).expect("what was handed over"),
        ..bed.input("acme")
    };
    for statement in LOCK.split_inclusive("$$;") {
        bed.execute(statement).await;
    }
    let agent = bed.start(input).await;

    let failure = send(&agent, message("one", "m-1"), None)
        .await
        .expect_err("nothing can be stored");
    assert_eq!(failure_type(&failure), "Unsupported", "{failure:?}");
    bed.execute("drop trigger locked on messages").await;
    assert_eq!(heard(&agent, "two").await, "second of 3");
    bed.execute(LOCK.split_inclusive("$$;").last().expect("a trigger"))
        .await;
    let failure = send(&agent, message("one", "m-2"), None)
        .await
        .expect_err("the exchange can't be stored");
    assert_eq!(failure_type(&failure), "Unavailable", "{failure:?}");
    bed.execute("drop trigger locked on messages").await;
    let reply = send(&agent, message("one", "m-2"), None).await;

    assert_eq!(reply.expect("its reply").text, "first of 5");
    let expected = pairs([
        ("user", "before"),
        ("assistant", "yes"),
        ("user", "two"),
        ("assistant", "second of 3"),
        ("user", "one"),
        ("assistant", "first of 5"),
    ]);
    assert_eq!(said(&bed.messages_of(&agent, "acme").await), expected);
    let asked = activities_of(&history(&agent).await, "call_model").len();
    assert_eq!(asked, 2, "once for each answer");
    bed.finish().await;
}

#[tokio::test]
async fn an_exchange_that_was_stored_though_nobody_heard_of_it_is_not_stored_again() {
    let bed = Bed::new().await;
    let turns = json!([
        turn("one", "first of {{message_count}}"),
        turn("two", "second of {{message_count}}"),
    ]);
    let mut broken = failing(&bed, &turns, "add_messages.after_commit=fail:1000").await;
    let agent = bed.start(impatient(&bed, Way::MemoryQueue)).await;

    let failure = say(&agent, "one").await.expect_err("nobody hears of it");
    assert_eq!(failure_type(&failure), "Unavailable", "{failure:?}");
    assert_eq!(bed.messages_of(&agent, "acme").await.len(), 2);
    broken.terminate();
    broken.ended().await;
    let _worker = Worker::serving(&bed, &turns).await;

    assert_eq!(heard(&agent, "two").await, "second of 3");
    let expected = pairs([
        ("user", "one"),
        ("assistant", "first of 1"),
        ("user", "two"),
        ("assistant", "second of 3"),
    ]);
    assert_eq!(said(&bed.messages_of(&agent, "acme").await), expected);
    let added = activities_of(&history(&agent).await, "add_messages");
    assert_eq!(added[1].result()["replayed"], true);
    assert_eq!(added[0].input["operation"], added[1].input["operation"]);
    bed.finish().await;
}

#[tokio::test]
async fn a_turn_whose_calls_were_carried_out_and_not_stored_is_in_the_transcript_later() {
    let bed = Bed::new().await;
    let write = json!({"content": "- tea"});
    let turns = json!([
        tool_turn("note", "write_memory", write, "noted"),
        turn("two", "second of {{message_count}}"),
    ]);
    let mut broken = failing(&bed, &turns, "add_messages.before_commit=fail:1000").await;
    let agent = bed.start(impatient(&bed, Way::MemoryQueue)).await;

    say(&agent, "note").await.expect_err("it can't be stored");
    broken.terminate();
    broken.ended().await;
    let _worker = Worker::serving(&bed, &turns).await;

    assert_eq!(heard(&agent, "two").await, "second of 4");
    let messages = bed.messages_of(&agent, "acme").await;
    let roles: Vec<_> = messages.iter().map(|it| it["role"].clone()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "user", "assistant"]);
    assert_eq!(
        bed.note("acme/main", "MEMORY.md").await.as_deref(),
        Some("- tea\n"),
        "what was done stays done, once"
    );
    bed.finish().await;
}

#[tokio::test]
async fn what_could_not_be_stored_is_stored_when_the_conversation_closes_or_is_told() {
    let bed = Bed::new().await;
    let turns = json!([turn("one", "first")]);
    let mut broken = failing(&bed, &turns, "add_messages.before_commit=fail:1000").await;
    let agent = bed.start(impatient(&bed, Way::MemoryQueue)).await;
    let lost = bed.start(impatient(&bed, Way::MemoryQueue)).await;
    say(&agent, "one").await.expect_err("it can't be stored");
    say(&lost, "one").await.expect_err("it can't be stored");

    close(&lost).await;
    let output = ended(&lost).await.expect("a good end");
    assert_eq!((output.messages, output.unstored), (0, 1));
    broken.terminate();
    broken.ended().await;
    let _worker = Worker::serving(&bed, &turns).await;
    close(&agent).await;
    let output = ended(&agent).await.expect("a good end");

    assert_eq!((output.turns, output.messages, output.unstored), (1, 2, 0));
    assert_eq!(bed.messages_of(&agent, "acme").await.len(), 2);
    bed.finish().await;
}

#[tokio::test]
async fn nothing_is_stored_of_a_prompt_without_an_answer_and_calls_are_closed_where_a_tool_failed()
{
    let bed = Bed::new().await;
    let application = Application::start(&bed);
    let _worker = Worker::serving(
        &bed,
        &json!([
            {"prompt": "never", "responses": [{"failure": {"kind": "refused"}}]},
            {"prompt": "sell", "responses": [
                {"tool_calls": [
                    {"id": "a", "name": "sell_out", "arguments": {}},
                    {"id": "b", "name": "look_up", "arguments": {}},
                ]},
                {"text": "never said"},
            ]},
            turn("hello", "{{message_count}}"),
        ]),
    )
    .await;
    let agent = application.talk(&bed, "acme").await;

    let refused = say(&agent, "never").await.expect_err("no answer");
    assert_eq!(failure_type(&refused), "ModelRefused");
    assert_eq!(bed.messages_of(&agent, "acme").await, Vec::<Value>::new());
    let failed = say(&agent, "sell").await.expect_err("no reply");
    assert_eq!(failure_type(&failed), "OutOfStock");

    let messages = bed.messages_of(&agent, "acme").await;
    assert_eq!(messages.len(), 4);
    assert_eq!(messages[2]["content"], "the tool failed: OutOfStock");
    assert_eq!(
        (&messages[2]["is_error"], &messages[3]["is_error"]),
        (&json!(true), &json!(true))
    );
    assert_eq!(heard(&agent, "hello").await, "5");
    bed.finish().await;
}

#[tokio::test]
async fn what_the_model_says_with_a_nul_in_it_is_stored_with_a_mark_in_its_place() {
    let bed = Bed::new().await;
    let write = json!({"content": "a\u{0}b"});
    let _worker = Worker::serving(
        &bed,
        &json!([tool_turn("note", "write_memory", write, "no\u{0}ted")]),
    )
    .await;
    let agent = bed.start(bed.input("acme")).await;

    assert_eq!(heard(&agent, "note").await, "no\u{0}ted");

    let messages = bed.messages_of(&agent, "acme").await;
    assert_eq!(
        messages[1]["tool_calls"][0]["arguments"]["content"],
        "a\u{fffd}b"
    );
    assert_eq!(messages[2]["is_error"], true);
    assert_eq!(messages[3]["content"], "no\u{fffd}ted");
    bed.finish().await;
}

#[tokio::test]
async fn while_the_store_of_the_transcript_is_away_a_message_fails_typed_and_later_ones_go_on() {
    let bed = Bed::new().await;
    let proxy = Proxy::start(Proxy::target(&bed.database_url)).await;
    let turns = json!([turn("hello", "{{message_count}}")]);
    let options = WorkerOptions {
        script: Some(bed.script(&turns)),
        database_url: Some(proxy.url(&bed.database_url)),
        ..WorkerOptions::default()
    };
    let _worker = Worker::start(&bed, options).await;
    for way in [Way::MemoryQueue, Way::Local] {
        let mut input = impatient(&bed, way);
        input.memories[0].activities.snapshot_give_up_ms = 500;
        input.model_schedule_to_close_ms = 2_000;
        let agent = bed.start(input).await;
        assert_eq!(heard(&agent, "hello").await, "1");

        proxy.cut();
        let failure = say(&agent, "hello").await.expect_err("no transcript");
        proxy.mend();

        let kind = failure_type(&failure);
        assert!(
            ["Unavailable", "Timeout"].contains(&kind),
            "{way:?}: {failure:?}"
        );
        assert_eq!(heard(&agent, "hello").await, "3", "{way:?}");
        assert_eq!(bed.messages_of(&agent, "acme").await.len(), 4, "{way:?}");
    }
    bed.finish().await;
}

/// The turn `go` of a conversation with fact tools, while the worker of its activities dies at a point.
async fn go_with_a_worker_killed_at(bed: &Bed, way: Way, point: &str, turns: &Value) -> Activity {
    let marker = bed.path(&format!("killed-{way:?}-{point}"));
    let script = bed.script(turns);
    let options = |fault: Option<String>| WorkerOptions {
        script: Some(script.clone()),
        fault,
        ..WorkerOptions::default()
    };
    let fault = format!("{point}=kill-once:{}", marker.display());
    let mut killed = Worker::start(bed, options(Some(fault))).await;
    let mut input = bed.input_by(way, &format!("{way:?}"));
    input.fact_tools = true;
    input.memories[0].activities.start_to_close_ms = 1_000;
    let agent = bed.start_within(Duration::from_secs(2), input).await;
    let rescue = async {
        let status = killed.ended().await;
        assert_eq!(status.code(), None, "a signal ended it");
        Worker::start(bed, options(None)).await
    };
    let (reply, _rescuer) = futures::future::join(say(&agent, "go"), rescue).await;
    reply.expect("a reply");
    let history = history(&agent).await;
    let (activity, _) = point.split_once('.').expect("a point");
    let called = activities(&history)
        .into_iter()
        .find(|it| it.name == activity)
        .expect("the call");
    assert_eq!(called.is_local, way == Way::Local);
    if !called.is_local {
        assert!(called.attempt >= 2 || tasks_timed_out(&history) > 0);
    }
    called
}

#[tokio::test]
async fn whatever_its_worker_died_of_between_commit_and_completion_took_effect_once() {
    let turns = json!([{"prompt": "go", "responses": [
        {"tool_calls": [{"id": "call_0", "name": "remember", "arguments": {"key": "tea", "value": "green"}}]},
        {"tool_calls": [{"id": "call_0", "name": "forget", "arguments": {"key": "tea"}}]},
        {"text": "done"},
    ]}]);
    for way in [Way::MemoryQueue, Way::Local] {
        for point in ["add_messages", "remember", "forget"] {
            let bed = Bed::new().await;
            let point = format!("{point}.after_commit");
            let called = go_with_a_worker_killed_at(&bed, way, &point, &turns).await;
            match &called.outcome {
                Some(Ok(result)) => assert_eq!(result["replayed"], true, "{way:?} {point}"),
                // The calls before it, in the same workflow task, were repeated and say so: other
                // results, under the operation that had taken effect.
                Some(Err(failure)) if called.is_local && called.name == "add_messages" => {
                    assert_eq!(failure_type(failure), "OperationConflict");
                }
                other => panic!("{way:?} {point}: {other:?}"),
            }
            let scope = format!("{way:?}/main");
            let kinds: Vec<_> = bed
                .receipts(&scope)
                .await
                .into_iter()
                .map(|it| it.kind)
                .collect();
            assert_eq!(kinds, ["remember", "forget"], "{way:?} {point}");
            let [id] = &bed.conversations(&scope).await[..] else {
                panic!("one conversation");
            };
            let messages = bed.messages(&scope, id).await;
            let roles: Vec<_> = messages.iter().map(|it| it["role"].clone()).collect();
            assert_eq!(
                roles,
                [
                    "user",
                    "assistant",
                    "tool",
                    "assistant",
                    "tool",
                    "assistant"
                ],
                "{way:?} {point}"
            );
            bed.finish().await;
        }
    }
}
