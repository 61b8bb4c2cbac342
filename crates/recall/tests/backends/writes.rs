//! Writes, of every source that takes some, on every store.

use std::sync::Arc;

use futures::{FutureExt as _, future::join_all};
use notekeeper_domain::{ITEM_CHARS_MAX, ITEMS_WRITTEN_MAX, Item};
use notekeeper_models::HashingEmbedder;
use notekeeper_recall::{
    CompactedSource, FactsSource, FileSource, HeadCompactor, Source, SourceError, VectorSource,
};
use notekeeper_store::{MutationError, SqliteOptions, SqliteStore, Store};
use serde_json::json;

use crate::{
    fixture::{Tenant, item, opening, operation},
    odd_store::OddStore,
    stores::{Kept, on_each_store},
};

on_each_store!(
    a_repetition_changes_nothing_also_after_other_writes,
    an_operation_with_other_items_is_a_conflict_and_changes_nothing,
    of_a_write_with_one_item_that_cannot_be_kept_nothing_is,
    what_is_only_a_part_takes_the_place_of_no_whole,
    repetitions_at_once_keep_one_of_each_item,
    a_write_of_nothing_does_nothing_and_leaves_its_operation_free,
    an_operation_of_one_tenant_is_free_for_another,
    what_was_shortened_never_takes_the_place_of_the_whole,
);

/// An item that every source takes: vectors and facts by its id, notes by its path.
fn noted(id: &str, content: &str) -> Item {
    item(content, json!({"id": id, "path": format!("{id}.md")}))
}

/// What the tenant has there, of items that have `alpha` in them.
async fn contents(tenant: &Tenant, source: &dyn Source) -> Vec<String> {
    let found = tenant.found(source, "alpha", 100).await;
    let mut contents: Vec<String> = found.into_iter().map(|item| item.content).collect();
    // Facts say their keys as well.
    for content in &mut contents {
        if let Some((_, text)) = content.split_once(": ") {
            *content = text.to_owned();
        }
    }
    contents.sort();
    contents
}

async fn a_repetition_changes_nothing_also_after_other_writes(kept: Kept) {
    let tenant = Tenant::of("acme");
    for source in kept.writable() {
        let name = source.name();
        let first = [noted("a", "alpha one"), noted("b", "alpha two")];
        tenant.write(&*source, &first, "op-1").await.expect("write");
        tenant.write(&*source, &first, "op-1").await.expect("again");
        let both = ["alpha one", "alpha two"];
        assert_eq!(contents(&tenant, &*source).await, both, "{name}");

        let second = [noted("a", "alpha three")];
        tenant
            .write(&*source, &second, "op-2")
            .await
            .expect("write");
        let repeated = tenant.write(&*source, &first, "op-1").await;
        assert_eq!(repeated.expect("again").accepted, [name]);
        let changed = ["alpha three", "alpha two"];
        assert_eq!(contents(&tenant, &*source).await, changed, "{name}");
    }
}

async fn an_operation_with_other_items_is_a_conflict_and_changes_nothing(kept: Kept) {
    let tenant = Tenant::of("acme");
    for source in kept.writable() {
        let first = [noted("a", "alpha one"), noted("b", "alpha two")];
        tenant.write(&*source, &first, "op").await.expect("write");
        for other in [
            vec![noted("a", "alpha one")],
            vec![noted("a", "alpha one"), noted("b", "alpha three")],
            vec![noted("b", "alpha two"), noted("a", "alpha one")],
            vec![
                noted("a", "alpha one"),
                noted("b", "alpha two"),
                noted("c", "alpha"),
            ],
        ] {
            let error = tenant
                .write(&*source, &other, "op")
                .await
                .expect_err("an error");
            assert!(
                matches!(
                    error,
                    SourceError::Mutation(MutationError::OperationConflict)
                ),
                "{}: {error}",
                source.name()
            );
        }
        let both = ["alpha one", "alpha two"];
        assert_eq!(contents(&tenant, &*source).await, both, "{}", source.name());
    }
}

