//! The model's tool calls: of the memory, and of the application.

use notekeeper_contract::{ChatMessage, ToolInput};
use notekeeper_workflows::TRANSCRIPT_BYTES_MAX;
use serde_json::{Value, json};

use crate::support::{
    Agent, Application, Bed, Way, Worker, WorkerOptions, activities, activities_of, failure_type,
    history, say, say_much, transcript,
};

/// Text of each tool result of the conversation, and whether it tells of an error.
async fn results(agent: &Agent) -> Vec<(String, bool)> {
    let messages = transcript(agent).await;
    let results = messages.into_iter().filter_map(|message| match message {
        ChatMessage::Tool {
            content, is_error, ..
        } => Some((content, is_error)),
        _ => None,
    });
    results.collect()
}

/// One response with these calls, then a text.
fn calls_then_text(prompt: &str, calls: Value) -> Value {
    json!({"prompt": prompt, "responses": [{"tool_calls": calls}, {"text": "done: {{last_tool_result}}"}]})
}

#[tokio::test]
async fn the_model_writes_searches_reads_and_deletes_its_notes() {
    let bed = Bed::new().await;
    let call = |name: &str, arguments: Value| json!({"id": "call_0", "name": name, "arguments": arguments});
    let _worker = Worker::serving(
        &bed,
        &json!([calls_then_text(
            "go",
            json!([
                call(
                    "write_memory",
                    json!({"content": "The anchor weighs 12 tons.", "file": "ship"})
                ),
                call(
                    "write_memory",
                    json!({"content": "13", "file": "ship", "old_text": "12"})
                ),
                call("search_memory", json!({"query": "anchor"})),
                call("read_memory", json!({"file": "ship.md"})),
                call("delete_memory", json!({"file": "ship"})),
            ])
        ),]),
    )
    .await;
    let agent = bed.start(bed.input("acme")).await;

    say(&agent, "go").await.expect("a reply");

    let results = results(&agent).await;
    assert!(results.iter().all(|(_, is_error)| !is_error), "{results:?}");
    let json_of = |n: usize| serde_json::from_str::<Value>(&results[n].0).expect("JSON");
    assert_eq!(json_of(0)["status"], "created");
    assert_eq!(json_of(1)["status"], "updated");
    assert_eq!(json_of(2)["matches"][0]["file"], "ship.md");
    assert_eq!(results[3].0, "The anchor weighs 13 tons.\n");
    assert_eq!(json_of(4)["status"], "deleted");
    assert_eq!(bed.note("acme/main", "ship.md").await, None);
    let kinds: Vec<_> = bed
        .receipts("acme/main")
        .await
        .into_iter()
        .map(|r| r.status)
        .collect();
    assert_eq!(kinds.len(), 3, "{kinds:?}");
    bed.finish().await;
}

/// Calls that the model can correct, and a part of what it is told of each.
fn wrong_calls() -> Vec<(&'static str, Value, &'static str)> {
    vec![
        (
            "write_memory",
            json!({"content": "x", "file": "note", "old_text": "absent"}),
            "old_text was not found",
        ),
        ("write_memory", json!({"content": "  "}), "content is empty"),
        ("write_memory", json!({"content": "a\u{0}b"}), "NUL"),
        (
            "write_memory",
            json!({"content": "x", "file": "../up"}),
            "file",
        ),
        (
            "write_memory",
            json!({"content": "x".repeat(70_000)}),
            "characters",
        ),
        (
            "write_memory",
            json!({"content": "x", "colour": "red"}),
            "arguments don't fit",
        ),
        (
            "write_memory",
            json!({"file": "note"}),
            "arguments don't fit",
        ),
        ("write_memory", json!("{not json"), "arguments don't fit"),
        (
            "write_memory",
            json!(["x", "note"]),
            "expected a JSON object",
        ),
        ("read_memory", json!("[\"note\"]"), "expected a JSON object"),
        (
            "read_memory",
            json!({"file": 1}),
            "at `file`: expected a string",
        ),
        ("read_memory", json!({"file": "nowhere"}), "no such file"),
        (
            "delete_memory",
            json!({"file": "MEMORY"}),
            "can't be deleted",
        ),
        ("search_memory", json!({"query": " "}), "query is empty"),
        ("open_pod_bay_doors", json!({}), "no such tool"),
    ]
}

