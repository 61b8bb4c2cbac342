//! Sources of a worker's configuration: real workers, stores, endpoints and applications.

use std::time::Duration;

use notekeeper_contract::{FailureType, RESULT_BYTES_MAX};
use serde_json::{Value, json};
use temporalio_client::{
    ActivityCancelOptions, ActivityDescribeOptions, ActivityStartOptions, PendingActivityState,
    errors::ActivityResultError,
};
use temporalio_common::{
    ActivityCloseTimeouts, UntypedActivity, data_converters::RawValue,
    protos::temporal::api::failure::v1::failure::FailureInfo,
};
use wiremock::{Mock, MockServer, Request, ResponseTemplate, matchers::any};

use crate::support::{
    Application, Bed, Worker, WorkerOptions, eventually, failure_type, in_time, payload,
};

/// A worker for activities alone, with these sources in its file.
async fn worker(bed: &Bed, sources: &str, fault: Option<String>) -> Worker {
    let options = WorkerOptions {
        queues: Some("memory"),
        fault,
        environment: vec![
            ("NOTEKEEPER_CONFIG", bed.config(sources)),
            ("SEARCH_KEY", "SECRET-key".to_owned()),
            ("NOTEKEEPER_LOG", "trace".to_owned()),
        ],
        ..WorkerOptions::default()
    };
    Worker::start(bed, options).await
}

/// A search service that answers this.
async fn service(answer: ResponseTemplate) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(any()).respond_with(answer).mount(&server).await;
    server
}

/// Passages as a search service gives them.
fn passages() -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(json!({"results": [
        {"text": "Refunds are in the handbook.", "url": "/refunds", "score": 0.01},
    ]}))
}

fn in_scope(source: &str, fields: Value) -> Value {
    let mut all = json!({"source": source, "scope": {"namespace": "acme"}});
    let object = all.as_object_mut().expect("an object");
    object.extend(fields.as_object().expect("an object").clone());
    all
}

async fn query(bed: &Bed, source: &str, fields: Value) -> Value {
    let called = bed.call("query_source", &in_scope(source, fields)).await;
    called.result().clone()
}

async fn write(bed: &Bed, source: &str, fields: Value) -> Value {
    let called = bed.call("write_source", &in_scope(source, fields)).await;
    called.result().clone()
}

/// The contents of what was found.
fn contents(found: &Value) -> Vec<&str> {
    let items = found["items"].as_array().expect("items");
    items
        .iter()
        .filter_map(|item| item["content"].as_str())
        .collect()
}

#[tokio::test]
async fn a_tree_of_the_configuration_answers_and_keeps() {
    let bed = Bed::new().await;
    let service = service(passages()).await;
    let sources = format!(
        "[sources.handbook]\nkind = 'vector'\n\
         [sources.web]\nkind = 'tool'\nurl = '{}/search'\nheaders_env = {{ X-Key = 'SEARCH_KEY' }}\n\
         [sources.kb]\nkind = 'composite'\n\
         sources = ['handbook', 'web', {{ kind = 'read_only', inner = {{ kind = 'vector', name = 'registry' }}, \
         on_write = 'ignore' }}]\n\
         [sources.guarded]\nkind = 'scoped'\ninner = {{ kind = 'cached', inner = 'kb' }}\n",
        service.uri()
    );
    let _worker = worker(&bed, &sources, None).await;
    let items = json!({"items": [{"content": "Refunds take 5 days.", "metadata": {"id": "r"}}]});
    let written = write(&bed, "guarded", items).await;
    assert_eq!(written["accepted"], json!(["handbook"]), "{written}");
    assert_eq!(written["refused"], json!(["web", "registry"]), "{written}");
    let events = written["events"].as_array().expect("events");
    let events: Vec<_> = events
        .iter()
        .map(|event| (&event["event"], &event["source"], &event["items"]))
        .collect();
    assert_eq!(
        events,
        [
            (
                &json!("memory.write_refused"),
                &json!("registry"),
                &json!(1)
            ),
            (&json!("memory.written"), &json!("kb"), &json!(1)),
        ]
    );

    let asked = json!({"query": "how long do refunds take", "k": 3});
    let found = query(&bed, "guarded", asked.clone()).await;
    assert_eq!(
        contents(&found),
        ["Refunds take 5 days.", "Refunds are in the handbook."]
    );
    assert_eq!(found["items"][0]["source"], "handbook");
    assert_eq!(found["items"][0]["id"], "r");
    assert_eq!(found["items"][1]["metadata"], json!({"url": "/refunds"}));
    let requests = service.received_requests().await.expect("requests");
    let [request]: [Request; 1] = requests.try_into().expect("one request");
    let body: Value = request.body_json().expect("JSON");
    assert_eq!(
        body,
        json!({"query": "how long do refunds take", "limit": 3})
    );
    assert_eq!(request.headers["x-key"], "SECRET-key");

    // Asked again, the cache answers; of another scope the leg by itself has nothing.
    assert_eq!(query(&bed, "guarded", asked).await, found);
    assert_eq!(service.received_requests().await.expect("some").len(), 1);
    let other = json!({"query": "refunds", "scope": {"namespace": "other"}});
    assert_eq!(contents(&query(&bed, "handbook", other).await), [""; 0]);
    bed.finish().await;
}

