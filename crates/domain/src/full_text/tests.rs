use proptest::{collection::vec, prelude::*, sample::select};

use super::*;
use crate::{RecallQuery, is_space};

/// Words of which queries and texts have some in common, and others that nobody expects.
fn words() -> impl Strategy<Value = String> {
    let known = select(vec![
        "postgres",
        "postgers",
        "migration",
        "migrat",
        "tea",
        "invoice",
        "invoices",
        "C++",
        "src/auth.rs",
        "北京",
        "東京都",
        "ข้าวผัด",
        "사과를",
        "<->",
        "%",
        "don't",
        "Straße",
        "👍🏽",
        "e\u{301}",
        "\0",
        "_",
    ]);
    let word = prop_oneof![3 => known.prop_map(str::to_owned), 1 => any::<String>()];
    vec(word, 0..8).prop_map(|words| words.join(" "))
}

fn ranked(query: &str, texts: &[(String, String)], limit: usize) -> RankedTexts {
    let query = RecallQuery::parse(query);
    let mut text = FullText::new(&query);
    for (title, passage) in texts {
        text.offer(title, passage);
    }
    text.finish(limit)
}

fn indexes(found: &[RankedText]) -> Vec<usize> {
    found.iter().map(|it| it.index).collect()
}

proptest! {
    #[test]
    fn an_order_is_total_and_a_smaller_limit_is_its_beginning(
        query in words(),
        texts in vec((words(), words()), 0..12),
        limit in 0_usize..12,
    ) {
        let all = ranked(&query, &texts, usize::MAX);
        prop_assert_eq!(&all, &ranked(&query, &texts, usize::MAX));
        let some = ranked(&query, &texts, limit);
        for (all, some) in [(&all.words, &some.words), (&all.similar, &some.similar)] {
            prop_assert_eq!(&all[..limit.min(all.len())], some.as_slice());
            for found in all {
                prop_assert!(found.score > 0.0 && found.score <= 1.0, "{}", found.score);
                prop_assert!(found.index < texts.len());
            }
            for pair in all.windows(2) {
                let falls = pair[0].score > pair[1].score;
                let same = pair[0].score == pair[1].score && pair[0].index < pair[1].index;
                prop_assert!(falls || same);
            }
        }
    }

    #[test]
    fn what_is_found_by_words_is_found_by_similar_words_too(
        query in words(),
        texts in vec((words(), words()), 0..12),
    ) {
        let all = ranked(&query, &texts, usize::MAX);
        let similar = indexes(&all.similar);
        for index in indexes(&all.words) {
            prop_assert!(similar.contains(&index));
        }
    }

    #[test]
    fn a_text_is_found_by_itself_and_says_so(text in words(), others in vec(words(), 0..4)) {
        let query = RecallQuery::parse(&text);
        let mut ranking = FullText::new(&query);
        prop_assert_eq!(ranking.offer("", &text), !query.is_empty());
        for other in &others {
            ranking.offer("", other);
        }
        let found = ranking.finish(10);
        prop_assert_eq!(indexes(&found.words).contains(&0), !query.is_empty());
    }

    #[test]
    fn passages_have_all_of_a_text_and_no_more_than_their_length(
        text in vec(prop_oneof![
            Just("# H\n".to_owned()), Just("## Deeper\n\n".to_owned()), Just("\n\n".to_owned()),
            Just("```\n".to_owned()), Just("- item one.\n".to_owned()), "[a-z ]{0,400}", "[固e\u{301}]{0,1500}",
            Just("x".repeat(2_500)), Just(" ".repeat(1_500)), any::<String>(),
        ], 0..14).prop_map(|parts| parts.concat()),
    ) {
        let found = passages(&text);
        let mut reached = 0;
        for passage in &found {
            prop_assert!(!passage.text.is_empty());
            prop_assert!(passage.text.chars().count() <= PASSAGE_CHARS_MAX);
            let start = passage.text.as_ptr() as usize - text.as_ptr() as usize;
            let gap = text.get(reached..start).unwrap_or_default();
            prop_assert!(gap.chars().all(is_space), "{gap:?}");
            prop_assert!(start + passage.text.len() > reached, "it goes on");
            reached = start + passage.text.len();
        }
        prop_assert!(text[reached..].chars().all(is_space));
        // Two neighbours have some length together, so there are few of them.
        prop_assert!(found.len() <= 2 * text.chars().count() / 200 + 2, "{}", found.len());
    }
}

#[test]
fn the_work_for_long_texts_and_queries_is_bounded() {
    let query: String = (0..2_000).map(|n| format!("migratoin{n} ")).collect();
    let text: String = (0..5_000).map(|n| format!("migration{n} ")).collect();
    crate::deadline::within_a_minute(move || {
        let found = ranked(&query, &[(String::new(), text)], 1);
        assert_eq!(indexes(&found.similar), [0]);
    });
}

#[test]
fn passages_follow_headings_paragraphs_and_fences() {
    let long = "A sentence of some words. ".repeat(20);
    let text = format!(
        "# Guide\n\nShort.\n\n## Travel\n{long}\n\n### Trains\n{long}\n\n## Code\n\n{long}\n\n```sh\n# no heading\n\nmake test\n```\n"
    );
    let found = passages(&text);
    let seen: Vec<(String, String)> = found
        .iter()
        .map(|passage| {
            let first = passage.text.lines().next().unwrap_or_default().to_owned();
            (first, passage.headings.join(" > "))
        })
        .collect();
    let expected = [
        ("# Guide", "Guide"),
        ("### Trains", "Guide > Travel > Trains"),
        ("## Code", "Guide > Code"),
    ];
    assert_eq!(
        seen,
        expected.map(|(first, trail)| (first.to_owned(), trail.to_owned()))
    );
    assert!(found[2].text.contains("# no heading\n\nmake test"));
}

#[test]
fn a_paragraph_that_is_too_long_is_cut_at_sentences_and_the_next_part_repeats_some_words() {
    let text = "All notes are kept in one place and found again. ".repeat(60);
    let found = passages(&text);
    assert!(found.len() >= 3);
    for pair in found.windows(2) {
        assert!(pair[0].text.ends_with("found again."), "{}", pair[0].text);
        let begun = &pair[1].text[..20];
        assert!(pair[0].text.ends_with(&pair[1].text[..40]) || pair[0].text.contains(begun));
    }
}

#[test]
fn of_long_headings_the_beginning_stands_above_passages_and_of_many_the_innermost() {
    let heading = |level: usize| format!("{} {level}{}", "#".repeat(level), "é".repeat(5_000));
    let body = "Body. ".repeat(60);
    let text: String = (1..=6)
        .map(|level| format!("{}\n\n{body}\n\n", heading(level)))
        .collect();
    let found = passages(&text);
    for passage in &found {
        let chars: usize = passage.headings.iter().map(|it| it.chars().count()).sum();
        assert!(chars <= 300, "{chars}");
    }
    let last = found
        .last()
        .map(|it| it.headings.clone())
        .unwrap_or_default();
    let begins: Vec<&str> = last.iter().map(|heading| &heading[..1]).collect();
    assert_eq!(begins, ["5", "6"]);
    assert!(last.iter().all(|heading| heading.chars().count() == 120));
}
