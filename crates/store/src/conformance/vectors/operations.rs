//! Operations on chunks: each takes effect once.

use super::{
    super::{
        fixture::{assert_operation_conflict, operation},
        refusing::assert_invalid_value,
    },
    of_collection::{Collection, chunk},
};
use crate::{ChunksKept, DIGEST_BYTES_MAX, MutationError, VectorStore};

pub(super) async fn exercise(store: &dyn VectorStore) {
    keeping_again_changes_nothing(&Collection::new(store, "o/keep")).await;
    what_is_passed_again_is_the_fingerprints_business(&Collection::new(store, "o/passed")).await;
    other_arguments_are_a_conflict(&Collection::new(store, "o/other")).await;
    a_failed_call_leaves_no_receipt(&Collection::new(store, "o/failed")).await;
    an_operation_without_chunks_has_its_receipt(&Collection::new(store, "o/none")).await;
    a_receipt_is_told_without_chunks(&Collection::new(store, "o/told")).await;
    ids_are_of_a_scope(store).await;
}

const NEW: ChunksKept = ChunksKept { replayed: false };
const REPLAYED: ChunksKept = ChunksKept { replayed: true };

async fn keeping_again_changes_nothing(collection: &Collection<'_>) {
    let (first, second) = (operation("first", "f1"), operation("second", "f2"));
    let old = [chunk("a", &[1.0, 0.0]), chunk("b", &[1.0, 0.0])];
    let new = [chunk("a", &[0.0, 1.0])];
    let keep = async |chunks, operation| {
        let kept = collection.keep(chunks, Some(operation)).await;
        kept.expect("keep")
    };
    assert_eq!(keep(&old[..], &first).await, NEW);
    assert_eq!(keep(&new[..], &second).await, NEW);
    for _ in 0..2 {
        assert_eq!(keep(&old[..], &first).await, REPLAYED);
        assert_eq!(keep(&new[..], &second).await, REPLAYED);
    }
    assert_eq!(
        collection.ids(&[0.0, 1.0], 10).await,
        ["a", "b"],
        "keeping again doesn't bring an old embedding back"
    );
    collection.remove(&["a", "b"]).await;
    assert_eq!(keep(&old[..], &first).await, REPLAYED);
    assert_eq!(
        collection.all().await,
        [""; 0],
        "keeping again doesn't bring back what was removed"
    );
}

async fn what_is_passed_again_is_the_fingerprints_business(collection: &Collection<'_>) {
    let same = operation("id", "f");
    let kept = collection.keep(&[chunk("a", &[1.0])], Some(&same)).await;
    assert_eq!(kept.expect("keep"), NEW);
    let other = collection.with("other", "other model");
    let kept = other.keep(&[chunk("b", &[1.0])], Some(&same)).await;
    assert_eq!(kept.expect("replay"), REPLAYED);
    assert_eq!(other.all().await, [""; 0]);
}

async fn other_arguments_are_a_conflict(collection: &Collection<'_>) {
    let first = operation("id", "f1");
    let kept = collection.keep(&[chunk("a", &[1.0])], Some(&first)).await;
    kept.expect("keep");
    let other = operation("id", "f2");
    assert_operation_conflict(collection.keep(&[chunk("b", &[1.0])], Some(&other)).await);
    assert_operation_conflict(collection.keep(&[], Some(&other)).await);
    assert_eq!(collection.all().await, ["a"], "a conflict keeps nothing");
}

async fn a_failed_call_leaves_no_receipt(collection: &Collection<'_>) {
    for odd in ["a\0b", &"d".repeat(DIGEST_BYTES_MAX + 1)] {
        let odd = operation("id", odd);
        match collection.keep(&[chunk("a", &[1.0])], Some(&odd)).await {
            Err(MutationError::Store(error)) => {
                assert_invalid_value::<ChunksKept>(Err(error), "fingerprint");
            }
            other => panic!("expected the fingerprint to be refused, found {other:?}"),
        }
    }
    let own = operation("id", "f");
    let odd = [chunk("a", &[1.0]), chunk("b", &[f32::NAN])];
    let refused = collection.keep(&odd, Some(&own)).await;
    assert!(
        matches!(refused, Err(MutationError::Store(_))),
        "what isn't finite is refused: {refused:?}"
    );
    assert_eq!(
        collection.all().await,
        [""; 0],
        "either all are kept or none is"
    );
    let kept = collection.keep(&odd[..1], Some(&own)).await;
    assert_eq!(kept.expect("the id is free"), NEW);
}

async fn an_operation_without_chunks_has_its_receipt(collection: &Collection<'_>) {
    let own = operation("id", "f");
    assert_eq!(collection.keep(&[], Some(&own)).await.expect("keep"), NEW);
    let again = collection.keep(&[chunk("a", &[1.0])], Some(&own)).await;
    assert_eq!(again.expect("replay"), REPLAYED);
    assert_eq!(collection.all().await, [""; 0]);
}

async fn a_receipt_is_told_without_chunks(collection: &Collection<'_>) {
    let (own, other) = (operation("id", "f"), operation("id", "other"));
    for _ in 0..2 {
        let none = collection.receipt(&own).await.expect("look");
        assert_eq!(none, None, "looking for a receipt makes none");
    }
    let kept = collection.keep(&[chunk("a", &[1.0])], Some(&own)).await;
    assert_eq!(kept.expect("keep"), NEW);
    let told = collection.receipt(&own).await.expect("look");
    assert_eq!(told, Some(REPLAYED), "the receipt of chunks is told");
    assert_operation_conflict(collection.receipt(&other).await);
}

async fn ids_are_of_a_scope(store: &dyn VectorStore) {
    for scope in ["o/ids", "o/ids/below"] {
        let collection = Collection::new(store, scope);
        for id in ["id", "ID", "i%", "i_", "'", "\\"] {
            let own = operation(id, "f");
            let kept = collection.keep(&[chunk(id, &[1.0])], Some(&own)).await;
            assert_eq!(
                kept.expect("keep"),
                NEW,
                "`{id}` in `{scope}` is an id of its own"
            );
        }
        assert_eq!(collection.all().await.len(), 6);
    }
}
