//! A conversation with a model behind an endpoint that speaks OpenAI's protocol.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use wiremock::ResponseTemplate;

use crate::support::{
    Application, Bed, Endpoint, KEY, activities_of, failure_type, history, outside_payloads, run,
    say, state,
};

fn calling(id: &str, name: &str, arguments: &str) -> Value {
    let function = json!({"name": name, "arguments": arguments});
    json!({"content": null, "tool_calls": [{"id": id, "type": "function", "function": function}]})
}

/// The last message of a request.
fn last(request: &Value) -> &Value {
    let messages = request["messages"].as_array().expect("messages");
    messages.last().expect("a message")
}

#[tokio::test]
async fn a_tool_call_writes_the_note_and_the_next_request_shows_result_and_block() {
    let bed = Bed::new().await;
    let endpoint = Endpoint::start().await;
    endpoint
        .then_answer(calling(
            "call_a",
            "write_memory",
            "{\"content\": \"- tea: green\"}",
        ))
        .then_answer(json!({"content": "Noted."}))
        .then_answer(json!({"content": "Green."}));
    let _worker = endpoint.worker(&bed).await;
    let mut input = bed.input("acme");
    input.instructions = "Be brief.".to_owned();
    input.memories[0].guidance = Some(String::new());
    let agent = bed.start(input).await;

    let noted = say(&agent, "I drink green tea.").await.expect("a reply");
    let green = say(&agent, "What do I drink?").await.expect("a reply");

    assert_eq!((noted.text.as_str(), noted.requests), ("Noted.", 2));
    assert_eq!((green.text.as_str(), green.requests), ("Green.", 1));
    assert_eq!(
        bed.note("acme/main", "MEMORY.md").await.as_deref(),
        Some("- tea: green\n")
    );
    let requests = endpoint.requests().await;
    let [first, second, mut third] = <[Value; 3]>::try_from(requests).expect("three requests");
    let tools = first["tools"].as_array().expect("tools");
    let names: Vec<_> = tools.iter().map(|tool| &tool["function"]["name"]).collect();
    assert_eq!(
        names,
        [
            "write_memory",
            "read_memory",
            "delete_memory",
            "search_memory"
        ]
    );
    let result = last(&second);
    assert_eq!(result["tool_call_id"], "call_a");
    let told = result["content"].as_str().expect("a text");
    let told: Value = serde_json::from_str(told).expect("JSON");
    assert_eq!(
        (&told["file"], &told["status"]),
        (&json!("MEMORY.md"), &json!("created"))
    );
    // The version differs from run to run, and the tools were seen to.
    third["messages"][3]["content"] = json!("…");
    third["tools"] = json!("…");
    insta::assert_json_snapshot!(third);
    bed.finish().await;
}

#[tokio::test]
async fn an_endpoint_that_fails_once_is_asked_again_by_temporal() {
    let bed = Bed::new().await;
    let endpoint = Endpoint::start().await;
    endpoint
        .then_fail(500)
        .then_answer(json!({"content": "Here I am."}));
    let _worker = endpoint.worker(&bed).await;
    let agent = bed.start(bed.input("acme")).await;

    let reply = say(&agent, "Are you there?").await.expect("a reply");

    assert_eq!((reply.text.as_str(), reply.requests), ("Here I am.", 1));
    let requests = activities_of(&history(&agent).await, "call_model");
    assert_eq!((requests.len(), requests[0].attempt), (1, 2));
    assert_eq!(endpoint.requests().await.len(), 2);
    bed.finish().await;
}

#[tokio::test]
async fn the_next_attempt_waits_as_long_as_the_endpoint_asks() {
    let bed = Bed::new().await;
    let endpoint = Endpoint::start().await;
    let busy = ResponseTemplate::new(429).insert_header("retry-after", "3");
    endpoint.then(busy).then_answer(json!({"content": "Now."}));
    let _worker = endpoint.worker(&bed).await;
    let agent = bed.start(bed.input("acme")).await;

    let asked = Instant::now();
    let reply = say(&agent, "Now?").await.expect("a reply");

    // The retry policy would wait for 0.2 s.
    assert!(
        asked.elapsed() >= Duration::from_secs(3),
        "{:?}",
        asked.elapsed()
    );
    assert_eq!(reply.text, "Now.");
    bed.finish().await;
}

