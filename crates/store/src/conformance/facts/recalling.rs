//! Recall: what the domain's rules say of the facts that are there, and of no others.

use notekeeper_domain::{RECALL_LIMIT_MAX, Recall, RecallCandidate, RecallQuery, RecalledFact};

use super::{super::fixture::operation, of_scope::FactsOfScope};
use crate::FactStore;

pub(super) async fn exercise(store: &dyn FactStore) {
    every_case_is_answered_as_it_says(store).await;
    an_empty_query_gives_the_newest(&FactsOfScope::new(store, "q/empty")).await;
    answers_are_limited(&FactsOfScope::new(store, "q/limit")).await;
    facts_are_found_as_they_are_now(&FactsOfScope::new(store, "q/now")).await;
    a_query_is_data(&FactsOfScope::new(store, "q/data")).await;
    equal_facts_come_newest_first(&FactsOfScope::new(store, "q/equal")).await;
    long_facts_are_found(&FactsOfScope::new(store, "q/long")).await;
}

/// What the rules say of these facts, each of which is offered, and of no store.
fn by_the_rules(facts: &[(String, String)], query: &str, limit: usize) -> Vec<(String, u64)> {
    let query = RecallQuery::parse(query);
    let mut recall = Recall::new(&query, limit);
    loop {
        for (order, (key, value)) in (1..).zip(facts) {
            recall.offer(RecallCandidate {
                scope: "",
                key,
                value,
                order,
                age_seconds: 0,
            });
        }
        if recall.unread().is_empty() {
            return keys_and_scores(recall.finish());
        }
    }
}

/// Scores as bits: they are the same on every store, not nearly so.
fn keys_and_scores(recalled: Vec<RecalledFact>) -> Vec<(String, u64)> {
    let recalled = recalled.into_iter();
    recalled
        .map(|fact| (fact.key, fact.score.to_bits()))
        .collect()
}

async fn every_case_is_answered_as_it_says(store: &dyn FactStore) {
    for (index, case) in super::cases::all().into_iter().enumerate() {
        let facts = FactsOfScope::new(store, &format!("q/case{index}"));
        for (key, value) in &case.facts {
            facts.put(key, value).await;
        }
        let recalled = facts.recalled(&case.query, case.limit).await;
        let keys: Vec<&str> = recalled.iter().map(|fact| fact.key.as_str()).collect();
        assert_eq!(keys, case.expect, "recall of the case `{}`", case.name);
        for fact in &recalled {
            let kept = facts.found(&fact.key).await.expect("a fact that is there");
            assert_eq!(fact.value, kept.fact.value(), "{}", case.name);
            assert_eq!(fact.order, kept.order, "{}", case.name);
        }
        assert_eq!(
            keys_and_scores(recalled),
            by_the_rules(&case.facts, &case.query, case.limit),
            "scores of the case `{}`",
            case.name
        );
    }
}

async fn an_empty_query_gives_the_newest(facts: &FactsOfScope<'_>) {
    for key in ["a", "b", "c", "d"] {
        facts.put(key, "x").await;
    }
    facts.put("b", "").await;
    facts.forget("c", None).await.expect("forget");
    for query in ["", " ", "\n\t", "\0", "\u{3000}"] {
        let recalled = facts.recalled(query, 10).await;
        let found: Vec<_> = recalled
            .iter()
            .map(|fact| (fact.key.as_str(), fact.value.as_str(), fact.score))
            .collect();
        assert_eq!(
            found,
            [("b", "", 0.0), ("d", "x", 0.0), ("a", "x", 0.0)],
            "{query:?} gives the newest"
        );
    }
    let newest = facts.recalled("", 1).await;
    assert_eq!(newest[0].key, "b");
}

async fn answers_are_limited(facts: &FactsOfScope<'_>) {
    let mut kept = Vec::new();
    for n in 0..30 {
        // Some have it as a word, some inside of one.
        let value = if n % 3 == 0 {
            "needle"
        } else {
            "haystackneedle"
        };
        let key = format!("key {n}");
        facts.put(&key, value).await;
        kept.push((key, value.to_owned()));
    }
    for query in ["needle", "needl", "eedle", "key", ""] {
        for limit in [0, 1, 9, 10, 11, 29, 30, 31, RECALL_LIMIT_MAX, usize::MAX] {
            let recalled = facts.recalled(query, limit).await;
            assert_eq!(recalled.len(), limit.min(30), "`{query}`, at most {limit}");
            assert_eq!(
                keys_and_scores(recalled),
                by_the_rules(&kept, query, limit),
                "`{query}`, at most {limit}"
            );
        }
    }
}

