//! Turns with many calls, or with large results: what is kept of them says what became of each call, and no
//! run ends of its size.

use notekeeper_contract::ChatMessage;
use notekeeper_workflows::{AgentInput, TRANSCRIPT_BYTES_MAX};
use prost::Message as _;
use serde_json::{Value, json};

use super::{heard, turn};
use crate::support::{
    Agent, Application, Bed, Way, Worker, WorkerOptions, assert_replays, begin, eventually,
    failure_type, history_of_run, reply, run_id, say, state, transcript,
};

const KIB: usize = 1024;

/// What stands in the place of a result that doesn't fit.
const DONE: &str =
    "the call was carried out, and its result is too large beside the others; ask for less";

/// What stands in the place of calls for whose results a run has no room.
const LATER: &str = "not carried out, because earlier calls have brought more than one turn may hold; answer \
     from what there is, and make the call with a later message";

fn call(id: &str, name: &str, arguments: &Value) -> Value {
    json!({"id": id, "name": name, "arguments": arguments})
}

/// A call of the application's tool that answers with so many bytes.
fn fetch(id: &str, bytes: usize) -> Value {
    call(id, "fetch", &json!({ "bytes": bytes }))
}

/// A turn in which the model makes these calls at once, and an answer.
fn calling(prompt: &str, calls: &[Value]) -> Value {
    json!({"prompt": prompt, "responses": [{"tool_calls": calls}, {"text": "done"}]})
}

/// An input with tools of facts and of the application.
fn input(bed: &Bed, application: &Application) -> AgentInput {
    AgentInput {
        fact_tools: true,
        tools: ["fetch", "sell_out"]
            .map(|name| application.tool(name))
            .into(),
        ..bed.input("acme")
    }
}

/// The results of tools in these messages, each with whether it is an error; long ones by their length.
fn results(messages: &[Value]) -> Vec<(String, bool)> {
    let tools = messages.iter().filter(|it| it["role"] == "tool");
    let told = tools.map(|message| {
        let text = message["content"].as_str().unwrap_or_default();
        let text = match text.len() {
            0..1_000 => text.to_owned(),
            long => format!("{long} bytes"),
        };
        (text, message["is_error"] == true)
    });
    told.collect()
}

fn told(text: &str, is_error: bool) -> (String, bool) {
    (text.to_owned(), is_error)
}

#[tokio::test]
async fn calls_say_what_became_of_them_beside_a_result_that_fills_the_exchange() {
    let bed = Bed::new().await;
    let application = Application::start(&bed);
    let fact = |key: &str| json!({"key": key, "value": "green"});
    let _worker = Worker::serving(
        &bed,
        &json!([
            calling(
                "fail",
                &[
                    fetch("a", 450 * KIB),
                    call("b", "sell_out", &json!({})),
                    call("c", "remember", &fact("tea")),
                ]
            ),
            calling(
                "go",
                &[
                    fetch("a", 340 * KIB),
                    call("b", "remember", &fact("tea")),
                    call("c", "remember", &fact("")),
                    call("d", "nothing", &json!({})),
                    fetch("e", 120 * KIB),
                    // Of an error as well there is no more than fits.
                    call("f", "recall", &json!({"x".repeat(100 * KIB): 1})),
                ]
            ),
        ]),
    )
    .await;
    let agent = bed.start(input(&bed, &application)).await;

    let failure = say(&agent, "fail").await.expect_err("a tool failed");
    assert_eq!(failure_type(&failure), "OutOfStock");
    let after_a_failure = bed.messages_of(&agent, "acme").await;
    assert_eq!(heard(&agent, "go").await, "done");

    assert_eq!(
        results(&after_a_failure),
        [
            told("460800 bytes", false),
            told("the tool failed: OutOfStock", true),
            told("not carried out, because an earlier call failed", true),
        ]
    );
    let all = bed.messages_of(&agent, "acme").await;
    let [fetched, kept, refused, unknown, again, long] = &results(&all)[3..] else {
        panic!("six results: {:?}", results(&all));
    };
    assert_eq!(*fetched, told("348160 bytes", false));
    assert!(kept.0.contains("created") && !kept.1, "{kept:?}");
    assert!(refused.0.contains("key") && refused.1, "{refused:?}");
    assert!(
        unknown.0.contains("no such tool") && unknown.1,
        "{unknown:?}"
    );
    assert_eq!(*again, told(DONE, true));
    let too_long = "failed or refused, and what was said of it is too large beside the results";
    assert_eq!(*long, told(too_long, true));
    bed.finish().await;
}

