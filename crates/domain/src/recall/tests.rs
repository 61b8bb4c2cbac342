use proptest::{collection::vec, prelude::*, sample::select};

use super::{
    cases::{is_found_by_index, is_found_by_scan},
    *,
};

#[test]
fn every_character_folds_to_what_folds_to_itself_and_so_does_its_lower_case() {
    // Beyond the planes of Han there are but tags and selectors.
    for c in ('\0'..='\u{323af}').chain('\u{e0000}'..='\u{e01ef}') {
        let text = format!("a{c}b");
        let once = folded(&text);
        assert_eq!(folded(&once), once, "{c:?}");
        assert_eq!(folded(&text.to_lowercase()), once, "{c:?}");
        assert!(!once.contains(char::is_control), "{c:?}");
    }
}

#[test]
fn marks_are_dropped_where_the_script_allows_it() {
    let pairs = [
        ("é e\u{301}", "e e"),
        ("Ångström", "angstrom"),
        ("ό", "ο"),
        ("ѐ ё й и\u{306} ў", "е е и\u{306} и\u{306} у"),
        ("שָׁלוֹם", "שלום"),
        ("كِتَاب", "كتاب"),
        ("أ إ آ ؤ", "ا ا ا و\u{654}"),
        ("हिन्दी", "हिन्दी"),
        ("ไม่", "ไม่"),
        ("が", "か\u{3099}"),
        ("≠", "=\u{338}"),
        ("1️⃣", "1"),
    ];
    for (text, expected) in pairs {
        assert_eq!(folded(text), expected, "{text}");
    }
}

/// What this shows is kept in databases. Where it changes, stored facts have to be made anew: by a
/// migration, or they are no longer found as they should be.
#[test]
fn the_stored_form_of_facts_is_stable() {
    let facts = [
        (
            "food_preferences",
            "Vegetarian; no peanuts (dietary needs)!",
        ),
        ("C++", "don’t run `rm -rf ./src/auth.rs`, see #42 – v2.1"),
        ("Straße İz ΣΟΦΟΣ", "café cafe\u{301} ﬁn ½ x≠y Łódź мой ёж"),
        ("東京都", "コーヒー ｺｰﾋｰ 我喜欢👩‍🔬iPhone"),
        ("ไทย", "แมว ខ្មែរ ကော်ဖီ"),
        ("한국어", "사과를 हिन्दी தமிழ்"),
        ("שָׁלוֹם", "أَحْمَد ﷺ مؤمن"),
    ];
    let stored: Vec<String> = facts
        .iter()
        .map(|(key, value)| {
            let terms = fact_terms(key, value).join(" ");
            format!("{}\n  {terms}", folded_fact(key, value))
        })
        .collect();
    insta::assert_snapshot!(stored.join("\n\n"));
}

#[test]
fn a_term_beyond_the_bound_of_a_fact_is_found_as_a_substring_alone() {
    let words = (0..FACT_TERMS_MAX).map(|n| format!("w{n} "));
    let value = words.collect::<String>() + "zebra";
    assert_eq!(fact_terms("k", &value).len(), FACT_TERMS_MAX);
    assert!(!fact_terms("k", &value).contains(&"zebra".to_owned()));

    let query = RecallQuery::parse("zebra");
    let found = answer(&query, &[("k".to_owned(), value)], 10);
    assert!(found[0].score <= 0.1, "{}", found[0].score);
    let in_key = answer(&query, &[("zebra".to_owned(), "w ".repeat(8_192))], 10);
    assert!(in_key[0].score > 0.99);
}

#[test]
fn the_longest_words_of_a_long_query_are_looked_for_inside_of_others() {
    let words: Vec<String> = (0..12)
        .map(|n| format!("w{n:x}{}", "o".repeat(3 + n)))
        .collect();
    let query = RecallQuery::parse(&format!("({})", words.join(" ")));
    assert_eq!(query.fewest_substrings(), words[4..]);
    assert_eq!(query.substrings().len(), 2 + RECALL_SUBSTRINGS_MAX);
    let facts = words
        .iter()
        .map(|word| (format!("k{word}"), format!("x{word}x")));
    let facts: Vec<(String, String)> = facts.collect();
    let found = answer(&query, &facts, 20);
    assert_eq!(found.len(), 8, "{found:?}");
    assert!(found.iter().all(|fact| fact.score <= 0.1));
}

