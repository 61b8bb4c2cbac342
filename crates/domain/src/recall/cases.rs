//! The committed cases of recall, on the pure functions. Stores have to answer the same: their tests run
//! the same file.

use serde::Deserialize;

use super::*;

/// Path from this crate: `../../tests/recall/cases.json`.
const CASES: &str = include_str!("../../../../tests/recall/cases.json");

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    why: String,
    facts: Vec<(String, String)>,
    query: String,
    #[serde(default = "limit_default")]
    limit: usize,
    expect: Vec<String>,
}

fn limit_default() -> usize {
    crate::RECALL_LIMIT_DEFAULT
}

fn cases() -> Vec<Case> {
    serde_json::from_str(CASES).unwrap()
}

/// As a store does: by the index first, then by a scan where that can add something.
fn recalled(case: &Case) -> Vec<String> {
    let query = RecallQuery::parse(&case.query);
    let candidates = (1..)
        .zip(&case.facts)
        .map(|(order, (key, value))| RecallCandidate {
            scope: "t/main",
            key,
            value,
            order,
            age_seconds: 0,
        });
    let mut recall = Recall::new(&query, case.limit);
    for fact in candidates.clone() {
        if query.is_empty() || is_found_by_index(&query, fact) {
            recall.offer(fact);
        }
    }
    if recall.needs_scan() {
        for fact in candidates {
            if is_found_by_scan(&query, fact) {
                recall.offer(fact);
            }
        }
    }
    assert!(recall.unread().is_empty());
    recall.finish().into_iter().map(|fact| fact.key).collect()
}

/// Whether the terms of a fact have one that a query looks up.
pub(super) fn is_found_by_index(query: &RecallQuery, fact: RecallCandidate<'_>) -> bool {
    fact_terms(fact.key, fact.value).iter().any(|term| {
        query.exact().contains(term)
            || query
                .prefixes()
                .iter()
                .any(|prefix| term >= prefix && prefix_end(prefix).is_none_or(|end| *term < end))
    })
}

/// Whether the folded text of a fact has one of a query's substrings.
pub(super) fn is_found_by_scan(query: &RecallQuery, fact: RecallCandidate<'_>) -> bool {
    let folded = folded_fact(fact.key, fact.value);
    let mut fewest = query.fewest_substrings().into_iter();
    fewest.any(|text| folded.contains(&text))
}

#[test]
fn every_case_is_answered_as_it_says() {
    let mut wrong = Vec::new();
    for case in cases() {
        let keys = recalled(&case);
        if keys != case.expect {
            wrong.push(format!(
                "{}: {keys:?} instead of {:?}",
                case.name, case.expect
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn cases_have_names_of_their_own_and_say_why() {
    let cases = cases();
    assert!(cases.len() >= 60, "{}", cases.len());
    let mut names: Vec<&str> = cases.iter().map(|case| &*case.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), cases.len());
    assert!(cases.iter().all(|case| !case.why.is_empty()));
}

/// The code in a cell of a table.
fn code(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

#[test]
fn every_example_of_the_documentation_is_a_case() {
    let cases = cases();
    let mut examples = 0;
    for row in include_str!("../../../../docs/recall.md").lines() {
        let cells: Vec<Vec<&str>> = row.split('|').skip(1).map(code).collect();
        let [query, found, left_out] = match &*cells {
            [query, found, left_out, _] => [query, found, left_out],
            [query, left_out, _] => [query, &vec![], left_out],
            _ => continue,
        };
        let [query] = query[..] else { continue };
        let says_so = |case: &&Case| {
            let value = |key: &String| case.facts.iter().find(|(other, _)| other == key);
            let values = case.expect.iter().filter_map(value);
            let values: Vec<&str> = values.map(|(_, value)| &**value).collect();
            let is_there = |text: &&str| case.facts.iter().any(|(_, value)| value == text);
            case.query == query
                && values == *found
                && left_out
                    .iter()
                    .all(|text| is_there(text) && !values.contains(text))
        };
        assert!(cases.iter().any(|case| says_so(&case)), "{row}");
        examples += 1;
    }
    assert!(examples > 30, "{examples}");
}
