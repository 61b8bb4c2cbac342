mod random;
mod shares;

use super::*;
use crate::{
    NOTE_CHARS_MAX_DEFAULT, SEARCH_FILES_MAX_DEFAULT, SEARCH_RESULT_CHARS_MAX_DEFAULT,
    SEARCH_RESULTS_MAX_DEFAULT,
};

const LIMITS: SearchLimits = SearchLimits {
    results_max: SEARCH_RESULTS_MAX_DEFAULT,
    result_chars_max: SEARCH_RESULT_CHARS_MAX_DEFAULT,
    files_max: SEARCH_FILES_MAX_DEFAULT,
    note_chars_max: NOTE_CHARS_MAX_DEFAULT,
};

fn search(query: &str, notes: &[(&str, &str)], limits: SearchLimits) -> SearchAnswer {
    let query = SearchQuery::parse(query).expect("a valid query");
    let mut scan = Scan::new(&query, limits);
    for (name, content) in notes {
        scan.add(name, content);
    }
    scan.finish(notes.len(), false)
}

/// Names and scores of a search with the default limits.
fn ranking(query: &str, notes: &[(&str, &str)]) -> Vec<(String, f64)> {
    search(query, notes, LIMITS)
        .matches
        .into_iter()
        .map(|hit| (hit.file, hit.score))
        .collect()
}

/// The only snippet of a search whose results may have `chars` beyond the name `a.md`.
fn snippet(query: &str, content: &str, chars: usize) -> String {
    let limits = SearchLimits {
        result_chars_max: "a.md".len() + chars,
        ..LIMITS
    };
    let answer = search(query, &[("a.md", content)], limits);
    answer.matches.into_iter().next().expect("a match").snippet
}

fn terms(query: &str) -> Vec<String> {
    SearchQuery::parse(query)
        .expect("a valid query")
        .lowered_terms()
        .to_vec()
}

#[test]
fn terms_are_split_at_any_white_space_and_kept_once() {
    assert_eq!(
        terms("  Tea\u{3000}PARIS\u{1f}tea\n\tnoon "),
        ["tea", "paris", "noon"]
    );
}

#[test]
fn queries_have_a_greatest_length_before_trimming() {
    let longest = format!("tea{}", " ".repeat(QUERY_CHARS_MAX - 3));
    assert_eq!(terms(&longest), ["tea"]);
    assert_eq!(
        SearchQuery::parse(&format!("{longest} ")),
        Err(Refusal::QueryTooLong {
            chars: QUERY_CHARS_MAX + 1
        })
    );
    assert!(SearchQuery::parse(&"固".repeat(QUERY_CHARS_MAX)).is_ok());
}

#[test]
fn queries_have_a_greatest_number_of_distinct_terms() {
    let most: Vec<String> = (0..QUERY_TERMS_MAX).map(|n| format!("t{n}")).collect();
    assert_eq!(terms(&most.join(" ")), most);
    assert_eq!(terms(&format!("{} T0 t1", most.join(" "))), most);
    assert_eq!(
        SearchQuery::parse(&format!("{} x", most.join(" "))),
        Err(Refusal::QueryTooManyTerms)
    );
}

#[test]
fn queries_of_nothing_or_with_nul_are_refused() {
    for query in ["", "  ", "\u{2028}\n"] {
        assert_eq!(
            SearchQuery::parse(query),
            Err(Refusal::QueryEmpty),
            "{query:?}"
        );
    }
    assert_eq!(
        SearchQuery::parse("a\0"),
        Err(Refusal::Nul { argument: "query" })
    );
}

#[test]
fn queries_that_look_like_search_syntax_are_literal() {
    let queries = [
        "pre-edit",
        "GB/s",
        "v2.1",
        "don't",
        "src/auth.rs",
        "\"unclosed",
        "<->",
        "key:x",
        ":*",
        "rm -rf",
        "C++",
        ".NET",
        "#42",
        "100%",
        "a_b",
        "C:\\tmp",
        "^[x](y)$",
    ];
    for query in queries {
        let content = format!("before {query} after");
        assert_eq!(ranking(query, &[("n.md", &content)]).len(), 1, "{query:?}");
        assert_eq!(
            ranking(query, &[("n.md", "nothing of this 0")]).len(),
            0,
            "{query:?}"
        );
    }
    assert_eq!(
        ranking("NOT foo", &[("n.md", "foo")]),
        [("n.md".to_owned(), 1.0)]
    );
    assert_eq!(ranking("a & | !b", &[("n.md", "x")]), []);
    assert!(SearchQuery::parse(&"(".repeat(QUERY_CHARS_MAX)).is_ok());
}

#[test]
fn names_count_twice_and_ties_go_by_code_point() {
    let notes = [
        ("tea.md", "x"),
        ("c.md", "tea tea tea"),
        ("b.md", "tea tea"),
        ("B.md", "Tea TEA"),
        ("a-1.md", "teatea"),
        ("none.md", "x"),
    ];
    let expected = [
        ("c.md", 3.0),
        ("B.md", 2.0),
        ("a-1.md", 2.0),
        ("b.md", 2.0),
        ("tea.md", 2.0),
    ];
    assert_eq!(
        ranking("tea", &notes),
        expected.map(|(name, score)| (name.to_owned(), score))
    );
}

#[test]
fn hits_are_counted_without_overlap_and_for_each_term() {
    assert_eq!(
        ranking("aa", &[("x.md", "aaaa"), ("y.md", "aaa")])[0].1,
        2.0
    );
    assert_eq!(ranking("tea team", &[("x.md", "team tea")])[0].1, 3.0);
}

