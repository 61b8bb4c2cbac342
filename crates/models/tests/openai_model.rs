//! The model behind an OpenAI-compatible endpoint, against a real HTTP server.

use std::time::Duration;

use notekeeper_domain::{Message, ToolCall, ToolDefinition, UserPart};
use notekeeper_models::{
    ApiKey, ChatModel as _, ChatRequest, ChatResponse, ModelError, OpenAiError, OpenAiModel,
    OpenAiOptions,
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};
use wiremock::{Mock, MockServer, ResponseTemplate, matchers::any};

/// Stands in every secret place; no failure may hold it.
const SECRET: &str = "hunter2";

fn options(base_url: String) -> OpenAiOptions {
    OpenAiOptions {
        base_url,
        timeout: Duration::from_secs(20),
        ..OpenAiOptions::new("test-model")
    }
}

fn model(options: OpenAiOptions) -> OpenAiModel {
    OpenAiModel::new(options).expect("usable options")
}

fn request(messages: Vec<Message>) -> ChatRequest {
    ChatRequest {
        instructions: format!("Be brief. {SECRET}"),
        messages,
        tools: Vec::new(),
        attempt: 1,
    }
}

fn asking() -> ChatRequest {
    request(vec![Message::user(SECRET)])
}

/// A server that answers everything so, and its URL.
async fn server(response: ResponseTemplate) -> (MockServer, OpenAiModel) {
    let server = MockServer::start().await;
    Mock::given(any())
        .respond_with(response)
        .mount(&server)
        .await;
    let model = model(options(format!("{}/v1", server.uri())));
    (server, model)
}

async fn answered(status: u16, body: Value) -> Result<ChatResponse, ModelError> {
    let (_server, model) = server(ResponseTemplate::new(status).set_body_json(body)).await;
    model.respond(&asking()).await
}

fn completion(message: Value) -> Value {
    json!({"choices": [{"message": message, "finish_reason": "stop"}]})
}

/// Whether it is worth another attempt, and what it says.
fn told(error: ModelError) -> (bool, String) {
    let said = error.to_string();
    assert!(!said.contains(SECRET), "{said}");
    (matches!(error, ModelError::Unavailable { .. }), said)
}

/// A server that reads a request, writes these bytes, and then hangs up or stays.
async fn raw(bytes: Vec<u8>, stays: bool) -> OpenAiModel {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let base_url = format!("http://{}", listener.local_addr().expect("an address"));
    tokio::spawn(async move {
        while let Ok((mut connection, _)) = listener.accept().await {
            let mut buffer = vec![0; 64 * 1024];
            let _ = connection.read(&mut buffer).await;
            let _ = connection.write_all(&bytes).await;
            if stays {
                tokio::spawn(async move {
                    // Until the client hangs up.
                    let _ = connection.read_to_end(&mut Vec::new()).await;
                });
            }
        }
    });
    model(OpenAiOptions {
        timeout: Duration::from_secs(if stays { 1 } else { 20 }),
        ..options(base_url)
    })
}

fn messages_of_every_kind() -> Vec<Message> {
    let call = |id: &str, name: &str, arguments: Value| ToolCall {
        id: id.to_owned(),
        name: name.to_owned(),
        arguments,
    };
    let result = |id: &str, content: &str, is_error| Message::Tool {
        tool_call_id: id.to_owned(),
        content: content.to_owned(),
        is_error,
    };
    vec![
        Message::summary("They met."),
        Message::System {
            text: "Times are UTC.".to_owned(),
        },
        Message::user("Remember tea."),
        Message::Assistant {
            text: String::new(),
            tool_calls: vec![
                call("call_0", "write_memory", json!({"content": "- tea"})),
                call("call_0#1", "functions.read memory", json!("{\"file\": ")),
                call("#2", "", Value::Null),
            ],
        },
        result("call_0", "done", false),
        result("call_0#1", "the arguments don't fit", true),
        result("#2", "there is no such tool", true),
        Message::Assistant {
            text: "Noted.".to_owned(),
            tool_calls: Vec::new(),
        },
        Message::User {
            parts: vec![
                UserPart::Text {
                    text: "And?".to_owned(),
                },
                UserPart::Memory {
                    scope_hash: "0d6e4079e36703eb".to_owned(),
                    text: "<memory>\n- tea\n</memory>".to_owned(),
                },
            ],
        },
    ]
}

