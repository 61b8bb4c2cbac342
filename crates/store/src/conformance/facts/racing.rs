//! Calls at the same time.

use std::collections::HashSet;

use futures::future::{join, join_all};

use super::{super::fixture::operation, of_scope::FactsOfScope};
use crate::FactStore;

const RACERS: usize = 20;

pub(super) async fn exercise(store: &dyn FactStore) {
    there_is_one_fact_of_a_key_whatever_races(&FactsOfScope::new(store, "c/one")).await;
    a_repeated_operation_takes_effect_once(&FactsOfScope::new(store, "c/repeated")).await;
    each_fact_is_forgotten_once(&FactsOfScope::new(store, "c/forgotten")).await;
    racing_facts_are_all_kept(&FactsOfScope::new(store, "c/all")).await;
}

async fn there_is_one_fact_of_a_key_whatever_races(facts: &FactsOfScope<'_>) {
    let values: Vec<String> = (0..RACERS)
        .map(|racer| format!("word{racer} of all"))
        .collect();
    let writers = join_all(values.iter().enumerate().map(async |(racer, value)| {
        let own = operation(&format!("remember {racer}"), "f");
        facts
            .remember("key", value, Some(&own))
            .await
            .expect("remember")
    }));
    let readers = join_all((0..RACERS).map(async |_| {
        (
            facts.recalled("all", 100).await,
            facts.recalled("", 100).await,
        )
    }));
    let (kept, seen) = join(writers, readers).await;
    let new = kept.iter().filter(|kept| !kept.existed).count();
    assert_eq!(new, 1, "one of them makes the fact");
    for (by_word, newest) in seen {
        assert!(
            by_word.len() <= 1 && newest.len() <= 1,
            "a fact is seen once"
        );
    }
    let all = facts.all().await;
    assert_eq!(all.len(), 1, "there is one fact of a key");
    let value = &all[0].1;
    assert!(values.contains(value));
    for (racer, of_racer) in values.iter().enumerate() {
        let found = facts.keys(&format!("word{racer}x word{racer}")).await;
        let expected: &[&str] = if of_racer == value { &["key"] } else { &[] };
        // `word1` also begins `word10`.
        let begins = value.starts_with(&format!("word{racer}"));
        if of_racer == value || !begins {
            assert_eq!(found, expected, "it is found by its last value alone");
        }
    }
}

async fn a_repeated_operation_takes_effect_once(facts: &FactsOfScope<'_>) {
    let same = operation("remember", "f");
    let calls = (0..RACERS).map(async |racer| {
        let own = operation(&format!("own {racer}"), "f");
        let own_key = format!("own {racer}");
        let own = facts.remember(&own_key, "x", Some(&own));
        let (same, own) = join(facts.remember("key", "once", Some(&same)), own).await;
        assert!(!own.expect("remember").replayed);
        same.expect("remember")
    });
    let same = join_all(calls).await;
    assert_eq!(same.iter().filter(|kept| !kept.replayed).count(), 1);
    assert!(
        same.iter().all(|kept| !kept.existed),
        "all are told the same"
    );
    assert_eq!(facts.all().await.len(), RACERS + 1);

    let same = operation("forget", "f");
    let calls = (0..RACERS).map(async |_| {
        let forgotten = facts.forget("key", Some(&same)).await.expect("forget");
        // What is remembered by a call that has been answered came after the forgetting.
        facts.put("key", "since").await;
        forgotten
    });
    let same = join_all(calls).await;
    assert_eq!(
        same.iter().filter(|forgotten| !forgotten.replayed).count(),
        1
    );
    assert!(same.iter().all(|forgotten| forgotten.existed));
    assert_eq!(facts.value("key").await.as_deref(), Some("since"));
}

async fn each_fact_is_forgotten_once(facts: &FactsOfScope<'_>) {
    let made = join_all((0..RACERS).map(async |racer| !facts.put("key", &racer.to_string()).await));
    let gone = join_all(
        (0..RACERS).map(async |_| facts.forget("key", None).await.expect("forget").existed),
    );
    let (made, gone) = join(made, gone).await;
    let made = made.iter().filter(|made| **made).count();
    let gone = gone.iter().filter(|gone| **gone).count();
    let there = facts.all().await.len();
    assert_eq!(
        made,
        gone + there,
        "what was made was forgotten or is there"
    );
    assert_eq!(facts.recalled("", 10).await.len(), there);
    facts.forget("key", None).await.expect("forget");
    for racer in 0..RACERS {
        assert_eq!(facts.keys(&racer.to_string()).await, [""; 0]);
    }
}

async fn racing_facts_are_all_kept(facts: &FactsOfScope<'_>) {
    let keys: Vec<String> = (0..RACERS).map(|racer| format!("key {racer}")).collect();
    join_all(keys.iter().map(async |key| {
        for value in ["first", "second", "third"] {
            facts.put(key, value).await;
        }
    }))
    .await;
    let listed = facts.listed(None, 100).await.facts;
    assert_eq!(listed.len(), RACERS);
    assert!(listed.iter().all(|listed| listed.fact.value() == "third"));
    let orders: HashSet<_> = listed.iter().map(|listed| listed.order).collect();
    assert_eq!(orders.len(), RACERS, "each has an order of its own");
    assert_eq!(facts.keys("third").await.len(), RACERS);
    assert_eq!(facts.keys("first").await, [""; 0]);
}
