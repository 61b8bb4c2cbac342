//! The journal as a source.

use std::sync::Arc;

use notekeeper_domain::{Edit, Fingerprint, Item, NoteName, Operation, OperationId};
use notekeeper_recall::{JournalSource, Source as _, SourceError, Written};
use notekeeper_store::{EditRequest, Expected, Store, WriteRequest, conformance::MinimalStore};
use serde_json::json;

use crate::{
    fixture::{Tenant, item, opening},
    odd_store::OddStore,
    stores::{Kept, on_each_store},
};

on_each_store!(
    changes_come_newest_first_and_unranked_whatever_the_query_says,
    conditions_reach_behind_what_fills_the_limit,
);

fn source(kept: &Kept) -> Option<JournalSource> {
    kept.store.journal()?;
    Some(JournalSource::new("journal", kept.stores(), "default"))
}

fn name(note: &str) -> NoteName {
    NoteName::parse(note).expect("a valid name")
}

fn operation(id: &str) -> Operation {
    Operation {
        id: OperationId::parse(id).expect("a valid id"),
        fingerprint: Fingerprint::new(id),
    }
}

async fn write(kept: &Kept, tenant: &Tenant, note: &str, id: &str) {
    let request = WriteRequest::new("secret", &Expected::Any);
    let (name, operation) = (name(note), operation(id));
    let written = kept
        .store
        .write(&tenant.scope, &name, &request, Some(&operation));
    written.await.expect("write");
}

async fn append(kept: &Kept, tenant: &Tenant, note: &str, id: &str) {
    let edit = Edit::Append {
        content: "secret".to_owned(),
    };
    let request = EditRequest {
        edit: &edit,
        note_chars_max: 1_000,
        expected: Expected::Any,
        metadata: None,
    };
    let (name, operation) = (name(note), operation(id));
    let edited = kept.store.edit(&tenant.scope, &name, &request, &operation);
    edited.await.expect("edit");
}

async fn delete(kept: &Kept, tenant: &Tenant, note: &str, id: &str) {
    let (name, operation) = (name(note), operation(id));
    let deleted = kept
        .store
        .delete(&tenant.scope, &name, &Expected::Any, Some(&operation));
    deleted.await.expect("delete");
}

fn ids(items: &[Item]) -> Vec<&str> {
    let ids = items.iter().filter_map(|item| item.id.as_deref());
    ids.map(|id| id.strip_prefix("operation:default/").expect("its store"))
        .collect()
}

