//! Tests of the runner itself, on the committed cases: it must notice what is wrong, and its lists
//! must be true.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::{
    bench::{Bench, Benches, StoreKind},
    case::{self, Case},
    differences::{self, RULES},
    judge::{self, Verdict},
    strings::unwrap_strings,
    topics::{INJECTED, TOPICS, kinds},
};

/// Cases of each topic that are tampered with.
const SAMPLES: usize = 3;

/// Keys of `render_snapshot` and `telemetry` that depend on the peer's wording and aren't compared.
const WORDING: [&str; 6] = [
    INJECTED,
    "total_chars",
    "body_chars",
    "payload_chars",
    "degenerate",
    "body_limit",
];

/// The committed cases of a topic.
fn cases(topic: &str) -> Vec<Case> {
    let file = case::read_topic(&case::committed_directory(), topic).expect("read the topic");
    file.cases
}

/// Cases that run, of all topics.
fn running() -> impl Iterator<Item = Case> {
    TOPICS.iter().flat_map(|topic| cases(topic))
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("start a runtime")
        .block_on(future)
}

async fn answer(case: &Case) -> Result<Value, String> {
    let bench = Bench::in_memory().await.expect("make a store");
    judge::answer(case, StoreKind::InMemory, &bench).await
}

/// The value at a path of keys and indexes.
fn at<'v>(value: &'v mut Value, path: &[String]) -> &'v mut Value {
    path.iter().fold(value, |value, step| match value {
        Value::Array(items) => &mut items[step.parse::<usize>().expect("an index")],
        value => &mut value[step.as_str()],
    })
}

/// Paths of everything in `value` that is compared.
fn paths(value: &Value, path: &[String], found: &mut Vec<Vec<String>>) {
    let step = |step: String| [path, &[step]].concat();
    match value {
        Value::Object(map) => {
            for (key, item) in map
                .iter()
                .filter(|(key, _)| !WORDING.contains(&key.as_str()))
            {
                paths(item, &step(key.clone()), found);
            }
        }
        Value::Array(items) => {
            found.push(path.to_vec());
            for (index, item) in items.iter().enumerate() {
                paths(item, &step(index.to_string()), found);
            }
        }
        _ => found.push(path.to_vec()),
    }
}

fn another(value: &Value) -> Value {
    match value {
        Value::Null => json!("tampered"),
        Value::Bool(flag) => json!(!flag),
        Value::Number(number) => json!(number.as_f64().unwrap_or(0.0) + 1.0),
        Value::String(text) => json!(format!("{text}tampered")),
        Value::Array(items) => json!([items.as_slice(), &[json!("tampered")]].concat()),
        Value::Object(_) => Value::Null,
    }
}

#[test]
fn a_tampered_expectation_fails_in_every_topic() {
    for topic in TOPICS {
        let mut tried = BTreeMap::new();
        // Passing cases, or where a topic has none, those that a rule covers.
        for by_rule in [false, true] {
            for case in &cases(topic) {
                if tried.len() == SAMPLES || (by_rule && !tried.is_empty()) {
                    break;
                }
                let Ok(answer) = block_on(answer(case)) else {
                    continue;
                };
                let verdict = judge::judge(case, StoreKind::InMemory, answer.clone());
                if by_rule == matches!(verdict, Verdict::Passed)
                    || matches!(verdict, Verdict::Failed(_))
                    || shows_a_part(case)
                {
                    continue;
                }
                tried.insert(case.id.clone(), tampered_fails(case, &answer));
            }
        }
        assert!(!tried.is_empty(), "{topic} has no case to tamper with");
        assert!(tried.values().all(|tampered| *tampered > 0), "{tried:?}");
    }
}

/// A block from which something is left out is judged by promises and not by its parts.
fn shows_a_part(case: &Case) -> bool {
    let block = &case.expect["block"];
    let files = &block["files"];
    case.topic == "render_snapshot"
        && (block.is_null()
            || block["main"]["dropped_lines"] != 0
            || !(files.is_null() || files["omitted"].is_null()))
}

/// Changes every part of the expectation, one at a time. Returns how many there were.
fn tampered_fails(case: &Case, answer: &Value) -> usize {
    let mut found = Vec::new();
    let expectation = case.expectation();
    paths(&expectation, &[], &mut found);
    for path in &found {
        let mut tampered = case.clone();
        tampered.expect = expectation.clone();
        let place = at(&mut tampered.expect, path);
        *place = another(place);
        let verdict = judge::judge(&tampered, StoreKind::InMemory, answer.clone());
        assert!(
            matches!(verdict, Verdict::Failed(_)),
            "{} passes with another `{}`",
            case.id,
            path.join(".")
        );
    }
    found.len()
}