#[test]
fn a_value_of_one_word_repeated_has_that_term() {
    assert_eq!(fact_terms("k", &"tea ".repeat(4_096)), ["k", "tea"]);
}

#[test]
fn scores_tell_whole_words_prefixes_and_substrings_apart() {
    let facts = [
        ("cat", "x"),
        ("a", "cat"),
        ("b", "category"),
        ("c", "concatenate"),
        ("d", "dog"),
    ];
    let facts = facts.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let found = answer(&RecallQuery::parse("cat"), &facts, 10);
    let scores: Vec<(&str, f64)> = found.iter().map(|fact| (&*fact.key, fact.score)).collect();
    let [("cat", key), ("a", whole), ("b", prefix), ("c", substring)] = scores[..] else {
        panic!("{scores:?}");
    };
    assert!((key - 1.0).abs() < 1e-12, "{key}");
    assert!(key > whole && whole > prefix && prefix > 0.1, "{scores:?}");
    assert!(substring > 0.0 && substring <= 0.1, "{substring}");
    for fact in answer(&RecallQuery::parse(""), &facts, 10) {
        assert!(fact.score.abs() < f64::EPSILON);
    }
}

#[test]
fn each_fact_comes_back_with_the_scope_that_it_was_offered_with() {
    let query = RecallQuery::parse("tea");
    let mut recall = Recall::new(&query, 10);
    for (order, scope) in (1..).zip(["t/main", "other/main", "t/main"]) {
        recall.offer(RecallCandidate {
            scope,
            key: &format!("drink {order}"),
            value: "tea",
            order,
            age_seconds: 0,
        });
    }
    assert_eq!(recall.unread(), [""; 0]);
    let found = recall.finish();
    let scopes: Vec<&str> = found.iter().map(|fact| fact.scope.as_str()).collect();
    assert_eq!(scopes, ["t/main", "other/main", "t/main"]);
}

#[test]
fn of_two_states_of_a_fact_the_later_counts() {
    let query = RecallQuery::parse("tea");
    let offer = |recall: &mut Recall<'_>, value, order| {
        let (key, age_seconds) = ("drink", 0);
        recall.offer(RecallCandidate {
            scope: "t/main",
            key,
            value,
            order,
            age_seconds,
        });
    };
    let mut recall = Recall::new(&query, 1);
    offer(&mut recall, "green tea", 2);
    offer(&mut recall, "tea", 1);
    assert!(!recall.needs_scan());
    offer(&mut recall, "black tea", 3);
    let found = recall.finish();
    assert_eq!(found.len(), 1);
    assert_eq!((&*found[0].value, found[0].order), ("black tea", 3));

    let mut recall = Recall::new(&query, 1);
    offer(&mut recall, "tea", 1);
    offer(&mut recall, "water", 2);
    assert!(recall.needs_scan());
    assert_eq!(recall.finish(), []);
}

/// Long values, of which those are let go that turn out to come into the answer: the word that is rare
/// among the first facts is common in the end.
#[test]
fn values_that_were_let_go_are_asked_for() {
    let long = "x".repeat(64 * 1024);
    let facts: Vec<(String, String)> = (0..410)
        .map(|n| {
            let word = if n < 310 { "first" } else { "second" };
            (format!("{n}"), format!("{word} {long}"))
        })
        .collect();
    let query = RecallQuery::parse("first second");
    let mut recall = Recall::new(&query, 5);
    for n in (0..10).chain(310..410).chain(10..310) {
        recall.offer(candidate(&facts, n));
        assert!(recall.values_bytes <= VALUES_BYTES_MAX);
    }
    let unread = recall.unread();
    assert_eq!(unread, ["409", "408", "407", "406", "405"]);
    for key in &unread[..4] {
        recall.offer(candidate(&facts, key.parse().unwrap()));
    }
    assert_eq!(
        recall.unread(),
        ["404"],
        "in place of one that isn't there any more"
    );
    recall.offer(candidate(&facts, 404));
    assert_eq!(recall.unread(), [""; 0]);
    let keys: Vec<String> = recall.finish().into_iter().map(|fact| fact.key).collect();
    assert_eq!(keys, ["409", "408", "407", "406", "404"]);
}

