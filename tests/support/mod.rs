//! What tests against real servers share: a bed of their own on the servers, worker processes, workers
//! with other code, an application's tools, a model's endpoint, a person at a chat, Python, calls of
//! single activities, commands, what histories and receipts hold, and a proxy that can cut the way to a server.

mod bed;
mod calls;
mod chat;
mod collector;
mod commands;
pub(crate) mod dev;
mod effects;
mod endpoint;
mod hosted;
mod proxy;
pub(crate) mod python;
mod records;
mod supervisor;
mod tools;
mod worker;

pub(crate) use bed::{
    Agent, Bed, Way, begin, close, ended, failure_type, history, history_of_run, known_reply,
    reply, run_id, say, say_much, send, state, transcript,
};
pub(crate) use calls::{Called, payload, raw_payload};
pub(crate) use chat::Talk;
pub(crate) use collector::{Collector, attributes};
pub(crate) use commands::{
    WAYS, assert_done, assert_ends_well_unread, assert_failed, assert_replays, run_and_meanwhile,
};
pub(crate) use endpoint::{Endpoint, KEY};
pub(crate) use hosted::Hosted;
pub(crate) use proxy::Proxy;
pub(crate) use records::{
    Activity, activities, activities_of, holds, json_of, outside_payloads, payloads_beside_results,
    tasks_timed_out, updates_accepted,
};
pub(crate) use supervisor::{Generation, supervised};
pub(crate) use tools::Application;
pub(crate) use worker::{Ended, Worker, WorkerOptions, binary, run, run_fed};

use std::{future::Future, time::Duration};

/// Longest wait for anything in a test.
pub(crate) const PATIENCE: Duration = Duration::from_secs(100);

/// Waits for a future, and says what was waited for where it takes too long.
pub(crate) async fn in_time<T>(what: &str, future: impl Future<Output = T>) -> T {
    let result = tokio::time::timeout(PATIENCE, future).await;
    result.unwrap_or_else(|_| panic!("waited in vain for {what}"))
}

/// Waits until `probe` gives a value, and says what was waited for where it never does.
pub(crate) async fn eventually<T, F>(what: &str, mut probe: impl FnMut() -> F) -> T
where
    F: Future<Output = Option<T>>,
{
    let deadline = tokio::time::Instant::now() + PATIENCE;
    loop {
        if let Some(value) = probe().await {
            return value;
        }
        assert!(
            tokio::time::Instant::now() < deadline,
            "waited in vain until {what}"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
