use notekeeper_contract::{FailureType, MemoryMatches, Outcome, RESULT_BYTES_MAX};
use serde_json::{Value, json};

use crate::fixture::{Bench, bench, done, input, refusal};

async fn search(bench: &Bench, fields: Value) -> Outcome<MemoryMatches> {
    bench
        .notebook
        .search(input(fields))
        .await
        .expect("the search doesn't fail")
}

#[tokio::test]
async fn matches_come_with_snippet_and_score_best_first() {
    let bench = bench();
    bench.put("a.md", "green tea").await;
    bench.put("b.md", "tea, more tea").await;
    bench.put("c.md", "coffee").await;
    let found = done(search(&bench, json!({"query": "TEA"})).await);
    let matches: Vec<_> = found
        .matches
        .iter()
        .map(|m| (m.file.as_str(), m.score))
        .collect();
    assert_eq!(matches, [("b.md", 2.0), ("a.md", 1.0)]);
    assert_eq!((found.scanned, found.truncated), (3, false));
    assert_eq!(found.matches[1].snippet, "green tea");
    let first = done(search(&bench, json!({"query": "tea", "max_search_results": 1})).await);
    assert_eq!((first.matches.len(), first.truncated), (1, true));
}

#[tokio::test]
async fn refusals_come_before_the_scope_and_settings_before_both() {
    let bench = bench();
    let cases = [
        ("\u{0}", "nul"),
        (" \n", "query_empty"),
        (&"x".repeat(1_001), "query_too_long"),
        (
            &(0..33).map(|n| format!("w{n} ")).collect::<String>(),
            "query_too_many_terms",
        ),
    ];
    for (query, reason) in cases {
        let fields = json!({"query": query, "scope": {"agent_name": ""}});
        assert_eq!(refusal(search(&bench, fields).await), reason);
    }
    for field in [
        "max_search_results",
        "max_search_result_chars",
        "max_search_files",
        "max_memory_size",
    ] {
        let failure = bench
            .notebook
            .search(input(json!({"query": "", field: 0})))
            .await
            .unwrap_err();
        assert_eq!(failure.kind, FailureType::InvalidArgument);
        assert_eq!(failure.message, format!("`{field}` must be at least 1"));
    }
    let scope = json!({"query": "x", "scope": {"agent_name": ""}});
    assert_eq!(
        bench.notebook.search(input(scope)).await.unwrap_err().kind,
        FailureType::InvalidScope
    );
    assert!(bench.store.take_calls().is_empty());
}

#[tokio::test]
async fn matches_that_would_not_fit_into_a_result_are_left_out_from_the_end() {
    let bench = bench();
    for n in 0..10 {
        bench
            .put(
                &format!("n{n}.md"),
                &format!("tea{}", "\u{1}".repeat(30_000)),
            )
            .await;
    }
    let fields = json!({
        "query": "tea", "max_search_results": 1_000_000, "max_search_result_chars": 1_000_000,
        "max_search_files": 1_000_000, "max_memory_size": 1_000_000,
    });
    let found = done(search(&bench, fields).await);
    // 180 kB each as JSON, so five fit into a mebibyte.
    let files: Vec<&str> = found.matches.iter().map(|m| m.file.as_str()).collect();
    assert_eq!(files, ["n0.md", "n1.md", "n2.md", "n3.md", "n4.md"]);
    assert_eq!((found.scanned, found.truncated), (10, true));
    assert!(serde_json::to_vec(&Outcome::Ok(found)).unwrap().len() <= RESULT_BYTES_MAX);
}

#[tokio::test]
async fn one_match_that_does_not_fit_leaves_none() {
    let bench = bench();
    bench
        .put("n.md", &format!("tea{}", "\u{1}".repeat(200_000)))
        .await;
    let fields = json!({
        "query": "tea", "max_search_result_chars": 1_000_000, "max_memory_size": 1_000_000,
    });
    let found = done(search(&bench, fields).await);
    assert_eq!(
        (found.matches.len(), found.scanned, found.truncated),
        (0, 1, true)
    );
}
