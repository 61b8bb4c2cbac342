use notekeeper_contract::{FailureType, ListedMemory, MemoryFile, RESULT_BYTES_MAX};
use serde_json::{Value, json};

use crate::fixture::{Bench, bench, input, unavailable};

async fn list(bench: &Bench, fields: Value) -> ListedMemory {
    let listed = bench.notebook.list(input(fields)).await;
    listed.expect("the listing doesn't fail")
}

fn names(listed: &ListedMemory) -> Vec<&str> {
    listed.files.iter().map(|file| file.file.as_str()).collect()
}

#[tokio::test]
async fn notes_are_listed_by_name_with_version_and_characters() {
    let bench = bench();
    for (name, text) in [("b.md", "固固"), ("MEMORY.md", "- tea\n"), ("a.md", "")] {
        bench.put(name, text).await;
    }
    let listed = list(&bench, json!({})).await;
    assert_eq!(names(&listed), ["MEMORY.md", "a.md", "b.md"]);
    let chars: Vec<usize> = listed.files.iter().map(|file| file.chars).collect();
    assert_eq!(chars, [6, 0, 2]);
    assert!(!listed.truncated);

    bench.put("b.md", "固").await;
    let again = list(&bench, json!({})).await;
    assert_eq!(again.files[..2], listed.files[..2]);
    assert_ne!(again.files[2].version, listed.files[2].version);
}

#[tokio::test]
async fn a_listing_stops_at_its_bound_and_says_so() {
    let bench = bench();
    for name in ["a.md", "b.md", "c.md"] {
        bench.put(name, "tea").await;
    }
    let two = list(&bench, json!({"max_files": 2})).await;
    assert_eq!((names(&two), two.truncated), (vec!["a.md", "b.md"], true));
    let three = list(&bench, json!({"max_files": 3})).await;
    assert_eq!((three.files.len(), three.truncated), (3, false));
    let none = bench.notebook.list(input(json!({"max_files": 0}))).await;
    let failure = none.expect_err("a bound of nothing");
    assert_eq!(failure.kind, FailureType::InvalidArgument);
    assert!(failure.message.contains("`max_files`"), "{failure}");
}

#[tokio::test]
async fn a_scope_without_notes_lists_none_and_the_notes_of_another_scope_are_not_in_it() {
    let bench = bench();
    bench.put("a.md", "tea").await;
    let elsewhere = json!({"scope": {"namespace": "elsewhere"}});
    assert_eq!(names(&list(&bench, elsewhere).await), [""; 0]);
}

#[tokio::test]
async fn a_listing_that_temporal_would_not_carry_is_cut() {
    let bench = bench();
    let stem = "n".repeat(190);
    let notes = 5_000;
    for number in 0..notes {
        bench.put(&format!("{stem}{number:05}.md"), "tea").await;
    }
    let listed = list(&bench, json!({"max_files": 100_000})).await;
    assert!(listed.truncated);
    assert!(listed.files.len() < notes, "{}", listed.files.len());
    let bytes = serde_json::to_string(&listed).expect("JSON").len();
    let room = RESULT_BYTES_MAX - bytes;
    let one = serde_json::to_string::<MemoryFile>(&listed.files[0]).expect("JSON");
    assert!(room < 2 * one.len(), "{room} bytes more would have fitted");
}

#[tokio::test]
async fn a_store_that_is_away_fails_the_listing_and_may_be_asked_again() {
    let bench = bench();
    bench.store.fail_with(unavailable);
    let failure = bench.notebook.list(input(json!({}))).await.unwrap_err();
    assert_eq!(failure.kind, FailureType::Unavailable);
}
