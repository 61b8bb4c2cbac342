//! The journal, of stores that keep one: which operations changed notes.

use futures::future::join_all;

use super::{
    fixture::{Notebook, append, at_token, notebook, operation},
    receipts::NEWER_OPERATIONS,
    tenants::LOOK_ALIKES,
};
use crate::{Expected, JournalEntry, JournalStore, ReceiptStatus, Store};

pub(super) async fn exercise<S: Store>(store: &S) {
    let Some(journal) = store.journal() else {
        return;
    };
    changes_are_told_newest_first(journal, &notebook(store, "j/told")).await;
    what_changes_no_note_is_not_told(journal, store).await;
    the_newest_are_told(journal, &notebook(store, "j/newest")).await;
    changes_of_one_note_are_told_in_their_order(journal, &notebook(store, "j/order")).await;
    look_alike_scopes_are_apart(journal, store).await;
}

async fn newest<S>(
    journal: &dyn JournalStore,
    notebook: &Notebook<'_, S>,
    limit: usize,
) -> Vec<JournalEntry> {
    let newest = journal.newest_changes(&notebook.scope, limit).await;
    let changes = newest.expect("newest changes are told").changes;
    for entry in &changes {
        assert_eq!(
            entry.scope,
            notebook.scope.as_str(),
            "each change says its scope, which is the caller's alone"
        );
    }
    changes
}

/// What an entry says, without its version and time.
fn said(entry: &JournalEntry) -> (&str, &str, &str, ReceiptStatus) {
    (&entry.operation_id, &entry.kind, &entry.note, entry.status)
}

async fn changes_are_told_newest_first<S: Store>(
    journal: &dyn JournalStore,
    notebook: &Notebook<'_, S>,
) {
    assert_eq!(newest(journal, notebook, 10).await, []);
    let mut right = Vec::new();
    for round in 0..3 {
        let id = |what: &str| format!("{what} {round}");
        let edit = operation(&id("edit"), "f");
        let edited = notebook.edit("a.md", &append("x"), &edit).await;
        right.push((id("edit"), "edit", "a.md", edited.expect("edit")));
        let write = operation(&id("write"), "f");
        let written = notebook
            .write("b.md", "x", Expected::Any, Some(&write))
            .await;
        right.push((id("write"), "write", "b.md", written.expect("write")));
        for what in ["delete", "delete again"] {
            let delete = operation(&id(what), "f");
            let deleted = notebook.delete("b.md", Expected::Any, Some(&delete)).await;
            right.push((id(what), "delete", "b.md", deleted.expect("delete")));
        }
    }
    right.reverse();
    let found = newest(journal, notebook, 100).await;
    assert_eq!(
        found.len(),
        right.len(),
        "each operation that changed a note is told once"
    );
    for (found, (id, kind, note, made)) in found.iter().zip(&right) {
        let right = (id.as_str(), *kind, *note, made.status);
        assert_eq!(said(found), right, "the newest change is told first");
        assert_eq!(found.version, made.version, "the version that it made");
        assert_is_time(&found.at);
    }
    for limit in [0, 1, 5] {
        assert_eq!(newest(journal, notebook, limit).await, found[..limit]);
    }
    for (limit, more) in [(0, true), (found.len() - 1, true), (found.len(), false)] {
        let newest = journal.newest_changes(&notebook.scope, limit).await;
        let newest = newest.expect("newest changes are told");
        assert_eq!(newest.more, more, "it says whether there are older changes");
    }
    // A repetition is no news.
    let again = operation("edit 0", "f");
    let again = notebook.edit("a.md", &append("x"), &again).await;
    assert!(again.expect("replay").replayed);
    assert_eq!(newest(journal, notebook, 100).await, found);
}

/// As `2026-11-30T04:05:06Z`.
#[track_caller]
fn assert_is_time(text: &str) {
    let form: String = text
        .chars()
        .map(|c| if c.is_ascii_digit() { '0' } else { c })
        .collect();
    assert_eq!(form, "0000-00-00T00:00:00Z", "a time in UTC: {text}");
    assert!(text > "2020", "a time of today: {text}");
}

