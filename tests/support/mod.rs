//! What tests against real servers share: a bed of their own on the servers, worker processes,
//! and a proxy that can cut the way to the database.

mod bed;
mod proxy;
mod worker;

pub(crate) use bed::{Agent, Bed, close, failure_type, history, say, send, state, transcript};
pub(crate) use proxy::Proxy;
pub(crate) use worker::{Worker, WorkerOptions};

use std::{future::Future, time::Duration};

/// Longest wait for anything in a test.
pub(crate) const PATIENCE: Duration = Duration::from_secs(40);

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
        assert!(tokio::time::Instant::now() < deadline, "waited in vain until {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