#[tokio::test]
async fn a_tool_that_is_an_activity_is_called_as_a_models_tool_is() {
    let bed = Bed::new().await;
    let application = Application::start(&bed);
    let of = |name: &str, activity: &str| {
        format!(
            "[sources.{name}]\nkind = 'tool'\nactivity = '{activity}'\ntask_queue = '{}'\nquery_arg = 'q'\n",
            application.task_queue()
        )
    };
    let sources = of("docs", "search_docs") + &of("sold_out", "sell_out");
    let worker = worker(&bed, &sources, None).await;
    let asked = json!({"query": "deploy policy", "k": 2, "where": {"lang": "en"}});
    let found = query(&bed, "docs", asked).await;
    assert_eq!(
        contents(&found),
        [
            "Deploys freeze on Fridays.",
            "Rollbacks need two approvers."
        ]
    );
    assert_eq!(found["items"][0]["score"], 0.9);
    assert_eq!(found["items"][0]["source"], "docs");
    assert_eq!(
        found["items"][1]["metadata"],
        json!({"url": "/handbook/rollback"})
    );
    let [call] = <[Value; 1]>::try_from(application.calls("search_docs")).expect("one call");
    assert_eq!(
        (&call["arguments"], &call["scope"]),
        (
            &json!({"q": "deploy policy", "limit": 2, "lang": "en"}),
            &json!({"namespace": "acme", "agent_name": "main"})
        )
    );
    assert!(call["operation"]["id"].is_string(), "{call}");

    let failed = bed
        .call("query_source", &in_scope("sold_out", json!({})))
        .await;
    assert_eq!(failure_type(failed.failure()), "Unsupported");
    assert_eq!(failed.attempts, 1);
    // The application's words are its own.
    let said = format!("{:?}{:?}", failed.failure(), worker.log());
    assert!(!said.contains("nothing is left"), "{said}");
    bed.finish().await;
}

#[tokio::test]
async fn a_leg_that_is_late_and_one_that_fails_are_listed_and_the_others_answer() {
    let bed = Bed::new().await;
    let late = service(passages().set_delay(Duration::from_secs(60))).await;
    let broken = service(ResponseTemplate::new(500).set_body_string("SECRET-words")).await;
    let sources = format!(
        // What is late has a short time, and by itself: who answers has all that it needs.
        "[sources.kb]\nkind = 'composite'\nleg_timeout_ms = 60000\nsources = [\n\
         {{ kind = 'composite', name = 'slow', leg_timeout_ms = 500, sources = [\n\
         {{ kind = 'tool', name = 'late', url = '{}' }}, {{ kind = 'scratchpad', name = 'none' }}] }},\n\
         {{ kind = 'tool', name = 'broken', url = '{}' }},\n\
         {{ kind = 'scratchpad', name = 'pad' }},\n]\n\
         [sources.alone]\nkind = 'composite'\nsources = [{{ kind = 'tool', name = 'broken', url = '{}' }}]\n",
        late.uri(),
        broken.uri(),
        broken.uri()
    );
    let worker = worker(&bed, &sources, None).await;
    let asked = json!({"query": "tea", "scratchpad": {"plan": "buy tea"}});
    let found = query(&bed, "kb", asked).await;
    assert_eq!(contents(&found).len(), 1, "{found}");
    assert_eq!(found["timed_out"], json!(["late"]));
    assert_eq!(found["failed"][0]["source"], "broken");
    assert_eq!(found["failed"][0]["type"], "Unavailable");

    let misspelt = in_scope("kb", json!({"wehre": {"tier": "public"}}));
    let refused = bed.call("query_source", &misspelt).await;
    assert_eq!(failure_type(refused.failure()), "InvalidArgument");

    let failed = bed
        .call("query_source", &in_scope("alone", json!({})))
        .await;
    // Temporal tells of the time-out that ended its attempts, or of the last one.
    let failure = failed.failure();
    let last = failure.cause.as_deref().unwrap_or(failure);
    assert_eq!(failure_type(last), "Unavailable", "{failure:?}");
    assert!(failed.attempts > 1, "{}", failed.attempts);
    let said = format!("{found}{:?}{:?}", failed.failure(), worker.log());
    assert!(!said.contains("SECRET"), "{said}");
    bed.finish().await;
}

