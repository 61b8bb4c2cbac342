//! Notes as a source.

use std::sync::Arc;

use notekeeper_domain::{ITEM_CHARS_MAX, Item, NoteName, SEARCH_FILES_MAX_DEFAULT};
use notekeeper_recall::{FileSource, Source as _, SourceError};
use notekeeper_store::{Expected, FileOptions, FileStore, MutationError, Store, WriteRequest};
use serde_json::json;

use crate::{
    fixture::{Tenant, item, metadata, opening},
    stores::{Kept, on_each_store},
};

on_each_store!(
    notes_are_ranked_by_how_often_the_words_of_the_query_stand_in_them,
    what_is_written_is_the_whole_note_that_the_path_names,
    tools_and_the_source_see_the_same_notes,
    a_path_that_names_no_note_is_refused,
    of_a_long_note_the_beginning_counts,
    a_passage_does_not_take_the_place_of_its_note,
    somebody_elses_change_of_a_note_is_not_lost,
    more_notes_than_are_read_at_a_time_are_all_looked_at,
);

fn source(kept: &Kept) -> FileSource {
    FileSource::new("files", kept.stores(), "default")
}

/// Puts a text into a note, as anybody else would.
async fn put(kept: &Kept, tenant: &Tenant, name: &str, text: &str) {
    let name = NoteName::parse(name).expect("a valid name");
    let request = WriteRequest::new(text, &Expected::Any);
    let written = kept.store.write(&tenant.scope, &name, &request, None).await;
    written.expect("write");
}

async fn text(kept: &Kept, tenant: &Tenant, name: &str) -> Option<String> {
    let name = NoteName::parse(name).expect("a valid name");
    let read = kept.store.read(&tenant.scope, &name, 1_000_000).await;
    read.expect("read").map(|note| note.content)
}

async fn notes_are_ranked_by_how_often_the_words_of_the_query_stand_in_them(kept: Kept) {
    let tenant = Tenant::of("acme");
    put(&kept, &tenant, "a.md", "Refunds. The REFUND of refunds\n").await;
    put(&kept, &tenant, "b.md", "A refund in days.\n").await;
    put(&kept, &tenant, "c.md", "Refunded in days, and days.\n").await;
    put(&kept, &tenant, "d.md", "nothing\n").await;
    let source = source(&kept);
    let found = tenant.found(&source, "Refund? refund days", 10).await;
    let ranked: Vec<_> = found
        .iter()
        .map(|item| (item.id.clone().expect("an id"), item.score()))
        .collect();
    let expected = [("a.md", 3.0), ("c.md", 3.0), ("b.md", 2.0)];
    assert_eq!(
        ranked,
        expected.map(|(id, score)| (format!("note:default/{id}"), Some(score)))
    );
    assert_eq!(found[2].content, "A refund in days.\n");
    assert_eq!(found[2].source, "files");
    assert_eq!(
        tenant.found(&source, "refund", 1).await[0].id.as_deref(),
        Some("note:default/a.md")
    );
    for query in ["", "\n", "absent", "%", "_", "a.a", "REFUND%"] {
        assert_eq!(tenant.found(&source, query, 10).await, [], "{query}");
    }
    assert_eq!(tenant.found(&source, "refund", 0).await, []);
}

async fn what_is_written_is_the_whole_note_that_the_path_names(kept: Kept) {
    let tenant = Tenant::of("acme");
    let source = source(&kept);
    put(&kept, &tenant, "MEMORY.md", "old\n").await;
    let items = [
        item("new main", json!({"path": "MEMORY.md"})),
        item("first", json!({"path": " plans "})),
        // Of two for one note the later counts.
        item(
            "second\n\u{1f600}",
            json!({"path": "plans.md", "tier": "public"}),
        ),
    ];
    let written = tenant.write(&source, &items, "op").await.expect("write");
    assert_eq!(written.accepted, ["files"]);
    assert_eq!(
        text(&kept, &tenant, "MEMORY.md").await.as_deref(),
        Some("new main")
    );
    assert_eq!(
        text(&kept, &tenant, "plans.md").await.as_deref(),
        Some("second\n\u{1f600}")
    );

    let found = tenant.found(&source, "second", 5).await;
    let name = NoteName::parse("plans.md").expect("a valid name");
    let note = kept
        .store
        .read(&tenant.scope, &name, 10)
        .await
        .expect("read");
    let version = note.expect("it was just made").version;
    let known = json!({"path": "plans.md", "version": version.as_str()});
    assert_eq!(found[0].metadata, metadata(known));
    // And what was found can be written back as it is.
    tenant.write(&source, &found, "op-2").await.expect("write");
    assert_eq!(
        text(&kept, &tenant, "plans.md").await.as_deref(),
        Some("second\n\u{1f600}")
    );
}

