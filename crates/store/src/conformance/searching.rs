//! Search: what is found, in which order, and what bounds leave out.

use notekeeper_domain::{SearchAnswer, SearchLimits, SearchQuery};

use super::fixture::{Notebook, notebook};
use crate::{Expected, Store};

pub(super) async fn exercise<S: Store>(store: &S) {
    matches_are_ordered_by_hits_then_name(&notebook(store, "s/order")).await;
    queries_are_literal(&notebook(store, "s/literal")).await;
    case_is_ignored_beyond_ascii(&notebook(store, "s/case")).await;
    names_count_as_well(&notebook(store, "s/names")).await;
    bounds_are_kept_and_told(&notebook(store, "s/bounds")).await;
    names_and_snippets_share_a_bound(&notebook(store, "s/chars")).await;
    an_over_long_note_counts_up_to_the_bound(&notebook(store, "s/long")).await;
    odd_names_are_examined_and_passed_over(&notebook(store, "s/odd")).await;
    nested_scopes_stay_out(store).await;
}

const LIMITS: SearchLimits = SearchLimits {
    results_max: 10,
    result_chars_max: 4_000,
    files_max: 1_000,
    note_chars_max: 1_000,
};

impl<S: Store> Notebook<'_, S> {
    async fn search(&self, query: &str, limits: SearchLimits) -> SearchAnswer {
        let query = SearchQuery::parse(query).expect("suite uses valid queries");
        self.store
            .search(&self.scope, &query, &limits)
            .await
            .expect("search answers")
    }

    async fn found(&self, query: &str) -> Vec<String> {
        files(&self.search(query, LIMITS).await)
    }
}

fn files(answer: &SearchAnswer) -> Vec<String> {
    answer
        .matches
        .iter()
        .map(|found| found.file.clone())
        .collect()
}

async fn matches_are_ordered_by_hits_then_name<S: Store>(notebook: &Notebook<'_, S>) {
    let empty = notebook.search("needle", LIMITS).await;
    assert_eq!(
        (empty.matches.len(), empty.scanned, empty.truncated),
        (0, 0, false)
    );
    notebook.put("one.md", "needle").await;
    notebook.put("Two.md", "needle").await;
    notebook
        .put("three.md", "Needle needle NEEDLE thread")
        .await;
    notebook.put("none.md", "hay").await;
    let answer = notebook.search("needle", LIMITS).await;
    assert_eq!(files(&answer), ["three.md", "Two.md", "one.md"]);
    assert_eq!((answer.scanned, answer.truncated), (4, false));
    let scores: Vec<f64> = answer.matches.iter().map(|found| found.score).collect();
    assert_eq!(scores, [3.0, 1.0, 1.0]);
    assert_eq!(answer.matches[0].snippet, "Needle needle NEEDLE thread");
    assert_eq!(notebook.found("thread needle").await[0], "three.md");
}

async fn queries_are_literal<S: Store>(notebook: &Notebook<'_, S>) {
    let texts = [
        "pre-edit",
        "GB/s",
        "v2.1",
        "don't",
        "src/auth.rs",
        "a&|!b",
        "\"unclosed",
        "<->",
        "key:x",
        ":*",
        "50%",
        "snake_case",
        "back\\slash",
        "(((",
        "C++",
        ".*",
        "'; drop table notes; --",
    ];
    for (index, text) in texts.iter().enumerate() {
        notebook
            .put(&format!("n{index}.md"), &format!("before {text} after"))
            .await;
    }
    for (index, text) in texts.iter().enumerate() {
        let first = text.split(' ').next().expect("texts aren't empty");
        let found = notebook.found(first).await;
        assert!(found.contains(&format!("n{index}.md")), "`{text}` is found");
    }
    assert_eq!(notebook.found("5%0").await.len(), 0);
    assert_eq!(notebook.found("snake-case").await.len(), 0);
    assert_eq!(notebook.found("sn%").await.len(), 0);
}

async fn case_is_ignored_beyond_ascii<S: Store>(notebook: &Notebook<'_, S>) {
    notebook.put("accent.md", "L'ÉTÉ à la mer").await;
    notebook.put("greek.md", "ΟΔΥΣΣΕΥΣ").await;
    notebook.put("kelvin.md", "300 \u{212a}elvin").await;
    notebook.put("turkish.md", "İstanbul is big").await;
    notebook.put("ascii.md", "PLAIN Words").await;
    notebook.put("han.md", "固定 TEXT").await;
    for (query, file) in [
        ("été", "accent.md"),
        ("ÉTÉ", "accent.md"),
        ("οδυσσευς", "greek.md"),
        ("kelvin", "kelvin.md"),
        ("i\u{307}stanbul", "turkish.md"),
        ("plain", "ascii.md"),
        ("固定", "han.md"),
        ("text", "han.md"),
    ] {
        assert_eq!(notebook.found(query).await, [file], "{query}");
    }
    // No folding beyond lower case: an accent is a letter of its own.
    assert_eq!(notebook.found("ete").await.len(), 0);
}

