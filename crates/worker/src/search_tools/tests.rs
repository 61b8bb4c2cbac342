//! Tools behind real HTTP servers. Those that are activities have tests with a real Temporal server.

use notekeeper_domain::Scope;
use notekeeper_recall::{Scratchpad, SourceCall, SourceEvents, ToolCallError};
use serde_json::{Map, Value, json};
use wiremock::{
    Mock, MockServer, Request, ResponseTemplate,
    matchers::{body_json, header, method, path},
};

use super::*;

fn environment(name: &str) -> Option<String> {
    match name {
        "SEARCH_KEY" => Some("hunter2".to_owned()),
        "ODD_KEY" => Some("hunter2\n".to_owned()),
        _ => None,
    }
}

fn tools() -> SearchTools {
    SearchTools::with_environment(environment)
}

fn http(url: &str, headers: &[(&str, &str)], timeout_seconds: u64) -> ToolSpec {
    let headers = headers.iter();
    ToolSpec::Http {
        url: url.to_owned(),
        headers_env: headers
            .map(|(name, variable)| ((*name).to_owned(), (*variable).to_owned()))
            .collect(),
        network_is_trusted: false,
        scope_arg: None,
        timeout_seconds: Some(timeout_seconds),
    }
}

fn arguments() -> Map<String, Value> {
    let arguments = json!({"query": "SECRET-query", "limit": 3, "tier": "public"});
    arguments.as_object().expect("an object").clone()
}

async fn call(tool: &dyn SearchTool) -> Result<Value, ToolCallError> {
    let scope = Scope::resolve("SECRET/tenant", "main").expect("a scope");
    let (scratchpad, events) = (Scratchpad::new(), SourceEvents::default());
    let call = SourceCall {
        scope: &scope,
        workspace: None,
        scratchpad: &scratchpad,
        events: &events,
        upkeep: true,
    };
    tool.call(arguments(), &call).await
}

async fn answering(template: ResponseTemplate) -> (MockServer, Arc<dyn SearchTool>) {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .respond_with(template)
        .mount(&server)
        .await;
    let tool = tools().make("s", &http(&server.uri(), &[], 5));
    (server, tool.expect("a tool"))
}

#[test]
fn headers_of_the_request_itself_are_not_for_settings() {
    for name in [
        "Content-Length",
        "host",
        "Transfer-Encoding",
        "connection",
        "Content-Type",
    ] {
        let tool = tools().make("s", &http("https://h", &[(name, "SEARCH_KEY")], 5));
        let said = tool.expect_err("no tool");
        assert!(said.contains("belongs to the request itself"), "{said}");
    }
}

#[tokio::test]
async fn the_arguments_go_as_a_json_object_with_the_headers_of_variables() {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .and(path("/search"))
        .and(header("x-key", "hunter2"))
        .and(header("content-type", "application/json"))
        .and(body_json(Value::Object(arguments())))
        .respond_with(ResponseTemplate::new(200).set_body_json(json!(["a", "b"])))
        .mount(&server)
        .await;
    let url = format!("{}/search?lang=en", server.uri());
    let tool = tools().make("s", &http(&url, &[("X-Key", "SEARCH_KEY")], 5));
    let tool = tool.expect("a tool");
    assert_eq!(call(tool.as_ref()).await, Ok(json!(["a", "b"])));
    let received = server.received_requests().await.expect("requests");
    let [request]: [Request; 1] = received.try_into().expect("one request");
    let query: Vec<_> = request.url.query_pairs().collect();
    assert_eq!(query, [("lang".into(), "en".into())]);
    assert!(!format!("{tool:?}").contains("hunter2"));
}

#[tokio::test]
async fn the_scope_goes_where_the_settings_say_and_no_condition_replaces_it() {
    let server = MockServer::start().await;
    let mut expected = arguments();
    expected.insert("tier".to_owned(), json!("SECRET/tenant/main"));
    Mock::given(body_json(Value::Object(expected)))
        .respond_with(ResponseTemplate::new(200).set_body_json(json!(["a"])))
        .mount(&server)
        .await;
    let mut spec = http(&server.uri(), &[], 5);
    if let ToolSpec::Http { scope_arg, .. } = &mut spec {
        *scope_arg = Some("tier".to_owned());
    }
    let tool = tools().make("s", &spec).expect("a tool");
    assert_eq!(call(tool.as_ref()).await, Ok(json!(["a"])));
}

#[test]
fn headers_of_variables_leave_the_machine_in_clear_text_only_where_the_file_says_so() {
    let headers = [("X-Key", "SEARCH_KEY")];
    for url in [
        "http://search.invalid/q?a=b",
        "http://10.0.0.7",
        "http://localhost.evil.invalid",
    ] {
        let mut spec = http(url, &headers, 5);
        let said = tools().make("s", &spec).expect_err("no tool");
        assert!(
            said.contains("in clear text") && !said.contains("hunter2"),
            "{said}"
        );
        if let ToolSpec::Http {
            network_is_trusted, ..
        } = &mut spec
        {
            *network_is_trusted = true;
        }
        assert!(tools().make("s", &spec).is_ok(), "{url}");
        assert!(tools().make("s", &http(url, &[], 5)).is_ok(), "{url}");
    }
    for url in [
        "https://search.invalid",
        "http://localhost:1",
        "http://[::1]/",
        "http://127.0.0.2",
    ] {
        assert!(tools().make("s", &http(url, &headers, 5)).is_ok(), "{url}");
    }
}