/// The worker dies between commit and completion, and Temporal repeats the write elsewhere.
#[tokio::test]
async fn a_write_whose_worker_was_killed_takes_effect_once_in_every_leg() {
    let bed = Bed::new().await;
    let sources = "[sources.kb]\nkind = 'composite'\nsources = [\n\
                   { kind = 'vector', name = 'handbook' },\n\
                   { kind = 'facts' },\n\
                   { kind = 'file' },\n]\n\
                   [sources.handbook]\nkind = 'vector'\n[sources.journal]\nkind = 'journal'\n";
    for point in ["before_commit", "after_commit"] {
        let namespace = point.replace('_', "-");
        let marker = bed.path(&format!("killed-{point}"));
        let fault = format!("write_source.{point}=kill-once:{}", marker.display());
        let mut killed = worker(&bed, sources, Some(fault)).await;
        let input = json!({
            "source": "kb", "scope": {"namespace": namespace},
            "items": [{"content": "Refunds take 5 days.", "metadata": {"path": "refunds"}}],
        });
        let attempt = Duration::from_secs(1);
        let call = bed.start_call_within(attempt, "write_source", vec![payload(&input)]);
        let call = call.await;
        let rescue = async {
            let status = killed.ended().await;
            assert_eq!(status.code(), None, "a signal ended it");
            worker(&bed, sources, None).await
        };
        let (called, _rescuer) = futures::future::join(call.end(), rescue).await;
        assert!(called.attempts >= 2, "{}", called.attempts);
        let accepted = &called.result()["accepted"];
        assert_eq!(*accepted, json!(["handbook", "facts", "file"]), "{point}");

        let asked = json!({"query": "refunds", "k": 100, "scope": {"namespace": namespace}});
        let found = query(&bed, "handbook", asked.clone()).await;
        assert_eq!(contents(&found), ["Refunds take 5 days."], "{point}");
        let changes = query(&bed, "journal", asked).await;
        assert_eq!(contents(&changes).len(), 1, "{changes}");
        let scope = format!("{namespace}/main");
        let note = bed.note(&scope, "refunds.md").await;
        assert_eq!(note.as_deref(), Some("Refunds take 5 days."), "{point}");
        let listing = json!({"scope": {"namespace": namespace}});
        let listed = bed.call("list_facts", &listing).await;
        let facts = listed.result()["facts"].clone();
        assert_eq!(facts.as_array().map(Vec::len), Some(1), "{facts}");
    }
    bed.finish().await;
}

#[tokio::test]
async fn what_one_result_cannot_carry_is_left_out_and_counted() {
    let bed = Bed::new().await;
    let _worker = worker(&bed, "[sources.handbook]\nkind = 'vector'\n", None).await;
    for part in 0..3 {
        let items: Vec<Value> = (0..8)
            .map(|number| json!({"content": format!("refund {part} {number} {}", "x".repeat(65_000))}))
            .collect();
        write(&bed, "handbook", json!({"items": items})).await;
    }
    let found = query(&bed, "handbook", json!({"query": "refund", "k": 100})).await;
    assert!(found.to_string().len() <= RESULT_BYTES_MAX);
    assert_eq!(found["truncated"], true);
    let kept = contents(&found).len();
    assert_eq!(found["omitted"], 24 - kept, "{kept}");
    assert!(kept >= 15, "{kept}");
    bed.finish().await;
}

