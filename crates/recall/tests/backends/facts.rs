//! Facts as a source.

use std::sync::Arc;

use notekeeper_domain::{Fact, FactKey};
use notekeeper_recall::{FactsSource, SourceError};
use notekeeper_store::{FactStore, Store, conformance::MinimalStore};
use serde_json::json;

use crate::{
    fixture::{Tenant, item, opening, operation},
    stores::{Kept, on_each_store},
};

on_each_store!(
    facts_are_found_as_recall_finds_them,
    what_is_written_is_remembered_under_its_id,
    conditions_are_on_the_key_and_leave_room_for_others,
    a_fact_that_is_written_back_stays_as_it_was,
);

/// The source and its facts; `None` where the store keeps none.
fn source(kept: &Kept) -> Option<(FactsSource, &dyn FactStore)> {
    let facts = kept.store.facts()?;
    Some((FactsSource::new("facts", kept.stores(), "default"), facts))
}

async fn remember(facts: &dyn FactStore, tenant: &Tenant, key: &str, value: &str) {
    let fact = Fact::new(key, value).expect("a valid fact");
    facts
        .remember(&tenant.scope, &fact, None)
        .await
        .expect("remember");
}

async fn facts_are_found_as_recall_finds_them(kept: Kept) {
    let Some((source, facts)) = source(&kept) else {
        return kept.is_of_files();
    };
    let (tenant, other) = (Tenant::of("john-doe"), Tenant::of("john_doe"));
    remember(facts, &tenant, "diet", "no peanuts").await;
    remember(facts, &tenant, "toolchain", "C++ and rm -rf").await;
    remember(facts, &other, "diet", "peanuts alone").await;

    let found = tenant.found(&source, "peanuts?", 5).await;
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].content, "diet: no peanuts");
    assert_eq!(found[0].id.as_deref(), Some("fact:default/diet"));
    assert_eq!(found[0].metadata.get("key"), Some(&json!("diet")));
    assert!(
        found[0]
            .metadata
            .get("age_seconds")
            .is_some_and(|age| age.is_u64())
    );
    assert!(found[0].score().is_some_and(|score| score > 0.1));
    for (query, key) in [
        ("c++", "toolchain"),
        ("rm -rf", "toolchain"),
        ("tool", "toolchain"),
    ] {
        let found = tenant.found(&source, query, 5).await;
        let id = format!("fact:default/{key}");
        assert_eq!(found[0].id, Some(id), "{query}");
    }
    assert_eq!(tenant.found(&source, "%", 5).await, []);
    assert_eq!(tenant.found(&source, "diet", 0).await, []);

    // Without a word the newest come, and none is ranked.
    let newest = tenant.found(&source, " ", 1).await;
    assert_eq!(newest[0].id.as_deref(), Some("fact:default/toolchain"));
    assert_eq!(newest[0].score(), None);
}

async fn what_is_written_is_remembered_under_its_id(kept: Kept) {
    let Some((source, facts)) = source(&kept) else {
        return kept.is_of_files();
    };
    let tenant = Tenant::of("acme");
    let items = [
        item("eu-west-1", json!({"id": "region"})),
        item("a passage", json!({"tier": "public"})),
    ];
    tenant.write(&source, &items, "op").await.expect("write");
    let key = FactKey::parse("region").expect("a valid name");
    let kept_fact = facts.fact(&tenant.scope, &key).await.expect("look");
    assert_eq!(
        kept_fact.expect("it was just made").fact.value(),
        "eu-west-1"
    );

    // A key that says nothing isn't read out.
    let found = tenant.found(&source, "passage", 5).await;
    assert_eq!(found[0].content, "a passage");
    let id = operation("op").item_id(1, "a passage");
    assert_eq!(found[0].id, Some(format!("fact:default/{id}")));

    for bad in [
        item(&"x".repeat(16_385), json!({"id": "x"})),
        item("x", json!({"id": " "})),
    ] {
        let items = [item("good", json!({"id": "good"})), bad];
        let error = tenant
            .write(&source, &items, "op-2")
            .await
            .expect_err("an error");
        assert!(
            error
                .to_string()
                .starts_with("`items[1]` can't be a fact: "),
            "{error}"
        );
    }
    let good = FactKey::parse("good").expect("a valid name");
    assert_eq!(facts.fact(&tenant.scope, &good).await.expect("look"), None);
}

async fn a_fact_that_is_written_back_stays_as_it_was(kept: Kept) {
    let Some((source, facts)) = source(&kept) else {
        return kept.is_of_files();
    };
    let tenant = Tenant::of("acme");
    // One has a key that is too long for an id.
    let long = "k".repeat(500);
    let all = [
        ("diet", "no peanuts"),
        ("diet: of Ada", "diet: of Ada: diet"),
        (&long, "x"),
        ("none", ""),
    ];
    for (key, value) in all {
        remember(facts, &tenant, key, value).await;
    }
    let handed = |item: notekeeper_domain::Item| {
        // As who asks by the activities has it: the id stands in the metadata.
        let id = json!(item.id.clone());
        let known = item.metadata.with("id", id);
        item.with_metadata(known)
    };
    for round in 0..3 {
        let found = tenant.found(&source, "", 10).await;
        assert_eq!(found.len(), all.len());
        let items: Vec<_> = found.into_iter().map(handed).collect();
        let id = format!("op-{round}");
        tenant.write(&source, &items, &id).await.expect("write");
        for (key, value) in all {
            let key = FactKey::parse(key).expect("a valid name");
            let fact = facts.fact(&tenant.scope, &key).await.expect("look");
            assert_eq!(fact.expect("it is there").fact.value(), value);
        }
    }
    // An id that tells no key makes no fact of another key.
    let found = tenant.found(&source, &long, 1).await;
    let keyless = found[0].clone();
    let keyless = keyless.with_metadata(found[0].metadata.without(&["key"]));
    let refused = tenant.write(&source, &[keyless], "keyless").await;
    let told = refused.expect_err("an error").to_string();
    assert!(
        told.starts_with("`items[0]` has the id of a fact whose key"),
        "{told}"
    );
    // Also under the plain key, where the metadata says that the text stands under it.
    let items = [item("diet: fish", json!({"id": "diet", "key": "diet"}))];
    tenant.write(&source, &items, "op").await.expect("write");
    let found = tenant.found(&source, "fish", 1).await;
    assert_eq!(found[0].content, "diet: fish");
}

async fn conditions_are_on_the_key_and_leave_room_for_others(kept: Kept) {
    let Some((source, facts)) = source(&kept) else {
        return kept.is_of_files();
    };
    let tenant = Tenant::of("acme");
    for number in 0..30 {
        remember(facts, &tenant, &format!("key-{number}"), "alpha").await;
    }
    for query in ["alpha", ""] {
        let found = tenant
            .found_where(&source, query, 1, json!({"key": "key-3"}))
            .await;
        assert_eq!(found[0].id.as_deref(), Some("fact:default/key-3"));
        let none = tenant
            .found_where(&source, query, 5, json!({"key": "key-_"}))
            .await;
        assert_eq!(none, []);
    }
}

#[tokio::test]
async fn a_store_without_facts_says_so() {
    let store: Arc<dyn Store> = Arc::new(MinimalStore::default());
    let source = FactsSource::new("facts", opening(&store), "default");
    let error = Tenant::of("acme")
        .query(&source, "x", 5)
        .await
        .expect_err("an error");
    assert!(matches!(error, SourceError::Unsupported(_)));
    insta::assert_snapshot!(error, @"the store, of kind `minimal`, keeps no facts; name another store");
}
