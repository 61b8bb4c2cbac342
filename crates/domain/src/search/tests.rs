use proptest::prelude::*;

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

/// The rules once more, said on whole lists of characters, for text in which lower-casing keeps
/// every character one character.
fn plainly(terms: &[String], notes: &[(String, String)], limits: SearchLimits) -> SearchAnswer {
    let mut scored: Vec<(usize, &str, Vec<char>, usize)> = Vec::new();
    let mut truncated = false;
    for (name, content) in notes {
        let content: Vec<char> = content.chars().collect();
        truncated |= content.len() > limits.note_chars_max;
        let content = content[..content.len().min(limits.note_chars_max)].to_vec();
        let lowered: String = content.iter().collect::<String>().to_lowercase();
        let score: usize = terms
            .iter()
            .map(|term| {
                lowered.matches(term.as_str()).count()
                    + 2 * name.to_lowercase().matches(term.as_str()).count()
            })
            .sum();
        let first = terms
            .iter()
            .filter_map(|term| lowered.find(term.as_str()))
            .min();
        let first = first.map_or(0, |byte| lowered[..byte].chars().count());
        if score > 0 {
            scored.push((score, name, content, first));
        }
    }
    scored.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
    let found = scored.len();
    scored.truncate(limits.results_max);
    let mut left = limits.result_chars_max;
    let mut matches = Vec::new();
    for (score, name, content, first) in scored {
        let Some(room) = left.checked_sub(name.len()).filter(|&room| room > 0) else {
            break;
        };
        let start = first.saturating_sub(room / 3);
        let end = content.len().min(start + room);
        let start = end.saturating_sub(room);
        let mut text = content[start..end].to_vec();
        let count = text.len();
        for (index, c) in text.iter_mut().enumerate() {
            if (start > 0 && index < 3) || (end < content.len() && index + 3 >= count) {
                *c = '.';
            }
        }
        left = room - count;
        matches.push(SearchMatch {
            file: name.to_owned(),
            snippet: text.into_iter().collect(),
            score: f64::from(u32::try_from(score).unwrap()),
        });
    }
    truncated |= matches.len() < found;
    SearchAnswer {
        matches,
        scanned: notes.len(),
        truncated,
    }
}

/// Pauses while one note is scored.
fn pauses(query: &str, content: &str) -> usize {
    let query = SearchQuery::parse(query).expect("a valid query");
    let limits = SearchLimits {
        note_chars_max: usize::MAX,
        ..LIMITS
    };
    let mut scan = Scan::new(&query, limits);
    let mut scoring = scan.begin("a.md", content);
    let mut pauses = 0;
    while scoring.proceed() {
        pauses += 1;
    }
    pauses
}

#[test]
fn a_long_note_is_scored_in_shares_whatever_it_and_the_query_are() {
    let most_terms: Vec<String> = (0..QUERY_TERMS_MAX).map(|n| format!("term{n}")).collect();
    let mebibyte = 1024 * 1024;
    // Text is gone through once to lower its case, and once for each term.
    let hay = "hay ".repeat(mebibyte / 4);
    assert!(pauses("needle", &hay) >= 2 * mebibyte / SHARE - 1);
    assert!(pauses(&most_terms.join(" "), &hay) >= 33 * mebibyte / SHARE - 1);
    // Hits are work as well.
    assert!(pauses("a", &"a".repeat(mebibyte)) >= mebibyte / 5_000);
    // No word, letter or white space at which one could pause by chance.
    assert!(pauses("needle", &"Σ".repeat(mebibyte / 2)) >= mebibyte / SHARE);
    assert!(pauses("needle", &"\u{301}".repeat(mebibyte / 2)) >= mebibyte / SHARE);
    assert_eq!(pauses("needle", "A short note."), 0);
}

#[test]
fn many_notes_without_text_are_scored_in_shares_as_well() {
    let query = SearchQuery::parse("needle").expect("a valid query");
    let mut scan = Scan::new(&query, LIMITS);
    let mut pauses = 0;
    for _ in 0..10_000 {
        let mut scoring = scan.begin("a.md", "");
        while scoring.proceed() {
            pauses += 1;
        }
    }
    assert!(pauses >= 10_000 / 256, "{pauses}");
}

