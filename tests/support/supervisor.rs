//! A supervisor, as systemd and container runtimes are: whatever ends is started anew.

use std::{future::Future, pin::pin};

use super::{Bed, Worker, WorkerOptions};

/// A worker process that has ended.
#[derive(Debug)]
pub(crate) struct Generation {
    /// Exit code; `None` where a signal ended it.
    pub(crate) code: Option<i32>,
    /// What it logged.
    pub(crate) log: Vec<String>,
}

impl Generation {
    /// The line that says which limit it reached; `None` where it reached none.
    pub(crate) fn limit_reached(&self) -> Option<&str> {
        let mut lines = self.log.iter().map(String::as_str);
        lines.find(|line| line.contains("limit reached"))
    }
}

/// Does `work` beside a worker that is started anew each time it ends, then stops the worker. Gives what
/// the work came to, and all workers.
pub(crate) async fn supervised<T>(
    bed: &Bed,
    options: impl Fn() -> WorkerOptions,
    work: impl Future<Output = T>,
) -> (T, Vec<Generation>) {
    let mut work = pin!(work);
    let mut generations = Vec::new();
    loop {
        let mut worker = Worker::spawn(bed, options());
        let done = tokio::select! {
            // First: a worker that is known to have ended can't be sent a signal any more.
            biased;
            _ = worker.ended_sometime() => None,
            done = &mut work => Some(done),
        };
        if done.is_some() {
            // One that has just started wouldn't know the signal yet.
            worker.wait_until_logged("worker is up", 1).await;
            worker.terminate();
        }
        let status = worker.ended().await;
        generations.push(Generation {
            code: status.code(),
            log: worker.log(),
        });
        if let Some(done) = done {
            return (done, generations);
        }
    }
}
