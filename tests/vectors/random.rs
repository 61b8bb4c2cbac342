//! Random cases: the models say what the peer would answer, and the product must answer as the
//! vectors' own cases demand, differences included. What fails prints its seed.

use rand::{Rng as _, SeedableRng as _, rngs::StdRng, seq::IndexedRandom as _};
use serde_json::{Map, Value, json};

use crate::{
    bench::{Benches, StoreKind},
    case::Case,
    differences,
    judge::{self, Verdict},
    strings::unwrap_strings,
    topics,
};

/// Names a seed to use in place of a random one.
const SEED_VARIABLE: &str = "NOTEKEEPER_VECTORS_SEED";

/// Cases for each generator.
const CASES: usize = 150;

/// Pieces of text in which rules show.
const PIECES: [&str; 28] = [
    "a",
    "b",
    "tea",
    "Tea",
    "- line",
    " ",
    "  ",
    "\n",
    "\n\n",
    "\r\n",
    "\r\n",
    "\r",
    "\u{2028}",
    "\u{1c}",
    "\u{a0}",
    "\u{b}",
    "é",
    "e\u{301}",
    "ß",
    "İ",
    "ΑΣ",
    "😀",
    "<memory>",
    "< / MEMORY>",
    "<system>",
    ".md",
    "\0",
    "aa",
];

const FILES: [&str; 10] = [
    "n",
    "n.md",
    " n\n",
    "MEMORY",
    "MEMORY.md",
    "memory",
    "a/b",
    "_x",
    "n..md",
    "N.MD",
];

fn pick<T: Copy>(rng: &mut StdRng, items: &[T]) -> T {
    *items.choose(rng).expect("something to pick from")
}

/// A text of up to `pieces` pieces.
fn text(rng: &mut StdRng, pieces: usize) -> String {
    let count = rng.random_range(0..=pieces);
    (0..count).map(|_| pick(rng, &PIECES)).collect()
}

/// A text, now and then with a lone surrogate.
fn argument(rng: &mut StdRng, pieces: usize) -> Value {
    match rng.random_ratio(1, 40) {
        true => json!({"$codepoints": [97, 0xD800 + rng.random_range(0..0x800)]}),
        false => json!(text(rng, pieces)),
    }
}

fn maybe(rng: &mut StdRng, map: &mut Value, key: &str, value: impl FnOnce(&mut StdRng) -> Value) {
    if rng.random_bool(0.4) {
        map[key] = value(rng);
    }
}

fn case(topic: &str, given: Value) -> Case {
    let fields = json!({"id": format!("random-{topic}"), "given": given, "expect": null});
    let mut case: Case = serde_json::from_value(fields).expect("a case");
    topic.clone_into(&mut case.topic);
    case.given = unwrap_strings(case.given).expect("strings");
    case
}

fn repetitions(rng: &mut StdRng) -> Case {
    let calls: Vec<Value> = (0..rng.random_range(1..6))
        .map(|_| {
            let op = pick(rng, &["write", "write", "write", "delete", "read"]);
            let mut call = json!({"op": op});
            if op == "write" {
                call["content"] = argument(rng, 3);
                maybe(rng, &mut call, "old_text", |rng| argument(rng, 1));
                maybe(rng, &mut call, "file", |rng| json!(pick(rng, &FILES)));
            } else {
                call["file"] = json!(pick(rng, &FILES));
            }
            maybe(rng, &mut call, "tool_call_id", |rng| {
                json!(pick(rng, &["c1", "c2", "c3"]))
            });
            maybe(rng, &mut call, "run_step", |rng| {
                json!(rng.random_range(1..3))
            });
            if rng.random_ratio(1, 8) {
                call["agent"] = json!(pick(rng, &["org", "a/b", "", "ü"]));
            }
            call
        })
        .collect();
    let initial = if rng.random() {
        json!(text(rng, 4))
    } else {
        Value::Null
    };
    case(
        "tool_replay_and_concurrency",
        json!({"kind": "replay", "initial": initial, "calls": calls}),
    )
}

fn bounded_write(rng: &mut StdRng) -> Case {
    let mut given = json!({
        "existing": null,
        "content": argument(rng, 4),
        "old_text": null,
        "max_memory_size": rng.random_range(1..16),
    });
    maybe(rng, &mut given, "existing", |rng| json!(text(rng, 5)));
    maybe(rng, &mut given, "old_text", |rng| argument(rng, 1));
    case("write_limits", given)
}

fn search(rng: &mut StdRng) -> Case {
    let names = [
        "a.md",
        "b.md",
        "tea.md",
        "B.md",
        "_x.md",
        ".h.md",
        "data.json",
        "in/a.md",
    ];
    let mut files = Map::new();
    for _ in 0..rng.random_range(0..6) {
        let path = format!("main/{}", pick(rng, &names));
        files.insert(path, json!(text(rng, 12)));
    }
    let mut limits = json!({});
    maybe(rng, &mut limits, "max_search_results", |rng| {
        json!(rng.random_range(1..4))
    });
    maybe(rng, &mut limits, "max_search_result_chars", |rng| {
        json!(rng.random_range(1..60))
    });
    maybe(rng, &mut limits, "max_search_files", |rng| {
        json!(rng.random_range(1..5))
    });
    maybe(rng, &mut limits, "max_memory_size", |rng| {
        json!(rng.random_range(1..20))
    });
    let query = argument(rng, 3);
    case(
        "search",
        json!({"scope": "main", "files": files, "query": query, "limits": limits}),
    )
}