async fn changes_come_newest_first_and_unranked_whatever_the_query_says(kept: Kept) {
    let Some(source) = source(&kept) else {
        return kept.is_of_files();
    };
    let (tenant, other) = (Tenant::of("john-doe"), Tenant::of("john_doe"));
    assert_eq!(tenant.found(&source, "anything", 5).await, []);
    write(&kept, &tenant, "a.md", "op-1").await;
    append(&kept, &tenant, "a.md", "op-2").await;
    write(&kept, &other, "theirs.md", "op-3").await;
    delete(&kept, &tenant, "a.md", "op-4").await;
    delete(&kept, &tenant, "a.md", "op-5").await;
    // A repetition is no change.
    append(&kept, &tenant, "a.md", "op-2").await;

    for query in ["", "secret", "op-1", "%"] {
        let found = tenant.found(&source, query, 10).await;
        assert_eq!(ids(&found), ["op-5", "op-4", "op-2", "op-1"], "{query}");
        assert!(found.iter().all(|item| item.score().is_none()));
        assert!(found.iter().all(|item| item.source == "journal"));
        assert!(found.iter().all(|item| !item.content.contains("secret")));
    }
    assert_eq!(ids(&tenant.found(&source, "", 2).await), ["op-5", "op-4"]);
    assert_eq!(ids(&tenant.found(&source, "", 0).await), [""; 0]);

    let found = tenant.found(&source, "", 10).await;
    let known = |index: usize, key: &str| found[index].metadata.get(key).cloned();
    assert_eq!(known(1, "kind"), Some(json!("delete")));
    assert_eq!(known(1, "status"), Some(json!("deleted")));
    assert_eq!(known(1, "version"), None);
    assert_eq!(known(2, "operation"), Some(json!("op-2")));
    assert_eq!(known(2, "kind"), Some(json!("edit")));
    assert_eq!(known(2, "note"), Some(json!("a.md")));
    assert!(known(3, "version").is_some_and(|version| version.is_string()));
    let times = found.iter().map(|item| item.metadata.get("at").cloned());
    let times: Vec<String> = times
        .map(|at| {
            at.and_then(|at| at.as_str().map(str::to_owned))
                .expect("a time")
        })
        .collect();
    assert!(
        times.iter().all(|at| at.len() == 20 && at.ends_with('Z')),
        "{times:?}"
    );

    let told: Vec<String> = found
        .iter()
        .zip(&times)
        .map(|(item, at)| item.content.replace(at.as_str(), "AT"))
        .collect();
    assert_eq!(told[0], "AT a.md was to be deleted and wasn't there");
    assert_eq!(told[1], "AT a.md was deleted");
    assert!(
        told[2].starts_with("AT a.md was appended to (version "),
        "{}",
        told[2]
    );
    assert!(
        told[3].starts_with("AT a.md was created (version "),
        "{}",
        told[3]
    );

    let written = tenant.write(&source, &[item("x", json!({}))], "op").await;
    assert_eq!(written.expect("refused"), Written::refused_by("journal"));
    let nothing = tenant.write(&source, &[], "op").await;
    assert_eq!(nothing.expect("nothing"), Written::default());
    assert!(!source.accepts_writes());
}

async fn conditions_reach_behind_what_fills_the_limit(kept: Kept) {
    let Some(source) = source(&kept) else {
        return kept.is_of_files();
    };
    let tenant = Tenant::of("acme");
    write(&kept, &tenant, "first.md", "op-first").await;
    for number in 0..30 {
        write(&kept, &tenant, "a.md", &format!("op-{number}")).await;
    }
    for conditions in [
        json!({"note": "first.md"}),
        json!({"operation": "op-first"}),
        json!({"kind": "write", "status": "created", "note": "first.md"}),
    ] {
        let found = tenant.found_where(&source, "", 2, conditions).await;
        assert_eq!(ids(&found), ["op-first"]);
    }
    for conditions in [
        json!({"note": "%"}),
        json!({"note": ["a.md"]}),
        json!({"x": null}),
    ] {
        assert_eq!(tenant.found_where(&source, "", 2, conditions).await, []);
    }
}

#[tokio::test]
async fn entries_that_a_store_passes_over_hide_nothing_older() {
    let store: Arc<dyn Store> = Arc::new(OddStore::failing_after(usize::MAX));
    let tenant = Tenant::of("acme");
    for number in 0..30 {
        let request = WriteRequest::new("x", &Expected::Any);
        let (name, operation) = (
            name(&format!("{}.md", number / 10)),
            operation(&format!("op-{number}")),
        );
        let written = store.write(&tenant.scope, &name, &request, Some(&operation));
        written.await.expect("write");
    }
    let source = JournalSource::new("journal", opening(&store), "default");
    // Of the newest first ones half are passed over, so there are fewer than were asked for.
    let found = tenant
        .found_where(&source, "", 2, json!({"note": "0.md"}))
        .await;
    assert_eq!(ids(&found), ["op-9", "op-7"]);
}

#[tokio::test]
async fn a_store_without_a_journal_says_so() {
    let store: Arc<dyn Store> = Arc::new(MinimalStore::default());
    let source = JournalSource::new("journal", opening(&store), "default");
    let error = Tenant::of("acme")
        .query(&source, "x", 5)
        .await
        .expect_err("an error");
    assert!(matches!(error, SourceError::Unsupported(_)));
    insta::assert_snapshot!(error, @"the store, of kind `minimal`, can't tell which operations changed notes; name another store");
}
