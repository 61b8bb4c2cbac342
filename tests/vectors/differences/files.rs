//! Our answers to cases about notes as files.

use serde_json::{Map, Value, json};

use crate::{bench::StoreKind, case::Case};

/// Where the peer keeps its receipts, and ours what it knows.
const PEER_RECEIPTS: &str = ".memory-operations.json";
const JOURNAL: &str = ".memory-store.sqlite3";

fn error(kind: &str) -> Value {
    json!({ "error": kind })
}

fn list<'v>(value: &'v Value, key: &str) -> impl Iterator<Item = &'v Value> {
    value[key].as_array().into_iter().flatten()
}

/// Changes the results of single steps: `change` gets a step and the peer's result.
fn with_steps(
    case: &Case,
    answer: &Value,
    change: impl Fn(&Value, &Value) -> Option<Value>,
) -> Option<Value> {
    if case.topic != "file_store" {
        return None;
    }
    let steps: Vec<&Value> = list(&case.given, "steps").collect();
    let results = answer["steps"].as_array()?.iter().enumerate();
    let results = results.map(|(index, result)| {
        let ours = steps.get(index).and_then(|step| change(step, result));
        ours.unwrap_or_else(|| result.clone())
    });
    let mut ours = answer.clone();
    ours["steps"] = results.collect();
    Some(ours)
}

/// Leaves paths out of what is on the disk.
fn leave_out(answer: &mut Value, left_out: impl Fn(&Value) -> bool) {
    if let Some(files) = answer["disk_after"].as_array_mut() {
        files.retain(|path| !left_out(path));
    }
}

/// Receipts are in the journal, whose files aren't a case's.
pub(super) fn journal(case: &Case, _: StoreKind, answer: &Value) -> Option<Value> {
    if case.topic != "file_store" {
        return None;
    }
    let mut ours = answer.clone();
    leave_out(&mut ours, |path| {
        path.as_str()
            .is_some_and(|path| path == PEER_RECEIPTS || path.starts_with(JOURNAL))
    });
    if let Some(receipts) = answer["receipts_after"].as_array() {
        // Without any, the peer has an empty list where there was one before.
        ours["receipts_after"] = match receipts.as_slice() {
            [] => Value::Null,
            receipts => receipts.iter().map(receipt).collect(),
        };
    }
    Some(ours)
}

/// A receipt without what ours don't hold.
fn receipt(peer: &Value) -> Value {
    let mut ours = peer.as_object().cloned().unwrap_or_default();
    ours.remove("expected");
    ours.remove("done");
    let version = ours
        .get("version")
        .is_some_and(|version| !version.is_null());
    ours.insert("version".to_owned(), json!(version.then_some("set")));
    Value::Object(ours)
}

pub(super) fn random_versions(case: &Case, _: StoreKind, answer: &Value) -> Option<Value> {
    let covered = case.topic == "version_hash" && case.given["store"] == "file";
    let digest = answer["version"].as_str().filter(|_| covered)?;
    (digest.len() == 64).then(|| {
        let mut ours = answer.clone();
        ours["version"] = json!("set");
        ours
    })
}

/// A path of one segment names a note of nobody.
pub(super) fn notes_have_a_scope(case: &Case, _: StoreKind, answer: &Value) -> Option<Value> {
    let alone = |value: &Value| value.as_str().is_some_and(|path| !path.contains('/'));
    let mut ours = with_steps(case, answer, |step, _| {
        alone(&step["path"]).then(|| error("invalid_path"))
    })?;
    let planted: Vec<&Value> = list(&case.given, "setup")
        .map(|action| &action["write"])
        .collect();
    let stepped: Vec<&Value> = list(&case.given, "steps")
        .map(|step| &step["path"])
        .collect();
    leave_out(&mut ours, |path| {
        alone(path) && stepped.contains(&path) && !planted.contains(&path)
    });
    Some(ours)
}

pub(super) fn listing_of_one_scope(case: &Case, _: StoreKind, answer: &Value) -> Option<Value> {
    with_steps(case, answer, |step, result| {
        let prefix = step["prefix"].as_str().filter(|_| step["op"] == "list")?;
        let scope = prefix.strip_suffix('/').unwrap_or(prefix);
        if scope.is_empty() {
            return Some(error("invalid_path"));
        }
        let inside = |path: &&Value| {
            let path = path.as_str().and_then(|path| path.rsplit_once('/'));
            path.is_some_and(|(parent, _)| parent == scope)
        };
        Some(result.as_array()?.iter().filter(inside).cloned().collect())
    })
}

/// What a case plants that is no text, by path.
fn no_texts(case: &Case) -> Vec<&str> {
    let planted = list(&case.given, "setup").filter(|action| {
        let bytes = action["bytes_hex"].as_str().map(|hex| {
            let bytes = (0..hex.len()).step_by(2);
            let bytes = bytes.filter_map(|at| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok());
            bytes.collect::<Vec<u8>>()
        });
        let text = action["text"].as_str().map(|text| text.as_bytes().to_vec());
        bytes
            .or(text)
            .is_some_and(|bytes| bytes.contains(&0) || String::from_utf8(bytes).is_err())
    });
    planted
        .filter_map(|action| action["write"].as_str())
        .collect()
}

