//! Snapshot texts, of stores that keep them.

use notekeeper_domain::Scope;

use super::{
    fixture::{longest_scope, noise},
    refusing::{assert_invalid_value, assert_too_large_value},
    tenants::LOOK_ALIKES,
};
use crate::{CONTENT_BYTES_MAX, DIGEST_BYTES_MAX, SnapshotStore, Store};

pub(super) async fn exercise<S: Store>(store: &S) {
    let Some(snapshots) = store.snapshots() else {
        return;
    };
    a_kept_text_comes_back(snapshots).await;
    keeping_again_changes_nothing(snapshots).await;
    look_alike_scopes_are_apart(snapshots).await;
    the_longest_scope_and_digest_work(snapshots).await;
    values_that_no_store_takes_are_refused(snapshots).await;
}

fn scope(path: &str) -> Scope {
    Scope::parse(path).expect("suite uses valid scopes")
}

async fn keep(store: &dyn SnapshotStore, scope: &Scope, digest: &str, text: &str) {
    store
        .keep_snapshot(scope, digest, text)
        .await
        .expect("keep");
}

async fn kept(store: &dyn SnapshotStore, scope: &Scope, digest: &str) -> Option<String> {
    store.snapshot(scope, digest).await.expect("answers")
}

async fn a_kept_text_comes_back(store: &dyn SnapshotStore) {
    let scope = scope("p/kept");
    assert_eq!(kept(store, &scope, "digest").await, None);
    let text = "<memory>\n固 👩\u{200d}👩\r\n</memory>";
    keep(store, &scope, "digest", text).await;
    keep(store, &scope, "Digest", "").await;
    assert_eq!(kept(store, &scope, "digest").await.as_deref(), Some(text));
    assert_eq!(kept(store, &scope, "Digest").await.as_deref(), Some(""));
    assert_eq!(kept(store, &scope, "digest2").await, None);
}

async fn keeping_again_changes_nothing(store: &dyn SnapshotStore) {
    let scope = scope("p/again");
    for text in ["first", "first", "second"] {
        keep(store, &scope, "digest", text).await;
    }
    assert_eq!(
        kept(store, &scope, "digest").await.as_deref(),
        Some("first")
    );
}

async fn look_alike_scopes_are_apart(store: &dyn SnapshotStore) {
    for path in LOOK_ALIKES {
        keep(store, &scope(path), "digest", path).await;
    }
    for path in LOOK_ALIKES {
        let text = kept(store, &scope(path), "digest").await;
        assert_eq!(text.as_deref(), Some(path));
    }
}

async fn the_longest_scope_and_digest_work(store: &dyn SnapshotStore) {
    let path = longest_scope();
    let digest = noise(1, DIGEST_BYTES_MAX, '0'..='z');
    keep(store, &scope(&path), &digest, "x").await;
    assert_eq!(
        kept(store, &scope(&path), &digest).await.as_deref(),
        Some("x")
    );
}

async fn values_that_no_store_takes_are_refused(store: &dyn SnapshotStore) {
    let (scope, nul) = (&scope("p/refused"), "a\u{0}b");
    assert_invalid_value(store.keep_snapshot(scope, nul, "x").await, "digest");
    assert_invalid_value(store.keep_snapshot(scope, "d", nul).await, "text");
    assert_invalid_value(store.snapshot(scope, nul).await, "digest");
    let long = "x".repeat(CONTENT_BYTES_MAX + 1);
    assert_too_large_value(store.keep_snapshot(scope, "d", &long).await, "text");
    let digest = "d".repeat(DIGEST_BYTES_MAX + 1);
    assert_invalid_value(store.keep_snapshot(scope, &digest, "x").await, "digest");
    assert_invalid_value(store.snapshot(scope, &digest).await, "digest");
    assert_eq!(kept(store, scope, "d").await, None);
}