async fn tools_and_the_source_see_the_same_notes(kept: Kept) {
    let (tenant, other) = (Tenant::of("john-doe"), Tenant::of("john_doe"));
    let source = source(&kept);
    put(&kept, &other, "a.md", "alpha theirs\n").await;
    assert_eq!(tenant.found(&source, "alpha", 5).await, []);
    put(&kept, &tenant, "a.md", "alpha mine\n").await;
    assert_eq!(tenant.found(&source, "alpha", 5).await.len(), 1);
    let name = NoteName::parse("a.md").expect("a valid name");
    let deleted = kept
        .store
        .delete(&tenant.scope, &name, &Expected::Any, None)
        .await;
    deleted.expect("delete");
    assert_eq!(tenant.found(&source, "alpha", 5).await, []);
    assert_eq!(tenant.found(&source, "theirs", 5).await, []);
}

async fn a_path_that_names_no_note_is_refused(kept: Kept) {
    let tenant = Tenant::of("acme");
    let source = source(&kept);
    let mut said = Vec::new();
    for entries in [
        json!({}),
        json!({"path": 7}),
        json!({"path": ""}),
        json!({"path": "a/../b.md"}),
        json!({"path": "/etc/passwd"}),
        json!({"path": "é.md"}),
        json!({"path": "%2e%2e/b"}),
        json!({"path": ".memory-store.sqlite3"}),
        json!({"path": "x".repeat(200)}),
    ] {
        let items = [item("good", json!({"path": "good"})), item("text", entries)];
        let error = tenant
            .write(&source, &items, "op")
            .await
            .expect_err("an error");
        assert!(matches!(error, SourceError::Invalid(_)), "{error:?}");
        said.push(error.to_string());
    }
    said.dedup();
    insta::allow_duplicates! { insta::assert_snapshot!(said.join("\n")); }
    assert_eq!(text(&kept, &tenant, "good.md").await, None);
}

async fn of_a_long_note_the_beginning_counts(kept: Kept) {
    let tenant = Tenant::of("acme");
    let source = source(&kept);
    let long = format!("alpha {} omega", "固".repeat(ITEM_CHARS_MAX));
    put(&kept, &tenant, "long.md", &long).await;
    let found = tenant.found(&source, "alpha", 5).await;
    assert_eq!(found[0].content.chars().count(), ITEM_CHARS_MAX);
    assert_eq!(found[0].metadata.get("truncated"), Some(&json!(true)));
    assert_eq!(tenant.found(&source, "omega", 5).await, []);

    // It doesn't take the place of the whole note.
    let error = tenant.write(&source, &found, "op").await;
    assert_is_a_part(&error.expect_err("an error"));
    assert_eq!(text(&kept, &tenant, "long.md").await, Some(long));

    let exact = format!("beta {}", "x".repeat(ITEM_CHARS_MAX - 5));
    put(&kept, &tenant, "exact.md", &exact).await;
    let found = tenant.found(&source, "beta", 5).await;
    assert_eq!(found[0].metadata.get("truncated"), None);
    tenant.write(&source, &found, "op-2").await.expect("write");
    assert_eq!(text(&kept, &tenant, "exact.md").await, Some(exact));
}

#[track_caller]
fn assert_is_a_part(error: &SourceError) {
    assert!(matches!(error, SourceError::Invalid(_)), "{error:?}");
    insta::allow_duplicates! {
        insta::assert_snapshot!(error, @"`items[0]` is only a part of what its id or `path` names, and would take the place of all of it; give the whole text, without what a query said of the part, such as `truncated` in its metadata");
    }
}

async fn a_passage_does_not_take_the_place_of_its_note(kept: Kept) {
    let tenant = Tenant::of("acme");
    let source = source(&kept);
    put(&kept, &tenant, "a.md", "one\n\ntwo\n").await;
    for id in ["note:default/a.md#1", "note:other/a.md#1"] {
        let passage = item("one", json!({"id": id, "path": "a.md"}));
        let error = tenant.write(&source, &[passage], "op").await;
        assert_is_a_part(&error.expect_err("an error"));
    }
    assert_eq!(
        text(&kept, &tenant, "a.md").await.as_deref(),
        Some("one\n\ntwo\n")
    );
}

