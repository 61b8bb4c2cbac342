//! Values that no store takes: refused, typed, and without effect.

use notekeeper_domain::{
    ITEM_ID_BYTES_MAX, ITEM_METADATA_BYTES_MAX, ITEM_METADATA_LEVELS_MAX, Where,
};
use serde_json::json;

use super::{
    super::refusing::{assert_invalid_value, assert_too_large_value},
    of_collection::{Collection, chunk, described},
};
use crate::{
    CHUNKS_KEPT_MAX, COLLECTION_BYTES_MAX, CONTENT_BYTES_MAX, Chunk, EMBEDDING_DIMENSIONS_MAX,
    MARK_BYTES_MAX, MODEL_BYTES_MAX, MutationError, StoreError, VectorStore,
};

pub(super) async fn exercise(store: &dyn VectorStore) {
    odd_chunks_are_refused(&Collection::new(store, "f/chunks")).await;
    odd_collections_are_refused(&Collection::new(store, "f/collections")).await;
    odd_embeddings_are_refused(&Collection::new(store, "f/asked")).await;
}

/// Chunks that can't be kept, by what is refused of them.
fn odd() -> Vec<(&'static str, Chunk)> {
    let one = chunk("a", &[1.0]);
    let with_id = |id: &str| chunk(id, &[1.0]);
    let with_metadata = |metadata| described("a", &[1.0], metadata);
    let deep = (0..=ITEM_METADATA_LEVELS_MAX).fold(json!(1), |inner, _| json!([inner]));
    let mut odd = vec![
        ("id", with_id("")),
        ("id", with_id("secret\0")),
        ("id", with_id("a\n")),
        ("id", with_id(&"i".repeat(ITEM_ID_BYTES_MAX + 1))),
        (
            "content",
            Chunk {
                content: "secret\0".to_owned(),
                ..one.clone()
            },
        ),
        ("metadata", with_metadata(json!({"secret": "secret\0"}))),
        ("metadata", with_metadata(json!({"secret\0": 1}))),
        (
            "metadata",
            with_metadata(json!({"secret": [{"secret": "\0"}]})),
        ),
        ("metadata", with_metadata(json!({ "a": deep }))),
        (
            "metadata",
            with_metadata(json!({"a": "x".repeat(ITEM_METADATA_BYTES_MAX)})),
        ),
        (
            "mark",
            Chunk {
                mark: Some("secret\0".to_owned()),
                ..one.clone()
            },
        ),
        (
            "mark",
            Chunk {
                mark: Some("m".repeat(MARK_BYTES_MAX + 1)),
                ..one
            },
        ),
    ];
    let numbers = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY];
    odd.extend(numbers.map(|number| ("embedding", chunk("a", &[number]))));
    for dimensions in [0, EMBEDDING_DIMENSIONS_MAX + 1] {
        odd.push(("embedding", chunk("a", &vec![1.0; dimensions])));
    }
    odd
}

#[track_caller]
fn store_error<T: std::fmt::Debug>(result: Result<T, MutationError>) -> Result<T, StoreError> {
    match result {
        Err(MutationError::Store(error)) => Err(error),
        other => panic!("expected a value to be refused, found {other:?}"),
    }
}

async fn odd_chunks_are_refused(collection: &Collection<'_>) {
    for (field, odd) in odd() {
        let refused = collection.keep(&[chunk("good", &[1.0]), odd], None).await;
        assert_invalid_value(store_error(refused), field);
    }
    let two = [chunk("a", &[1.0]), chunk("b", &[1.0, 0.0])];
    assert_invalid_value(store_error(collection.keep(&two, None).await), "embedding");
    let many = vec![chunk("a", &[1.0]); CHUNKS_KEPT_MAX + 1];
    assert_invalid_value(store_error(collection.keep(&many, None).await), "chunks");
    let half = Chunk {
        content: "x".repeat(CONTENT_BYTES_MAX / 2 + 1),
        ..chunk("a", &[1.0])
    };
    let long = [
        half.clone(),
        Chunk {
            content: "x".repeat(CONTENT_BYTES_MAX / 2),
            ..half
        },
    ];
    assert_too_large_value(store_error(collection.keep(&long, None).await), "content");
    assert_eq!(
        collection.all().await,
        [""; 0],
        "either all are kept or none is"
    );
}

async fn odd_collections_are_refused(collection: &Collection<'_>) {
    let (long, model) = (
        "n".repeat(COLLECTION_BYTES_MAX + 1),
        "m".repeat(MODEL_BYTES_MAX + 1),
    );
    for (name, model, field) in [
        ("", "model", "collection"),
        ("secret\0", "model", "collection"),
        (long.as_str(), "model", "collection"),
        ("main", "", "model"),
        ("main", "secret\0", "model"),
        ("main", model.as_str(), "model"),
    ] {
        let odd = collection.with(name, model);
        let (store, scope) = (odd.store, &odd.scope);
        let kept = odd.keep(&[chunk("a", &[1.0])], None).await;
        assert_invalid_value(store_error(kept), field);
        assert_invalid_value(odd.ask(&[1.0], json!({}), 1).await, field);
        assert_invalid_value(store.chunk_marks(scope, &odd.of).await, field);
        let removed = store.remove_chunks(scope, &odd.of, &["a".to_owned()]).await;
        assert_invalid_value(removed, field);
    }
}

async fn odd_embeddings_are_refused(collection: &Collection<'_>) {
    collection.put(&[chunk("a", &[1.0])]).await;
    let long = vec![1.0; EMBEDDING_DIMENSIONS_MAX + 1];
    for odd in [&[][..], &[f32::NAN], &[f32::INFINITY], &long] {
        for condition in [json!({}), json!({"t": "\0"})] {
            let condition = Where::of_value(condition).expect("an object");
            let (scope, of) = (&collection.scope, &collection.of);
            let asked = collection
                .store
                .nearest_chunks(scope, of, odd, &condition, 0);
            assert_invalid_value(asked.await, "embedding");
        }
    }
}