#[tokio::test]
async fn as_many_calls_as_one_answer_may_have_are_stored_beside_large_results() {
    let bed = Bed::new().await;
    let application = Application::start(&bed);
    let many = (2..998).map(|n| call(&format!("call_{n}"), "nothing", &json!({})));
    let large = [fetch("call_0", 250 * KIB), fetch("call_1", 100 * KIB)];
    let calls: Vec<_> = large.into_iter().chain(many).collect();
    let turns = json!([calling("go", &calls), turn("hello", "{{message_count}}")]);
    let _worker = Worker::serving(&bed, &turns).await;
    let agent = bed.start(input(&bed, &application)).await;

    assert_eq!(heard(&agent, "go").await, "done");

    let results = results(&bed.messages_of(&agent, "acme").await);
    assert_eq!(results.len(), 998);
    assert_eq!(
        results[..2],
        [told("256000 bytes", false), told(DONE, true)]
    );
    let unknown = told("there is no such tool; use one of those offered", true);
    assert!(results[2..].iter().all(|it| *it == unknown));
    assert_eq!(heard(&agent, "hello").await, "1002");
    bed.finish().await;
}

#[tokio::test]
async fn calls_for_which_there_is_no_room_beside_their_answer_are_not_carried_out() {
    let bed = Bed::new().await;
    let application = Application::start(&bed);
    let long = "x".repeat(TRANSCRIPT_BYTES_MAX - 250);
    let calls = [call("a", "remember", &json!({"key": "k", "value": long}))];
    let turns = json!([calling("go", &calls), turn("hello", "{{message_count}}")]);
    let _worker = Worker::serving(&bed, &turns).await;
    let agent = bed.start(input(&bed, &application)).await;

    let failure = say(&agent, "go").await.expect_err("no room");

    assert_eq!(failure_type(&failure), "TooLarge", "{failure:?}");
    assert!(
        failure.message.contains("none of them was carried out"),
        "{}",
        failure.message
    );
    assert_eq!(heard(&agent, "hello").await, "1");
    assert!(bed.receipts("acme/main").await.is_empty());
    bed.finish().await;
}

/// Waits for as much, however long it takes, as long as it gets on.
async fn grown_to(target: usize, progress: impl AsyncFn() -> usize) {
    let mut seen = 0;
    while seen < target {
        seen = eventually("the turn gets on", || async {
            let now = progress().await;
            (now > seen).then_some(now)
        })
        .await;
    }
}

/// Waits until the conversation goes on in another run than this one.
async fn continued(agent: &Agent, run: &str) {
    eventually("the conversation continues as new", || async {
        (run_id(agent).await != run).then_some(())
    })
    .await;
}

#[tokio::test]
async fn results_that_no_history_holds_are_not_asked_for_and_nothing_that_was_done_is_lost() {
    let bed = Bed::new().await;
    let application = Application::start(&bed);
    let calls: Vec<_> = (0..30)
        .map(|n| fetch(&format!("call_{n}"), 1_900_000))
        .collect();
    let turns = json!([calling("go", &calls), turn("hello", "{{message_count}}")]);
    let _worker = Worker::serving(&bed, &turns).await;
    let agent = bed.start(input(&bed, &application)).await;
    let run = run_id(&agent).await;

    let pending = begin(&agent, "go").await;
    grown_to(13, async || application.calls("fetch").len()).await;
    assert_eq!(reply(pending).await.expect("a reply").text, "done");

    let done = application.calls("fetch").len();
    assert!((13..20).contains(&done), "{done} calls");
    let results = results(&bed.messages_of(&agent, "acme").await);
    assert_eq!(results[..done], vec![told(DONE, true); done]);
    assert_eq!(results[done..], vec![told(LATER, true); 30 - done]);
    continued(&agent, &run).await;
    assert_eq!(heard(&agent, "hello").await, "34");
    assert_replays(&bed, &agent, &run).await;
    let bytes = history_of_run(&bed, &agent, &run).await.encoded_len();
    assert!(bytes < 40 * KIB * KIB, "{bytes} bytes");
    bed.finish().await;
}

#[tokio::test]
async fn results_of_local_activities_that_no_history_holds_are_not_asked_for_either() {
    let bed = Bed::new().await;
    let calls: Vec<_> = (0..45)
        .map(|n| call(&format!("call_{n}"), "read_memory", &json!({"file": "big"})))
        .collect();
    let turns = json!([calling("go", &calls), turn("hello", "{{message_count}}")]);
    let _worker = Worker::serving(&bed, &turns).await;
    bed.put("acme/main", "big.md", &"x".repeat(900_000)).await;
    let mut local = bed.input_by(Way::Local, "acme");
    local.memories[0].max_memory_size = 1_000_000;
    let agent = bed.start(local).await;
    let run = run_id(&agent).await;

    // More at once than one workflow task can tell the server of, and more than a history holds.
    let pending = begin(&agent, "go").await;
    grown_to(40, async || state(&agent).await.messages).await;
    assert_eq!(reply(pending).await.expect("a reply").text, "done");

    let results = results(&bed.messages_of(&agent, "acme").await);
    let done = results.iter().filter(|it| it.0 == DONE).count();
    assert_eq!(results[..done], vec![told(DONE, true); done]);
    assert_eq!(results[done..], vec![told(LATER, true); 45 - done]);
    continued(&agent, &run).await;
    assert_eq!(heard(&agent, "hello").await, "49");
    assert_replays(&bed, &agent, &run).await;
    let bytes = history_of_run(&bed, &agent, &run).await.encoded_len();
    assert!(bytes < 40 * KIB * KIB, "{bytes} bytes");
    bed.finish().await;
}