fn candidate(facts: &[(String, String)], n: usize) -> RecallCandidate<'_> {
    RecallCandidate {
        scope: "t/main",
        key: &facts[n].0,
        value: &facts[n].1,
        order: i64::try_from(n).unwrap(),
        age_seconds: 0,
    }
}

/// The answer where all facts are offered, in order.
fn answer(query: &RecallQuery, facts: &[(String, String)], limit: usize) -> Vec<RecalledFact> {
    let mut recall = Recall::new(query, limit);
    for n in 0..facts.len() {
        recall.offer(candidate(facts, n));
    }
    assert_eq!(recall.unread(), [""; 0]);
    recall.finish()
}

/// What texts are put together of: letters and marks, composed and not, in pairs that fold to the same or
/// mustn't, and symbols.
const PIECES: &str = "a b C c ++ # . - ' ’ / ( _ * \" 1 42 ½ ß ẞ ss é e \u{301} \u{306} й и İ ı I i Σ σ ς \
    ŉ ĳ ﬁ ¨ ´ ≠ = \u{338} 東 京 都 が か \u{3099} ガ ﾞ ｶ 가 각 ᄀ ᅡ ᆨ ا أ و \u{654} \u{64e} ש \u{5b8} ह ि \u{94d} \
    म ม \u{e48} ำ 👩 \u{200d} 🔬 \u{fe0f} \u{ad} \u{e000} \u{10ffff}";

/// Texts of few characters, so that they often have something in common: of many scripts, with marks
/// composed and not, symbols, spaces and controls.
fn text() -> impl Strategy<Value = String> {
    let mut pieces: Vec<&str> = PIECES.split(' ').collect();
    pieces.extend([" ", "  ", "\n", "\0"]);
    let short = vec(select(pieces), 0..8).prop_map(|pieces| pieces.concat());
    prop_oneof![8 => short, 1 => "\\PC{0,12}", 1 => any::<String>()]
}

fn facts() -> impl Strategy<Value = Vec<(String, String)>> {
    vec((text(), text()), 0..8).prop_map(|facts| {
        let numbered = facts.into_iter().enumerate();
        // Keys are distinct.
        numbered
            .map(|(n, (key, value))| (format!("{key} {n}"), value))
            .collect()
    })
}

/// What an in-memory dictionary finds that looks for one text in another.
fn is_python_substring(query: &str, text: &str) -> bool {
    let query = query.to_lowercase();
    let query = query.trim_matches(crate::is_space);
    text.to_lowercase().contains(query)
}

