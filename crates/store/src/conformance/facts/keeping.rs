//! What is remembered is there, once, until it is forgotten.

use std::time::Instant;

use notekeeper_domain::{FACT_KEY_BYTES_MAX, FACT_VALUE_CHARS_MAX};

use super::of_scope::{FactsOfScope, fact, forgotten, kept};
use crate::FactStore;

pub(super) async fn exercise(store: &dyn FactStore) {
    a_scope_begins_without_facts(&FactsOfScope::new(store, "k/none")).await;
    a_fact_takes_the_place_of_the_one_of_its_key(&FactsOfScope::new(store, "k/upsert")).await;
    forgetting_what_is_absent_succeeds(&FactsOfScope::new(store, "k/forget")).await;
    keys_are_exact(&FactsOfScope::new(store, "k/exact")).await;
    values_come_back_as_they_were(&FactsOfScope::new(store, "k/values")).await;
    the_newest_has_the_highest_order(store).await;
    ages_count_from_the_last_time(&FactsOfScope::new(store, "k/ages")).await;
}

async fn a_scope_begins_without_facts(facts: &FactsOfScope<'_>) {
    assert_eq!(facts.value("key").await, None);
    assert_eq!(facts.all().await, []);
    assert_eq!(facts.recalled("", 10).await, []);
    assert_eq!(facts.recalled("key", 10).await, []);
}

async fn a_fact_takes_the_place_of_the_one_of_its_key(facts: &FactsOfScope<'_>) {
    let remember = async |key: &str, value: &str| {
        let kept = facts.remember(key, value, None).await;
        kept.expect("remember")
    };
    assert_eq!(remember("tea", "green").await, kept(false));
    assert_eq!(remember("tea", "black").await, kept(true));
    assert_eq!(remember("tea", "black").await, kept(true));
    assert_eq!(facts.value("tea").await.as_deref(), Some("black"));
    assert_eq!(remember("milk", "").await, kept(false));
    let listed = [("milk", ""), ("tea", "black")];
    let listed = listed.map(|(key, value)| (key.to_owned(), value.to_owned()));
    assert_eq!(facts.all().await, listed, "there is one fact of each key");
    let recalled = facts.recalled("", 10).await;
    assert_eq!(recalled.len(), 2, "an empty query gives the newest");
}

async fn forgetting_what_is_absent_succeeds(facts: &FactsOfScope<'_>) {
    let forget = async |key: &str| facts.forget(key, None).await.expect("forget");
    assert_eq!(forget("tea").await, forgotten(false));
    facts.put("tea", "green").await;
    facts.put("milk", "oat").await;
    assert_eq!(forget("tea").await, forgotten(true));
    assert_eq!(facts.value("tea").await, None);
    assert_eq!(forget("tea").await, forgotten(false));
    assert!(!facts.put("tea", "black").await, "it was forgotten before");
    assert_eq!(facts.value("tea").await.as_deref(), Some("black"));
    assert_eq!(facts.value("milk").await.as_deref(), Some("oat"));
}

/// Keys that a pattern, a case rule, a normalisation or a trim could take for each other.
const LOOK_ALIKES: [&str; 20] = [
    "key",
    "Key",
    "KEY",
    "key ",
    " key",
    "key\n",
    "key\t",
    "k_y",
    "k%",
    "%",
    "_",
    "k*",
    "key\\",
    "'key'",
    "$1",
    "k\u{e9}y",
    "ke\u{301}y",
    "\u{ff4b}ey",
    "ke\u{200d}y",
    "key/key",
];

async fn keys_are_exact(facts: &FactsOfScope<'_>) {
    for key in LOOK_ALIKES {
        let existed = facts.put(key, &format!("of {key:?}")).await;
        assert!(!existed, "{key:?} is a key of its own");
    }
    assert_eq!(facts.all().await.len(), LOOK_ALIKES.len());
    facts.forget("k%", None).await.expect("forget");
    facts.forget("_", None).await.expect("forget");
    for key in LOOK_ALIKES {
        let expected = (!["k%", "_"].contains(&key)).then(|| format!("of {key:?}"));
        let found = facts.value(key).await;
        assert_eq!(found, expected, "{key:?}: forgetting is of one key");
    }
    let recalled = facts.recalled("", 100).await;
    let left = LOOK_ALIKES.len() - 2;
    assert_eq!(recalled.len(), left, "what was forgotten isn't recalled");
}

