//! Calls at the same time.

use futures::future::{join, join_all};
use serde_json::json;

use super::{
    super::fixture::operation,
    of_collection::{Collection, chunk, described},
};
use crate::{Chunk, VectorStore};

const RACERS: usize = 20;

pub(super) async fn exercise(store: &dyn VectorStore) {
    all_of_one_call_or_of_another_are_there(&Collection::new(store, "c/all")).await;
    a_repeated_operation_takes_effect_once(&Collection::new(store, "c/repeated")).await;
    removing_beside_keeping_leaves_all_or_nothing(&Collection::new(store, "c/removed")).await;
}

/// The chunks of a racer, forwards or backwards, so that two of them meet in the middle.
fn chunks(racer: usize) -> Vec<Chunk> {
    let one = |index: usize| {
        let metadata = json!({ "racer": racer });
        described(&format!("{index:02}"), &[1.0, 0.5], metadata)
    };
    let mut chunks: Vec<Chunk> = (0..10).map(one).collect();
    if racer % 2 == 1 {
        chunks.reverse();
    }
    chunks
}

async fn all_of_one_call_or_of_another_are_there(collection: &Collection<'_>) {
    let writers = join_all((0..RACERS).map(async |racer| {
        let own = operation(&format!("keep {racer}"), "f");
        let kept = collection.keep(&chunks(racer), Some(&own)).await;
        kept.expect("keep")
    }));
    let readers = join_all((0..RACERS).map(async |_| {
        let found = collection.found(&[1.0, 0.5], json!({}), 100).await;
        let racers: Vec<_> = found
            .iter()
            .map(|found| found.metadata.get("racer"))
            .collect();
        assert!(
            found.is_empty() || found.len() == 10 && racers.iter().all(|racer| *racer == racers[0]),
            "what one call keeps is seen at once: {racers:?}"
        );
    }));
    join(writers, readers).await;
    let found = collection.found(&[1.0, 0.5], json!({}), 100).await;
    assert_eq!(found.len(), 10, "there is one chunk of an id");
    assert!(
        found.iter().all(|of| of.metadata == found[0].metadata),
        "what one call keeps is replaced at once"
    );
}

async fn a_repeated_operation_takes_effect_once(collection: &Collection<'_>) {
    let same = operation("keep", "f");
    let calls = (0..RACERS).map(async |_| {
        let kept = collection.keep(&[chunk("a", &[1.0])], Some(&same)).await;
        // What is removed by a call that has been answered stays so.
        collection.remove(&["a"]).await;
        kept.expect("keep").replayed
    });
    let replayed = join_all(calls).await;
    assert_eq!(
        replayed.iter().filter(|replayed| !**replayed).count(),
        1,
        "a repeated operation takes effect once"
    );
    assert_eq!(collection.all().await, [""; 0]);
}

async fn removing_beside_keeping_leaves_all_or_nothing(collection: &Collection<'_>) {
    let ids: Vec<String> = (0..10).map(|index| format!("{index:02}")).collect();
    let (forwards, mut backwards) = (ids.clone(), ids);
    backwards.reverse();
    for _ in 0..5 {
        join_all((0..RACERS).map(async |racer| {
            let ids = if racer % 4 == 0 {
                &forwards
            } else {
                &backwards
            };
            let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
            match racer % 3 {
                0 => collection.remove(&ids).await,
                _ => collection.put(&chunks(racer)).await,
            }
        }))
        .await;
        collection.put(&chunks(0)).await;
        assert_eq!(collection.all().await.len(), 10);
    }
}
