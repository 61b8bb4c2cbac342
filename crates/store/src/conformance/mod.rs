//! The suite that every store must pass.
//!
//! A store's test is a few lines: it calls [`exercise`] with a way to make an empty store.

mod editing;
mod fixture;
mod listing;
mod racing;
mod receipts;
mod refusing;
mod searching;
mod snapshots;
mod tenants;
mod versions;

use std::future::Future;

use crate::Store;

/// Runs all of the suite. `make_store` is called once for each of its sections and gives an empty
/// store each time.
///
/// # Panics
///
/// Where the store doesn't do what every store must, with what was expected.
pub async fn exercise<S, F, Fut>(make_store: F)
where
    S: Store,
    F: Fn() -> Fut,
    Fut: Future<Output = S>,
{
    versions::exercise(&make_store().await).await;
    editing::exercise(&make_store().await).await;
    receipts::exercise(&make_store().await).await;
    racing::exercise(&make_store().await).await;
    listing::exercise(&make_store().await).await;
    searching::exercise(&make_store().await).await;
    tenants::exercise(&make_store().await).await;
    refusing::exercise(&make_store().await).await;
    snapshots::exercise(&make_store().await).await;
}