pub(super) fn no_text_is_passed_over(case: &Case, _: StoreKind, answer: &Value) -> Option<Value> {
    let odd = no_texts(case);
    let odd: Vec<&str> = odd.into_iter().filter(|path| path.contains('/')).collect();
    if odd.is_empty() {
        return None;
    }
    let mut ours = with_steps(case, answer, |step, _| match step["op"].as_str()? {
        "read" | "write" | "delete" => {
            let path = step["path"].as_str()?;
            odd.contains(&path).then(|| error("unusable_file"))
        }
        "search" => {
            let prefix = step["prefix"].as_str()?;
            let in_scope = |path: &str| {
                path.rsplit_once('/')
                    .is_some_and(|(parent, _)| parent == prefix.trim_end_matches('/'))
            };
            odd.iter().any(|path| in_scope(path)).then(|| {
                found(
                    &planted_texts(case),
                    &in_scope,
                    step["query"].as_str().unwrap_or_default(),
                )
            })
        }
        _ => None,
    })?;
    let planted = list(&case.given, "setup").filter_map(|action| action["write"].as_str());
    let mut files: Vec<String> = list(&ours, "disk_after")
        .filter_map(|path| path.as_str().map(str::to_owned))
        .collect();
    // Nothing of it was written over or deleted.
    files.extend(planted.filter(|path| odd.contains(path)).map(str::to_owned));
    files.sort();
    files.dedup();
    ours["disk_after"] = json!(files);
    Some(ours)
}

fn planted_texts(case: &Case) -> Map<String, Value> {
    let odd = no_texts(case);
    let planted = list(&case.given, "setup").filter_map(|action| {
        let path = action["write"].as_str()?;
        let text = if odd.contains(&path) {
            ""
        } else {
            action["text"].as_str()?
        };
        Some((path.to_owned(), json!(text)))
    });
    planted.collect()
}

/// A search over what was planted: every file is examined, the best come first.
fn found(texts: &Map<String, Value>, in_scope: &dyn Fn(&str) -> bool, query: &str) -> Value {
    let inside: Vec<(&String, &str)> = texts
        .iter()
        .filter(|(path, _)| in_scope(path))
        .map(|(path, text)| (path, text.as_str().unwrap_or_default()))
        .collect();
    let terms: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
    let score = |path: &str, text: &str| -> usize {
        let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
        let text = text.to_lowercase();
        let hits = |term: &String| text.matches(term).count() + 2 * name.matches(term).count();
        terms.iter().map(hits).sum()
    };
    let mut best: Vec<(usize, &String)> = inside
        .iter()
        .filter(|(path, text)| !text.is_empty() && score(path, text) > 0)
        .map(|(path, text)| (score(path, text), *path))
        .collect();
    best.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
    let files: Vec<&String> = best.into_iter().map(|(_, path)| path).collect();
    json!({"files": files, "scanned": inside.len(), "truncated": false})
}

/// Steps on a note whose name a directory has.
pub(super) fn directories_stay(case: &Case, _: StoreKind, answer: &Value) -> Option<Value> {
    let mut directories: Vec<&str> = list(&case.given, "setup")
        .filter_map(|action| action["mkdir"].as_str())
        .collect();
    let parents = list(&case.given, "setup").filter_map(|action| action["write"].as_str());
    directories.extend(parents.filter_map(|path| Some(path.rsplit_once('/')?.0)));
    let meant = |step: &Value| {
        let path = step["path"].as_str();
        path.is_some_and(|path| directories.contains(&path))
    };
    if !list(&case.given, "steps").any(meant) {
        return None;
    }
    let operations: Vec<&Value> = list(&case.given, "steps")
        .filter(|step| meant(step) && step["op"] == "write")
        .map(|step| &step["operation"]["id"])
        .collect();
    let mut ours = with_steps(case, answer, |step, _| match step["op"].as_str()? {
        "write" if meant(step) && step["expected_version"].is_null() => {
            Some(error("unusable_file"))
        }
        "write" | "delete" if meant(step) && !step["expected_version"].is_null() => {
            Some(error("conflict"))
        }
        "delete" if meant(step) => {
            Some(json!({"version": null, "replayed": false, "existed": false}))
        }
        "read" if meant(step) => Some(Value::Null),
        "get_operation" if operations.contains(&&step["operation"]["id"]) => Some(Value::Null),
        _ => None,
    })?;
    if let Some(receipts) = answer["receipts_after"].as_array() {
        let kept = receipts
            .iter()
            .filter(|receipt| !operations.contains(&&receipt["id"]));
        let kept: Vec<Value> = kept.cloned().collect();
        ours["receipts_after"] = if kept.is_empty() {
            Value::Null
        } else {
            json!(kept)
        };
    }
    leave_out(&mut ours, |path| {
        path.as_str()
            .is_some_and(|path| path.contains("/.memory-tmp-"))
    });
    Some(ours)
}