async fn values_come_back_as_they_were(facts: &FactsOfScope<'_>) {
    let longest = "\u{1f600}".repeat(FACT_VALUE_CHARS_MAX);
    // Each character another word: the most that there is to index.
    let words: String = (0..FACT_VALUE_CHARS_MAX / 2)
        .filter_map(|n| char::from_u32(0x4e00 + (n as u32 % 0x5000)))
        .flat_map(|han| [han, ' '])
        .collect();
    let values = [
        "",
        " ",
        "\n",
        "  at its ends \r\n",
        "\u{1}\u{7f}\u{85}\u{feff}\u{ffff}\u{10ffff}",
        "\u{56fa} \u{e9} e\u{301} \u{1f469}\u{200d}\u{1f469}",
        "'; drop table facts; -- $1 ?1 :a @b %s {} \\x00 \\u0000",
        &longest,
        &words,
    ];
    for (index, value) in values.iter().enumerate() {
        let key = format!("value {index}");
        facts.put(&key, value).await;
        let found = facts.value(&key).await;
        assert!(
            found.as_deref() == Some(*value),
            "{key} comes back as it was"
        );
    }
    let recalled = facts.recalled("", 100).await;
    let keys: Vec<_> = (0..values.len())
        .rev()
        .map(|n| format!("value {n}"))
        .collect();
    assert_eq!(facts.keys("").await, keys, "newest first");
    for (recalled, value) in recalled.iter().rev().zip(values) {
        assert!(
            recalled.value == value,
            "{} is recalled as it was",
            recalled.key
        );
    }
    for key in [
        "k".repeat(FACT_KEY_BYTES_MAX),
        "\u{e9}".repeat(FACT_KEY_BYTES_MAX / 2),
    ] {
        facts.put(&key, "long key").await;
        assert_eq!(facts.value(&key).await.as_deref(), Some("long key"));
        facts.put(&key, &longest).await;
        assert!(facts.value(&key).await.as_ref() == Some(&longest));
    }
}

async fn the_newest_has_the_highest_order(store: &dyn FactStore) {
    let scopes = ["k/order", "k/order/below"].map(|scope| FactsOfScope::new(store, scope));
    let mut highest = i64::MIN;
    for round in 0..3 {
        for facts in &scopes {
            for key in ["b", "a", "b", "c"] {
                // Also with the same value, and where it was forgotten in between, by which the
                // highest order of those that are there sinks.
                facts.put(key, "same").await;
                let order = facts.order(key).await;
                assert!(
                    order > highest,
                    "what is remembered later has a higher order: {order} after {highest}"
                );
                highest = order;
                if round == 1 {
                    facts.forget(key, None).await.expect("forget");
                }
            }
        }
    }
    let [facts, _] = &scopes;
    let listed = facts.listed(None, 10).await.facts;
    for recalled in facts.recalled("", 10).await {
        let of_key = listed
            .iter()
            .find(|one| one.fact.key.as_str() == recalled.key);
        assert_eq!(Some(recalled.order), of_key.map(|one| one.order));
    }
    assert_eq!(facts.keys("").await, ["c", "b", "a"], "newest first");
}

async fn ages_count_from_the_last_time(facts: &FactsOfScope<'_>) {
    let before = Instant::now();
    facts.put("tea", "green").await;
    facts.put("tea", "black").await;
    let listed = facts.found("tea").await.expect("there");
    assert_eq!(listed.fact, fact("tea", "black"));
    let recalled = facts.recalled("", 1).await.remove(0);
    // Clocks may have whole seconds, and one of them may begin between the two.
    let passed = before.elapsed().as_secs() + 1;
    for age in [listed.age_seconds, recalled.age_seconds] {
        assert!(age <= passed, "{age} seconds, at most {passed} passed");
    }
}
