//! The committed cases of full text. docs/search.md shows some of them.

use serde::Deserialize;

use super::*;
use crate::RecallQuery;

/// Path from this crate: `../../tests/full_text/cases.json`.
const CASES: &str = include_str!("../../../../tests/full_text/cases.json");

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    why: String,
    passages: Vec<(String, String)>,
    query: String,
    words: Vec<String>,
    similar: Vec<String>,
}

#[test]
fn the_committed_cases_hold() {
    let cases: Vec<Case> = serde_json::from_str(CASES).unwrap();
    let mut wrong = Vec::new();
    for case in &cases {
        let query = RecallQuery::parse(&case.query);
        let mut text = FullText::new(&query);
        for (title, passage) in &case.passages {
            text.offer(title, passage);
        }
        let ranked = text.finish(100);
        let titles = |found: &[RankedText]| -> Vec<String> {
            let found = found.iter();
            found.map(|it| case.passages[it.index].0.clone()).collect()
        };
        let found = (titles(&ranked.words), titles(&ranked.similar));
        if found != (case.words.clone(), case.similar.clone()) {
            wrong.push(format!(
                "{} ({}): {found:?}\n{ranked:?}",
                case.name, case.why
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(cases.len() >= 25);
}