async fn facts_are_found_as_they_are_now(facts: &FactsOfScope<'_>) {
    facts.put("drink", "Earlgrey in the morning").await;
    facts.put("other", "nothing of that").await;
    // As a word, by its beginning, and by what is inside of it.
    for query in ["earlgrey", "earlg", "rlgre"] {
        assert_eq!(facts.keys(query).await, ["drink"], "`{query}`");
    }
    facts.put("drink", "Darjeeling at noon").await;
    for query in ["earlgrey", "earlg", "rlgre", "morning"] {
        assert_eq!(
            facts.keys(query).await,
            [""; 0],
            "`{query}` is of a text that was replaced"
        );
    }
    for query in ["darjeeling", "darje", "jeelin", "drink"] {
        assert_eq!(facts.keys(query).await, ["drink"], "`{query}`");
    }
    facts.forget("drink", None).await.expect("forget");
    for query in ["darjeeling", "darje", "jeelin", "drink"] {
        assert_eq!(
            facts.keys(query).await,
            [""; 0],
            "`{query}` is of a fact that was forgotten"
        );
    }
    let again = operation("again", "f");
    let remember = async || facts.remember("drink", "Assam", Some(&again)).await;
    remember().await.expect("remember");
    facts.put("drink", "Oolong").await;
    remember().await.expect("replay");
    assert_eq!(facts.keys("assam").await, [""; 0]);
    assert_eq!(facts.keys("oolong").await, ["drink"]);
}

/// What a query language, a pattern or a statement would take for syntax, and stored texts that hold
/// it.
const SYNTAX: [&str; 34] = [
    "pre-edit",
    "GB/s",
    "v2.1",
    "don't",
    "src/auth.rs",
    "a & | !b",
    "\"unclosed",
    "<->",
    "key:x",
    ":*",
    "x:*",
    "NOT foo",
    "foo AND bar",
    "NEAR(a b, 2)",
    "col : x",
    "^start",
    "star*",
    "50%",
    "_under_",
    "back\\slash",
    "a\\_b",
    "'; drop table facts; --",
    "$1",
    "?1",
    ":name",
    "@p",
    "{}",
    "%s",
    "E'\\x'",
    "rm -rf",
    "C++",
    ".NET",
    "#42",
    "[a-z]",
];

async fn a_query_is_data(facts: &FactsOfScope<'_>) {
    let mut kept = Vec::new();
    for (index, text) in SYNTAX.iter().enumerate() {
        let key = format!("fact {index}");
        let value = format!("says {text} here");
        facts.put(&key, &value).await;
        kept.push((key, value));
    }
    for (index, text) in SYNTAX.iter().enumerate() {
        let found = facts.recalled(text, 1_000).await;
        let own = format!("fact {index}");
        assert!(
            found.iter().any(|fact| fact.key == own),
            "`{text}` finds what says it"
        );
        assert_eq!(
            keys_and_scores(found),
            by_the_rules(&kept, text, 1_000),
            "`{text}`"
        );
    }
    let open = "(".repeat(1_000);
    let long = "word ".repeat(10_000);
    for query in [
        &open,
        &long,
        "\0",
        "a\0b",
        "\u{10ffff}",
        "\u{ffff}\u{1}",
        "%",
        "_",
        "*",
        "\\",
    ] {
        assert_eq!(
            keys_and_scores(facts.recalled(query, 1_000).await),
            by_the_rules(&kept, query, 1_000),
            "{:?} …",
            query.chars().take(20).collect::<String>()
        );
    }
}

async fn equal_facts_come_newest_first(facts: &FactsOfScope<'_>) {
    for key in ["b one", "a one", "c one"] {
        facts.put(key, "equal").await;
    }
    facts.put("b one", "equal").await;
    let newest_first = ["b one", "c one", "a one"];
    for query in ["equal", "one", "equal one", "qua"] {
        assert_eq!(facts.keys(query).await, newest_first, "`{query}`");
    }
    let best = facts.recalled("equal", 2).await;
    let best: Vec<&str> = best.iter().map(|fact| fact.key.as_str()).collect();
    assert_eq!(best, newest_first[..2]);
}

async fn long_facts_are_found(facts: &FactsOfScope<'_>) {
    // More words than are indexed, so that the last is found by a scan.
    let words: String = (0..3_000).map(|n| format!("w{n} ")).collect();
    let value = format!("{} lastword", &words[..words.len().min(16_000)]);
    let run = format!("{}needle", "x".repeat(15_000));
    facts.put("words", &value).await;
    facts.put("run", &run).await;
    let kept = [("words".to_owned(), value), ("run".to_owned(), run)];
    for query in [
        "w1", "w2500", "lastword", "astwor", "needle", "xxx", "words", "xxneedle",
    ] {
        assert_eq!(
            keys_and_scores(facts.recalled(query, 10).await),
            by_the_rules(&kept, query, 10),
            "`{query}`"
        );
        assert!(!facts.keys(query).await.is_empty(), "`{query}`");
    }
}
