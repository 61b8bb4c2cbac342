//! Conditions: what they match is [`Where`](notekeeper_domain::Where)'s business, on every store.

use notekeeper_domain::Where;
use serde_json::{Value, json};

use super::of_collection::{Collection, chunk, described};
use crate::{Chunk, VectorStore};

pub(super) async fn exercise(store: &dyn VectorStore) {
    conditions_match_as_they_say(&Collection::new(store, "w/match")).await;
    matches_are_found_behind_any_number_of_others(&Collection::new(store, "w/behind")).await;
}

/// Metadata of chunks.
fn metadata() -> Vec<Value> {
    vec![
        json!({}),
        json!({"t": "a"}),
        json!({"t": "A"}),
        json!({"t": "a%"}),
        json!({"t": "a_"}),
        json!({"t": "ab"}),
        json!({"t": "a\\"}),
        json!({"t": ""}),
        json!({"t": null}),
        json!({"t": true}),
        json!({"t": false}),
        json!({"t": "true"}),
        json!({"t": 1}),
        json!({"t": 1.0}),
        json!({"t": "1"}),
        json!({"t": 0}),
        json!({"t": -0.0}),
        json!({"t": 0.1}),
        json!({"t": 1e22}),
        json!({"t": u64::MAX}),
        json!({"t": 18_446_744_073_709_551_616.0}),
        json!({"t": 9_223_372_036_854_775_808_u64}),
        json!({"t": 9_223_372_036_854_775_808.0}),
        json!({"t": 9_007_199_254_740_993_i64}),
        json!({"t": 9_007_199_254_740_992.0}),
        json!({"t": []}),
        json!({"t": ["a"]}),
        json!({"t": ["b", "a", 3, null]}),
        json!({"t": [["a"]]}),
        json!({"t": [{"x": 1, "y": 2}]}),
        json!({"t": {"x": 1}}),
        json!({"t": {"x": 1.0, "y": 2}}),
        json!({"t": {}}),
        json!({"t": {"x": [1, 2]}}),
        json!({"t": "a", "u": "b"}),
        json!({"": "a"}),
        json!({"t%": "a"}),
        json!({"t\"'\\": "a\"'\\"}),
        json!({"\u{e9}": "\u{e9}"}),
        json!({"e\u{301}": "e\u{301}"}),
    ]
}

/// Conditions that are no chunk's metadata.
fn others() -> Vec<Value> {
    let deep = (0..500).fold(json!([1]), |inner, _| json!([inner]));
    vec![
        json!({"t": "%"}),
        json!({"t": "_"}),
        json!({"t": ".*"}),
        json!({"t": "*"}),
        json!({"t": "$.t"}),
        json!({"t": ["b"]}),
        json!({"t": [3.0, "b"]}),
        json!({"t": ["a", "a"]}),
        json!({"t": ["a", "absent"]}),
        json!({"t": [null]}),
        json!({"t": [{"y": 2, "x": 1.0}]}),
        json!({"t": [{"x": 1}]}),
        json!({"t": {"x": [2, 1]}}),
        json!({"t": {"y": 2.0, "x": 1}}),
        json!({"t": 1e308}),
        json!({"t": "a", "u": "c"}),
        json!({"t": "a", "unknown": null}),
        json!({"unknown": null}),
        json!({"unknown": []}),
        json!({"t": "a\0"}),
        json!({"t": ["a\0"]}),
        json!({"t\0": "a"}),
        json!({"t": {"x\0": 1}}),
        json!({"t": "a", "u": {"x": [{"y": "\0"}]}}),
        json!({ "t": deep }),
        json!({"t": "x".repeat(100_000)}),
    ]
}

async fn conditions_match_as_they_say(collection: &Collection<'_>) {
    let chunks: Vec<Chunk> = metadata()
        .into_iter()
        .enumerate()
        .map(|(index, metadata)| described(&format!("{index:02}"), &[1.0, 0.0], metadata))
        .collect();
    collection.put(&chunks).await;
    for wanted in metadata().into_iter().chain(others()) {
        let condition = Where::of_value(wanted.clone()).expect("an object");
        let right: Vec<&str> = chunks
            .iter()
            .filter(|chunk| condition.matches(&chunk.metadata))
            .map(|chunk| chunk.id.as_str())
            .collect();
        let shown: String = wanted.to_string().chars().take(200).collect();
        assert_eq!(
            collection.matching(&[1.0, 0.0], wanted.clone(), 100).await,
            right,
            "a condition matches as it says, and no pattern: {shown}"
        );
        let first: Vec<&str> = right.iter().take(2).copied().collect();
        assert_eq!(
            collection.matching(&[1.0, 0.0], wanted, 2).await,
            first,
            "a condition matches as it says, also where few are asked for: {shown}"
        );
    }
}

/// The nearest of all are other ones, so a store that looks for the nearest first has to go on.
async fn matches_are_found_behind_any_number_of_others(collection: &Collection<'_>) {
    let mut chunks: Vec<Chunk> = (0..300)
        .map(|index| chunk(&format!("near {index}"), &[1.0, 0.0]))
        .collect();
    for index in 0..5 {
        let metadata = json!({"tier": "far", "deep": {"n": index, "of": [5]}});
        chunks.push(described(&format!("far {index}"), &[-1.0, 0.1], metadata));
    }
    collection.put(&chunks).await;
    let found = collection.matching(&[1.0, 0.0], json!({"tier": "far"}), 5);
    let far = ["far 0", "far 1", "far 2", "far 3", "far 4"];
    assert_eq!(
        found.await,
        far,
        "there are fewer than were asked for only where fewer match"
    );
    let found = collection.matching(&[1.0, 0.0], json!({"deep": {"n": 3, "of": [5.0]}}), 5);
    assert_eq!(
        found.await,
        ["far 3"],
        "what only the caller can tell is found behind the others as well"
    );
}
