//! What a tenant keeps, and what opens doors, stays out of histories' plain parts, of failures, of
//! logs and of spans.

use std::collections::BTreeSet;

use notekeeper_contract::MetadataSource;
use prost::Message as _;
use serde_json::{Value, json};
use temporalio_common::protos::temporal::api::failure::v1::Failure;
use wiremock::ResponseTemplate;

use crate::support::{
    Agent, Application, Bed, Collector, Endpoint, Proxy, Worker, WorkerOptions, attributes,
    eventually, history, holds, outside_payloads, payload, payloads_beside_results, say,
};

/// Planted as namespace, note name, note content and metadata, message, and query.
const SECRETS: [&str; 5] = [
    "SECRET-tenant",
    "SECRET-note",
    "SECRET-content",
    "SECRET-words",
    "SECRET-query",
];

/// Planted as the name of a workspace.
const WORKSPACE: &str = "SECRET-workspace";

/// Planted as the key of a model's endpoint, of scope hashes and of a collector.
const KEYS: [&str; 3] = [
    "SECRET-model-key",
    "SECRET-key-of-scope-hashes",
    "SECRET-collector-key",
];

/// A store of files in a workspace that is named for a customer, as its root is; and a resolver that
/// records more than can be kept, which is known only when it is asked.
fn further_config(bed: &Bed) -> String {
    let root = bed.path("SECRET-root");
    std::fs::create_dir_all(&root).expect("make the root");
    let long = "{note}".repeat(500);
    format!(
        "[workspaces.{WORKSPACE}]\nroot = '{}'\n\
         [stores.notes]\nkind = 'file'\ndirectory = 'SECRET-directory'\n\
         [metadata.long]\nSECRET-key = '{long}'\n",
        root.display()
    )
}

/// The database's URL with a password, which a server that trusts its host doesn't look at.
fn with_password(database_url: &str) -> String {
    match database_url.split_once('@') {
        Some((user, host)) if !user.trim_start_matches("postgres://").contains(':') => {
            format!("{user}:SECRET-password@{host}")
        }
        // It has one of its own.
        _ => database_url.to_owned(),
    }
}

/// Turns that do all there is to do with the secrets, well and badly.
fn turns() -> Value {
    let [_, note, content, words, query] = SECRETS;
    let call = |name: &str, arguments: Value| json!({"name": name, "arguments": arguments});
    let calls = [
        call("write_memory", json!({"file": note, "content": content})),
        call(
            "write_memory",
            json!({"file": note, "content": content, "old_text": query}),
        ),
        call("read_memory", json!({"file": note})),
        call("search_memory", json!({"query": content})),
        call("search_memory", json!({"query": query})),
        call("delete_memory", json!({"file": note})),
        call("read_memory", json!({"file": note})),
        call("write_memory", json!({"file": note, content: content})),
        call(content, json!({})),
        call("look_up", json!({"item": content})),
    ];
    let sell_out = call("sell_out", json!({"item": content}));
    json!([
        {"prompt": words, "responses": [{"tool_calls": calls}, {"text": content}]},
        {"prompt": format!("{words}, sell"), "responses": [{"tool_calls": [sell_out]}]},
        {"prompt": format!("{words}, fail"), "responses": [{"failure": {"kind": "refused"}}]},
    ])
}

/// A worker that has something to hide wherever it can, and says all that it has to say.
async fn talkative_worker(
    bed: &Bed,
    proxy: &Proxy,
    collector: &Collector,
    model: &Endpoint,
) -> Worker {
    let [model_key, hash_key, collector_key] = KEYS;
    let models = format!(
        "[models.live]\nkind = 'openai'\nmodel = 'm'\nbase_url = '{}'\n{}{}",
        model.url(),
        bed.steady_store(),
        further_config(bed)
    );
    let options = WorkerOptions {
        script: Some(bed.script(&turns())),
        database_url: Some(with_password(&proxy.url(&bed.database_url))),
        environment: vec![
            ("NOTEKEEPER_LOG", "trace".to_owned()),
            ("NOTEKEEPER_CONFIG", bed.config(&models)),
            ("OPENAI_API_KEY", model_key.to_owned()),
            ("NOTEKEEPER_SCOPE_HASH_KEY", hash_key.to_owned()),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url()),
            (
                "OTEL_EXPORTER_OTLP_HEADERS",
                format!("authorization={collector_key}"),
            ),
        ],
        ..WorkerOptions::default()
    };
    Worker::start(bed, options).await
}

