//! Vectors, of stores that keep them.

mod apart;
mod conditions;
mod keeping;
mod nearest;
mod of_collection;
mod operations;
mod racing;
mod refusing;

pub(super) use of_collection::{Collection, chunk};

use crate::Store;

pub(super) async fn exercise<S: Store>(store: &S) {
    let Some(vectors) = store.vectors() else {
        return;
    };
    let ready = vectors.check_vectors().await;
    ready.expect("vectors can be kept and found");
    keeping::exercise(vectors).await;
    nearest::exercise(vectors).await;
    conditions::exercise(vectors).await;
    operations::exercise(vectors).await;
    apart::exercise(vectors).await;
    refusing::exercise(vectors).await;
    racing::exercise(vectors).await;
}
