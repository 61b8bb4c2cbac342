//! Payloads that can't be read or used: typed failures at once, that repeat no value.

use futures::StreamExt as _;
use serde_json::{Value, json};
use temporalio_common::protos::temporal::api::{
    common::v1::Payload, failure::v1::failure::FailureInfo,
};

use crate::support::{Bed, Worker, WorkerOptions, failure_type, payload, raw_payload};

/// Calls that are open at a time. A server on a busy machine that gets all of them at once now and
/// then loses a task, which then waits for its time-out.
const OPEN_CALLS_MAX: usize = 16;

/// Stands in every value, and must stand in no failure.
const PLANTED: &str = "OSMIUM";

struct Case {
    activity: &'static str,
    payloads: Vec<Payload>,
    failure: &'static str,
    /// What the message names.
    part: &'static str,
}

fn case(activity: &'static str, input: Value, failure: &'static str, part: &'static str) -> Case {
    Case {
        activity,
        payloads: vec![payload(&input)],
        failure,
        part,
    }
}

/// A copy of an input with another value in a field.
fn with(input: &Value, field: &str, value: Value) -> Value {
    let mut input = input.clone();
    input[field] = value;
    input
}

/// Scopes and stores that no activity on notes takes.
fn addresses(activity: &'static str, good: &Value) -> Vec<Case> {
    let scope = |scope: Value| with(good, "scope", scope);
    let namespace = |namespace: String| scope(json!({"namespace": namespace}));
    let mut unaddressed = good.clone();
    unaddressed
        .as_object_mut()
        .expect("an object")
        .remove("scope");
    let argument = |input, part| case(activity, input, "InvalidArgument", part);
    let refused = |input| case(activity, input, "InvalidScope", "");
    vec![
        argument(unaddressed, "missing field `scope`"),
        argument(scope(json!(PLANTED)), "`scope`"),
        argument(scope(json!({"namespace": [PLANTED]})), "`scope.namespace`"),
        argument(
            with(good, "store", json!(PLANTED)),
            "`store` names no configured store",
        ),
        refused(scope(json!({"namespace": PLANTED, "agent_name": ""}))),
        refused(namespace(format!("{PLANTED}//x"))),
        refused(namespace(format!("{PLANTED}/../x"))),
        refused(namespace(format!("{PLANTED}\u{0}"))),
        refused(namespace(PLANTED.repeat(100))),
    ]
}

/// What is no JSON object, or more than one.
fn shapes(activity: &'static str, good: &Value) -> Vec<Case> {
    let cut_off = format!("{{\"{PLANTED}").into_bytes();
    let shapes = [
        (vec![payload(&json!([PLANTED]))], "expected"),
        (vec![payload(&json!(PLANTED))], "expected"),
        (vec![payload(&Value::Null)], "expected"),
        (vec![], "expected one JSON object"),
        (
            vec![payload(good), payload(good)],
            "expected one JSON object",
        ),
        (
            vec![raw_payload("binary/plain", PLANTED.into())],
            "json/plain",
        ),
        (vec![raw_payload("json/plain", cut_off)], "not valid JSON"),
        (
            vec![raw_payload("json/plain", vec![b'"', 0xff, b'"'])],
            "not valid JSON",
        ),
    ];
    let case = |(payloads, part)| Case {
        activity,
        payloads,
        failure: "InvalidArgument",
        part,
    };
    shapes.map(case).into()
}