/// What Temporal finds long without any setting of ours: from 4 MiB on.
#[tokio::test]
async fn a_run_whose_history_temporal_finds_long_continues_as_new_with_the_whole_conversation() {
    let bed = Bed::new().await;
    let application = Application::start(&bed);
    let calls: Vec<_> = (0..3)
        .map(|n| fetch(&format!("call_{n}"), 1_600_000))
        .collect();
    let turns = json!([calling("go", &calls), turn("hello", "{{message_count}}")]);
    let _worker = Worker::serving(&bed, &turns).await;
    let agent = bed.start(input(&bed, &application)).await;
    let run = run_id(&agent).await;

    assert_eq!(heard(&agent, "go").await, "done");

    continued(&agent, &run).await;
    assert_eq!(heard(&agent, "hello").await, "7");
    assert_eq!(bed.messages_of(&agent, "acme").await.len(), 8);
    bed.finish().await;
}

#[tokio::test]
async fn calls_that_no_history_holds_end_their_message_typed_and_the_next_run_goes_on() {
    let bed = Bed::new().await;
    let calls: Vec<_> = (0..900)
        .map(|n| call(&format!("call_{n}"), "forget", &json!({"key": "nothing"})))
        .collect();
    let mut responses = vec![json!({ "tool_calls": calls }); 7];
    responses.push(json!({"text": "done"}));
    let turns = json!([
        {"prompt": "go", "responses": responses},
        turn("hello", "{{message_count}}"),
    ]);
    let options = WorkerOptions {
        script: Some(bed.script(&turns)),
        environment: vec![(
            "NOTEKEEPER_CONFIG",
            bed.config("[stores.quick]\nkind = 'in_memory'"),
        )],
        ..WorkerOptions::default()
    };
    let _worker = Worker::start(&bed, options).await;
    let mut quick = bed.input_by(Way::Local, "acme");
    quick.memories[0].store = "quick".to_owned();
    quick.fact_tools = true;
    let agent = bed.start(quick).await;
    let run = run_id(&agent).await;

    let pending = begin(&agent, "go").await;
    grown_to(6_000, async || state(&agent).await.messages).await;
    let failure = reply(pending).await.expect_err("too much for a run");

    assert_eq!(failure_type(&failure), "TooLarge", "{failure:?}");
    continued(&agent, &run).await;
    // The prompt, and seven answers with their calls, the last of which were told that they weren't.
    let all = 1 + 7 * 901;
    assert_eq!(state(&agent).await.messages, all);
    assert_eq!(heard(&agent, "hello").await, (all + 1).to_string());
    assert_replays(&bed, &agent, &run).await;
    bed.finish().await;
}

#[tokio::test]
async fn a_run_that_carries_its_transcript_keeps_calls_without_results_that_are_too_large() {
    let bed = Bed::new().await;
    let application = Application::start(&bed);
    let calls = [fetch("a", 300 * KIB), fetch("b", 300 * KIB)];
    let turns = json!([
        calling("go", &calls),
        calling("little", &[fetch("a", 10)]),
        turn("hello", "{{message_count}}"),
    ]);
    let notes = bed.path("notes");
    let config = format!(
        "[stores.files]\nkind = 'file'\ndirectory = '{}'",
        notes.display()
    );
    let options = WorkerOptions {
        script: Some(bed.script(&turns)),
        environment: vec![("NOTEKEEPER_CONFIG", bed.config(&config))],
        ..WorkerOptions::default()
    };
    let _worker = Worker::start(&bed, options).await;
    let mut carrying = input(&bed, &application);
    carrying.fact_tools = false;
    carrying.memories[0].store = "files".to_owned();
    let agent = bed.start(carrying).await;

    let prompt = say(&agent, &"x".repeat(600 * KIB)).await;
    let failure = say(&agent, "go").await.expect_err("too large");

    assert_eq!(failure_type(&prompt.expect_err("too large")), "TooLarge");
    assert_eq!(failure_type(&failure), "TooLarge", "{failure:?}");
    let carried = transcript(&agent).await;
    assert_eq!(carried.len(), 4);
    for result in &carried[2..] {
        assert!(
            matches!(result, ChatMessage::Tool { content, is_error: true, .. } if content == DONE),
            "{result:?}"
        );
    }
    assert_eq!(heard(&agent, "little").await, "done");
    assert_eq!(heard(&agent, "hello").await, "9");
    assert_eq!(state(&agent).await.conversation, None);
    bed.finish().await;
}
