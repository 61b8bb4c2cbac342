//! Spans on their way to a collector.

use std::collections::BTreeMap;

use notekeeper_domain::Scope;
use opentelemetry_proto::tonic::trace::v1::Status;
use serde_json::{Value, json};

use crate::support::{
    Bed, Collector, Proxy, Worker, WorkerOptions, activities, attributes, history, run, say,
};

const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";

/// Turns that write, read, search and delete.
fn turns() -> Value {
    let call = |name: &str, arguments: Value| json!({"name": name, "arguments": arguments});
    let calls = [
        call("write_memory", json!({"content": "- likes tea"})),
        call("write_memory", json!({"file": "plans", "content": "sail"})),
        call("read_memory", json!({"file": "plans"})),
        call("search_memory", json!({"query": "tea"})),
        call("delete_memory", json!({"file": "plans"})),
        call("read_memory", json!({"file": "plans"})),
    ];
    json!([{"prompt": "go", "responses": [{"tool_calls": calls}, {"text": "done"}]}])
}

/// A worker on the bed that exports to `endpoint`.
async fn exporting(bed: &Bed, endpoint: String, further: &[(&'static str, &str)]) -> Worker {
    let further = further
        .iter()
        .map(|(name, value)| (*name, (*value).to_owned()));
    let options = WorkerOptions {
        script: Some(bed.script(&turns())),
        environment: [(ENDPOINT, endpoint)].into_iter().chain(further).collect(),
        ..WorkerOptions::default()
    };
    Worker::start(bed, options).await
}

#[tokio::test]
async fn every_operation_of_a_run_is_one_span_at_the_collector_once_the_worker_has_drained() {
    let bed = Bed::new().await;
    let collector = Collector::start().await;
    let mut worker = exporting(&bed, collector.url(), &[]).await;
    let agent = bed.start(bed.input("acme")).await;
    say(&agent, "go").await.expect("a reply");
    worker.terminate();
    assert!(worker.ended().await.success());

    let mut scope = json!({"memory.backend": "postgres"});
    scope["memory.scope_hash"] = json!(Scope::parse("acme/main").expect("a scope").hash());
    let mut spans: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for span in collector.spans().await {
        assert!(span.events.is_empty() && span.links.is_empty(), "{span:?}");
        assert_eq!(span.status.clone().unwrap_or_default(), Status::default());
        assert!(span.parent_span_id.is_empty(), "{span:?}");
        assert!(span.end_time_unix_nano >= span.start_time_unix_nano);
        let mut found = attributes(&span.attributes);
        for (key, value) in scope.as_object().expect("an object") {
            assert_eq!(found.remove(key).as_ref(), Some(value), "{span:?}");
        }
        spans
            .entry(span.name)
            .or_default()
            .push(Value::Object(found));
    }
    let block = spans["memory.inject"][1]["memory.injected_chars"].clone();
    assert!(block.as_i64().is_some_and(|chars| chars > 12), "{block}");
    assert_eq!(spans, expected(&block));
    let resources = collector.resources().await;
    let of = attributes(&resources.first().expect("a resource").attributes);
    assert_eq!(of["service.name"], "notekeeper");
    assert_eq!(of["service.version"], env!("CARGO_PKG_VERSION"));
    bed.finish().await;
}

/// The spans of one conversation, without store and scope: its operations follow each other, and so
/// do they. `block` counts the characters of its only block.
fn expected(block: &Value) -> BTreeMap<String, Vec<Value>> {
    let ok = |further: Value| with(json!({"memory.outcome": "ok"}), further);
    let inject = |further: Value| {
        let whole = json!({"memory.main_truncated": false, "memory.files_truncated": false});
        let mut inject = ok(with(whole, further));
        if inject["memory.injected_chars"] != 0 {
            inject["memory.unchanged"] = json!(false);
        }
        inject
    };
    let empty = json!({"memory.main_chars": 0, "memory.files": 0, "memory.injected_chars": 0});
    let full = json!({"memory.main_chars": 12, "memory.files": 0, "memory.injected_chars": block});
    let write = |chars: i64| ok(json!({"memory.chars": chars, "memory.replayed": false}));
    let add = |messages: i64| ok(json!({"memory.messages": messages, "memory.replayed": false}));
    let get = ok(json!({"memory.messages": 0, "memory.truncated": false}));
    [
        ("memory.get_messages", vec![get]),
        ("memory.add_messages", vec![add(8), add(1)]),
        ("memory.inject", vec![inject(empty), inject(full)]),
        ("memory.write", vec![write(12), write(5)]),
        (
            "memory.read",
            vec![
                ok(json!({"memory.chars": 5})),
                json!({"memory.outcome": "error", "memory.exception_type": "not_found"}),
            ],
        ),
        (
            "memory.search",
            vec![ok(json!({
                "memory.matches": 1, "memory.scanned": 2, "memory.chars": 12,
                "memory.truncated": false,
            }))],
        ),
        (
            "memory.delete",
            vec![json!({"memory.outcome": "deleted", "memory.replayed": false})],
        ),
    ]
    .map(|(name, spans)| (name.to_owned(), spans))
    .into()
}

fn with(mut object: Value, further: Value) -> Value {
    if let (Value::Object(object), Value::Object(further)) = (&mut object, further) {
        object.extend(further);
    }
    object
}

#[tokio::test]
async fn a_key_changes_the_hash_in_spans_and_no_activity_id() {
    let bed = Bed::new().await;
    let collector = Collector::start().await;
    let key = "0123456789abcdef0123456789abcdef";
    let environment = [
        ("NOTEKEEPER_SCOPE_HASH_KEY", key),
        ("OTEL_SERVICE_NAME", "memory-of-acme"),
        (
            "OTEL_RESOURCE_ATTRIBUTES",
            "deployment.environment.name=test",
        ),
        ("OTEL_EXPORTER_OTLP_HEADERS", "x-tenant=acme"),
        ("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip"),
    ];
    let worker = exporting(&bed, collector.url(), &environment).await;
    let agent = bed.start(bed.input("acme")).await;
    say(&agent, "go").await.expect("a reply");
    collector.has("memory.delete", 1).await;
    let keyed = {
        let spans = collector.spans().await;
        let hashes: Vec<Value> = spans
            .iter()
            .map(|span| attributes(&span.attributes)["memory.scope_hash"].clone())
            .collect();
        assert!(hashes.iter().all(|hash| *hash == hashes[0]), "{hashes:?}");
        hashes[0].as_str().expect("a hash").to_owned()
    };
    assert_eq!(keyed.len(), 16);
    assert_ne!(keyed, Scope::parse("acme/main").expect("a scope").hash());
    let ids: Vec<String> = activities(&history(&agent).await)
        .into_iter()
        .map(|activity| activity.id)
        .collect();
    assert!(ids.iter().any(|id| id.starts_with("nk.")), "{ids:?}");
    assert!(!ids.iter().any(|id| id.contains(&keyed)), "{ids:?}");

    let resources = collector.resources().await;
    let of = attributes(&resources.first().expect("a resource").attributes);
    assert_eq!(of["service.name"], "memory-of-acme");
    assert_eq!(of["deployment.environment.name"], "test");
    let requests = collector.requests().await;
    let sent = requests.first().expect("a request");
    assert_eq!(sent.headers["x-tenant"], "acme");
    assert_eq!(sent.headers["content-encoding"], "gzip");
    assert_eq!(sent.headers["content-type"], "application/x-protobuf");
    assert!(!worker.log().iter().any(|line| line.contains(key)));
    bed.finish().await;
}

#[tokio::test]
async fn a_collector_that_is_away_is_told_once_and_disturbs_neither_the_work_nor_the_end() {
    let bed = Bed::new().await;
    let collector = Collector::start().await;
    let proxy = Proxy::start(collector.address()).await;
    proxy.cut();
    let url = format!("http://{}", proxy.address());
    // A batch each tenth of a second.
    let often = [("OTEL_BSP_SCHEDULE_DELAY", "100")];
    let mut worker = exporting(&bed, url.clone(), &often).await;
    let agent = bed.start(bed.input("acme")).await;
    say(&agent, "go").await.expect("a reply");
    let away = format!("spans can't be sent to {url}/v1/traces");
    worker.wait_until_logged(&away, 1).await;
    say(&agent, "go").await.expect("a reply");

    // Back again: what comes now arrives.
    proxy.mend();
    let again = format!("spans are sent to {url}/v1/traces again");
    say(&agent, "go").await.expect("a reply");
    worker.wait_until_logged(&again, 1).await;

    // It takes connections and says nothing, until the worker has ended.
    proxy.fall_silent();
    say(&agent, "go").await.expect("a reply");
    worker.terminate();
    assert!(worker.ended().await.success());
    worker
        .wait_until_logged("spans that were left are lost", 1)
        .await;
    let log = worker.log();
    let told = log.iter().filter(|line| line.contains(&away)).count();
    assert!(told <= 2, "once for each time that it goes away: {log:#?}");
    bed.finish().await;
}

#[tokio::test]
async fn an_endpoint_that_cant_be_used_ends_a_worker_that_starts_and_is_not_repeated() {
    let bed = Bed::new().await;
    for (variable, value, why) in [
        (ENDPOINT, "http://app:hunter2@collector:4318", "user name"),
        (ENDPOINT, "hunter2", "no URL"),
        ("NOTEKEEPER_SCOPE_HASH_KEY", "hunter2", "at least 16 bytes"),
    ] {
        for command in [&["worker"][..], &["config", "check"]] {
            let ended = run(&bed, command, &[(variable, value)]).await;
            assert_eq!(ended.code, Some(1), "{ended:?}");
            assert!(ended.stderr.contains(why), "{ended:?}");
            assert!(!format!("{ended:?}").contains("hunter2"), "{ended:?}");
        }
    }
    bed.finish().await;
}