#[test]
fn the_peers_answer_fails_where_a_rule_says_that_ours_is_another() {
    let mut covered = 0;
    for case in running() {
        for kind in StoreKind::ALL {
            let expected = differences::expected(&case, kind).expect("an answer");
            if !expected.rules.is_empty() {
                covered += 1;
                let verdict = judge::judge(&case, kind, case.expectation());
                assert!(
                    matches!(verdict, Verdict::Failed(_)),
                    "{}: {verdict:?}",
                    case.id
                );
            }
        }
    }
    assert!(covered > 0, "no rule covers any case");
}

#[test]
fn an_unknown_key_is_not_understood_wherever_it_stands() {
    for topic in TOPICS {
        let mut tried = 0;
        for case in &cases(topic) {
            for place in objects(&case.given) {
                let mut strange = case.clone();
                at(&mut strange.given, &place)["surprise"] = json!(1);
                let reason = block_on(answer(&strange)).expect_err(&case.id);
                assert!(reason.contains("surprise"), "{}: {reason}", case.id);
                tried += 1;
            }
            if tried >= SAMPLES {
                break;
            }
        }
        assert!(tried > 0, "{topic} has no case");
    }
}

/// Paths of the objects in `given` that have a fixed set of keys.
fn objects(given: &Value) -> Vec<Vec<String>> {
    let mut places = vec![Vec::new()];
    for key in ["config", "limits", "first", "second"] {
        if given.get(key).is_some_and(Value::is_object) {
            places.push(vec![key.to_owned()]);
        }
    }
    for key in ["steps", "calls", "memories", "then", "script"] {
        if given.get(key).is_some() {
            places.push(vec![key.to_owned(), "0".to_owned()]);
        }
    }
    places
}

#[test]
fn the_models_reproduce_every_expectation_that_they_speak_of() {
    let mut spoken = 0;
    for case in running() {
        let on_some_store = StoreKind::ALL.map(|kind| differences::reproduces(&case, kind));
        for reproduces in on_some_store {
            match reproduces.expect("the model answers") {
                Some(same) => assert!(same, "the model answers {} otherwise", case.id),
                None => continue,
            }
            spoken += 1;
        }
    }
    assert!(spoken > 0);
}

#[test]
fn every_rule_covers_a_committed_case_or_is_marked_for_other_sets() {
    let mut covered: BTreeMap<&str, usize> = BTreeMap::new();
    for case in running() {
        for kind in StoreKind::ALL {
            for rule in differences::expected(&case, kind).expect("an answer").rules {
                *covered.entry(rule).or_default() += 1;
            }
        }
    }
    for rule in RULES {
        let count = covered.get(rule.name).copied().unwrap_or(0);
        assert_eq!(
            count == 0,
            rule.elsewhere,
            "`{}` covers {count} cases",
            rule.name
        );
        assert!(!rule.reason.is_empty(), "`{}` has no reason", rule.name);
    }
}

/// A case made to show a rule that no observation shows. What the peer would answer follows from
/// its documented behaviour, so a model has to reproduce it.
#[derive(serde::Deserialize)]
struct Made {
    topic: String,
    rule: String,
    given: Value,
    expect: Value,
}

fn made() -> Vec<(String, Case)> {
    let made: Vec<Made> =
        serde_json::from_str(include_str!("made.json")).expect("read the made cases");
    let cases = made.into_iter().map(
        |Made {
             topic,
             rule,
             given,
             expect,
         }| {
            let text = json!({"id": rule, "given": given, "expect": expect});
            let mut case: Case = serde_json::from_value(text).expect("a case");
            case.topic = topic;
            case.given = unwrap_strings(case.given).expect("strings");
            case.expect = unwrap_strings(case.expect).expect("strings");
            (rule, case)
        },
    );
    cases.collect()
}

#[test]
fn rules_marked_for_other_sets_hold_for_cases_made_to_show_them() {
    block_on(async {
        let mut benches = Benches::create().await.expect("make the stores");
        for (rule, case) in made() {
            assert_ne!(
                differences::reproduces(&case, StoreKind::Postgres).expect("the model answers"),
                Some(false),
                "the peer would answer otherwise: {rule}"
            );
            for kind in kinds(&case) {
                let bench = benches.empty(kind).await.expect("empty the store");
                match judge::run(&case, kind, &bench).await {
                    Verdict::ByDifference(rules) => {
                        assert!(
                            rules.contains(&rule.as_str()),
                            "{rule}: covered by {rules:?}"
                        );
                    }
                    other => panic!("{rule} on {kind}: {other:?}"),
                }
            }
        }
    });
    for rule in RULES.iter().filter(|rule| rule.elsewhere) {
        assert!(
            made().iter().any(|(name, _)| name == rule.name),
            "no case shows `{}`",
            rule.name
        );
    }
}