/// Fields of single activities.
fn fields(scope: &Value) -> Vec<Case> {
    let write = json!({"scope": scope, "content": PLANTED});
    let search = json!({"scope": scope, "query": PLANTED, "max_search_results": 0});
    let render = json!({"scope": scope, "render": {"max_tokens": 0}});
    let loads = |memory: Value| json!({"memories": [memory]});
    let reference =
        json!({"delivery": "reference", "store": "default", "scope": scope, "digest": PLANTED});
    let written = |field, value: Value, part| {
        let input = with(&write, field, value);
        case("write_memory", input, "InvalidArgument", part)
    };
    let operation = |id: String| written("operation", json!({"id": id}), "operation");
    let version =
        |version: String| written("expected_version", json!(version), "`expected_version`");
    let argument = |activity, input, part| case(activity, input, "InvalidArgument", part);
    vec![
        argument(
            "write_memory",
            json!({"scope": scope}),
            "missing field `content`",
        ),
        written("content", json!(7), "`content`"),
        written("max_memory_size", json!(0), "`max_memory_size`"),
        written("max_memory_size", json!(-1), "`max_memory_size`"),
        operation(String::new()),
        operation(format!("{PLANTED}\u{0}")),
        operation(PLANTED.repeat(1000)),
        version(format!("{PLANTED}\u{0}")),
        version(PLANTED.repeat(100)),
        argument(
            "delete_memory",
            json!({"scope": scope}),
            "missing field `file`",
        ),
        argument("search_memory", search, "`max_search_results`"),
        argument("load_snapshot", json!({}), "missing field `memories`"),
        argument(
            "load_snapshot",
            loads(json!({"scope": scope, "store": PLANTED})),
            "`store`",
        ),
        argument(
            "load_snapshot",
            loads(json!({"scope": scope, "delivery": PLANTED})),
            "delivery",
        ),
        argument("load_snapshot", loads(render), "max_tokens"),
        case(
            "load_snapshot",
            loads(json!({"scope": {"namespace": "a//b"}})),
            "InvalidScope",
            "",
        ),
        argument(
            "call_model",
            json!({"messages": [], "model": PLANTED}),
            "`model`",
        ),
        argument(
            "call_model",
            json!({"messages": [{"role": PLANTED}]}),
            "messages[0]",
        ),
        argument(
            "call_model",
            json!({"messages": [], "memories": [reference]}),
            "digest",
        ),
    ]
}

/// Fields of the activities on messages and facts.
fn messages_and_facts(scope: &Value) -> Vec<Case> {
    let said = json!({"role": "user", "content": PLANTED});
    let adding = |bad: Value, failure, part| {
        let input = json!({"scope": scope, "messages": [said, bad, said]});
        case("add_messages", input, failure, part)
    };
    let bad = |bad: Value, part| adding(bad, "InvalidArgument", part);
    let nul = format!("{PLANTED}\u{0}");
    let surrogate = format!(
        "{{\"scope\": {scope}, \"messages\": [{said}, {{\"role\": \"user\", \"content\": \"{PLANTED}\\ud800\"}}]}}"
    );
    let argument = |activity, input, part| case(activity, input, "InvalidArgument", part);
    vec![
        bad(json!(PLANTED), "`messages[1]` must be"),
        bad(json!({"content": PLANTED}), "`messages[1]` needs `role`"),
        bad(
            json!({"role": "user", "content": nul}),
            "`messages[1].content` contains a NUL",
        ),
        bad(
            json!({"role": "user", PLANTED: {PLANTED: nul}}),
            "`messages[1]` contains a NUL",
        ),
        bad(
            json!({"role": "assistant", "tool_calls": [{"arguments": {PLANTED: nul}}]}),
            "`messages[1].tool_calls[0].arguments` contains a NUL",
        ),
        adding(
            json!({"role": "user", "content": PLANTED.repeat(90_000)}),
            "TooLarge",
            "`messages[1]` has",
        ),
        Case {
            activity: "add_messages",
            payloads: vec![raw_payload("json/plain", surrogate.into_bytes())],
            failure: "InvalidArgument",
            part: "at `messages[1]`: not valid JSON",
        },
        argument(
            "get_messages",
            json!({"scope": scope, "cursor": PLANTED}),
            "`cursor`",
        ),
        argument(
            "clear_messages",
            json!({"scope": scope, "conversation": nul}),
            "`conversation`",
        ),
        argument("recall", json!({"scope": scope, "limit": 0}), "`limit`"),
        argument(
            "remember",
            json!({"scope": scope, "key": PLANTED}),
            "missing field `value`",
        ),
    ]
}

