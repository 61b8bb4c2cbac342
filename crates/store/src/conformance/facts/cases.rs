//! The cases of recall that the repository keeps in a file, with what they should find.

use serde_json::Value;

const CASES: &str = include_str!("../../../../../tests/recall/cases.json");

/// Facts, a query, and the keys of what it should find, best first.
pub(super) struct Case {
    pub(super) name: String,
    /// Keys and values, in the order of remembering.
    pub(super) facts: Vec<(String, String)>,
    pub(super) query: String,
    pub(super) limit: usize,
    pub(super) expect: Vec<String>,
}

pub(super) fn all() -> Vec<Case> {
    let cases: Value = serde_json::from_str(CASES).expect("the file is JSON");
    let cases = cases.as_array().expect("a list of cases").iter();
    cases.map(case).collect()
}

fn case(case: &Value) -> Case {
    let facts = case["facts"].as_array().expect("facts").iter();
    let limit = case["limit"].as_u64();
    Case {
        name: text(&case["name"]),
        facts: facts.map(|fact| (text(&fact[0]), text(&fact[1]))).collect(),
        query: text(&case["query"]),
        limit: limit.map_or(notekeeper_domain::RECALL_LIMIT_DEFAULT, |limit| {
            usize::try_from(limit).expect("a limit")
        }),
        expect: case["expect"]
            .as_array()
            .expect("keys")
            .iter()
            .map(text)
            .collect(),
    }
}

fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}