proptest! {
    #[test]
    fn a_part_of_a_text_folds_to_a_part_of_it(before in text(), part in text(), after in text()) {
        let whole = folded(&format!("{before}{part}{after}"));
        prop_assert!(whole.contains(&folded(&part)), "{whole:?}");
    }

    #[test]
    fn what_a_search_for_lower_case_text_finds_is_found(facts in facts(), query in text()) {
        let parsed = RecallQuery::parse(&query);
        let found = answer(&parsed, &facts, 1_000);
        for (key, value) in &facts {
            if is_python_substring(&query, key) || is_python_substring(&query, value) {
                prop_assert!(found.iter().any(|fact| fact.key == *key), "{key:?}");
            }
        }
    }

    #[test]
    fn a_part_of_a_fact_finds_it(
        facts in vec((text(), text(), text()), 1..6), wanted in any::<prop::sample::Index>(),
    ) {
        let (_, query, _) = &facts[wanted.index(facts.len())];
        let facts: Vec<(String, String)> = facts.iter().enumerate()
            .map(|(n, (before, part, after))| (n.to_string(), format!("{before}{part}{after}")))
            .collect();
        let found = answer(&RecallQuery::parse(query), &facts, 1_000);
        let key = wanted.index(facts.len()).to_string();
        prop_assert!(found.iter().any(|fact| fact.key == key));
    }

    #[test]
    fn neither_the_order_of_offers_nor_how_facts_were_found_changes_the_answer(
        (facts, shuffled) in facts().prop_flat_map(|facts| {
            let order: Vec<usize> = (0..facts.len()).collect();
            (Just(facts), Just(order).prop_shuffle())
        }),
        query in text(),
        limit in 1_usize..8,
    ) {
        let query = RecallQuery::parse(&query);
        let all = answer(&query, &facts, limit);
        let mut recall = Recall::new(&query, limit);
        for &n in &shuffled {
            let fact = candidate(&facts, n);
            if query.is_empty() || is_found_by_index(&query, fact) {
                recall.offer(fact);
            }
        }
        if recall.needs_scan() {
            for fact in shuffled.iter().rev().map(|&n| candidate(&facts, n)) {
                if is_found_by_scan(&query, fact) {
                    recall.offer(fact);
                    recall.offer(fact);
                }
            }
        }
        prop_assert_eq!(recall.finish(), all);
    }

    #[test]
    fn what_is_answered_matches_and_is_in_order(facts in facts(), query in text(), limit in 1_usize..8) {
        let parsed = RecallQuery::parse(&query);
        let found = answer(&parsed, &facts, limit);
        prop_assert!(found.len() <= limit);
        if parsed.is_empty() {
            prop_assert_eq!(found.len(), limit.min(facts.len()));
        }
        for fact in &found {
            let fact = RecallCandidate {
                scope: &fact.scope,
                key: &fact.key, value: &fact.value, order: fact.order, age_seconds: fact.age_seconds,
            };
            prop_assert!(
                parsed.is_empty() || is_found_by_index(&parsed, fact) || is_found_by_scan(&parsed, fact)
            );
        }
        for pair in found.windows(2) {
            prop_assert!(pair[0].score >= pair[1].score);
            prop_assert!(pair[0].score > pair[1].score || pair[0].order > pair[1].order);
        }
        for fact in found {
            prop_assert!((0.0..=1.0).contains(&fact.score), "{}", fact.score);
        }
    }

    #[test]
    fn terms_are_bounded_distinct_and_in_order(key in text(), value in "\\PC{0,300}|[a-c/. 東ก]{0,300}") {
        let terms = fact_terms(&key, &value);
        prop_assert!(terms.len() <= FACT_TERMS_MAX);
        prop_assert!(terms.is_sorted_by(|a, b| a < b));
        for term in &terms {
            prop_assert!(!term.is_empty() && term.len() <= TERM_BYTES_MAX);
            prop_assert!(term.chars().count() <= TERM_CHARS_MAX);
            prop_assert!(!term.contains(|c: char| c.is_control() || crate::is_space(c)));
        }
    }

    #[test]
    fn a_query_is_bounded_and_finds_its_own_text(query in text()) {
        let parsed = RecallQuery::parse(&query);
        prop_assert!(parsed.exact().len() <= RECALL_TERMS_MAX);
        prop_assert!(parsed.prefixes().len() <= RECALL_TERMS_MAX);
        prop_assert!(parsed.substrings().len() <= RECALL_SUBSTRINGS_MAX + 2);
        prop_assert_eq!(parsed.is_empty(), folded(&query).is_empty());
        prop_assert_eq!(parsed.is_empty(), parsed.substrings().is_empty());
        if !parsed.is_empty() {
            let found = answer(&parsed, &[("key".to_owned(), query.clone())], 1);
            prop_assert!(found.len() == 1 && found[0].score > 0.1, "{:?}", found);
        }
    }

    #[test]
    fn the_end_of_a_prefix_parts_what_begins_with_it_from_what_follows(
        prefix in text(), other in text(), rest in text(),
    ) {
        let begins = format!("{prefix}{rest}");
        match prefix_end(&prefix) {
            Some(end) => {
                prop_assert!(begins < end && prefix < end);
                prop_assert_eq!(other >= prefix && other < end, other.starts_with(&prefix));
                prop_assert!(!end.starts_with(&prefix));
            }
            None => prop_assert!(prefix.chars().all(|c| c == char::MAX)),
        }
    }
}