#[tokio::test]
async fn what_the_model_can_correct_reaches_it_as_a_tool_error() {
    let bed = Bed::new().await;
    let wrong = wrong_calls();
    let calls: Vec<_> = wrong
        .iter()
        .map(|(name, arguments, _)| json!({"id": "call_0", "name": name, "arguments": arguments}))
        .collect();
    let _worker = Worker::serving(&bed, &json!([calls_then_text("try", calls.into())])).await;
    bed.put("acme/main", "note.md", "a note\n").await;
    let agent = bed.start(bed.input("acme")).await;

    let reply = say(&agent, "try").await.expect("a reply");

    assert!(reply.text.contains("no such tool"), "{reply:?}");
    let results = results(&agent).await;
    assert_eq!(results.len(), wrong.len());
    for ((content, is_error), (name, _, part)) in results.iter().zip(&wrong) {
        assert!(is_error, "{name}: {content}");
        assert!(content.contains(part), "{name}: {content}");
    }
    assert_eq!(bed.receipts("acme/main").await, [], "nothing was done");
    assert_eq!(
        bed.note("acme/main", "note.md").await.as_deref(),
        Some("a note\n")
    );
    let history = history(&agent).await;
    for activity in activities(&history) {
        assert_eq!(activity.attempt, 1, "{}", activity.name);
        activity.result();
    }
    bed.finish().await;
}

#[tokio::test]
async fn arguments_may_come_as_json_in_a_string() {
    let bed = Bed::new().await;
    let call =
        |arguments: Value| json!({"id": "call_0", "name": "write_memory", "arguments": arguments});
    let _worker = Worker::serving(
        &bed,
        &json!([calls_then_text(
            "go",
            json!([
                call(json!({"content": "plain"})),
                call(json!(json!({"content": "wrapped"}).to_string())),
            ])
        )]),
    )
    .await;
    let agent = bed.start(bed.input("acme")).await;

    say(&agent, "go").await.expect("a reply");

    assert_eq!(
        bed.note("acme/main", "MEMORY.md").await.as_deref(),
        Some("plain\nwrapped\n")
    );
    bed.finish().await;
}

#[tokio::test]
async fn an_applications_tool_gets_arguments_scope_and_operation_and_its_answer_reaches_the_model()
{
    let bed = Bed::new().await;
    let application = Application::start(&bed);
    let call =
        json!({"id": "call_0", "name": "look_up", "arguments": {"item": "tea", "amount": 2}});
    let _worker =
        Worker::serving(&bed, &json!([calls_then_text("look", json!([call, call]))])).await;
    let agent = application.talk(&bed, "acme/shop").await;

    let reply = say(&agent, "look").await.expect("a reply");

    let calls = application.calls("look_up");
    assert_eq!(calls.len(), 2);
    let mut ids = Vec::new();
    for call in &calls {
        let id = call["operation"]["id"].as_str().expect("an id").to_owned();
        assert!(
            id.len() == 64 && id.bytes().all(|b| b.is_ascii_hexdigit()),
            "{id}"
        );
        let expected = json!({
            "arguments": {"item": "tea", "amount": 2},
            "scope": {"namespace": "acme/shop", "agent_name": "main"},
            "operation": {"id": id},
        });
        assert_eq!(call, &expected);
        ids.push(id);
    }
    assert_ne!(ids[0], ids[1], "each call is an operation of its own");
    assert_eq!(reply.text, format!("done: {}", json!({"got": calls[1]})));
    let offered = &activities_of(&history(&agent).await, "call_model")[0].input["tools"];
    let offered: Vec<_> = offered
        .as_array()
        .expect("tools")
        .iter()
        .map(|t| &t["name"])
        .collect();
    assert_eq!(
        offered,
        [
            "write_memory",
            "read_memory",
            "delete_memory",
            "search_memory",
            "look_up",
            "gate",
            "sell_out"
        ]
    );
    bed.finish().await;
}