async fn what_changes_no_note_is_not_told<S: Store>(journal: &dyn JournalStore, store: &S) {
    let notebook = &notebook(store, "j/other");
    notebook.put("a.md", "x").await;
    notebook
        .delete("a.md", Expected::Any, None)
        .await
        .expect("delete");
    let own = operation("refused", "f");
    let refused = notebook.write("a.md", "x", at_token("7"), Some(&own)).await;
    refused.expect_err("there is no such version");
    if let Some(facts) = store.facts() {
        let facts = super::facts::FactsOfScope::new(facts, "j/other");
        let own = operation("remember", "f");
        facts
            .remember("key", "x", Some(&own))
            .await
            .expect("remember");
        let own = operation("forget", "f");
        facts.forget("key", Some(&own)).await.expect("forget");
    }
    if let Some(transcripts) = store.transcripts() {
        let conversation = super::transcripts::Conversation::new(transcripts, "j/other", "main");
        let own = operation("add", "f");
        conversation.add(&["x"], Some(&own)).await.expect("add");
        let own = operation("clear", "f");
        conversation.clear(Some(&own)).await.expect("clear");
    }
    if let Some(vectors) = store.vectors() {
        let collection = super::vectors::Collection::new(vectors, "j/other");
        let chunk = super::vectors::chunk("a", &[1.0]);
        let own = operation("keep", "f");
        collection.keep(&[chunk], Some(&own)).await.expect("keep");
    }
    assert_eq!(
        newest(journal, notebook, 10).await,
        [],
        "what changed no note, or had no operation, isn't told"
    );
}

async fn the_newest_are_told<S: Store>(journal: &dyn JournalStore, notebook: &Notebook<'_, S>) {
    for index in 0..=NEWER_OPERATIONS {
        let own = operation(&index.to_string(), "f");
        let written = notebook.write("a.md", "x", Expected::Any, Some(&own)).await;
        written.expect("write");
    }
    let newest = newest(journal, notebook, NEWER_OPERATIONS).await;
    let ids: Vec<&str> = newest
        .iter()
        .map(|entry| entry.operation_id.as_str())
        .collect();
    let right: Vec<String> = (1..=NEWER_OPERATIONS)
        .rev()
        .map(|n| n.to_string())
        .collect();
    assert_eq!(ids, right, "the newest are told, the newest first");
}

async fn changes_of_one_note_are_told_in_their_order<S: Store>(
    journal: &dyn JournalStore,
    notebook: &Notebook<'_, S>,
) {
    join_all((0..10).map(async |racer| {
        for round in 0..3 {
            let id = format!("{racer}/{round}");
            let own = operation(&id, "f");
            let written = notebook.write("a.md", &id, Expected::Any, Some(&own)).await;
            written.expect("write");
        }
    }))
    .await;
    let newest = newest(journal, notebook, 100).await;
    assert_eq!(newest.len(), 30);
    let last = notebook.read("a.md").await.expect("the note is there");
    assert_eq!(
        (newest[0].operation_id.as_str(), newest[0].version.as_ref()),
        (last.content.as_str(), Some(&last.version)),
        "the change that a note is left with is told before those that it replaced"
    );
    for racer in 0..10 {
        let of_racer = newest.iter().filter_map(|entry| {
            let (of, round) = entry.operation_id.split_once('/')?;
            (of == racer.to_string()).then_some(round)
        });
        let of_racer: Vec<&str> = of_racer.collect();
        assert_eq!(
            of_racer,
            ["2", "1", "0"],
            "what was answered before is older"
        );
    }
}

async fn look_alike_scopes_are_apart<S: Store>(journal: &dyn JournalStore, store: &S) {
    let notebooks = LOOK_ALIKES.map(|scope| notebook(store, scope));
    for notebook in &notebooks {
        let note = format!("{}.md", notebook.scope.as_str().len());
        let own = operation("id", "f");
        let edited = notebook.edit(&note, &append("x"), &own).await;
        edited.expect("edit");
    }
    for notebook in &notebooks {
        let scope = notebook.scope.as_str();
        let told = newest(journal, notebook, 10).await;
        assert_eq!(told.len(), 1, "changes of `{scope}` alone");
        assert_eq!(told[0].note, format!("{}.md", scope.len()));
    }
}