/// Messages and facts that hold secrets wherever they can, and calls on them that fail.
async fn messages_and_facts(bed: &Bed) -> Vec<Box<Failure>> {
    let [tenant, note, content, words, query] = SECRETS;
    let fields = json!({
        "scope": {"namespace": tenant}, "conversation": note,
        "messages": [{"role": "user", "content": words, content: query}],
        "key": note, "value": content, "query": query,
    });
    let with = |activity: &str, further: Value| {
        let mut fields = fields.clone();
        fields["operation"] = json!({"id": format!("op-{activity}")});
        let further = further.as_object().expect("an object").clone();
        fields.as_object_mut().expect("an object").extend(further);
        fields
    };
    let activities = [
        "add_messages",
        "get_messages",
        "remember",
        "recall",
        "forget",
        "clear_messages",
    ];
    for activity in activities {
        bed.call(activity, &with(activity, json!({})))
            .await
            .result();
    }
    let nul = json!({"role": "user", "content": "", content: "\0"});
    let mut failures = Vec::new();
    for (activity, further) in [
        ("add_messages", json!({"messages": [words]})),
        ("add_messages", json!({"messages": [nul]})),
        (
            "add_messages",
            json!({"messages": [], "conversation": format!("{note}\0")}),
        ),
        ("add_messages", json!({"conversation": words})),
        ("get_messages", json!({"cursor": content})),
        ("get_messages", json!({"store": content})),
        ("remember", json!({"value": words})),
        ("recall", json!({"limit": 0})),
        ("forget", json!({"key": words})),
        ("clear_messages", json!({"conversation": words})),
    ] {
        let called = bed.call(activity, &with(activity, further)).await;
        failures.push(called.outcome.expect_err(activity));
    }
    failures
}

/// Calls that fail in other ways than a conversation's: conflicts, workspaces, metadata, and a store
/// that is away.
async fn failing_calls(bed: &Bed, agent: &Agent, proxy: &Proxy) -> Vec<Box<Failure>> {
    let [tenant, note, content, words, _] = SECRETS;
    let write = |content: &str, further: Value| {
        let mut input = json!({"scope": {"namespace": tenant}, "file": note, "content": content});
        for (key, value) in further.as_object().expect("an object") {
            input[key] = value.clone();
        }
        input
    };
    let operation = json!({"operation": {"id": "op"}});
    let first = write(content, operation.clone());
    bed.call("write_memory", &first).await.result();
    let in_files = |mut fields: Value| {
        fields["store"] = json!("notes");
        write(words, fields)
    };
    let first_in_files = json!({"operation": {"id": "op"}, "workspace": WORKSPACE});
    let written = bed.call("write_memory", &in_files(first_in_files)).await;
    written.result();
    let mut failures = Vec::new();
    for failing in [
        in_files(json!({})),
        in_files(json!({"workspace": "SECRET-other"})),
        in_files(json!({"workspace": WORKSPACE, "expected_version": content})),
        in_files(json!({"workspace": WORKSPACE, "operation": {"id": "op"}, "file": "other"})),
        write(words, json!({"write_metadata": {"resolver": "long"}})),
        write(words, operation),
        write(words, json!({"expected_version": content})),
        write(words, json!({"max_memory_size": content})),
        write(words, json!({"write_metadata": {"fixed": {content: 5}}})),
        write(words, json!({"write_metadata": {"fixed": {content: "\0"}}})),
        write(words, json!({"write_metadata": {content: 1}})),
    ] {
        let called = bed.call("write_memory", &failing).await;
        failures.extend(called.outcome.err());
    }
    proxy.cut();
    let away = bed.start_call("write_memory", vec![payload(&first)]).await;
    let without_memory = say(agent, &format!("{words}, fail")).await;
    failures.push(without_memory.expect_err("a failure"));
    eventually("a second attempt runs", || async {
        (away.attempts().await >= 2).then_some(())
    })
    .await;
    proxy.mend();
    away.end().await.result();
    failures
}