fn steps(rng: &mut StdRng) -> Case {
    let paths = [
        "m/a.md",
        "m/a.md",
        "m/b.md",
        "n/a.md",
        "m/in/a.md",
        "a.md",
        "m/../a.md",
    ];
    let steps: Vec<Value> = (0..rng.random_range(1..9))
        .map(|index| {
            let op = pick(
                rng,
                &[
                    "write",
                    "write",
                    "write",
                    "delete",
                    "read",
                    "get_operation",
                    "list",
                ],
            );
            let mut step = json!({"op": op});
            let operation = json!({
                "id": pick(rng, &["a", "A", "b", "", "é"]),
                "fingerprint": pick(rng, &["f1", "f2"]),
            });
            match op {
                "get_operation" => step["operation"] = operation,
                "list" => {
                    step["prefix"] = json!(pick(rng, &["m/", "m", "n/", "", "/", "m//"]));
                    step["limit"] = json!(pick(rng, &[100, 1, 0, -1]));
                }
                _ => {
                    step["path"] = json!(pick(rng, &paths));
                    if op != "read" {
                        let back = format!("${}", rng.random_range(0..=index));
                        let versions =
                            [json!(null), json!(null), json!(back), json!("1"), json!("")];
                        step["expected_version"] =
                            versions.choose(rng).cloned().unwrap_or_default();
                        maybe(rng, &mut step, "operation", |_| operation);
                    }
                    if op == "write" {
                        step["content"] = json!(text(rng, 2));
                        maybe(rng, &mut step, "metadata", metadata);
                    }
                }
            }
            step
        })
        .collect();
    match rng.random() {
        true => case("cas_and_receipts", json!({"steps": steps})),
        false => case("metadata", json!({"kind": "steps", "steps": steps})),
    }
}

/// Metadata of a write, some of it such as no store takes.
fn metadata(rng: &mut StdRng) -> Value {
    let mut entries = Map::new();
    for _ in 0..rng.random_range(0..4) {
        let value = match rng.random_range(0..30) {
            0 => pick(rng, &[json!(1), json!(null), json!(true)].each_ref()).clone(),
            1 => json!([text(rng, 1)]),
            2 => json!(pick(rng, &PIECES).repeat(rng.random_range(1_000..4_100))),
            3 => argument(rng, 2),
            _ => json!(text(rng, 2)),
        };
        entries.insert(text(rng, 1), value);
    }
    match rng.random_ratio(1, 30) {
        true => json!(text(rng, 1)),
        false => Value::Object(entries),
    }
}

fn notebook(rng: &mut StdRng) -> Case {
    let mut files = Map::new();
    if rng.random_bool(0.8) {
        let lines: Vec<String> = (0..rng.random_range(0..20))
            .map(|_| pick(rng, &PIECES[..26]).repeat(rng.random_range(0..30)))
            .collect();
        files.insert("s/MEMORY.md".to_owned(), json!(lines.join("\n")));
    }
    for _ in 0..rng.random_range(0..30) {
        let name = "x".repeat(rng.random_range(1..12));
        let suffix = pick(rng, &[".md", ".md", ".txt", "/MEMORY.md"]);
        files.insert(
            format!("s/{}{name}{suffix}", rng.random_range(0..9)),
            json!(""),
        );
    }
    let mut config = json!({"max_tokens": rng.random_range(1..150)});
    maybe(rng, &mut config, "max_lines", |rng| {
        json!(rng.random_range(0..20))
    });
    maybe(rng, &mut config, "max_memory_size", |rng| {
        json!(rng.random_range(1..400))
    });
    maybe(rng, &mut config, "heading", |_| json!("Team notes"));
    maybe(rng, &mut config, "guidance", |rng| {
        json!("g".repeat(rng.random_range(0..200)))
    });
    case(
        "render_snapshot",
        json!({"scope": "s", "files": files, "config": config}),
    )
}

/// Stands in every text, name and query of a case about spans.
const PLANTED: &str = "planted";

/// Reasons for which a call is refused before it reaches a store.
const BEFORE_THE_STORE: [&str; 6] = [
    "empty_content",
    "invalid_path",
    "protected",
    "query_empty",
    "query_too_long",
    "query_too_many_terms",
];