#[tokio::test]
async fn a_refused_request_fails_its_message_without_a_retry_and_the_conversation_goes_on() {
    let bed = Bed::new().await;
    let endpoint = Endpoint::start().await;
    let refused =
        json!({"error": {"code": "invalid_api_key", "message": format!("{KEY} is wrong")}});
    endpoint
        .then(ResponseTemplate::new(401).set_body_json(refused))
        .then(ResponseTemplate::new(200).set_body_string(format!("<html>{KEY}")))
        .then_answer(json!({"content": "Yes."}));
    let worker = endpoint.worker(&bed).await;
    let agent = bed.start(bed.input("acme")).await;

    let unauthorised = say(&agent, "SECRET-words").await.expect_err("a failure");
    let unreadable = say(&agent, "SECRET-words").await.expect_err("a failure");
    let reply = say(&agent, "Are you there?").await.expect("a reply");

    for failure in [&unauthorised, &unreadable] {
        assert_eq!(failure_type(failure), "ModelRefused");
    }
    assert_eq!(
        unauthorised.message,
        "model refused: the endpoint answered 401 `invalid_api_key`; check the API key"
    );
    assert_eq!(reply.text, "Yes.");
    assert_eq!(endpoint.requests().await.len(), 3);
    assert_eq!(state(&agent).await.turns, 1);
    let told = outside_payloads(&history(&agent).await) + &worker.log().join("\n");
    assert!(!told.contains("SECRET"), "{told}");
    bed.finish().await;
}

#[tokio::test]
async fn arguments_that_are_no_json_are_told_to_the_model_which_can_correct_them() {
    let bed = Bed::new().await;
    let endpoint = Endpoint::start().await;
    let application = Application::start(&bed);
    endpoint
        .then_answer(calling("call_a", "write_memory", "{\"content\": \"- te"))
        .then_answer(calling("call_b", "look_up", "{\"item\": "))
        .then_answer(calling("call_c", "no such tool", ""))
        .then_answer(calling("", "write_memory", "{\"content\": \"- tea\"}"))
        .then_answer(json!({"content": "Noted."}));
    let _worker = endpoint.worker(&bed).await;
    let agent = application.talk(&bed, "acme").await;

    let reply = say(&agent, "I drink tea.").await.expect("a reply");

    assert_eq!((reply.text.as_str(), reply.requests), ("Noted.", 5));
    assert_eq!(
        bed.note("acme/main", "MEMORY.md").await.as_deref(),
        Some("- tea\n")
    );
    assert_eq!(application.calls("look_up"), Vec::<Value>::new());
    let requests = endpoint.requests().await;
    let told: Vec<_> = requests[1..4]
        .iter()
        .map(|request| last(request)["content"].as_str().expect("a text"))
        .collect();
    insta::assert_snapshot!(told.join("\n"));
    bed.finish().await;
}

#[tokio::test]
async fn settings_of_the_model_that_make_no_sense_end_the_worker_at_once() {
    let bed = Bed::new().await;
    let script = bed.script(&json!([]));
    let script = script.to_str().expect("a path that is text");
    let both = ["worker", "--script", script, "--model", "m"];
    let url = [
        "worker",
        "--model",
        "m",
        "--model-url",
        "http://app:SECRET@h/v1",
    ];

    let both = run(&bed, &both, &[]).await;
    let keyless = run(&bed, &["worker", "--model", "m"], &[]).await;
    let url = run(&bed, &url, &[]).await;

    for (ended, part) in [
        (
            both,
            "--script (NOTEKEEPER_SCRIPT) and --model (NOTEKEEPER_MODEL)",
        ),
        (keyless, "set OPENAI_API_KEY"),
        (url, "holds a user name or password"),
    ] {
        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert!(ended.stderr.contains(part), "{ended:?}");
        assert!(!ended.stderr.contains("SECRET"), "{ended:?}");
    }
    bed.finish().await;
}