/// The stores of its scope, as far as they aren't what a tool assumes: it has to name them where it keeps
/// something itself.
#[tokio::test]
async fn an_applications_tool_is_told_which_stores_keep_the_notes_and_the_facts_of_its_scope() {
    let bed = Bed::new().await;
    let application = Application::start(&bed);
    let call = json!({"id": "call_0", "name": "look_up", "arguments": {}});
    let config = "[stores.notes]\nkind = 'in_memory'\n[stores.talk]\nkind = 'in_memory'\n";
    let options = WorkerOptions {
        script: Some(bed.script(&json!([calls_then_text("look", json!([call]))]))),
        environment: vec![("NOTEKEEPER_CONFIG", bed.config(config))],
        ..WorkerOptions::default()
    };
    let _worker = Worker::start(&bed, options).await;
    for (notes, conversation, told) in [
        ("default", None, [None, None]),
        ("default", Some("default"), [None, None]),
        ("default", Some("talk"), [None, Some("talk")]),
        ("notes", None, [Some("notes"), None]),
        ("notes", Some("notes"), [Some("notes"), None]),
        ("notes", Some("default"), [Some("notes"), Some("default")]),
    ] {
        let mut input = bed.input("acme");
        input.memories[0].store = notes.to_owned();
        input.conversation.store = conversation.map(str::to_owned);
        input.tools = vec![application.tool("look_up")];
        let agent = bed.start(input).await;

        say(&agent, "look").await.expect("a reply");

        let got = application.calls("look_up").pop().expect("a call");
        let stores = ["store", "facts_store"].map(|key| got.get(key).map(|it| it.as_str()));
        assert_eq!(stores, told.map(|name| name.map(Some)), "{got}");
        let tool: ToolInput = serde_json::from_value(got).expect("what a tool gets");
        assert_eq!(tool.notes_store(), notes);
        assert_eq!(tool.facts_store(), conversation.unwrap_or(notes));
    }
    bed.finish().await;
}

/// Temporal ends a run whose history passes 50 MiB.
#[tokio::test]
async fn an_applications_tools_that_answer_very_much_end_before_the_history_is_full_and_the_turn_goes_on()
 {
    let bed = Bed::new().await;
    let application = Application::start(&bed);
    std::fs::create_dir_all(bed.path("workspace")).expect("make the workspace");
    std::fs::write(bed.path("workspace/long.txt"), "x".repeat(1024 * 1024)).expect("write a file");
    let call = |number: usize| json!({"id": format!("call_{number}"), "name": "read_file", "arguments": {"path": "long.txt"}});
    let calls: Vec<Value> = (0..60).map(call).collect();
    let turns = json!([
        {"prompt": "go", "responses": [{"tool_calls": calls}, {"text": "read, {{message_count}}"}]},
        {"prompt": "and then?", "responses": [{"text": "that was all, {{message_count}}"}]},
    ]);
    let _worker = Worker::serving(&bed, &turns).await;
    let mut input = bed.input("acme");
    input.tools = vec![application.tool("read_file")];
    let agent = bed.start(input).await;

    let reply = say_much(&agent, "go").await.expect("a reply");
    let after = say(&agent, "and then?").await.expect("a reply");

    assert_eq!(reply.text, "read, 62");
    assert_eq!(after.text, "that was all, 64");
    let made = application.calls("read_file").len();
    assert!((24..=32).contains(&made), "{made} calls");
    let stored = bed.messages_of(&agent, "acme").await;
    let told: Vec<_> = stored.iter().filter(|it| it["role"] == "tool").collect();
    assert_eq!(told.len(), 60);
    for (place, told) in told.iter().enumerate() {
        let expected = match place < made {
            true => "the call was carried out, and its result is too large beside the others",
            false => "not carried out, because earlier calls have brought more",
        };
        let content = told["content"].as_str().expect("a text");
        assert!(content.starts_with(expected), "{place}: {content}");
    }
    bed.finish().await;
}

/// Errors in the place of results need room as well.
#[tokio::test]
async fn so_many_calls_that_only_errors_fit_for_most_of_them_are_one_exchange_and_the_turn_goes_on()
{
    let bed = Bed::new().await;
    let call = |number: usize| json!({"id": format!("call_{number}"), "name": "read_memory", "arguments": {"file": "long"}});
    let calls: Vec<Value> = (0..700).map(call).collect();
    let turns = json!([
        {"prompt": "go", "responses": [{"tool_calls": calls}, {"text": "read, {{message_count}}"}]},
    ]);
    let _worker = Worker::serving(&bed, &turns).await;
    bed.put("acme/main", "long.md", &"x".repeat(4_000)).await;
    let agent = bed.start(bed.input_by(Way::Local, "acme")).await;

    let reply = say_much(&agent, "go").await.expect("a reply");

    assert_eq!(reply.text, "read, 702");
    let stored = bed.messages_of(&agent, "acme").await;
    let errors = stored.iter().filter(|it| it["is_error"] == true).count();
    // As many as would be over the bound with the least room for them.
    assert!((400..700).contains(&errors), "{errors} errors");
    let bytes: usize = stored.iter().map(|it| it.to_string().len()).sum();
    assert!(bytes <= TRANSCRIPT_BYTES_MAX, "{bytes}");
    bed.finish().await;
}