#[test]
fn a_note_that_takes_many_shares_is_scored_as_if_it_took_one() {
    // The lengths of the parts have no divisor in common with a share or a piece, so hits and sigmas
    // come to lie across the end of each sooner or later.
    for (unit, query) in [
        ("aab needle\u{301} ", "aab abn needle a"),
        ("ΟΔΟΣ.ΣΑΣ\u{301}αΣ' ", "οδος σας σ ας"),
        ("ΣΣ", "σσ σς ς"),
        ("İstanbul ẞ 固 ", "i\u{307}stanbul ß 固 bul"),
        ("aa", "aaa"),
    ] {
        let content = unit.repeat(3 * SHARE / unit.len() + 7);
        let limits = SearchLimits {
            note_chars_max: usize::MAX,
            ..LIMITS
        };
        let answer = search(query, &[("x.md", &content)], limits);
        let lowered = content.to_lowercase();
        let hits: usize = terms(query)
            .iter()
            .map(|term| lowered.matches(term.as_str()).count())
            .sum();
        let scores: Vec<f64> = answer.matches.iter().map(|found| found.score).collect();
        assert_eq!(scores, [f64::from(u32::try_from(hits).unwrap())], "{unit}");
    }
    // The hit lies far behind the first piece, after characters that grow by lower-casing.
    let content = format!("{}needle{}", "İ".repeat(SHARE), "y".repeat(SHARE));
    let limits = SearchLimits {
        note_chars_max: usize::MAX,
        result_chars_max: 25,
        ..LIMITS
    };
    let answer = search("needle", &[("a.md", &content)], limits);
    assert_eq!(
        answer.matches[0].snippet,
        format!("...{}needleyyyyy...", "İ".repeat(4))
    );
}

#[test]
fn a_scoring_that_is_given_up_leaves_its_note_out() {
    let query = SearchQuery::parse("tea").expect("a valid query");
    let mut scan = Scan::new(&query, LIMITS);
    drop(scan.begin("a.md", "tea"));
    scan.add("b.md", "tea");
    let files: Vec<String> = scan
        .finish(2, false)
        .matches
        .into_iter()
        .map(|found| found.file)
        .collect();
    assert_eq!(files, ["b.md"]);
}

proptest! {
    #[test]
    fn answers_agree_with_the_rules_said_plainly(
        query in "[aAbB.固👩]{1,3}( [aAbB.固👩]{1,2}){0,3}",
        notes in prop::collection::btree_map("[abAB][ab]{0,3}(\\.md)?", "[aAbBcC. \n固👩Σσ]{0,60}", 0..8),
        results_max in 1usize..5,
        result_chars_max in 1usize..80,
        note_chars_max in 1usize..70,
    ) {
        let limits = SearchLimits { results_max, result_chars_max, note_chars_max, files_max: 99 };
        let notes: Vec<(String, String)> = notes.into_iter().collect();
        let parsed = SearchQuery::parse(&query).unwrap();
        let mut scan = Scan::new(&parsed, limits);
        // The other way round than names ascend: the order of candidates must not matter.
        for (name, content) in notes.iter().rev() {
            scan.add(name, content);
        }
        prop_assert_eq!(
            scan.finish(notes.len(), false),
            plainly(parsed.lowered_terms(), &notes, limits)
        );
    }

    #[test]
    fn any_search_stays_inside_its_bounds(
        query in any::<String>(),
        contents in prop::collection::vec(any::<String>(), 0..6),
        result_chars_max in 0usize..60,
    ) {
        let Ok(query) = SearchQuery::parse(&query) else { return Ok(()) };
        let mut scan = Scan::new(&query, SearchLimits { results_max: 3, result_chars_max, ..LIMITS });
        for (index, content) in contents.iter().enumerate() {
            scan.add(&format!("n{index}.md"), content);
        }
        let answer = scan.finish(contents.len(), false);
        let chars: usize = answer
            .matches
            .iter()
            .map(|hit| hit.file.chars().count() + hit.snippet.chars().count())
            .sum();
        prop_assert!(chars <= result_chars_max && answer.matches.len() <= 3);
    }
}