#[tokio::test]
async fn a_request_has_the_shape_that_endpoints_read() {
    let (server, _) = server(ResponseTemplate::new(200).set_body_json(completion(json!({})))).await;
    let model = model(OpenAiOptions {
        api_key: Some(ApiKey::new("k-1\n")),
        temperature: Some(0.7),
        max_completion_tokens: Some(300),
        ..options(format!("{}/v1/", server.uri()))
    });
    let tools = vec![ToolDefinition {
        name: "write_memory".to_owned(),
        description: "Writes.".to_owned(),
        parameters: json!({"type": "object", "properties": {"content": {"type": "string"}}}),
    }];
    let request = ChatRequest {
        instructions: "Be brief.".to_owned(),
        messages: messages_of_every_kind(),
        tools,
        attempt: 3,
    };
    model.respond(&request).await.expect("an answer");

    let requests = server.received_requests().await.expect("requests");
    let [received] = requests.as_slice() else {
        panic!("{} requests", requests.len());
    };
    assert_eq!(received.method.as_str(), "POST");
    assert_eq!(received.url.path(), "/v1/chat/completions");
    assert_eq!(received.headers["authorization"], "Bearer k-1");
    assert_eq!(received.headers["content-type"], "application/json");
    let body: Value = received.body_json().expect("JSON");
    insta::assert_json_snapshot!(body);
}

#[tokio::test]
async fn what_is_not_set_is_not_sent() {
    let (server, model) =
        server(ResponseTemplate::new(200).set_body_json(completion(json!({})))).await;
    let bare = ChatRequest {
        instructions: String::new(),
        ..request(vec![Message::user("hi")])
    };
    model.respond(&bare).await.expect("an answer");
    let requests = server.received_requests().await.expect("requests");
    assert!(!requests[0].headers.contains_key("authorization"));
    assert_eq!(
        requests[0].body_json::<Value>().expect("JSON"),
        json!({
            "model": "test-model",
            "messages": [{"role": "user", "content": "hi"}],
            "stream": false,
        })
    );
}

#[tokio::test]
async fn answers_of_many_endpoints_are_understood() {
    let call = |id: &str, arguments: Value| ToolCall {
        id: id.to_owned(),
        name: "t".to_owned(),
        arguments,
    };
    let function = |arguments: Value| json!({"name": "t", "arguments": arguments});
    let cases = [
        (
            json!({"role": "assistant", "content": "hi", "extra": 1}),
            "hi",
            vec![],
        ),
        (json!({"content": null}), "", vec![]),
        (json!({}), "", vec![]),
        (
            json!({"content": [{"type": "text", "text": "a"}, {"type": "x"}, {"text": "b"}]}),
            "ab",
            vec![],
        ),
        (
            json!({"content": null, "refusal": "I won't.", "tool_calls": null}),
            "I won't.",
            vec![],
        ),
        (
            json!({"content": "", "tool_calls": [
                {"id": "a", "type": "function", "function": function(json!("{\"x\": 1}"))},
                {"id": "a", "function": function(json!({"x": 2}))},
                {"id": null, "index": 2, "function": function(json!(""))},
                {"function": {"name": "t"}},
                {"id": 7, "function": function(json!(null))},
            ]}),
            "",
            vec![
                call("a", json!({"x": 1})),
                call("a", json!({"x": 2})),
                call("", json!({})),
                call("", json!({})),
                call("7", json!({})),
            ],
        ),
        (
            json!({"tool_calls": [
                {"id": "a", "function": function(json!("{\"x\": "))},
                {"id": "b", "function": function(json!("[1]"))},
                {"id": "c", "function": function(json!(7))},
            ]}),
            "",
            vec![
                call("a", json!("{\"x\": ")),
                call("b", json!("[1]")),
                call("c", json!(7)),
            ],
        ),
    ];
    for (message, text, tool_calls) in cases {
        let response = answered(200, completion(message.clone()))
            .await
            .expect("an answer");
        let expected = ChatResponse {
            text: text.to_owned(),
            tool_calls,
        };
        assert_eq!(response, expected, "{message}");
    }
}

#[tokio::test]
async fn an_answer_may_leave_out_all_but_its_message_and_a_call_its_name() {
    let without_reason = json!({"choices": [{"message": {"content": "x"}}], "usage": null});
    assert_eq!(
        answered(200, without_reason).await.expect("an answer").text,
        "x"
    );
    let nameless = json!({"tool_calls": [{"id": "a"}]});
    let response = answered(200, completion(nameless))
        .await
        .expect("an answer");
    assert_eq!(response.tool_calls[0].name, "");
}

