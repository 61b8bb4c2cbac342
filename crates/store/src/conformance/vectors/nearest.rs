//! What is nearest, and how near it is.

use serde_json::json;

use super::of_collection::{Collection, assert_similarity, chunk};
use crate::{Chunk, EMBEDDING_DIMENSIONS_MAX, VectorStore};

pub(super) async fn exercise(store: &dyn VectorStore) {
    similarity_is_the_cosine(&Collection::new(store, "n/cosine")).await;
    nothing_is_near_to_zero(&Collection::new(store, "n/zero")).await;
    equal_embeddings_come_by_id(&Collection::new(store, "n/equal")).await;
    the_ends_of_numbers_are_embeddings(&Collection::new(store, "n/ends")).await;
    other_dimensions_are_not_found(&Collection::new(store, "n/dimensions")).await;
    long_embeddings_are_as_exact(&Collection::new(store, "n/long")).await;
    as_many_are_found_as_were_asked_for(&Collection::new(store, "n/limit")).await;
}

async fn similarity_is_the_cosine(collection: &Collection<'_>) {
    let half = 0.5_f32.sqrt();
    collection
        .put(&[
            chunk("same", &[3.0, 0.0]),
            chunk("near", &[0.8, 0.6]),
            chunk("half", &[half, half]),
            chunk("across", &[0.0, 100.0]),
            chunk("away", &[-0.001, 0.0]),
        ])
        .await;
    let right = [
        ("same", 1.0),
        ("near", 0.8),
        ("half", 0.5_f64.sqrt()),
        ("across", 0.0),
        ("away", -1.0),
    ];
    for length in [1.0, 0.001, 1_000.0] {
        let found = collection.found(&[length, 0.0], json!({}), 10).await;
        assert_eq!(found.len(), right.len());
        for (found, (id, similarity)) in found.iter().zip(right) {
            assert_eq!(found.id, id, "the nearest come first");
            assert_similarity(found.similarity, similarity, id);
            assert_eq!(found.content, format!("content of {id}"));
        }
    }
}

async fn nothing_is_near_to_zero(collection: &Collection<'_>) {
    collection
        .put(&[
            chunk("b-zero", &[0.0, -0.0]),
            chunk("a-zero", &[0.0, 0.0]),
            chunk("c-toward", &[1.0, 0.0]),
            chunk("d-away", &[-1.0, 0.0]),
        ])
        .await;
    let found = collection.found(&[1.0, 0.0], json!({}), 10).await;
    let ids: Vec<&str> = found.iter().map(|found| found.id.as_str()).collect();
    assert_eq!(
        ids,
        ["c-toward", "a-zero", "b-zero", "d-away"],
        "an embedding of zeros is across to all others"
    );
    assert_eq!((found[1].similarity, found[2].similarity), (0.0, 0.0));
    let found = collection.found(&[0.0, 0.0], json!({}), 3).await;
    let ids: Vec<&str> = found.iter().map(|found| found.id.as_str()).collect();
    assert_eq!(
        ids,
        ["a-zero", "b-zero", "c-toward"],
        "to an embedding of zeros all are as near, and come by id"
    );
    assert!(found.iter().all(|found| found.similarity == 0.0));
}

async fn equal_embeddings_come_by_id(collection: &Collection<'_>) {
    let ids = ["B", "a", "a b", "a-b", "aB", "ab", "\u{e9}", "\u{1f600}"];
    let equal = [0.3, -0.7, 0.1];
    let mut chunks: Vec<Chunk> = ids.iter().map(|id| chunk(id, &equal)).collect();
    chunks.reverse();
    chunks.push(chunk("0 away", &[-0.3, 0.7, -0.1]));
    collection.put(&chunks).await;
    for limit in [1, 3, ids.len()] {
        assert_eq!(
            collection.ids(&[1.0, 1.0, 1.0], limit).await.len(),
            limit,
            "as many as were asked for"
        );
        assert_eq!(
            collection.ids(&equal, limit).await,
            ids[..limit],
            "those that are as near come by id, by code point"
        );
    }
}

