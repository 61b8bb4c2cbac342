//! Our spans, where the peer's are others.

use serde_json::{Value, json};

use crate::{
    bench::StoreKind,
    case::Case,
    topics::{INJECTED, SOME_NUMBER},
};

/// What the peer calls a store that a case lets fail.
const FAILING_STORE: &str = "Boom";

/// What the peer raises where the model may try again.
const RETRY: &str = "ModelRetry";

/// What the peer raises where an operation has other arguments.
const CONFLICT: &str = "MemoryOperationConflictError";

/// Our type of a failure that no other describes, as a store that breaks has it.
const BROKEN: &str = "Unsupported";

/// The answer with each span changed. `change` gets what the call came to as well; `null` for a
/// snapshot.
fn each_span(case: &Case, answer: &Value, change: impl Fn(&Value, &mut Value)) -> Option<Value> {
    if case.topic != "telemetry" {
        return None;
    }
    let mut ours = answer.clone();
    let of = |result: &Value, spans: &mut Value| {
        for span in spans.as_array_mut().into_iter().flatten() {
            if span["attributes"].is_object() {
                change(result, &mut span["attributes"]);
            }
        }
    };
    match ours.get_mut("calls").and_then(Value::as_array_mut) {
        Some(calls) => {
            for call in calls.iter_mut().filter(|call| call.is_object()) {
                let result = call["result"].clone();
                of(&result, &mut call["spans"]);
            }
        }
        None => of(&Value::Null, ours.get_mut("spans")?),
    }
    Some(ours)
}

fn lets_fail(case: &Case) -> bool {
    let failing = case.given["failing"].as_array();
    failing.is_some_and(|failing| !failing.is_empty())
}

pub(super) fn backend_is_a_kind(case: &Case, kind: StoreKind, answer: &Value) -> Option<Value> {
    each_span(case, answer, |_, attributes| {
        let class = attributes["memory.backend"].as_str().unwrap_or_default();
        let failing = class == FAILING_STORE && lets_fail(case);
        if failing || class.ends_with("Store") {
            attributes["memory.backend"] = json!(kind.name());
        }
    })
}

pub(super) fn errors_have_our_names(case: &Case, _: StoreKind, answer: &Value) -> Option<Value> {
    each_span(case, answer, |result, attributes| {
        let Some(class) = attributes["memory.exception_type"].as_str() else {
            return;
        };
        let ours = match class {
            RETRY => result.clone(),
            CONFLICT if result == "operation_conflict" => json!("OperationConflict"),
            class if lets_fail(case) && class.ends_with("Error") => json!(BROKEN),
            _ => return,
        };
        attributes["memory.exception_type"] = ours;
    })
}

/// The peer says whether it appended a block to the history; we, whether the caller holds it.
pub(super) fn no_history(case: &Case, _: StoreKind, answer: &Value) -> Option<Value> {
    let injected = answer["injected"].clone();
    each_span(case, answer, |_, attributes| {
        if attributes["memory.appended"] == injected
            && let Some(attributes) = attributes.as_object_mut()
        {
            attributes.remove("memory.appended");
            if injected == true {
                attributes.insert("memory.unchanged".to_owned(), json!(false));
            }
        }
    })
}

pub(super) fn own_wording(case: &Case, _: StoreKind, answer: &Value) -> Option<Value> {
    each_span(case, answer, |_, attributes| {
        if attributes[INJECTED].as_u64().is_some_and(|chars| chars > 0) {
            attributes[INJECTED] = json!(SOME_NUMBER);
        }
    })
}

pub(super) fn raised_is_seen(case: &Case, kind: StoreKind, answer: &Value) -> Option<Value> {
    let covered = case.topic == "telemetry"
        && answer["run"] == "fails"
        && answer["spans"] == json!([])
        && lets_fail(case);
    if !covered {
        return None;
    }
    let mut ours = answer.clone();
    ours["spans"] = json!([{
        "name": "memory.inject",
        "attributes": {
            "memory.backend": kind.name(),
            "memory.exception_type": BROKEN,
            "memory.outcome": "error",
            "memory.scope_hash": MAIN_SCOPE_HASH,
        },
    }]);
    Some(ours)
}

/// Hash of the scope `main`, in which every case of the topic is.
const MAIN_SCOPE_HASH: &str = "0d6e4079e36703eb";
