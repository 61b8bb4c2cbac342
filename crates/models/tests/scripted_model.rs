//! What the scripted model answers, and what it says of scripts that it can't use.

use notekeeper_domain::{Message, ToolCall, UserPart};
use notekeeper_models::{ChatModel, ChatRequest, ChatResponse, ModelError, ScriptedModel};
use serde_json::{Value, json};

fn model(script: Value) -> ScriptedModel {
    ScriptedModel::from_json(&script.to_string()).expect("the script is usable")
}

fn request(messages: Vec<Message>) -> ChatRequest {
    ChatRequest {
        instructions: String::new(),
        messages,
        tools: Vec::new(),
        attempt: 1,
    }
}

fn assistant(text: &str) -> Message {
    Message::Assistant {
        text: text.to_owned(),
        tool_calls: Vec::new(),
    }
}

fn tool(content: &str) -> Message {
    Message::Tool {
        tool_call_id: "call_0".to_owned(),
        content: content.to_owned(),
        is_error: false,
    }
}

fn memory(text: &str) -> UserPart {
    UserPart::Memory {
        scope_hash: "0d6e4079e36703eb".to_owned(),
        text: text.to_owned(),
    }
}

async fn text(model: &ScriptedModel, messages: Vec<Message>) -> String {
    let response = model.respond(&request(messages)).await;
    response.expect("the model answers").text
}

#[tokio::test]
async fn the_next_response_answers_the_next_request_after_the_users_message() {
    let model = model(json!({"turns": [{"prompt": "tea?", "responses": [
        {"text": "one", "tool_calls": [
            {"id": "call_0", "name": "write_memory", "arguments": {"content": "tea"}},
            {"name": "search_memory"},
        ]},
        {"text": "two"},
    ]}]}));
    let first = model.respond(&request(vec![Message::user("tea?")])).await;
    let calls = [
        ("call_0", "write_memory", json!({"content": "tea"})),
        ("", "search_memory", json!({})),
    ];
    let expected = ChatResponse {
        text: "one".to_owned(),
        tool_calls: calls
            .map(|(id, name, arguments)| ToolCall {
                id: id.to_owned(),
                name: name.to_owned(),
                arguments,
            })
            .to_vec(),
    };
    assert_eq!(first, Ok(expected));
    let second = vec![
        Message::user("tea?"),
        assistant("one"),
        tool("done"),
        tool("none"),
    ];
    assert_eq!(text(&model, second).await, "two");
}

#[tokio::test]
async fn earlier_turns_of_the_conversation_do_not_count() {
    let model = model(json!({"turns": [{"prompt": "tea?", "responses": [{"text": "one"}]}]}));
    let messages = vec![
        Message::user("tea?"),
        assistant("one"),
        tool("done"),
        assistant("x"),
        Message::user("tea?"),
    ];
    assert_eq!(text(&model, messages).await, "one");
}

#[tokio::test]
async fn the_first_turn_that_matches_counts() {
    let model = model(json!({"turns": [
        {"prompt": "tea", "responses": [{"text": "exact"}]},
        {"prompt_contains": "tea", "responses": [{"text": "part"}]},
        {"prompt": "green tea", "responses": [{"text": "never"}]},
    ]}));
    assert_eq!(text(&model, vec![Message::user("tea")]).await, "exact");
    assert_eq!(text(&model, vec![Message::user("green tea")]).await, "part");
}

#[tokio::test]
async fn a_message_of_memory_blocks_alone_is_no_prompt() {
    let model = model(json!({"turns": [{"prompt": "tea", "responses": [{"text": "one"}]}]}));
    let block = Message::User {
        parts: vec![memory("<memory>coffee</memory>")],
    };
    assert_eq!(text(&model, vec![Message::user("tea"), block]).await, "one");
}

#[tokio::test]
async fn placeholders_show_what_the_model_saw_and_values_are_not_filled_in_again() {
    let model = model(json!({"turns": [{"prompt_contains": "tea", "responses": [
        {"text": "{{message_count}}|{{memory}}|{{last_tool_result}}|{{ memory }}|{{"},
    ]}]}));
    let messages = vec![
        Message::User {
            parts: vec![memory("old")],
        },
        tool("first"),
        tool("{{memory}}"),
        Message::User {
            parts: vec![
                UserPart::Text {
                    text: "tea".to_owned(),
                },
                memory("{{message_count}}"),
            ],
        },
    ];
    assert_eq!(
        text(&model, messages).await,
        "4|old\n{{message_count}}|{{memory}}|{{ memory }}|{{"
    );
}

#[tokio::test]
async fn the_instructions_can_be_shown() {
    let model = model(json!({"turns": [], "fallback": "I was told: {{instructions}}"}));
    let told = ChatRequest {
        instructions: "be brief {{memory}}".to_owned(),
        ..request(vec![Message::user("tea")])
    };
    let answer = model.respond(&told).await.expect("the model answers");
    assert_eq!(answer.text, "I was told: be brief {{memory}}");
}