fn calls_with_spans(rng: &mut StdRng) -> Case {
    let texts = [
        "planted",
        "planted planted\n",
        " ",
        "",
        "see planted.md",
        "PLANTED\r\n",
    ];
    let names = [
        "planted",
        "planted.md",
        "MEMORY",
        "planted/x",
        "",
        " planted ",
    ];
    let mut files = Map::new();
    for name in ["MEMORY.md", "planted.md", "planted-2.md"] {
        if rng.random_bool(0.6) {
            files.insert(format!("main/{name}"), json!(pick(rng, &texts)));
        }
    }
    let calls: Vec<Value> = (0..rng.random_range(1..5))
        .map(
            |_| match pick(rng, &["write", "write", "read", "delete", "search"]) {
                "write" => {
                    let mut call = json!({"op": "write", "content": pick(rng, &texts)});
                    maybe(rng, &mut call, "file", |rng| json!(pick(rng, &names)));
                    maybe(rng, &mut call, "old_text", |rng| json!(pick(rng, &texts)));
                    call
                }
                "search" => json!({"op": "search", "query": pick(rng, &texts)}),
                op => json!({"op": op, "file": pick(rng, &names)}),
            },
        )
        .collect();
    let mut given = json!({"files": files, "calls": calls});
    maybe(rng, &mut given, "max_memory_size", |rng| {
        json!(rng.random_range(1..20))
    });
    maybe(rng, &mut given, "max_search_results", |_| json!(1));
    maybe(rng, &mut given, "failing", |rng| {
        json!([pick(
            rng,
            &["read", "write", "delete", "list", "search", "get_operation"]
        )])
    });
    case("telemetry", given)
}

/// One span for each call that reaches a store, which says what became of it and nothing of what
/// it was about.
fn spans_tell_outcomes_alone(answer: &Value) -> Result<(), String> {
    for call in answer["calls"].as_array().ok_or("no calls")? {
        let result = call["result"].as_str().ok_or("no result")?;
        let spans = call["spans"].as_array().ok_or("no spans")?;
        if BEFORE_THE_STORE.contains(&result) {
            if spans.is_empty() {
                continue;
            }
            return Err(format!("a span of a call that reaches no store: {call}"));
        }
        let [span] = spans.as_slice() else {
            return Err(format!("not one span: {call}"));
        };
        let attributes = &span["attributes"];
        let outcome = attributes["memory.outcome"].as_str().unwrap_or_default();
        let error = match result {
            "ok" => None,
            "operation_conflict" => Some("OperationConflict"),
            "exception" => Some("Unsupported"),
            refused => Some(refused),
        };
        if attributes["memory.exception_type"].as_str() != error
            || (outcome == "error") != error.is_some()
        {
            return Err(format!("another outcome: {call}"));
        }
        if span.to_string().to_lowercase().contains(PLANTED) {
            return Err(format!("a span shows what it is about: {call}"));
        }
    }
    Ok(())
}

fn seed() -> u64 {
    let given = std::env::var(SEED_VARIABLE).ok();
    given.map_or_else(rand::random, |seed| {
        seed.parse().expect("a seed is a number")
    })
}

/// Runs random cases on every kind of store, and gives each answer to `check`.
fn on_every_store(
    generate: fn(&mut StdRng) -> Case,
    check: impl Fn(&Case, StoreKind, Result<Value, String>) -> Result<(), String>,
) {
    let seed = seed();
    let mut rng = StdRng::seed_from_u64(seed);
    let runtime = tokio::runtime::Runtime::new().expect("start a runtime");
    runtime.block_on(async {
        let mut benches = Benches::create().await.expect("make the stores");
        for number in 0..CASES {
            let case = generate(&mut rng);
            for kind in topics::kinds(&case) {
                let bench = benches.empty(kind).await.expect("empty the store");
                let answer = judge::answer(&case, kind, &bench).await;
                if let Err(why) = check(&case, kind, answer) {
                    panic!(
                        "case {number} of {SEED_VARIABLE}={seed} on {kind}\n{}\n{why}",
                        case.given
                    );
                }
            }
        }
    });
}

/// The answer must be the model's with every difference.
fn as_the_models(
    case: &Case,
    kind: StoreKind,
    answer: Result<Value, String>,
) -> Result<(), String> {
    let mut case = case.clone();
    case.expect = differences::peer_answer(&case, kind)
        .map_err(|error| format!("{error:#}"))?
        .ok_or("no model speaks of this case")?;
    match judge::judge(&case, kind, answer?) {
        Verdict::Failed(why) => Err(why),
        _ => Ok(()),
    }
}

#[test]
fn random_calls_are_answered_as_the_models_say() {
    on_every_store(repetitions, as_the_models);
}

#[test]
fn random_bounded_writes_are_answered_as_the_models_say() {
    on_every_store(bounded_write, as_the_models);
}

#[test]
fn random_searches_are_answered_as_the_models_say() {
    on_every_store(search, as_the_models);
}

#[test]
fn random_steps_are_answered_as_the_models_say() {
    on_every_store(steps, as_the_models);
}

#[test]
fn random_calls_leave_spans_that_tell_outcomes_alone() {
    on_every_store(calls_with_spans, |_, _, answer| {
        spans_tell_outcomes_alone(&answer?)
    });
}

#[test]
fn random_notebooks_keep_every_promise_of_a_block() {
    on_every_store(notebook, |_, _, answer| {
        let answer = answer?;
        let broken = &answer["block"]["broken_promises"];
        match answer["injected"].is_boolean() && (broken.is_null() || *broken == json!([])) {
            true => Ok(()),
            false => Err(answer.to_string()),
        }
    });
}