#[tokio::test]
async fn a_query_that_is_cancelled_ends_and_asks_its_tool_to_end() {
    let bed = Bed::new().await;
    let application = Application::start(&bed);
    let sources = format!(
        "[sources.slow]\nkind = 'tool'\nactivity = 'gate'\ntask_queue = '{}'\ntimeout_seconds = 600\n",
        application.task_queue()
    );
    let _worker = worker(&bed, &sources, None).await;
    let timeouts = ActivityCloseTimeouts::ScheduleAndStartToClose {
        schedule_to_close: Duration::from_secs(600),
        start_to_close: Duration::from_secs(600),
    };
    let id = format!("cancelled-{:016x}", rand::random::<u64>());
    let options = ActivityStartOptions::new(&bed.task_queue, id, timeouts)
        .heartbeat_timeout(Duration::from_secs(10))
        .build();
    let input = RawValue::new(vec![payload(&in_scope("slow", json!({})))]);
    let activity = UntypedActivity::new("query_source");
    let started = bed.client.start_activity(activity, input, options).await;
    let handle = started.expect("start the activity");
    application.at_the_gate(1).await;
    let asked = handle.cancel(ActivityCancelOptions::default()).await;
    asked.expect("ask for the cancellation");
    let ended = in_time("the end of a cancelled query", handle.result()).await;
    assert!(
        matches!(ended, Err(ActivityResultError::Cancelled { .. })),
        "{ended:?}"
    );

    let call = application.calls("gate").remove(0);
    let tool = call["operation"]["id"].as_str().expect("an id").to_owned();
    let tool = bed.client.get_untyped_activity_handle(tool, None);
    eventually("the tool is asked to end", || async {
        let described = tool.describe(ActivityDescribeOptions::default()).await;
        let described = described.expect("describe the tool's activity");
        (described.run_state() == PendingActivityState::CancelRequested).then_some(())
    })
    .await;
    bed.finish().await;
}

/// A source of each kind, with this service and this application behind the tools.
fn every_kind(service: &MockServer, application: &Application) -> String {
    format!(
        "[sources.vector]\nkind = 'vector'\n[sources.terms]\nkind = 'vector'\nindex = 'in_memory'\n\
         [sources.file]\nkind = 'file'\n[sources.journal]\nkind = 'journal'\n[sources.facts]\nkind = 'facts'\n\
         [sources.transcript]\nkind = 'transcript'\n[sources.scratchpad]\nkind = 'scratchpad'\n\
         [sources.web]\nkind = 'tool'\nurl = '{}'\n\
         [sources.docs]\nkind = 'tool'\nactivity = 'search_docs'\ntask_queue = '{}'\n\
         [sources.composite]\nkind = 'composite'\nsources = ['vector', 'web', 'docs', 'scratchpad']\n\
         [sources.sequential]\nkind = 'sequential'\nsources = ['facts', 'web']\n\
         [sources.scoped]\nkind = 'scoped'\ninner = 'composite'\n\
         [sources.cached]\nkind = 'cached'\ninner = 'web'\n\
         [sources.compacted]\nkind = 'compacted'\ninner = 'web'\n\
         [sources.read_only]\nkind = 'read_only'\ninner = 'web'\n",
        service.uri(),
        application.task_queue()
    )
}

/// A scope is refused with the same words whatever the source, and nothing behind one is touched.
#[tokio::test]
async fn a_scope_that_is_none_is_refused_identically_by_every_kind_of_source() {
    let bed = Bed::new().await;
    let service = service(passages()).await;
    let application = Application::start(&bed);
    let sources = every_kind(&service, &application);
    let _worker = worker(&bed, &sources, None).await;
    let names = [
        "vector",
        "terms",
        "file",
        "journal",
        "facts",
        "transcript",
        "scratchpad",
        "web",
        "docs",
        "composite",
        "sequential",
        "scoped",
        "cached",
        "compacted",
        "read_only",
    ];
    for (scope, kind) in [
        (Value::Null, FailureType::InvalidArgument),
        (json!({}), FailureType::InvalidArgument),
        (json!({"namespace": "a//b"}), FailureType::InvalidScope),
    ] {
        let calls = names.iter().flat_map(|name| {
            let query = json!({"source": name, "scope": scope, "query": "x"});
            let write = json!({"source": name, "scope": scope, "items": []});
            [("query_source", query), ("write_source", write)].map(|(activity, input)| {
                let bed = &bed;
                async move { bed.call(activity, &input).await }
            })
        });
        let called = futures::future::join_all(calls).await;
        let mut said: Vec<_> = called
            .iter()
            .map(|called| {
                let failure = called.failure();
                (failure_type(failure).to_owned(), failure.message.clone())
            })
            .collect();
        said.dedup();
        assert_eq!(said.len(), 1, "{said:?}");
        assert_eq!(said[0].0, kind.as_str());
        for called in called {
            let Some(FailureInfo::ApplicationFailureInfo(info)) = &called.failure().failure_info
            else {
                panic!("{called:?}");
            };
            assert!(info.non_retryable, "{called:?}");
        }
    }
    // A guard wants a namespace as well.
    let unnamed = json!({"source": "scoped", "scope": {"namespace": ""}, "query": "x"});
    let called = bed.call("query_source", &unnamed).await;
    assert_eq!(failure_type(called.failure()), "ScopeRefused");
    assert!(service.received_requests().await.expect("some").is_empty());
    assert!(application.calls("search_docs").is_empty());
    bed.finish().await;
}