#[test]
fn matching_folds_case_but_nothing_else() {
    assert_eq!(
        ranking("ΟΔΟΣ", &[("x.md", "η οδός"), ("y.md", "οδος")]).len(),
        1
    );
    assert_eq!(
        ranking("straße", &[("x.md", "STRASSE"), ("y.md", "Straße")]).len(),
        1
    );
    assert_eq!(ranking("caf\u{e9}", &[("x.md", "cafe\u{301}")]).len(), 0);
    assert_eq!(ranking("привет", &[("x.md", "ПРИВЕТ")]).len(), 1);
}

#[test]
fn odd_names_are_passed_over_and_only_counted() {
    let long = format!("{}.md", "a".repeat(78));
    let notes = [
        ("_x.md", "tea"),
        (".h.md", "tea"),
        (long.as_str(), "tea"),
        ("\u{e9}.md", "tea"),
        ("b", "tea"),
    ];
    let answer = search("tea", &notes, LIMITS);
    assert_eq!(
        answer
            .matches
            .iter()
            .map(|hit| hit.file.as_str())
            .collect::<Vec<_>>(),
        ["b"]
    );
    assert_eq!((answer.scanned, answer.truncated), (5, false));
}

#[test]
fn snippets_are_centred_on_the_first_hit_of_any_term() {
    let content = format!("{}beta{}alpha", "x".repeat(20), "y".repeat(30));
    assert_eq!(snippet("alpha beta", &content, 20), "...xxxbetayyyyyyy...");
    assert_eq!(snippet("beta", &content, 200), content);
    assert_eq!(snippet("alpha", &content, 12), "...yyyyalpha");
    assert_eq!(snippet("a.md", &content, 12), "xxxxxxxxx...");
}

#[test]
fn short_snippets_are_dots_where_something_was_cut() {
    let content = format!("{}needle{}", "x".repeat(50), "y".repeat(50));
    assert_eq!(snippet("needle", &content, 1), ".");
    assert_eq!(snippet("needle", &content, 2), "..");
    assert_eq!(snippet("needle", &content, 5), ".....");
    assert_eq!(snippet("needle", &content, 8), "...ee...");
    assert_eq!(snippet("tea", "tea", 1), ".");
    assert_eq!(snippet("tea", "tea", 3), "tea");
}

#[test]
fn snippets_are_centred_on_the_original_where_lower_case_is_longer() {
    let content = format!("{}needle{}", "İ".repeat(40), "y".repeat(40));
    assert_eq!(
        snippet("needle", &content, 21),
        format!("...{}needleyyyyy...", "İ".repeat(4))
    );
    // U+2126 shrinks from three bytes to two.
    let content = format!("{}needle{}", "\u{2126}".repeat(40), "y".repeat(40));
    assert_eq!(
        snippet("needle", &content, 21),
        format!("...{}needleyyyyy...", "\u{2126}".repeat(4))
    );
}

#[test]
fn a_hit_inside_a_lower_cased_character_points_to_that_character() {
    assert_eq!(snippet("i", "abİcdefgh", 6), "abİ...");
    assert_eq!(snippet("c", "İİİİİİc", 4), "...c");
    assert_eq!(
        snippet(
            "\u{307}",
            &format!("{}İ{}", "x".repeat(30), "y".repeat(30)),
            9
        ),
        "...İyy..."
    );
}

#[test]
fn every_snippet_size_of_mixed_text_is_exact() {
    let content =
        "固👩\u{200d}🔬\u{200c}e\u{301}".repeat(9) + "needle" + &"👩\u{200d}🔬固".repeat(9);
    let chars_in_all = content.chars().count();
    for chars in 1..=chars_in_all + 1 {
        assert_eq!(
            snippet("needle", &content, chars).chars().count(),
            chars.min(chars_in_all)
        );
    }
}

#[test]
fn names_and_snippets_share_the_bound() {
    let notes = [
        ("a.md", "tea tea tea tea tea "),
        ("b.md", "tea tea tea tea "),
        ("c.md", "tea"),
    ];
    let answer = search(
        "tea",
        &notes,
        SearchLimits {
            result_chars_max: 40,
            ..LIMITS
        },
    );
    let snippets: Vec<_> = answer
        .matches
        .iter()
        .map(|hit| hit.snippet.as_str())
        .collect();
    assert_eq!(snippets, ["tea tea tea tea tea ", "tea tea t..."]);
    assert!(answer.truncated);
    assert_eq!(
        search(
            "tea",
            &notes[2..],
            SearchLimits {
                result_chars_max: 4,
                ..LIMITS
            }
        )
        .matches,
        []
    );
}

#[test]
fn only_the_bounded_prefix_counts() {
    let limits = SearchLimits {
        note_chars_max: 10,
        ..LIMITS
    };
    let answer = search("tea", &[("a.md", "固固固固固固固固tea")], limits);
    assert_eq!((answer.matches.len(), answer.truncated), (0, true));
    let answer = search("tea", &[("a.md", "固固固固固固固tea")], limits);
    assert_eq!((answer.matches.len(), answer.truncated), (1, false));
}

#[test]
fn no_results_at_all_may_be_allowed() {
    let answer = search(
        "tea",
        &[("a.md", "tea")],
        SearchLimits {
            results_max: 0,
            ..LIMITS
        },
    );
    assert_eq!((answer.matches.len(), answer.truncated), (0, true));
}