/// Fields of model requests that refer to a stored transcript.
fn stored_requests(scope: &Value) -> Vec<Case> {
    let range = json!({"scope": scope, "from": 1, "to": 0});
    let preamble = json!({"scope": scope, "digest": PLANTED});
    let argument = |activity, input, part| case(activity, input, "InvalidArgument", part);
    vec![
        argument(
            "call_model",
            json!({"messages": [], "conversation": range}),
            "`conversation.from`",
        ),
        argument(
            "call_model",
            json!({"messages": [], "preamble": preamble}),
            "`preamble.digest`",
        ),
        argument(
            "summarize_messages",
            json!({"messages": [], "max_tokens": 0}),
            "`max_tokens`",
        ),
    ]
}

fn cases() -> Vec<Case> {
    let scope = json!({"namespace": PLANTED});
    let on_notes = [
        ("write_memory", json!({"scope": scope, "content": PLANTED})),
        ("delete_memory", json!({"scope": scope, "file": PLANTED})),
        ("read_memory", json!({"scope": scope, "file": PLANTED})),
        ("search_memory", json!({"scope": scope, "query": PLANTED})),
        (
            "get_messages",
            json!({"scope": scope, "conversation": PLANTED}),
        ),
        (
            "add_messages",
            json!({"scope": scope, "messages": [{"role": PLANTED}]}),
        ),
        (
            "clear_messages",
            json!({"scope": scope, "conversation": PLANTED}),
        ),
        (
            "remember",
            json!({"scope": scope, "key": PLANTED, "value": PLANTED}),
        ),
        ("recall", json!({"scope": scope, "query": PLANTED})),
        ("forget", json!({"scope": scope, "key": PLANTED})),
    ];
    let mut cases = fields(&scope);
    cases.extend(messages_and_facts(&scope));
    cases.extend(stored_requests(&scope));
    for (activity, good) in &on_notes {
        cases.extend(addresses(activity, good));
        cases.extend(shapes(activity, good));
    }
    cases
}

#[tokio::test]
async fn a_payload_that_cannot_be_used_fails_at_once_with_a_type_and_without_its_values() {
    let bed = Bed::new().await;
    let worker = Worker::start(
        &bed,
        WorkerOptions {
            script: Some(bed.script(&json!([]))),
            queues: Some("memory"),
            ..WorkerOptions::default()
        },
    )
    .await;
    let cases = cases();
    let count = cases.len();
    let calls = futures::stream::iter(cases).map(|case| {
        let bed = &bed;
        async move {
            let shown = format!("{}: {:?}", case.activity, case.payloads);
            let call = bed.start_call(case.activity, case.payloads).await;
            (shown, case.failure, case.part, call.end().await)
        }
    });

    let ended: Vec<_> = calls.buffer_unordered(OPEN_CALLS_MAX).collect().await;
    for (shown, expected, part, called) in ended {
        assert!(called.outcome.is_err(), "{shown} came to {called:?}");
        let failure = called.failure();
        assert_eq!(failure_type(failure), expected, "{shown}: {failure:?}");
        assert!(failure.message.contains(part), "{shown}: {failure:?}");
        assert!(
            !format!("{failure:?}").contains(PLANTED),
            "{shown}: {failure:?}"
        );
        let Some(FailureInfo::ApplicationFailureInfo(info)) = &failure.failure_info else {
            panic!("{shown}: {failure:?}");
        };
        assert!(info.non_retryable, "{shown}");
    }
    // Not by the attempts: one that no worker got is none.
    worker.wait_until_logged("failure.kind=", count).await;
    let failed = worker.log();
    let failed = failed.iter().filter(|line| line.contains("failure.kind="));
    assert_eq!(failed.count(), count, "each failed once");
    let told: Vec<_> = worker
        .log()
        .into_iter()
        .filter(|line| line.contains(PLANTED))
        .collect();
    assert_eq!(told, [""; 0]);
    assert_eq!(bed.receipts(&format!("{PLANTED}/main")).await, []);
    bed.finish().await;
}
