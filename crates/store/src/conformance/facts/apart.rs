//! Scopes: no operation on the facts of one sees or changes those of another.

use notekeeper_domain::{FACT_KEY_BYTES_MAX, FACT_VALUE_CHARS_MAX};

use super::{
    super::{
        fixture::{longest_scope, noise, operation},
        tenants::LOOK_ALIKES,
    },
    of_scope::{FactsOfScope, kept},
};
use crate::FactStore;

pub(super) async fn exercise(store: &dyn FactStore) {
    look_alike_scopes_are_apart(store).await;
    the_longest_scope_and_key_work(store).await;
}

async fn look_alike_scopes_are_apart(store: &dyn FactStore) {
    let scopes = LOOK_ALIKES.map(|scope| FactsOfScope::new(store, scope));
    for facts in &scopes {
        let first = facts
            .remember("key", &secret(facts), Some(&operation("id", "f")))
            .await;
        let scope = facts.scope.as_str();
        assert_eq!(
            first.expect("remember"),
            kept(false),
            "`{scope}` is a scope of its own"
        );
        facts.put("extra", "secret substring").await;
    }
    for facts in &scopes {
        assert_sees_only_its_own(facts).await;
    }
    let (changed, others) = scopes.split_first().expect("there are some");
    changed.put("key", "changed").await;
    changed.forget("extra", None).await.expect("forget");
    for facts in others {
        assert_sees_only_its_own(facts).await;
    }
}

fn secret(facts: &FactsOfScope<'_>) -> String {
    format!("secret of {}", facts.scope.as_str())
}

async fn assert_sees_only_its_own(facts: &FactsOfScope<'_>) {
    let scope = facts.scope.as_str();
    let own = secret(facts);
    assert_eq!(facts.value("key").await.as_ref(), Some(&own));
    let listed = [("extra", "secret substring"), ("key", &own)];
    let listed = listed.map(|(key, value)| (key.to_owned(), value.to_owned()));
    assert_eq!(facts.all().await, listed, "facts of `{scope}`");
    // By newest, by whole words, by their beginnings, and by what is inside of them.
    for (query, count) in [
        ("", 2),
        ("secret", 2),
        ("secr", 2),
        ("ecre", 2),
        ("bstrin", 1),
    ] {
        let recalled = facts.recalled(query, 1_000).await;
        assert_eq!(
            recalled.len(),
            count,
            "`{query}` recalls facts of `{scope}` alone"
        );
        for recalled in recalled {
            let value = if recalled.key == "key" {
                &own
            } else {
                "secret substring"
            };
            assert_eq!(recalled.value, value, "`{query}` in `{scope}`");
        }
    }
}

async fn the_longest_scope_and_key_work(store: &dyn FactStore) {
    let facts = FactsOfScope::new(store, &longest_scope());
    // Words of several bytes a character, and characters of which two are one: the longest terms, and
    // the most of them.
    let keys = [
        noise(1_001, FACT_KEY_BYTES_MAX, '0'..='z'),
        noise(1_002, FACT_KEY_BYTES_MAX / 3, '\u{10d0}'..='\u{10f0}'),
        noise(1_003, FACT_KEY_BYTES_MAX / 3, '\u{4e00}'..='\u{9fff}'),
    ];
    let words: Vec<String> = (0..FACT_VALUE_CHARS_MAX as u64 / 64)
        .map(|seed| noise(seed, 63, '\u{10d0}'..='\u{10f0}'))
        .collect();
    let value = words.join(" ");
    for key in &keys {
        facts.put(key, "short").await;
        assert_eq!(facts.keys(key).await, [key.as_str()]);
    }
    facts.put(&keys[0], &value).await;
    assert!(facts.value(&keys[0]).await.as_ref() == Some(&value));
    for word in [&words[0], &words[100]] {
        assert_eq!(facts.keys(word).await, [keys[0].as_str()]);
    }
    for key in &keys {
        assert!(facts.forget(key, None).await.expect("forget").existed);
    }
}
