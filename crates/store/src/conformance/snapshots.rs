//! Snapshot texts.

use super::fixture::notebook;
use crate::Store;

pub(super) async fn exercise<S: Store>(store: &S) {
    a_kept_text_comes_back(store).await;
    keeping_again_changes_nothing(store).await;
}

async fn a_kept_text_comes_back<S: Store>(store: &S) {
    let scope = notebook(store, "p/kept").scope;
    assert_eq!(
        store.snapshot(&scope, "digest").await.expect("answers"),
        None
    );
    let text = "<memory>\n固 👩\u{200d}👩\r\n</memory>";
    store
        .keep_snapshot(&scope, "digest", text)
        .await
        .expect("keep");
    store
        .keep_snapshot(&scope, "Digest", "")
        .await
        .expect("keep");
    assert_eq!(
        store
            .snapshot(&scope, "digest")
            .await
            .expect("answers")
            .as_deref(),
        Some(text)
    );
    assert_eq!(
        store
            .snapshot(&scope, "Digest")
            .await
            .expect("answers")
            .as_deref(),
        Some("")
    );
    assert_eq!(
        store.snapshot(&scope, "digest2").await.expect("answers"),
        None
    );
}

async fn keeping_again_changes_nothing<S: Store>(store: &S) {
    let scope = notebook(store, "p/again").scope;
    for text in ["first", "first", "second"] {
        store
            .keep_snapshot(&scope, "digest", text)
            .await
            .expect("keep");
    }
    let kept = store.snapshot(&scope, "digest").await.expect("answers");
    assert_eq!(kept.as_deref(), Some("first"));
}
