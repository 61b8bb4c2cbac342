//! Running a case and judging the answer.

use std::panic::AssertUnwindSafe;

use anyhow::{Context as _, Result, anyhow};
use futures::FutureExt as _;
use serde_json::{Value, json};

use crate::{
    bench::{Bench, StoreKind},
    case::{Case, Stop},
    differences::{self, Expected},
    strings::json_text,
    topics,
};

/// What a case came to on one kind of store.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// The answer is the peer's.
    Passed,
    /// The answer is ours, which differs from the peer's by these rules.
    ByDifference(Vec<&'static str>),
    /// The answer is wrong, or there is none.
    Failed(String),
}

/// Runs a case on an empty store and judges the answer.
pub(crate) async fn run(case: &Case, kind: StoreKind, bench: &Bench) -> Verdict {
    match answer(case, kind, bench).await {
        Ok(answer) => judge(case, kind, answer),
        Err(reason) => Verdict::Failed(reason),
    }
}

/// The answer to a case, or why there is none.
pub(crate) async fn answer(case: &Case, kind: StoreKind, bench: &Bench) -> Result<Value, String> {
    let running = AssertUnwindSafe(topics::run(case, kind, bench)).catch_unwind();
    match running.await {
        Err(_) => Err("the case panicked, see above".to_owned()),
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(Stop::NotUnderstood(what))) => Err(format!("not understood: {what}")),
        Ok(Err(Stop::Broken(error))) => Err(format!("broken: {error:#}")),
        Ok(Err(Stop::SeedRefused(code))) => Ok(json!({ "seed_refused": code })),
        Ok(Err(Stop::Unencodable(text))) => {
            refused_as_json(&text).map_err(|error| format!("{error:#}"))
        }
    }
}

/// What becomes of a text with a lone surrogate where JSON comes in.
fn refused_as_json(text: &Value) -> Result<Value> {
    let text = json_text(text).context("the text has no JSON form")?;
    match serde_json::from_str::<String>(&text) {
        Err(_) => Ok(json!({"error": "invalid_argument", "disposition": "fatal"})),
        Ok(_) => Err(anyhow!("a lone surrogate was accepted")),
    }
}

/// Compares an answer to what is right here.
pub(crate) fn judge(case: &Case, kind: StoreKind, mut answer: Value) -> Verdict {
    let expected = match differences::expected(case, kind) {
        Ok(expected) => expected,
        Err(error) => return Verdict::Failed(format!("no answer can be expected: {error:#}")),
    };
    let Expected {
        answer: mut right,
        rules,
    } = expected;
    if case.topic == "render_snapshot" {
        topics::settle_budget(case, &mut right, &mut answer);
    }
    match (answer == right, rules.is_empty()) {
        (true, true) => Verdict::Passed,
        (true, false) => Verdict::ByDifference(rules),
        (false, _) => Verdict::Failed(explained(&right, &answer, &rules)),
    }
}

fn explained(right: &Value, answer: &Value, rules: &[&str]) -> String {
    let mut lines = Vec::new();
    if !rules.is_empty() {
        lines.push(format!("rules: {}", rules.join("; ")));
    }
    difference("", right, answer, &mut lines);
    lines.join("\n")
}

/// Longest value that a difference quotes, in characters.
const QUOTE_CHARS_MAX: usize = 300;

fn difference(place: &str, right: &Value, answer: &Value, lines: &mut Vec<String>) {
    match (right, answer) {
        (Value::Object(a), Value::Object(b)) => {
            for key in a.keys().chain(b.keys().filter(|key| !a.contains_key(*key))) {
                let place = format!("{place}.{key}");
                match (a.get(key), b.get(key)) {
                    (Some(a), Some(b)) => difference(&place, a, b, lines),
                    (Some(a), None) => {
                        lines.push(format!("{place}: expected {}, is missing", quote(a)))
                    }
                    (None, Some(b)) => {
                        lines.push(format!("{place}: got {}, not expected", quote(b)))
                    }
                    (None, None) => {}
                }
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (index, (a, b)) in a.iter().zip(b).enumerate() {
                difference(&format!("{place}[{index}]"), a, b, lines);
            }
        }
        (a, b) if a == b => {}
        (a, b) => {
            let place = if place.is_empty() { "answer" } else { place };
            lines.push(format!("{place}: expected {}", quote(a)));
            lines.push(format!(
                "{:>width$}  got {}",
                "",
                quote(b),
                width = place.len() + 3
            ));
        }
    }
}

fn quote(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(QUOTE_CHARS_MAX) {
        Some((end, _)) => format!("{}… ({} characters)", &text[..end], text.chars().count()),
        None => text,
    }
}
