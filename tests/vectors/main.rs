//! Conformance vectors: observations of a peer, run against this product.
//!
//! Every file of the directory is a topic that runs, on every store that it is about. Where the
//! product differs on purpose, a rule says what is right here (see [`differences`]).
//! `NOTEKEEPER_VECTORS` names another directory with other cases of the same form; `DATABASE_URL`
//! names the PostgreSQL database.

mod bench;
mod case;
mod differences;
mod judge;
mod oracle;
mod product;
mod report;
mod strings;
mod topics;

#[cfg(test)]
mod random;
#[cfg(test)]
mod tampering;

use anyhow::Result;

use bench::{Benches, StoreKind};
use report::Report;

/// Runs a topic on every kind of store.
async fn run(topic: &str) -> Result<Report> {
    let cases = case::read_topic(&case::directory(), topic)?.cases;
    let mut benches = Benches::create().await?;
    let mut report = Report::new(topic);
    for case in &cases {
        for kind in topics::kinds(case) {
            let bench = benches.empty(kind).await?;
            let verdict = judge::run(case, kind, &bench).await;
            report.add(&case.id, Some(kind), verdict);
        }
    }
    Ok(report)
}

/// Runs a topic and fails where a case does.
fn conforms(topic: &str) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("start a runtime");
    let report = runtime
        .block_on(run(topic))
        .unwrap_or_else(|error| panic!("{error:?}"));
    report.publish();
    assert_eq!(
        report.failures(),
        0,
        "cases of {topic} failed, see the report"
    );
}

/// One test for each topic.
macro_rules! topics {
    ($($topic:ident)*) => {
        $(#[test]
        fn $topic() {
            conforms(stringify!($topic));
        })*

        /// Topics that have a test.
        const TESTED: &[&str] = &[$(stringify!($topic)),*];
    };
}

topics! {
    namespace_validation
    path_validation
    scope_hash
    operation_identity
    write_append
    write_replace
    write_limits
    delete
    read_bounded
    cas_and_receipts
    tool_replay_and_concurrency
    search
    escaping
    render_snapshot
    tool_schema
    version_hash
    telemetry
    metadata
    configuration
    message_placement
    file_store
}

/// A store that has no search of its own answers from names and bounded reads, and the same.
#[test]
fn searches_by_reading_alone_are_answered_the_same() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("start a runtime");
    let mut report = Report::new("search-by-reading-alone");
    let file = case::read_topic(&case::directory(), "search").expect("read the topic");
    for case in &file.cases {
        let verdict = runtime.block_on(async {
            let bench = bench::Bench::minimal().await.expect("a bench");
            judge::run(case, StoreKind::InMemory, &bench).await
        });
        report.add(&case.id, None, verdict);
    }
    report.publish();
    assert_eq!(report.failures(), 0, "cases failed, see the report");
}

#[test]
fn every_file_is_run() {
    assert_eq!(TESTED, topics::TOPICS);
    let directory = case::directory();
    let found = case::topics_in(&directory).expect("list the directory");
    let (mut tested, mut found) = (TESTED.to_vec(), found);
    tested.sort_unstable();
    found.sort_unstable();
    assert_eq!(found, tested, "the files in {}", directory.display());
}
