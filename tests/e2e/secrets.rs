//! What a tenant keeps stays out of histories' plain parts, of failures and of logs.

use serde_json::{Value, json};

use crate::support::{
    Application, Bed, Proxy, Worker, WorkerOptions, eventually, history, holds, outside_payloads,
    payload, say,
};

/// Planted as namespace, note name, note content, message and query.
const SECRETS: [&str; 5] = [
    "SECRET-tenant",
    "SECRET-note",
    "SECRET-content",
    "SECRET-words",
    "SECRET-query",
];

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
        call("search_memory", json!({"query": query})),
        call("delete_memory", json!({"file": note})),
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

#[tokio::test]
async fn content_names_and_namespaces_stand_in_payloads_alone() {
    let bed = Bed::new().await;
    let [tenant, note, content, words, _] = SECRETS;
    let application = Application::start(&bed);
    let proxy = Proxy::start(Proxy::target(&bed.database_url)).await;
    let options = WorkerOptions {
        script: Some(bed.script(&turns())),
        database_url: Some(proxy.url(&bed.database_url)),
        // Everything that the program itself has to say.
        environment: vec![("NOTEKEEPER_LOG", "debug".to_owned())],
        ..WorkerOptions::default()
    };
    let worker = Worker::start(&bed, options).await;
    bed.put(
        &format!("{tenant}/main"),
        "MEMORY.md",
        &format!("- {content}\n"),
    )
    .await;
    let mut input = bed.input(tenant);
    input.tools = application.tools();
    input.memories[0].activities.snapshot_give_up_ms = 500;
    let agent = bed.start(input).await;

    say(&agent, words).await.expect("a reply");
    let mut failures = Vec::new();
    for message in [", sell", ", fail", "\0"] {
        let failed = say(&agent, &format!("{words}{message}")).await;
        failures.push(failed.expect_err("a failure"));
    }
    // Calls that fail in other ways: a conflict, and a store that is away.
    let write = |content: &str| {
        json!({"scope": {"namespace": tenant}, "file": note, "content": content,
            "operation": {"id": "op"}})
    };
    bed.call("write_memory", &write(content)).await.result();
    let conflict = bed.call("write_memory", &write(words)).await;
    failures.push(conflict.outcome.expect_err("a conflict"));
    proxy.cut();
    let away = bed
        .start_call("write_memory", vec![payload(&write(content))])
        .await;
    let without_memory = say(&agent, &format!("{words}, fail")).await;
    failures.push(without_memory.expect_err("a failure"));
    eventually("a second attempt runs", || async {
        (away.attempts().await >= 2).then_some(())
    })
    .await;
    proxy.mend();
    away.end().await.result();

    let history = history(&agent).await;
    assert!(
        holds(&history, content),
        "the run has to do with the secrets"
    );
    let mut told = vec![outside_payloads(&history)];
    told.extend(failures.iter().map(|failure| format!("{failure:?}")));
    let log = worker.log();
    assert!(
        log.iter().any(|line| line.contains("Unavailable")),
        "{log:#?}"
    );
    told.extend(log);
    for text in told {
        assert!(!text.contains("SECRET"), "{text}");
    }
    bed.finish().await;
}