async fn the_ends_of_numbers_are_embeddings(collection: &Collection<'_>) {
    let (largest, least) = (f32::MAX, f32::from_bits(1));
    collection
        .put(&[
            chunk("largest", &[largest, largest]),
            chunk("least", &[least, least]),
            chunk("away", &[-largest, -largest]),
            chunk("across", &[largest, -largest]),
        ])
        .await;
    for number in [largest, least, 1.0] {
        let found = collection.found(&[number, number], json!({}), 10).await;
        let right = [
            ("largest", 1.0),
            ("least", 1.0),
            ("across", 0.0),
            ("away", -1.0),
        ];
        assert_eq!(found.len(), right.len());
        for (id, similarity) in right {
            let found = found.iter().find(|found| found.id == id);
            assert_similarity(found.expect("found").similarity, similarity, id);
        }
    }
}

async fn other_dimensions_are_not_found(collection: &Collection<'_>) {
    collection.put(&[chunk("two", &[1.0, 0.0])]).await;
    collection.put(&[chunk("three", &[1.0, 0.0, 0.0])]).await;
    collection.put(&[chunk("one", &[1.0])]).await;
    for (embedding, id) in [
        (&[1.0][..], "one"),
        (&[1.0, 0.0], "two"),
        (&[1.0, 0.0, 0.0], "three"),
    ] {
        assert_eq!(
            collection.ids(embedding, 10).await,
            [id],
            "embeddings of other dimensions aren't found"
        );
    }
    assert_eq!(collection.ids(&[1.0; 4], 10).await, [""; 0]);
    assert_eq!(collection.all().await, ["one", "three", "two"]);
}

/// Numbers without any pattern, always the same ones, from -1 to 1.
pub(super) fn noise(seed: u64, numbers: usize) -> Vec<f32> {
    let mut state = seed;
    let number = |_| {
        // Knuth's MMIX generator; its high bits are the better ones.
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        f32::from(u16::try_from(state >> 48).expect("16 bits")) / 32_768.0 - 1.0
    };
    (0..numbers).map(number).collect()
}

/// By the definition.
fn cosine(one: &[f32], other: &[f32]) -> f64 {
    let product = |one: &[f32], other: &[f32]| -> f64 {
        let products = one.iter().zip(other);
        products
            .map(|(one, other)| f64::from(*one) * f64::from(*other))
            .sum()
    };
    product(one, other) / (product(one, one) * product(other, other)).sqrt()
}

async fn long_embeddings_are_as_exact(collection: &Collection<'_>) {
    for dimensions in [384, 1_536, EMBEDDING_DIMENSIONS_MAX] {
        let wanted = noise(1, dimensions);
        let mut kept = Vec::new();
        for seed in 0..20_u8 {
            // From far to near.
            let weight = f32::from(seed) / 10.0;
            let other = noise(100 + u64::from(seed), dimensions);
            let mixed = wanted.iter().zip(other);
            let mixed: Vec<f32> = mixed.map(|(one, other)| one * weight + other).collect();
            kept.push(chunk(&format!("{dimensions}/{seed:02}"), &mixed));
        }
        collection.put(&kept).await;
        let found = collection.found(&wanted, json!({}), 100).await;
        assert_eq!(found.len(), kept.len());
        for found in found {
            let kept = kept.iter().find(|kept| kept.id == found.id);
            let right = cosine(&kept.expect("one of those").embedding, &wanted);
            assert_similarity(found.similarity, right, &found.id);
        }
    }
}

async fn as_many_are_found_as_were_asked_for(collection: &Collection<'_>) {
    let chunks: Vec<Chunk> = (0..50)
        .map(|seed| chunk(&format!("{seed:02}"), &noise(seed, 8)))
        .collect();
    collection.put(&chunks).await;
    let all = collection.ids(&noise(7, 8), usize::MAX).await;
    assert_eq!(all.len(), 50);
    assert_eq!(all[0], "07");
    for limit in [0, 1, 10, 49, 50, 51] {
        let found = collection.ids(&noise(7, 8), limit).await;
        assert_eq!(
            found,
            all[..limit.min(50)],
            "the nearest are found, and as many as were asked for where there are as many"
        );
    }
}
