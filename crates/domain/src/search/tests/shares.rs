//! Scoring in shares, between which others have their turn.

use super::*;

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