#[tokio::test]
async fn an_applications_tool_that_fails_for_good_fails_the_message_with_its_type_and_no_other() {
    let bed = Bed::new().await;
    let application = Application::start(&bed);
    let call =
        |id: &str, name: &str| json!({"id": id, "name": name, "arguments": {"content": "after"}});
    let _worker = Worker::serving(
        &bed,
        &json!([
            calls_then_text("sell", json!([call("call_0", "sell_out"), call("call_1", "write_memory")])),
            calls_then_text("wait", json!([call("call_0", "nobody")])),
            {"prompt": "hello", "responses": [{"text": "message {{message_count}}"}]},
        ]),
    )
    .await;
    let mut input = bed.input("acme");
    input.tools = application.tools();
    let mut nobody = application.tool("nobody");
    nobody.task_queue = Some(format!("{}-nobody", bed.task_queue));
    (nobody.start_to_close_ms, nobody.schedule_to_close_ms) = (500, 500);
    input.tools.push(nobody);
    let agent = bed.start(input).await;

    let sold_out = say(&agent, "sell").await.expect_err("a failure");
    let too_late = say(&agent, "wait").await.expect_err("a failure");
    let hello = say(&agent, "hello").await.expect("a reply");

    assert_eq!(failure_type(&sold_out), "OutOfStock", "{sold_out:?}");
    assert!(
        sold_out.message.contains("nothing is left"),
        "{}",
        sold_out.message
    );
    assert_eq!(failure_type(&too_late), "Timeout", "{too_late:?}");
    assert_eq!(application.calls("sell_out").len(), 1);
    // The model learns what failed and what was not carried out because of it.
    assert_eq!(hello.text, "message 8");
    let results = results(&agent).await;
    assert!(results.iter().all(|(_, is_error)| *is_error), "{results:?}");
    assert!(results[0].0.contains("OutOfStock"), "{results:?}");
    assert!(results[1].0.contains("not carried out"), "{results:?}");
    assert!(results[2].0.contains("Timeout"), "{results:?}");
    assert_eq!(bed.note("acme/main", "MEMORY.md").await, None);
    bed.finish().await;
}

#[tokio::test]
async fn repeated_and_empty_call_ids_of_one_response_are_each_carried_out() {
    let bed = Bed::new().await;
    let call = |id: &str, line: &str| json!({"id": id, "name": "write_memory", "arguments": {"content": line}});
    let _worker = Worker::serving(
        &bed,
        &json!([calls_then_text(
            "go",
            json!([
                call("call_0", "one"),
                call("call_0", "two"),
                call("", "three"),
                call("", "four"),
                call("call_0#1", "five"),
            ])
        )]),
    )
    .await;
    let agent = bed.start(bed.input("acme")).await;

    say(&agent, "go").await.expect("a reply");

    assert_eq!(
        bed.note("acme/main", "MEMORY.md").await.as_deref(),
        Some("one\ntwo\nthree\nfour\nfive\n")
    );
    let mut operations: Vec<_> = bed
        .receipts("acme/main")
        .await
        .into_iter()
        .map(|r| r.id)
        .collect();
    operations.dedup();
    assert_eq!(operations.len(), 5);
    let messages = transcript(&agent).await;
    let ChatMessage::Assistant { tool_calls, .. } = &messages[1] else {
        panic!("{messages:?}");
    };
    let mut ids: Vec<_> = tool_calls.iter().map(|call| call.id.clone()).collect();
    let answered: Vec<_> = messages
        .iter()
        .filter_map(|message| match message {
            ChatMessage::Tool { tool_call_id, .. } => Some(tool_call_id.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(answered, ids, "each result names its call");
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 5);
    bed.finish().await;
}
