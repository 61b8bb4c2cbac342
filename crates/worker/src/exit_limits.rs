//! Limits at which a worker ends by itself, for its supervisor to start it anew.
//!
//! Temporal's SDK keeps some 500 bytes of each activity for as long as the process lives. Nothing is
//! recycled within the process: that would lose tasks and leak connections.

use std::{io, num::NonZeroU64, time::Duration};

use anyhow::{Context as _, ensure};
use tokio::sync::watch;

use crate::shutdown::Shutdown;

/// Between two looks at the resident memory.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// Where Linux says how much memory this process has.
const STATUS: &str = "/proc/self/status";

/// At what a worker ends by itself; nothing by default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ExitLimits {
    /// So many activities, of all queues together and local ones included.
    pub(crate) after_activities: Option<NonZeroU64>,
    /// More than so much resident memory, in megabytes of 1,000,000 bytes.
    pub(crate) above_resident_mb: Option<NonZeroU64>,
}

impl ExitLimits {
    /// Asks for a stop once a limit is reached. Ends then, or when somebody else asks for one.
    ///
    /// Fails, and asks for a stop too, where the memory can't be measured, or where a worker that has
    /// done nothing yet is above the limit: it would end, and be started anew, for ever.
    pub(crate) async fn watch(self, begun: Begun, shutdown: Shutdown) -> anyhow::Result<()> {
        let reached = tokio::select! {
            () = shutdown.asked() => return Ok(()),
            () = begun.reach(self.after_activities) => Ok("exit_after_activities"),
            exceeded = exceed(self.above_resident_mb, &begun) => {
                exceeded.map(|()| "exit_above_resident_mb")
            }
        };
        if let Ok(limit) = &reached {
            tracing::info!(
                limit,
                activities = begun.count(),
                resident_mb = resident_mb().ok(),
                "limit reached; draining, to be started anew"
            );
        }
        shutdown.ask();
        reached.map(|_| ())
    }
}

/// Activities that have begun, on all queues.
#[derive(Debug, Clone, Default)]
pub(crate) struct Begun(watch::Sender<u64>);

impl Begun {
    /// Counts one.
    pub(crate) fn add(&self) {
        self.0.send_modify(|count| *count += 1);
    }

    fn count(&self) -> u64 {
        *self.0.borrow()
    }

    /// Waits until so many have begun; for ever where there is no limit.
    async fn reach(&self, limit: Option<NonZeroU64>) {
        match limit {
            // `self` holds a sender, so the channel can't close under the wait.
            Some(limit) => drop(
                self.0
                    .subscribe()
                    .wait_for(|count| *count >= limit.get())
                    .await,
            ),
            None => std::future::pending().await,
        }
    }
}

/// Waits until the resident memory is above the limit; for ever where there is none.
async fn exceed(limit_mb: Option<NonZeroU64>, begun: &Begun) -> anyhow::Result<()> {
    let Some(limit_mb) = limit_mb else {
        return std::future::pending().await;
    };
    loop {
        let resident = resident_mb()
            .with_context(|| format!("`exit_above_resident_mb` can't be watched in {STATUS}"))?;
        if resident > limit_mb.get() {
            ensure!(
                begun.count() > 0,
                "`exit_above_resident_mb` is {limit_mb}, but the worker has {resident} MB before it \
                 has done anything; raise it"
            );
            return Ok(());
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Resident memory of this process, in megabytes of 1,000,000 bytes.
fn resident_mb() -> io::Result<u64> {
    let status = std::fs::read_to_string(STATUS)?;
    let kibibytes = resident_kib(&status)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "no `VmRSS` in kB"))?;
    Ok(kibibytes * 1_024 / 1_000_000)
}

/// `statm` would count in pages, whose size differs between machines.
fn resident_kib(status: &str) -> Option<u64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resident_memory_is_read_from_the_status_of_a_process() {
        let status = "Name:\tnotekeeper\nVmHWM:\t   30000 kB\nVmRSS:\t   24576 kB\nThreads:\t9\n";
        assert_eq!(resident_kib(status), Some(24_576));
        assert_eq!(resident_kib("Name:\tnotekeeper\n"), None);
        assert_eq!(resident_kib("VmRSS:\t24576 pages\n"), None);
    }

    #[tokio::test]
    async fn a_limit_of_memory_is_reached_by_a_worker_that_did_something_and_refused_before() {
        let limits = ExitLimits {
            above_resident_mb: NonZeroU64::new(1),
            ..ExitLimits::default()
        };
        let (begun, shutdown) = (Begun::default(), Shutdown::by_hand());
        let refused = limits.watch(begun.clone(), shutdown.clone()).await;
        let refused = refused.expect_err("a test has more").to_string();
        assert!(refused.contains("is 1, but the worker has"), "{refused}");
        shutdown.asked().await;

        begun.add();
        let shutdown = Shutdown::by_hand();
        limits
            .watch(begun, shutdown.clone())
            .await
            .expect("reached");
        shutdown.asked().await;
    }

    #[tokio::test]
    async fn the_limit_of_activities_asks_for_a_stop_when_it_is_reached_and_not_before() {
        let limits = ExitLimits {
            after_activities: NonZeroU64::new(2),
            ..ExitLimits::default()
        };
        let (begun, shutdown) = (Begun::default(), Shutdown::by_hand());
        let mut watch = Box::pin(limits.watch(begun.clone(), shutdown.clone()));
        begun.add();
        assert!(futures::poll!(&mut watch).is_pending());
        begun.add();
        watch.await.expect("reached");
        shutdown.asked().await;
    }

    #[tokio::test]
    async fn without_limits_nothing_ends_but_the_watch_when_a_stop_is_asked_for() {
        let (begun, shutdown) = (Begun::default(), Shutdown::by_hand());
        let mut watch = Box::pin(ExitLimits::default().watch(begun.clone(), shutdown.clone()));
        (0..1_000).for_each(|_| begun.add());
        assert!(futures::poll!(&mut watch).is_pending());
        shutdown.ask();
        watch.await.expect("no failure");
    }
}