async fn what_was_shortened_never_takes_the_place_of_the_whole(kept: Kept) {
    const LONG: &str = "alpha, and much more than is shown of it";
    let tenant = Tenant::of("acme");
    for source in kept.writable() {
        let name = source.name().to_owned();
        let head = Arc::new(HeadCompactor::new(20).expect("valid bounds"));
        let compacted = CompactedSource::new(source.clone(), head, None).expect("valid bounds");
        let whole = [noted("a", LONG), noted("b", "alpha")];
        tenant.write(&*source, &whole, "op-1").await.expect("write");

        let found = tenant.found(&compacted, "alpha", 5).await;
        let (cut, short): (Vec<Item>, Vec<Item>) = found
            .into_iter()
            .partition(|item| item.content.ends_with('…'));
        assert_eq!((cut.len(), short.len()), (1, 1), "{name}");
        // Through the one that cut it and past it; and what could be kept beside it isn't.
        let mut both = short.clone();
        both[0].content = both[0].content.replace("alpha", "alpha changed");
        both.extend(cut);
        let through: [&dyn Source; 2] = [&compacted, &*source];
        for source in through {
            let error = tenant.write(source, &both, "op-2").await;
            let error = error.expect_err("an error");
            let told = error.to_string();
            assert!(matches!(error, SourceError::Invalid(_)), "{name}: {told}");
            assert!(told.starts_with("`items[1]` is only a part of"), "{told}");
        }
        assert_eq!(contents(&tenant, &*source).await, ["alpha", LONG], "{name}");
        // What wasn't cut goes back as it came.
        tenant.write(&compacted, &short, "op-3").await.expect(&name);
        assert_eq!(contents(&tenant, &*source).await, ["alpha", LONG], "{name}");
    }
}

/// Items that no source keeps, and a part of what is said of each.
fn bad_items() -> Vec<(Item, &'static str)> {
    vec![
        (
            item("a\0b", json!({"id": "x", "path": "x"})),
            "NUL character (U+0000) in `content`",
        ),
        (
            item("alpha", json!({"id": "x", "path": "x", "k": ["\0"]})),
            "in `metadata`; leave it out",
        ),
        (
            item("alpha", json!({"id": "x", "path": "x", "k\0": 1})),
            "in `metadata`",
        ),
        (
            item("alpha", json!({"id": "x\0", "path": "x"})),
            "has an id",
        ),
        (
            item("alpha", json!({"id": "x".repeat(401), "path": "x"})),
            "has an id",
        ),
        (item("alpha", json!({"id": 7, "path": "x"})), "no text"),
        (
            item(" \n", json!({"id": "x", "path": "x"})),
            "has no content",
        ),
        (
            item(
                &"x".repeat(ITEM_CHARS_MAX + 1),
                json!({"id": "x", "path": "x"}),
            ),
            "65537 characters",
        ),
        (
            item(
                "alpha",
                json!({"id": "x", "path": "x", "k": "x".repeat(17_000)}),
            ),
            "bytes as JSON",
        ),
    ]
}

async fn of_a_write_with_one_item_that_cannot_be_kept_nothing_is(kept: Kept) {
    let tenant = Tenant::of("acme");
    for source in kept.writable() {
        for (bad, told) in bad_items() {
            let mut items: Vec<Item> = (0..50)
                .map(|index| noted(&format!("i{index}"), "alpha"))
                .collect();
            items[31] = bad;
            let error = tenant
                .write(&*source, &items, "op")
                .await
                .expect_err("an error");
            let text = error.to_string();
            assert!(
                text.starts_with("`items[31]` ") && text.contains(told),
                "{text}"
            );
            assert!(!error.is_passing(), "{text}");
            assert!(
                matches!(error, SourceError::Invalid(_) | SourceError::TooLarge(_)),
                "{error:?}"
            );
        }
        assert_eq!(
            contents(&tenant, &*source).await,
            [""; 0],
            "{}",
            source.name()
        );

        let many = vec![noted("a", "alpha"); ITEMS_WRITTEN_MAX + 1];
        let error = tenant
            .write(&*source, &many, "op")
            .await
            .expect_err("an error");
        assert!(matches!(error, SourceError::TooLarge(_)), "{error}");
        // The operation that failed is free.
        tenant
            .write(&*source, &[noted("a", "alpha")], "op")
            .await
            .expect("write");
    }
}