async fn somebody_elses_change_of_a_note_is_not_lost(kept: Kept) {
    let tenant = Tenant::of("acme");
    let source = source(&kept);
    put(&kept, &tenant, "a.md", "alpha\n").await;
    let mut found = tenant.found(&source, "alpha", 1).await;
    found[0].content.push_str("mine\n");
    put(&kept, &tenant, "a.md", "alpha\ntheirs\n").await;
    let error = tenant.write(&source, &found, "op").await;
    let error = error.expect_err("an error");
    assert!(
        matches!(error, SourceError::Mutation(MutationError::VersionConflict)),
        "{error:?}"
    );
    let theirs = text(&kept, &tenant, "a.md").await;
    assert_eq!(theirs.as_deref(), Some("alpha\ntheirs\n"));

    // Found anew it is written, once: a repetition is none too late.
    let mut found = tenant.found(&source, "alpha", 1).await;
    found[0].content.push_str("mine\n");
    for _ in 0..2 {
        tenant.write(&source, &found, "op-2").await.expect("write");
        let both = text(&kept, &tenant, "a.md").await;
        assert_eq!(both.as_deref(), Some("alpha\ntheirs\nmine\n"));
    }

    // What another store says of its own note is no version here.
    let known = json!({"id": "note:other/a.md", "path": "a.md", "version": "77"});
    let theirs = item("of another store", known);
    tenant
        .write(&source, &[theirs], "op-3")
        .await
        .expect("write");
    let odd = item("x", json!({"path": "a.md", "version": 7}));
    let error = tenant.write(&source, &[odd], "op-4").await;
    let error = error.expect_err("an error").to_string();
    assert!(error.starts_with("`items[0]` has a `version`"), "{error}");
}

#[tokio::test]
async fn as_many_notes_are_looked_through_as_by_a_search() {
    let kept = Kept::in_memory().await;
    let tenant = Tenant::of("acme");
    let last = SEARCH_FILES_MAX_DEFAULT;
    for number in 0..=last {
        put(
            &kept,
            &tenant,
            &format!("n{number:04}.md"),
            &format!("x{number:04}\n"),
        )
        .await;
    }
    let source = source(&kept);
    let found: Vec<Item> = tenant.found(&source, &format!("x{:04}", last - 1), 5).await;
    assert_eq!(found.len(), 1);
    assert_eq!(tenant.found(&source, &format!("x{last:04}"), 5).await, []);
}

async fn more_notes_than_are_read_at_a_time_are_all_looked_at(kept: Kept) {
    let tenant = Tenant::of("acme");
    let source = source(&kept);
    for number in 0..205 {
        put(&kept, &tenant, &format!("n{number:03}.md"), "alpha\n").await;
    }
    put(&kept, &tenant, "z.md", "alpha alpha last\n").await;
    let found = tenant.found(&source, "alpha", 2).await;
    let ids: Vec<_> = found.into_iter().filter_map(|item| item.id).collect();
    assert_eq!(ids, ["note:default/z.md", "note:default/n000.md"]);
    let last = tenant
        .found_where(&source, "alpha", 5, json!({"path": "z.md"}))
        .await;
    assert_eq!(last.len(), 1);
}

#[tokio::test]
async fn what_is_no_note_keeps_nobody_from_the_others() {
    let directory = tempfile::tempdir().expect("a directory");
    let notes = directory.path().join("acme/main");
    std::fs::create_dir_all(notes.join("b.md")).expect("make");
    std::fs::write(notes.join("a.md"), "alpha a\n").expect("write");
    std::fs::write(notes.join("image.md"), b"alpha \xff\xfe").expect("write");
    std::fs::write(notes.join("nul.md"), "alpha \0").expect("write");
    std::fs::write(notes.join("data.json"), "\"alpha\"").expect("write");
    std::fs::write(notes.join("z.md"), "alpha z\n").expect("write");
    let options = FileOptions::new(directory.path());
    let store: Arc<dyn Store> = Arc::new(FileStore::open(options).await.expect("open"));
    let source = FileSource::new("files", opening(&store), "default");
    let found = Tenant::of("acme").found(&source, "alpha", 10).await;
    let ids: Vec<_> = found.into_iter().filter_map(|item| item.id).collect();
    assert_eq!(ids, ["note:default/a.md", "note:default/z.md"]);
}

#[tokio::test]
async fn nothing_is_written_where_files_may_only_be_read() {
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::create_dir_all(directory.path().join("acme/main")).expect("make");
    std::fs::write(directory.path().join("acme/main/a.md"), "alpha\n").expect("write");
    let mut options = FileOptions::new(directory.path());
    options.read_only = true;
    let store: Arc<dyn Store> = Arc::new(FileStore::open(options).await.expect("open"));
    let source = FileSource::new("files", opening(&store), "default");
    let tenant = Tenant::of("acme");
    assert_eq!(tenant.found(&source, "alpha", 5).await.len(), 1);
    let items = [item("beta", json!({"path": "a.md"}))];
    let error = tenant
        .write(&source, &items, "op")
        .await
        .expect_err("an error");
    assert!(
        matches!(error, SourceError::Mutation(MutationError::ReadOnly)),
        "{error:?}"
    );
    assert!(source.accepts_writes());
}
