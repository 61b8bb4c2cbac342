//! Scopes and collections: no operation on the chunks of one sees or changes those of another.

use notekeeper_domain::ITEM_ID_BYTES_MAX;
use serde_json::json;

use super::{
    super::{
        fixture::{longest_scope, noise, operation},
        tenants::LOOK_ALIKES,
    },
    of_collection::{Collection, chunk, described},
};
use crate::{COLLECTION_BYTES_MAX, Chunk, VectorStore};

pub(super) async fn exercise(store: &dyn VectorStore) {
    look_alike_scopes_are_apart(store).await;
    collections_are_apart(&Collection::new(store, "a/collections")).await;
    others_take_nobodys_place(store).await;
    the_longest_keys_work(store).await;
}

/// Those that a pattern could take for each other would be no scopes; names of collections can hold
/// anything.
const COLLECTIONS: [&str; 10] = [
    "main",
    "Main",
    "mai",
    "main2",
    "ma%",
    "ma_n",
    "%",
    "\\",
    "m*",
    "\u{1f600}",
];

async fn look_alike_scopes_are_apart(store: &dyn VectorStore) {
    let collections = LOOK_ALIKES.map(|scope| Collection::new(store, scope));
    for collection in &collections {
        let scope = collection.scope.as_str();
        let secret = Chunk {
            content: secret(collection),
            ..described("same", &[1.0, 0.0], json!({"t": "a"}))
        };
        let own = operation("id", "f");
        let kept = collection.keep(&[secret], Some(&own)).await;
        assert!(
            !kept.expect("keep").replayed,
            "`{scope}` is a scope of its own"
        );
        collection.put(&[chunk("extra", &[0.0, 1.0])]).await;
    }
    for collection in &collections {
        assert_sees_only_its_own(collection).await;
    }
    let (changed, others) = collections.split_first().expect("there are some");
    changed.put(&[chunk("same", &[-1.0, 0.0])]).await;
    changed.remove(&["extra", "same"]).await;
    for collection in others {
        assert_sees_only_its_own(collection).await;
    }
}

fn secret(collection: &Collection<'_>) -> String {
    format!("secret of {}", collection.scope.as_str())
}

async fn assert_sees_only_its_own(collection: &Collection<'_>) {
    let scope = collection.scope.as_str();
    assert_eq!(
        collection.all().await,
        ["extra", "same"],
        "chunks of `{scope}` alone"
    );
    for condition in [json!({}), json!({"t": "a"})] {
        let found = collection.found(&[1.0, 0.0], condition, 100).await;
        assert_eq!(
            found[0].content,
            secret(collection),
            "the chunks of `{scope}` alone are found"
        );
        assert!(found.len() <= 2, "the chunks of `{scope}` alone are found");
    }
}

async fn collections_are_apart(main: &Collection<'_>) {
    let collections = COLLECTIONS.map(|name| main.with(name, "model"));
    for (collection, name) in collections.iter().zip(COLLECTIONS) {
        collection
            .put(&[chunk("same", &[1.0]), chunk(name, &[1.0])])
            .await;
    }
    for (collection, name) in collections.iter().zip(COLLECTIONS) {
        let mut ids = [name, "same"];
        ids.sort_unstable();
        assert_eq!(
            collection.all().await,
            ids,
            "`{name}` is a collection of its own"
        );
        assert_eq!(collection.ids(&[1.0], 100).await, ids, "`{name}`");
    }
    let (first, others) = collections.split_first().expect("there are some");
    first.remove(&["same"]).await;
    for collection in others {
        assert_eq!(
            collection.all().await.len(),
            2,
            "removing is of one collection"
        );
    }
    let other_model = main.with("Main", "Model");
    assert_eq!(
        other_model.all().await,
        [""; 0],
        "models are compared as they are written"
    );
}

/// A tenant with a few beside one with many that are nearer.
async fn others_take_nobodys_place(store: &dyn VectorStore) {
    let (few, many) = (
        Collection::new(store, "a/few"),
        Collection::new(store, "a/many"),
    );
    let nearer: Vec<Chunk> = (0..500)
        .map(|index| chunk(&format!("{index}"), &[1.0, 0.0]))
        .collect();
    many.put(&nearer).await;
    many.with("main", "other model").put(&nearer[..100]).await;
    let further: Vec<Chunk> = (0..20)
        .map(|index| chunk(&format!("{index:02}"), &[0.0, 1.0]))
        .collect();
    few.put(&further).await;
    assert_eq!(
        few.ids(&[1.0, 0.0], 10).await.len(),
        10,
        "another tenant's chunks take nobody's place"
    );
    assert_eq!(few.ids(&[1.0, 0.0], 100).await.len(), 20);
    assert_eq!(many.ids(&[1.0, 0.0], 1_000).await.len(), 400);
}

async fn the_longest_keys_work(store: &dyn VectorStore) {
    let name = noise(3, COLLECTION_BYTES_MAX, '0'..='z');
    let collection = Collection::new(store, &longest_scope()).with(&name, "model");
    let ids = [
        noise(1, ITEM_ID_BYTES_MAX, '0'..='z'),
        noise(2, ITEM_ID_BYTES_MAX / 3, '\u{4e00}'..='\u{9fff}'),
    ];
    let chunks: Vec<Chunk> = ids.iter().map(|id| chunk(id, &[1.0])).collect();
    collection.put(&chunks).await;
    collection.put(&chunks).await;
    let mut right = ids.to_vec();
    right.sort_unstable();
    assert_eq!(collection.all().await, right);
    assert_eq!(collection.ids(&[1.0], 10).await, right);
}