async fn what_is_only_a_part_takes_the_place_of_no_whole(kept: Kept) {
    let tenant = Tenant::of("acme");
    for source in kept.writable() {
        let name = source.name();
        let whole = [noted("a", "alpha, and much more of it")];
        tenant.write(&*source, &whole, "op").await.expect("write");
        let before = contents(&tenant, &*source).await;
        let found = tenant.found(&*source, "alpha", 1).await.remove(0);
        // As it comes from whatever cuts contents, with the id beside the metadata and in it.
        let known = found.metadata.with("truncated", json!(true));
        let mut beside = found.clone().with_metadata(known.clone());
        beside.content = "alpha".to_owned();
        let mut inside = beside.clone();
        inside.metadata = known.with("id", json!(inside.id.take()));
        for part in [beside, inside] {
            let items = [noted("b", "alpha"), part];
            let written = tenant.write(&*source, &items, "part").await;
            let checked = source.check_items(&items, &operation("part"));
            for refused in [written.map(drop), checked] {
                let error = refused.expect_err(name);
                assert!(matches!(error, SourceError::Invalid(_)), "{error:?}");
                let told = error.to_string();
                assert!(told.starts_with("`items[1]` is only a part of"), "{told}");
            }
        }
        assert_eq!(contents(&tenant, &*source).await, before, "{name}");
        // The whole is taken, and so is a part beside it, where it is no note.
        let mut items = vec![found];
        if name != "file" {
            items.push(item("alpha, a part", json!({"truncated": true})));
        }
        let kept = items.len();
        tenant
            .write(&*source, &items, "whole")
            .await
            .expect("write");
        assert_eq!(contents(&tenant, &*source).await.len(), kept, "{name}");
    }
}

async fn repetitions_at_once_keep_one_of_each_item(kept: Kept) {
    let tenant = Tenant::of("acme");
    for source in kept.writable() {
        // Without ids: each has one that follows from the operation.
        let items: Vec<Item> = (0..5)
            .map(|index| {
                item(
                    &format!("alpha {index}"),
                    json!({"path": format!("n{index}")}),
                )
            })
            .collect();
        let writes = (0..20).map(|_| tenant.write(&*source, &items, "op"));
        for written in join_all(writes).await {
            assert_eq!(written.expect("written").accepted, [source.name()]);
        }
        let expected: Vec<String> = (0..5).map(|index| format!("alpha {index}")).collect();
        assert_eq!(
            contents(&tenant, &*source).await,
            expected,
            "{}",
            source.name()
        );
    }
}

async fn a_write_of_nothing_does_nothing_and_leaves_its_operation_free(kept: Kept) {
    let tenant = Tenant::of("acme");
    for source in kept.writable() {
        let written = tenant.write(&*source, &[], "op").await.expect("nothing");
        assert_eq!(written, notekeeper_recall::Written::default());
        let items = [noted("a", "alpha")];
        tenant.write(&*source, &items, "op").await.expect("write");
        assert_eq!(contents(&tenant, &*source).await, ["alpha"]);
    }
}

async fn an_operation_of_one_tenant_is_free_for_another(kept: Kept) {
    let (one, other) = (Tenant::of("john-doe"), Tenant::of("john_doe"));
    for source in kept.writable() {
        one.write(&*source, &[noted("a", "alpha one")], "op")
            .await
            .expect("write");
        other
            .write(&*source, &[noted("a", "alpha two")], "op")
            .await
            .expect("write");
        assert_eq!(contents(&one, &*source).await, ["alpha one"]);
        assert_eq!(contents(&other, &*source).await, ["alpha two"]);
    }
}

