//! Servers that a worker can't reach, or not yet.

use std::time::Duration;

use serde_json::json;

use super::{assert_failed, refusing_port};
use crate::support::{Bed, Proxy, Worker, WorkerOptions, run, say};

#[tokio::test]
async fn a_temporal_namespace_that_does_not_exist_ends_the_worker_with_a_message_that_names_it() {
    let bed = Bed::new().await;
    let ended = run(
        &bed,
        &["worker"],
        &[("TEMPORAL_NAMESPACE", "no-such-namespace")],
    )
    .await;
    assert_failed(&ended, 1, &["no-such-namespace", "TEMPORAL_NAMESPACE"]);
    assert!(!ended.stderr.contains("worker is up"), "{ended:?}");
    bed.finish().await;
}

#[tokio::test]
async fn a_worker_waits_for_servers_says_so_once_an_attempt_and_stops_at_once_when_asked() {
    let bed = Bed::new().await;
    // One that takes connections and never answers, beside the one that refuses them.
    let (_refusing, refusing) = refusing_port();
    let silent = Proxy::start(bed.temporal_address.clone()).await;
    silent.fall_silent();
    let away = |name, value: &str| WorkerOptions {
        environment: vec![(name, value.to_owned())],
        ..WorkerOptions::default()
    };
    let database = |address: &str| {
        let target = Proxy::target(&bed.database_url);
        bed.database_url.replace(&target, address)
    };
    let cases = [
        (
            "store `default`",
            away("DATABASE_URL", &database(&refusing)),
        ),
        (
            "store `default`",
            away("DATABASE_URL", &database(&silent.address())),
        ),
        ("Temporal at", away("TEMPORAL_ADDRESS", &refusing)),
        ("Temporal at", away("TEMPORAL_ADDRESS", &silent.address())),
    ];
    let mut workers: Vec<_> = cases
        .into_iter()
        .map(|(what, options)| (what, Worker::spawn(&bed, options)))
        .collect();
    for (what, worker) in &workers {
        worker.wait_until_logged(what, 1).await;
    }
    // The pause before the next attempt grows.
    let refused = &workers[2].1;
    refused.wait_until_logged("trying again in 2s", 1).await;
    for (line, pause) in refused.log().iter().zip(["500ms", "1s", "2s"]) {
        let pause = format!("trying again in {pause}");
        assert!(
            line.contains("Temporal at") && line.contains(&pause),
            "{line}"
        );
    }

    for (_, worker) in &mut workers {
        worker.terminate();
        let asked = tokio::time::Instant::now();
        let status = worker.ended().await;
        // Before an attempt at a silent server is given up.
        assert!(
            asked.elapsed() < Duration::from_secs(5),
            "{:?}",
            asked.elapsed()
        );
        assert_eq!(status.code(), Some(0));
    }
    bed.finish().await;
}

#[tokio::test]
async fn a_worker_that_was_started_before_its_servers_serves_once_they_are_there() {
    let bed = Bed::new().await;
    let database = Proxy::start(Proxy::target(&bed.database_url)).await;
    let temporal = Proxy::start(bed.temporal_address.clone()).await;
    database.cut();
    temporal.cut();
    let worker = Worker::spawn(
        &bed,
        WorkerOptions {
            script: Some(bed.script(&json!([{"prompt": "hello", "responses": [{"text": "hi"}]}]))),
            database_url: Some(database.url(&bed.database_url)),
            environment: vec![("TEMPORAL_ADDRESS", temporal.address())],
            ..WorkerOptions::default()
        },
    );
    worker
        .wait_until_logged("store `default` can't be reached", 1)
        .await;
    database.mend();
    worker.wait_until_logged("Temporal at", 1).await;
    temporal.mend();
    worker.wait_until_logged("worker is up", 2).await;

    let agent = bed.start(bed.input("acme")).await;
    assert_eq!(say(&agent, "hello").await.expect("a reply").text, "hi");
    bed.finish().await;
}
