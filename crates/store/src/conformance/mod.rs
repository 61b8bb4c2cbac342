//! The suite that every store must pass, one from another crate as well (feature `conformance`).
//!
//! A store's test is a few lines: it calls [`exercise`] with a way to make an empty store. What a
//! store may do without is asked of it first; what it does without is printed and reported, so
//! that nothing is passed over in silence.
//!
//! ```
//! use notekeeper_store::{InMemoryStore, conformance};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let report = conformance::exercise(async || InMemoryStore::default()).await;
//! // Whoever relies on a capability says so in the test.
//! assert!(!report.left_out.contains(&conformance::Capability::Snapshots), "{report}");
//! # }
//! ```
//!
//! It wants a Tokio runtime of any flavour, makes no assumption about the store's speed, and writes
//! a few hundred notes, a few thousand messages and chunks and a few hundred facts of at most a few
//! kilobytes, save for two messages and some values of the largest size that is allowed, and for texts and
//! messages of more than 16 MiB, which are to be refused. What it can't show is left to a store's own
//! tests: that what it keeps outlives the process, and what a crash in the middle of a mutation leaves
//! behind.

mod editing;
mod facts;
mod fixture;
mod giving_up;
mod journal;
mod listing;
mod metadata;
mod minimal;
mod operations;
mod racing;
mod receipts;
mod refusing;
mod report;
mod searching;
mod snapshots;
mod tenants;
mod texts;
mod transcripts;
mod vectors;
mod versions;

pub use minimal::MinimalStore;
pub use report::{Capability, Report};

use std::future::Future;

use crate::Store;

/// Runs all of the suite. `make_store` is called once for each of its sections and gives an empty
/// store each time.
///
/// Sections about what a store may do without are left out where it says that it does without.
/// The report, which is printed as well, names them.
///
/// # Panics
///
/// Where the store doesn't do what every store must, with what was expected.
pub async fn exercise<S, F, Fut>(make_store: F) -> Report
where
    S: Store,
    F: Fn() -> Fut,
    Fut: Future<Output = S>,
{
    let store = make_store().await;
    let mut report = Report::of(&store);
    versions::exercise(&store).await;
    editing::exercise(&make_store().await).await;
    receipts::exercise(&make_store().await).await;
    if racing::exercise(&make_store().await).await {
        report.leaves_out(Capability::EveryEdit);
    }
    listing::exercise(&make_store().await).await;
    if !listing::shows_ends(&make_store().await).await {
        report.leaves_out(Capability::Tails);
    }
    searching::exercise(&make_store().await).await;
    tenants::exercise(&make_store().await).await;
    refusing::exercise(&make_store().await).await;
    metadata::exercise(&make_store().await).await;
    snapshots::exercise(&make_store().await).await;
    transcripts::exercise(&make_store().await).await;
    facts::exercise(&make_store().await).await;
    texts::exercise(&make_store().await).await;
    journal::exercise(&make_store().await).await;
    vectors::exercise(&make_store().await).await;
    operations::exercise(&make_store().await).await;
    giving_up::exercise(&make_store().await).await;
    println!("{report}");
    report
}

/// Runs what the suite says of transcripts alone, for who works on them: [`exercise`] does so as well.
///
/// # Panics
///
/// As [`exercise`] does.
pub async fn exercise_transcripts<S, F, Fut>(make_store: F)
where
    S: Store,
    F: Fn() -> Fut,
    Fut: Future<Output = S>,
{
    transcripts::exercise(&make_store().await).await;
    operations::exercise(&make_store().await).await;
    giving_up::exercise(&make_store().await).await;
}

/// Runs what the suite says of facts alone, for who works on them: [`exercise`] does so as well.
///
/// # Panics
///
/// As [`exercise`] does.
pub async fn exercise_facts<S, F, Fut>(make_store: F)
where
    S: Store,
    F: Fn() -> Fut,
    Fut: Future<Output = S>,
{
    facts::exercise(&make_store().await).await;
    operations::exercise(&make_store().await).await;
    giving_up::exercise(&make_store().await).await;
}

/// Runs what the suite says of vectors alone, for who works on them: [`exercise`] does so as well.
///
/// # Panics
///
/// As [`exercise`] does.
pub async fn exercise_vectors<S, F, Fut>(make_store: F)
where
    S: Store,
    F: Fn() -> Fut,
    Fut: Future<Output = S>,
{
    vectors::exercise(&make_store().await).await;
    operations::exercise(&make_store().await).await;
    giving_up::exercise(&make_store().await).await;
}

/// Runs what the suite says of journals and of texts alone, for who works on them: [`exercise`] does so
/// as well.
///
/// # Panics
///
/// As [`exercise`] does.
pub async fn exercise_reads_of_sources<S, F, Fut>(make_store: F)
where
    S: Store,
    F: Fn() -> Fut,
    Fut: Future<Output = S>,
{
    texts::exercise(&make_store().await).await;
    journal::exercise(&make_store().await).await;
}