/// A write of three that came to `changes` of them, and is repeated.
async fn goes_on(changes: usize, tenant: &Tenant, source: &dyn Source, items: &[Item]) {
    let before = contents(tenant, source).await;
    assert_eq!(before, &["alpha a", "alpha b", "alpha c"][..changes]);
    // Somebody else's change of what was kept isn't undone by the rest.
    let meanwhile = [noted("a", "alpha changed")];
    let other = tenant.write(source, &meanwhile, "other").await;
    other.expect("write");
    let resumed = tenant.write(source, items, "op").await;
    resumed.expect("resumed");
    let expected = match changes {
        0 => ["alpha a", "alpha b", "alpha c"],
        _ => ["alpha b", "alpha c", "alpha changed"],
    };
    assert_eq!(contents(tenant, source).await, expected);
    let repeated = tenant.write(source, items, "op").await;
    repeated.expect("repeated");
    assert_eq!(contents(tenant, source).await, expected);
}

/// The sources that make a change of their store for each item.
fn over(store: &Arc<dyn Store>) -> [Arc<dyn Source>; 2] {
    [
        Arc::new(FileSource::new("file", opening(store), "default")),
        Arc::new(FactsSource::new("facts", opening(store), "default")),
    ]
}

fn item_by_item(store: OddStore) -> [Arc<dyn Source>; 2] {
    let store: Arc<dyn Store> = Arc::new(store);
    over(&store)
}

#[tokio::test]
async fn a_write_of_several_notes_or_facts_that_broke_off_goes_on_where_it_did() {
    let tenant = Tenant::of("acme");
    let items = ["a", "b", "c"].map(|id| noted(id, &format!("alpha {id}")));
    for (changes, which) in [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1)] {
        let source = &item_by_item(OddStore::failing_after(changes))[which];
        let error = tenant
            .write(&**source, &items, "op")
            .await
            .expect_err("an error");
        assert!(error.is_passing(), "{error}");
        goes_on(changes, &tenant, &**source, &items).await;
    }
}

#[tokio::test]
async fn so_does_one_that_was_given_up_in_the_middle() {
    let tenant = Tenant::of("acme");
    let items = ["a", "b", "c"].map(|id| noted(id, &format!("alpha {id}")));
    for (changes, which) in [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1)] {
        let source = &item_by_item(OddStore::hanging_after(changes))[which];
        let write = tenant.write(&**source, &items, "op");
        // As where its activity is cancelled: the call is dropped while it waits.
        assert!(write.now_or_never().is_none());
        goes_on(changes, &tenant, &**source, &items).await;
    }
}

#[tokio::test]
async fn what_was_kept_and_which_writes_were_outlive_the_store() {
    let directory = tempfile::tempdir().expect("a directory");
    let options = SqliteOptions::new(directory.path().join("notes.db"));
    let tenant = Tenant::of("acme");
    let first = [noted("a", "alpha one"), noted("b", "alpha two")];
    for changed in [false, true] {
        let store = SqliteStore::open(&options).await.expect("open");
        let store: Arc<dyn Store> = Arc::new(store);
        let embedder = Arc::new(HashingEmbedder::default());
        let vectors = VectorSource::embedded("kb", opening(&store), "default", "c", embedder);
        let [file, facts] = over(&store);
        for source in [Arc::new(vectors), file, facts] {
            if changed {
                let before = ["alpha three", "alpha two"];
                assert_eq!(
                    contents(&tenant, &*source).await,
                    before,
                    "{}",
                    source.name()
                );
            }
            let written = tenant.write(&*source, &first, "op-1").await;
            written.expect("write");
            let second = [noted("a", "alpha three")];
            let written = tenant.write(&*source, &second, "op-2").await;
            written.expect("write");
            let after = ["alpha three", "alpha two"];
            assert_eq!(
                contents(&tenant, &*source).await,
                after,
                "{}",
                source.name()
            );
        }
    }
}