#[tokio::test]
async fn failures_are_told_apart_by_their_status_and_never_quote_the_endpoint() {
    let retryable = [408, 409, 425, 429, 500, 502, 503, 529];
    let refused = [302, 400, 401, 403, 404, 405, 413, 415, 422, 451];
    let mut said = Vec::new();
    for status in retryable.into_iter().chain(refused) {
        let body = json!({"error": {"message": SECRET, "code": SECRET, "type": SECRET}});
        let error = answered(status, body).await.expect_err("a failure");
        let (is_retryable, told) = told(error);
        assert_eq!(is_retryable, retryable.contains(&status), "{told}");
        said.push(told);
    }
    insta::assert_snapshot!(said.join("\n"));
}

#[tokio::test]
async fn known_codes_of_an_error_say_more_and_a_used_up_quota_is_not_retried() {
    let cases = [
        (
            429,
            json!({"error": {"code": "insufficient_quota", "message": SECRET}}),
            false,
        ),
        (429, json!({"error": {"code": "rate_limit_exceeded"}}), true),
        (
            400,
            json!({"error": {"code": "context_length_exceeded"}}),
            false,
        ),
        (
            401,
            json!({"error": {"code": "invalid_api_key", "message": SECRET}}),
            false,
        ),
        (
            400,
            json!({"error": {"code": null, "type": "invalid_request_error"}}),
            false,
        ),
        (404, json!({"error": {"code": "model_not_found"}}), false),
        (500, json!({"error": SECRET}), true),
        (400, json!([SECRET]), false),
        (
            200,
            json!({"error": {"code": 502, "message": SECRET}}),
            true,
        ),
        (
            200,
            json!({"error": {"code": "429", "message": SECRET}, "choices": []}),
            true,
        ),
        (200, json!({"error": {"message": SECRET}}), false),
    ];
    let mut said = Vec::new();
    for (status, body, is_retryable) in cases {
        let error = answered(status, body).await.expect_err("a failure");
        let (retryable, told) = told(error);
        assert_eq!(retryable, is_retryable, "{told}");
        said.push(told);
    }
    insta::assert_snapshot!(said.join("\n"));
}

#[tokio::test]
async fn answers_that_cannot_be_used_are_refused() {
    let cut = |reason: &str| {
        let message = json!({"content": SECRET});
        json!({"choices": [{"message": message, "finish_reason": reason}]})
    };
    let bodies = [
        json!({}),
        json!([]),
        json!(SECRET),
        json!({"choices": []}),
        json!({"choices": null}),
        json!({"choices": [{}]}),
        json!({"choices": [{"message": {"content": {"text": SECRET}}}]}),
        json!({"choices": [{"message": SECRET}]}),
        cut("length"),
        cut("content_filter"),
    ];
    for body in bodies {
        let error = answered(200, body.clone()).await.expect_err("a failure");
        assert!(!told(error).0, "{body}");
    }
    let nested = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for text in [
        "",
        "<html>hunter2</html>",
        "{\"choices\": [",
        "\u{feff}{}",
        &nested,
    ] {
        let response = ResponseTemplate::new(200).set_body_string(text);
        let (_server, model) = server(response).await;
        let (is_retryable, said) = told(model.respond(&asking()).await.expect_err("a failure"));
        assert!(
            !is_retryable && said.contains("no chat completion"),
            "{said}"
        );
    }
}

#[tokio::test]
async fn the_wait_that_the_endpoint_asks_for_comes_along() {
    let response = ResponseTemplate::new(429).insert_header("retry-after", "7");
    let (_server, model) = server(response).await;
    let error = model.respond(&asking()).await.expect_err("a failure");
    let ModelError::Unavailable { retry_after, .. } = error else {
        panic!("{error:?}");
    };
    assert_eq!(retry_after, Some(Duration::from_secs(7)));
}