#[tokio::test]
async fn content_names_namespaces_and_keys_stand_in_payloads_alone() {
    let bed = Bed::new().await;
    let [tenant, _, content, words, _] = SECRETS;
    let application = Application::start(&bed);
    let collector = Collector::start().await;
    let model = Endpoint::start().await;
    let proxy = Proxy::start(Proxy::target(&bed.database_url)).await;
    let mut worker = talkative_worker(&bed, &proxy, &collector, &model).await;
    bed.put(
        &format!("{tenant}/main"),
        "MEMORY.md",
        &format!("- {content}\n"),
    )
    .await;
    let mut input = bed.input(tenant);
    input.tools = application.tools();
    let by = [(words.to_owned(), content.to_owned())];
    input.memories[0].write_metadata = Some(MetadataSource::Fixed(by.into()));
    input.memories[0].activities.snapshot_give_up_ms = 500;
    input.conversation.store = Some("steady".to_owned());
    let agent = bed.start(input.clone()).await;

    say(&agent, words).await.expect("a reply");
    let mut failures = Vec::new();
    for message in [", sell", ", fail", "\0"] {
        let failed = say(&agent, &format!("{words}{message}")).await;
        failures.push(failed.expect_err("a failure"));
    }
    // An endpoint that repeats what it was sent.
    let repeated = json!({"error": {"message": format!("{content} {}", KEYS[0])}});
    model.then(ResponseTemplate::new(401).set_body_json(repeated));
    let mut in_workspace = input.clone();
    in_workspace.workspace = Some(WORKSPACE.to_owned());
    in_workspace.memories[0].store = "notes".to_owned();
    in_workspace.memories[0].write_metadata = None;
    let in_files = bed.start(in_workspace).await;
    say(&in_files, words).await.expect("a reply");
    input.model = "live".to_owned();
    let refused = bed.start(input).await;
    failures.push(say(&refused, words).await.expect_err("a failure"));
    assert_eq!(model.requests().await.len(), 1);
    failures.extend(messages_and_facts(&bed).await);
    failures.extend(failing_calls(&bed, &agent, &proxy).await);

    let mut told = Vec::new();
    for agent in [&agent, &in_files, &refused] {
        let history = history(agent).await;
        assert!(holds(&history, words), "the run has to do with the secrets");
        assert_eq!(payloads_beside_results(&history), Vec::<Value>::new());
        told.push(outside_payloads(&history));
    }
    assert_eq!(failures.len(), 26, "{failures:#?}");
    for failure in &failures {
        told.push(String::from_utf8_lossy(&failure.encode_to_vec()).into_owned());
    }
    worker.terminate();
    assert!(worker.ended().await.success());
    let log = worker.log();
    assert!(
        log.iter().any(|line| line.contains("Unavailable")),
        "{log:#?}"
    );
    told.extend(log);
    for text in told {
        assert!(!text.contains("SECRET"), "{text}");
    }
    check_spans(&collector).await;
    bed.finish().await;
}

/// The spans must be there, of every operation, and hold nothing of what it was about.
async fn check_spans(collector: &Collector) {
    let spans = collector.spans().await;
    let names: BTreeSet<&str> = spans.iter().map(|span| span.name.as_str()).collect();
    let operations = [
        "add_messages",
        "clear_messages",
        "delete",
        "forget",
        "get_messages",
        "inject",
        "read",
        "recall",
        "remember",
        "search",
        "write",
    ];
    let operations = operations.map(|operation| format!("memory.{operation}"));
    assert!(names.iter().eq(operations.iter()), "{names:?}");
    let errors: BTreeSet<String> = spans
        .iter()
        .filter_map(|span| attributes(&span.attributes).remove("memory.exception_type"))
        .map(|value| value.as_str().expect("text").to_owned())
        .collect();
    for error in [
        "not_found",
        "old_text_not_found",
        "OperationConflict",
        "VersionConflict",
        "Unavailable",
        "MetadataRefused",
    ] {
        assert!(errors.contains(error), "`{error}` is not in {errors:?}");
    }
    for request in collector.requests().await {
        let body = String::from_utf8_lossy(&request.body);
        assert!(!body.contains("SECRET"), "{body}");
        // Ids of workflows may name tenants as well.
        assert!(!body.contains("agent-"), "{body}");
    }
}
