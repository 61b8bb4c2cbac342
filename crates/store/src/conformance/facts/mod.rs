//! Facts, of stores that keep them.

mod apart;
mod cases;
mod keeping;
mod listing;
mod of_scope;
mod operations;
mod racing;
mod recalling;

pub(super) use of_scope::FactsOfScope;

use crate::Store;

pub(super) async fn exercise<S: Store>(store: &S) {
    let Some(facts) = store.facts() else {
        return;
    };
    keeping::exercise(facts).await;
    operations::exercise(facts).await;
    apart::exercise(facts).await;
    listing::exercise(facts).await;
    racing::exercise(facts).await;
    recalling::exercise(facts).await;
}