#[tokio::test]
async fn a_summary_and_words_of_the_system_are_no_prompts_and_the_summary_can_be_shown() {
    let model = model(json!({"turns": [{"prompt": "tea", "responses": [
        {"text": "{{summary}}|{{memory}}"},
    ]}]}));
    let system = Message::System {
        text: "be brief".to_owned(),
    };
    let messages = vec![Message::summary("They met."), Message::user("tea"), system];
    assert_eq!(
        text(&model, messages).await,
        "<conversation_summary>\nThey met.\n</conversation_summary>|"
    );
    let messages = vec![Message::user("tea"), Message::summary("tea")];
    assert!(
        text(&model, messages)
            .await
            .ends_with("tea\n</conversation_summary>|")
    );
}

#[tokio::test]
async fn placeholders_without_a_value_are_empty() {
    let model = model(json!({
        "turns": [],
        "fallback": "<{{memory}}{{summary}}{{last_tool_result}}>",
    }));
    assert_eq!(text(&model, vec![Message::user("tea")]).await, "<>");
}

#[tokio::test]
async fn a_prompt_that_no_turn_matches_gets_the_fallback() {
    let model = model(json!({"turns": []}));
    let answer = text(&model, vec![Message::user("tea")]).await;
    assert_eq!(answer, "I have no answer to this in my script.");
}

#[tokio::test]
async fn a_request_beyond_the_last_response_is_refused() {
    let model = model(json!({"turns": [{"prompt": "tea", "responses": [{"text": "one"}]}]}));
    let messages = vec![Message::user("tea"), assistant("one"), tool("done")];
    let error = model.respond(&request(messages)).await.unwrap_err();
    assert_eq!(
        error,
        ModelError::Refused("the script ends before request 2 of this turn".to_owned())
    );
}

#[tokio::test]
async fn failures_last_as_many_attempts_as_the_script_says() {
    let model = model(json!({"turns": [
        {"prompt": "tea", "responses": [
            {"failure": {"kind": "unavailable", "attempts": 2}, "text": "one"},
        ]},
        {"prompt": "gone", "responses": [{"failure": {"kind": "unavailable"}}]},
        {"prompt": "bad", "responses": [{"failure": {"kind": "refused"}}]},
    ]}));
    let attempt = async |prompt: &str, attempt| {
        let request = ChatRequest {
            attempt,
            ..request(vec![Message::user(prompt)])
        };
        model.respond(&request).await.map(|response| response.text)
    };
    let unavailable = Err(ModelError::unavailable("the script says so"));
    assert_eq!(attempt("tea", 1).await, unavailable);
    assert_eq!(attempt("tea", 2).await, unavailable);
    assert_eq!(attempt("tea", 3).await, Ok("one".to_owned()));
    assert_eq!(attempt("gone", 99).await, unavailable);
    let refused = Err(ModelError::Refused("the script says so".to_owned()));
    assert_eq!(attempt("bad", 1).await, refused);
}

#[test]
fn a_script_that_cannot_be_used_says_where_and_what_to_write() {
    let turn = |turn: Value| json!({"turns": [turn]}).to_string();
    let response = |response: Value| turn(json!({"prompt": "p", "responses": [response]}));
    let scripts = [
        "{".to_owned(),
        "{\"turns\": []} {}".to_owned(),
        "{}".to_owned(),
        json!({"turns": [], "fallbak": "x"}).to_string(),
        json!({"turns": [], "colour": "x"}).to_string(),
        json!({"turns": [], "fallback": "{{memories}}"}).to_string(),
        turn(json!({"promt": "p", "responses": []})),
        turn(json!({"responses": [{"text": "x"}]})),
        turn(json!({"prompt": "p", "prompt_contains": "p", "responses": [{"text": "x"}]})),
        turn(json!({"prompt": "p", "responses": []})),
        response(json!({"txt": "x"})),
        response(json!({"text": 7})),
        response(json!({"text": "{{nothing_like_it}}"})),
        response(json!({"tool_calls": [{"nam": "x"}]})),
        response(json!({"failure": {"kind": "unavailble"}})),
        response(json!({"failure": {"kind": "unavailable", "attempt": 2}})),
        response(json!({"failure": {"kind": "unavailable"}, "text": "x"})),
        response(json!({"failure": {"kind": "refused", "attempts": 2}})),
    ];
    let messages: Vec<String> = scripts
        .iter()
        .map(|script| ScriptedModel::from_json(script).unwrap_err().to_string())
        .collect();
    insta::assert_snapshot!(messages.join("\n"));
}

#[test]
fn errors_of_a_file_name_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("script.json");
    let missing = ScriptedModel::from_file(&file).unwrap_err().to_string();
    assert!(missing.contains("script.json"), "{missing}");
    std::fs::write(&file, "[]").unwrap();
    let bad = ScriptedModel::from_file(&file).unwrap_err().to_string();
    assert!(
        bad.contains("script.json") && bad.contains("at `.`"),
        "{bad}"
    );
    std::fs::write(&file, r#"{"turns": []}"#).unwrap();
    assert!(ScriptedModel::from_file(&file).is_ok());
}

#[test]
fn the_documented_script_is_usable() {
    let source = include_str!("../src/scripted.rs");
    let (_, after) = source.split_once("/// ```json\n").expect("the example");
    let (example, _) = after.split_once("/// ```\n").expect("its end");
    let json: String = example
        .lines()
        .map(|line| line.trim_start_matches("///"))
        .collect();
    ScriptedModel::from_json(&json).unwrap();
}