async fn names_count_as_well<S: Store>(notebook: &Notebook<'_, S>) {
    notebook.put("Budget.md", "nothing of it").await;
    notebook.put("other.md", "the budget").await;
    let answer = notebook.search("BUDGET", LIMITS).await;
    assert_eq!(files(&answer), ["Budget.md", "other.md"]);
    assert_eq!(answer.matches[0].score, 2.0);
    assert_eq!(notebook.found(".md").await.len(), 2);
}

async fn bounds_are_kept_and_told<S: Store>(notebook: &Notebook<'_, S>) {
    for index in 0..6 {
        notebook
            .put(&format!("{index}.md"), &"needle ".repeat(index + 1))
            .await;
    }
    let two = notebook
        .search(
            "needle",
            SearchLimits {
                results_max: 2,
                ..LIMITS
            },
        )
        .await;
    assert_eq!(files(&two), ["5.md", "4.md"]);
    assert_eq!((two.scanned, two.truncated), (6, true));
    let all = notebook
        .search(
            "needle",
            SearchLimits {
                results_max: 6,
                ..LIMITS
            },
        )
        .await;
    assert_eq!((all.matches.len(), all.truncated), (6, false));
    // The first notes by name are examined, not the best.
    let first = notebook
        .search(
            "needle",
            SearchLimits {
                files_max: 3,
                ..LIMITS
            },
        )
        .await;
    assert_eq!(files(&first), ["2.md", "1.md", "0.md"]);
    assert_eq!((first.scanned, first.truncated), (3, true));
    let exact = notebook
        .search(
            "needle",
            SearchLimits {
                files_max: 6,
                ..LIMITS
            },
        )
        .await;
    assert_eq!((exact.scanned, exact.truncated), (6, false));
    let none = notebook
        .search(
            "needle",
            SearchLimits {
                files_max: 0,
                ..LIMITS
            },
        )
        .await;
    assert_eq!(
        (none.matches.len(), none.scanned, none.truncated),
        (0, 0, true)
    );
}

async fn names_and_snippets_share_a_bound<S: Store>(notebook: &Notebook<'_, S>) {
    for index in 0..6 {
        notebook
            .put(&format!("{index}.md"), &"needle ".repeat(20))
            .await;
    }
    let short = notebook
        .search(
            "needle",
            SearchLimits {
                result_chars_max: 30,
                ..LIMITS
            },
        )
        .await;
    let chars: usize = short
        .matches
        .iter()
        .map(|m| m.file.len() + m.snippet.chars().count())
        .sum();
    assert!(chars <= 30, "{short:?}");
}

async fn an_over_long_note_counts_up_to_the_bound<S: Store>(notebook: &Notebook<'_, S>) {
    let limits = SearchLimits {
        note_chars_max: 10,
        ..LIMITS
    };
    notebook.put("exact.md", "needle 890").await;
    let exact = notebook.search("needle", limits).await;
    assert_eq!((exact.matches.len(), exact.truncated), (1, false));
    notebook.put("long.md", "needle 固 needle").await;
    notebook.put("late.md", "beyond the bound: needle").await;
    let answer = notebook.search("needle", limits).await;
    assert_eq!(files(&answer), ["exact.md", "long.md"]);
    assert_eq!(answer.matches[1].score, 1.0);
    assert_eq!((answer.scanned, answer.truncated), (3, true));
    // A sigma at the end of a word has another lower case, and the cut makes an end.
    notebook.put("sigma.md", "ΑΣΑ").await;
    let two = SearchLimits {
        note_chars_max: 2,
        ..LIMITS
    };
    assert_eq!(files(&notebook.search("ας", two).await), ["sigma.md"]);
    assert_eq!(files(&notebook.search("ασ", two).await).len(), 0);
    assert_eq!(files(&notebook.search("ασ", LIMITS).await), ["sigma.md"]);
    notebook
        .delete("sigma.md", Expected::Any, None)
        .await
        .expect("delete");
    // What is over the bound is told even where nothing matches.
    let none = notebook.search("nowhere", limits).await;
    assert_eq!(
        (none.matches.len(), none.scanned, none.truncated),
        (0, 3, true)
    );
}

async fn odd_names_are_examined_and_passed_over<S: Store>(notebook: &Notebook<'_, S>) {
    let long = format!("{}.md", "n".repeat(100));
    for file in [
        "_odd.md",
        ".hidden.md",
        "-dash.md",
        long.as_str(),
        "fine.md",
    ] {
        notebook.put(file, "needle").await;
    }
    let answer = notebook.search("needle", LIMITS).await;
    assert_eq!(files(&answer), ["fine.md"]);
    assert_eq!((answer.scanned, answer.truncated), (5, false));
}

async fn nested_scopes_stay_out<S: Store>(store: &S) {
    let outer = notebook(store, "s/nest");
    for below in ["s/nest/a", "s/nest2", "s/nes"] {
        notebook(store, below).put("a.md", "needle").await;
    }
    outer.put("z.md", "needle").await;
    let answer = outer
        .search(
            "needle",
            SearchLimits {
                files_max: 1,
                ..LIMITS
            },
        )
        .await;
    assert_eq!(files(&answer), ["z.md"]);
    assert_eq!((answer.scanned, answer.truncated), (1, false));
}