#[tokio::test]
async fn a_request_is_sent_once() {
    for status in [200, 429, 500, 503] {
        let (server, model) = server(ResponseTemplate::new(status)).await;
        model.respond(&asking()).await.expect_err("a failure");
        let requests = server.received_requests().await.expect("requests");
        assert_eq!(requests.len(), 1, "{status}");
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let elsewhere = MockServer::start().await;
    let response = ResponseTemplate::new(307).insert_header("location", elsewhere.uri());
    let (_server, model) = server(response).await;
    let error = model.respond(&asking()).await.expect_err("a failure");
    assert!(!told(error).0);
    assert_eq!(
        elsewhere.received_requests().await.expect("requests").len(),
        0
    );
}

#[tokio::test]
async fn connections_that_fail_or_break_are_worth_another_attempt() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
    let length =
        |length: usize, body: &str| format!("{head}content-length: {length}\r\n\r\n{body}");
    let cases = [
        (Vec::new(), false),
        (b"nonsense\r\n\r\n".to_vec(), false),
        (length(1_000, "{\"choices\"").into_bytes(), false),
        (
            format!("{head}transfer-encoding: chunked\r\n\r\n5\r\n{{\"cho").into_bytes(),
            false,
        ),
        (Vec::new(), true),
        (length(1_000, "{\"choices\"").into_bytes(), true),
    ];
    for (bytes, stays) in cases {
        let model = raw(bytes.clone(), stays).await;
        let (is_retryable, said) = told(model.respond(&asking()).await.expect_err("a failure"));
        assert!(is_retryable, "{said}");
        let what = String::from_utf8_lossy(&bytes);
        assert_eq!(
            said.contains("no whole answer within 1s"),
            stays,
            "{said}: {what}"
        );
    }
}

#[tokio::test]
async fn an_endpoint_that_cannot_be_reached_is_worth_another_attempt() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    let model = model(options(format!("http://{address}/{SECRET}")));
    let (is_retryable, said) = told(model.respond(&asking()).await.expect_err("a failure"));
    assert!(is_retryable);
    assert_eq!(
        said,
        "model is unavailable: the endpoint can't be reached: connection refused"
    );
}

#[tokio::test]
async fn an_endpoint_without_the_tls_that_its_url_promises_is_told_so() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((mut connection, _)) = listener.accept().await {
            let _ = connection
                .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                .await;
        }
    });
    let model = match OpenAiModel::new(options(format!("https://{address}/v1"))) {
        Ok(model) => model,
        // A machine without certificates says that instead.
        Err(error) => return assert_eq!(error, OpenAiError::RootCertificates),
    };
    let (is_retryable, said) = told(model.respond(&asking()).await.expect_err("a failure"));
    assert!(is_retryable && said.contains("TLS failed"), "{said}");
}

#[tokio::test]
async fn an_answer_is_read_up_to_a_bound() {
    let mut text = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
    text.resize(9 * 1024 * 1024, b' ');
    let model = raw(text, false).await;
    let (is_retryable, said) = told(model.respond(&asking()).await.expect_err("a failure"));
    assert!(!is_retryable && said.contains("8388608 bytes"), "{said}");
}

#[test]
fn options_that_cannot_be_used_are_refused_by_name() {
    let with = |change: fn(&mut OpenAiOptions)| {
        let mut options = options("http://h/v1".to_owned());
        change(&mut options);
        OpenAiModel::new(options).map(|_| ()).expect_err("refused")
    };
    assert_eq!(with(|o| o.model = " ".to_owned()), OpenAiError::Model);
    assert_eq!(with(|o| o.timeout = Duration::ZERO), OpenAiError::Timeout);
    assert_eq!(
        with(|o| o.temperature = Some(2.5)),
        OpenAiError::Temperature(2.5)
    );
    assert!(matches!(
        with(|o| o.temperature = Some(f64::NAN)),
        OpenAiError::Temperature(_)
    ));
    assert_eq!(
        with(|o| o.max_completion_tokens = Some(0)),
        OpenAiError::MaxCompletionTokens
    );
    assert_eq!(
        with(|o| o.api_key = Some(ApiKey::new("a\nb"))),
        OpenAiError::ApiKey
    );
    assert!(matches!(
        with(|o| o.base_url = "h".to_owned()),
        OpenAiError::BaseUrl(_)
    ));
}

#[test]
fn a_key_is_never_shown() {
    let options = OpenAiOptions {
        api_key: Some(ApiKey::new(SECRET)),
        ..options(format!("http://h/{SECRET}"))
    };
    let shown = format!("{options:?} {:?}", model(options.clone()));
    assert!(!shown.contains(SECRET), "{shown}");
}
