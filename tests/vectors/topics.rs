//! How the cases of each topic run.

mod blocks;
mod concurrency;
pub(crate) mod configuration;
mod files;
mod identity;
mod metadata;
mod names;
mod placement;
mod reads;
mod schema;
pub(crate) mod script;
mod search;
mod steps;
mod telemetry;

pub(crate) use blocks::{AS_MUCH_AS_FITS, settle_budget};
pub(crate) use telemetry::{INJECTED, SOME_NUMBER};

use crate::{
    bench::{Bench, StoreKind},
    case::{Answer, Case, Stop},
    product,
};

/// The topics.
pub(crate) const TOPICS: [&str; 21] = [
    "namespace_validation",
    "path_validation",
    "scope_hash",
    "operation_identity",
    "write_append",
    "write_replace",
    "write_limits",
    "delete",
    "read_bounded",
    "cas_and_receipts",
    "tool_replay_and_concurrency",
    "search",
    "escaping",
    "render_snapshot",
    "tool_schema",
    "version_hash",
    "telemetry",
    "metadata",
    "configuration",
    "message_placement",
    "file_store",
];

/// The kinds of stores that a case speaks of. Files keep no metadata: no sidecar could change
/// together with a text.
pub(crate) fn kinds(case: &Case) -> Vec<StoreKind> {
    let applies = |kind: &StoreKind| match kind {
        StoreKind::File => !metadata::is_about(case),
        _ => case.topic != "file_store" && !files::is_about_bytes(case),
    };
    StoreKind::ALL.into_iter().filter(applies).collect()
}

/// Runs a case on an empty store.
pub(crate) async fn run(case: &Case, kind: StoreKind, bench: &Bench) -> Answer {
    if let Some(script) = script::script(case)? {
        let (outcomes, notes) = product::run(&script, bench).await?;
        return script::shape(case, &outcomes, &notes);
    }
    match case.topic.as_str() {
        "namespace_validation" => names::namespace(case),
        "scope_hash" => names::scope_hash(case),
        "path_validation" => names::path(case, bench).await,
        "operation_identity" => identity::operation(case, bench).await,
        "read_bounded" => reads::through_store(case, bench).await,
        "cas_and_receipts" => steps::steps(case, bench).await,
        "version_hash" => steps::versions(case, bench).await,
        "tool_replay_and_concurrency" => concurrency::run(case, kind, bench).await,
        "metadata" => metadata::run(case, kind, bench).await,
        "search" => search::search(case, bench).await,
        "escaping" => blocks::escaping(case, bench).await,
        "render_snapshot" => blocks::render(case, bench).await,
        "tool_schema" => schema::tool(case, bench).await,
        "file_store" => files::run(case).await,
        "telemetry" => telemetry::run(case, bench).await,
        "configuration" => configuration::configuration(case),
        "message_placement" => placement::placement(case, bench).await,
        topic => Err(Stop::NotUnderstood(format!(
            "the topic `{topic}` has no runner"
        ))),
    }
}