#[tokio::test]
async fn plain_text_is_read_in_the_charset_that_it_is_in_and_in_no_other() {
    for (kind, body, text) in [
        ("text/plain", &b"caf\xc3\xa9"[..], "caf\u{e9}"),
        ("text/plain; charset=UTF-8", b"caf\xc3\xa9", "caf\u{e9}"),
        ("text/plain; charset=us-ascii", b"cafe", "cafe"),
        ("text/plain; charset=iso-8859-1", b"caf\xe9", "caf\u{e9}"),
        (
            "Text/Markdown; format=flowed; Charset=\"ISO-8859-1\"",
            b"caf\xe9",
            "caf\u{e9}",
        ),
    ] {
        let template = ResponseTemplate::new(200).set_body_raw(body, kind);
        let (_server, tool) = answering(template).await;
        assert_eq!(call(tool.as_ref()).await, Ok(json!(text)), "{kind}");
    }
    let odd = ResponseTemplate::new(200).set_body_raw("SECRET", "text/plain; charset=utf-16");
    let (_server, tool) = answering(odd).await;
    let refused = call(tool.as_ref()).await.expect_err("refused");
    assert!(matches!(&refused, ToolCallError::Refused(_)), "{refused}");
    let said = refused.to_string();
    assert!(said.contains("UTF-8") && !said.contains("SECRET"), "{said}");
}

#[tokio::test]
async fn plain_text_is_an_answer_as_well() {
    let template =
        ResponseTemplate::new(200).set_body_raw("one\n\ntwo", "text/plain; charset=utf-8");
    let (_server, tool) = answering(template).await;
    assert_eq!(call(tool.as_ref()).await, Ok(json!("one\n\ntwo")));
}

#[tokio::test]
async fn what_an_endpoint_answers_wrongly_is_told_by_status_and_never_quoted() {
    let page = || ResponseTemplate::new(200).set_body_raw("<p>SECRET-answer</p>", "text/html");
    let of = |status| ResponseTemplate::new(status).set_body_string("SECRET-answer");
    let mut said = String::new();
    for template in [
        page(),
        of(302).insert_header("location", "http://SECRET.invalid/"),
        of(400),
        of(401),
        of(404),
        of(429),
        of(500),
        ResponseTemplate::new(200).set_body_string("x".repeat(4 * 1024 * 1024 + 1)),
    ] {
        let (_server, tool) = answering(template).await;
        let error = call(tool.as_ref()).await.expect_err("no result");
        let kind = match error {
            ToolCallError::Unavailable { .. } => "unavailable",
            ToolCallError::Refused(_) => "refused",
        };
        said += &format!("{kind}: {error}\n");
    }
    assert!(!said.contains("SECRET"), "{said}");
    insta::assert_snapshot!(said);
}

#[tokio::test]
async fn how_long_an_endpoint_asks_to_wait_is_passed_on() {
    for (template, asked) in [
        (
            ResponseTemplate::new(429).insert_header("retry-after", "7"),
            Some(7),
        ),
        (
            ResponseTemplate::new(503).insert_header("retry-after", "86400"),
            Some(60),
        ),
        (ResponseTemplate::new(503), None),
    ] {
        let (_server, tool) = answering(template).await;
        let error = call(tool.as_ref()).await.expect_err("no result");
        let ToolCallError::Unavailable { retry_after, .. } = error else {
            panic!("{error}")
        };
        assert_eq!(retry_after.map(|it| it.as_secs()), asked);
    }
}

#[tokio::test]
async fn no_redirect_is_followed() {
    let elsewhere = MockServer::start().await;
    let target = format!("{}/elsewhere", elsewhere.uri());
    let template = ResponseTemplate::new(307).insert_header("location", target.as_str());
    let (_server, tool) = answering(template).await;
    assert!(matches!(
        call(tool.as_ref()).await,
        Err(ToolCallError::Refused(_))
    ));
    let received = elsewhere.received_requests().await.expect("requests");
    assert!(received.is_empty());
}

#[tokio::test]
async fn an_endpoint_that_is_late_or_away_may_answer_later() {
    // Accepts, and never answers.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let at = |listener: &std::net::TcpListener| {
        let address = listener.local_addr().expect("an address");
        format!("http://{address}/SECRET")
    };
    let gone = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let (late, away) = (at(&silent), at(&gone));
    drop(gone);
    for (url, told) in [
        (late, "no whole answer within 1s"),
        (away, "can't be reached"),
    ] {
        let tool = tools().make("s", &http(&url, &[], 1)).expect("a tool");
        let error = call(tool.as_ref()).await.expect_err("no result");
        assert!(
            matches!(error, ToolCallError::Unavailable { .. }),
            "{error}"
        );
        let said = error.to_string();
        assert!(said.contains(told) && !said.contains("SECRET"), "{said}");
    }
}

#[test]
fn settings_that_make_no_tool_are_told_without_what_may_be_a_secret() {
    let mut said = String::new();
    let fine = "https://search.invalid";
    let activity = |activity: &str, task_queue: &str| ToolSpec::Activity {
        activity: activity.to_owned(),
        task_queue: task_queue.to_owned(),
        timeout_seconds: Some(5),
    };
    for spec in [
        http("hunter2", &[], 5),
        http("ftp://hunter2.invalid", &[], 5),
        http("https://app:hunter2@h/", &[], 5),
        http("https://h/#hunter2", &[], 5),
        http(fine, &[("a b", "SEARCH_KEY")], 5),
        http(fine, &[("X-Key", "Bearer hunter2")], 5),
        http(fine, &[("X-Key", "NOWHERE")], 5),
        http(fine, &[("X-Key", "ODD_KEY")], 5),
        activity("", "tools"),
        activity("search_docs", " "),
    ] {
        said += &tools().make("s", &spec).expect_err("no tool");
        said.push('\n');
    }
    assert!(!said.contains("hunter2"), "{said}");
    insta::assert_snapshot!(said);
}
