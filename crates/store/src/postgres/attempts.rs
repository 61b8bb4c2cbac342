//! Repeating what failed in passing, within bounds.

use std::time::{Duration, Instant};

use super::{
    examine::{Unfit, alive, at_disposal},
    fault::Fault,
    lease::Lease,
    store::PostgresStore,
};
use crate::StoreError;

/// Most attempts at one operation.
const ATTEMPTS_MAX: u32 = 5;

/// Pause before the second attempt; it doubles with each further one.
const PAUSE_FIRST: Duration = Duration::from_millis(10);

/// Whether an operation may be attempted again when it isn't known whether it took effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Repeatable {
    /// It reads, or its receipt or key makes a repetition harmless.
    Always,
    /// It changes something and leaves no receipt.
    UnlessInDoubt,
}

/// The attempts at one operation.
#[derive(Debug)]
pub(super) struct Attempts<'s> {
    store: &'s PostgresStore,
    repeatable: Repeatable,
    started: Instant,
    made: u32,
}

impl<'s> Attempts<'s> {
    pub(super) fn new(store: &'s PostgresStore, repeatable: Repeatable) -> Self {
        Self {
            store,
            repeatable,
            started: Instant::now(),
            made: 0,
        }
    }

    /// A connection for the next attempt.
    ///
    /// The first attempt takes what the pool gives: a test would cost each operation a round
    /// trip. Where that went wrong, or can't be repeated if it does, dead connections are passed
    /// over. A server that restarts leaves a pool full of them, so all of the pool is gone
    /// through if need be: that is quick, because they say so. A silent one costs the whole
    /// wait, and where one is, the others most likely are too, so it ends the search. Of a caller's
    /// pool each connection is examined each time: nobody else knows what was done with it.
    pub(super) async fn connection(&self) -> Result<Lease, Fault> {
        let mut last = Fault::Passing {
            reason: "no connection was alive".into(),
            in_doubt: false,
        };
        // All that the pool holds, and a new one.
        for _ in 0..=self.store.connections_max() {
            let mut lease = self.store.connection().await?;
            let callers = self.store.pool_is_callers();
            if !callers && self.made == 0 && self.repeatable == Repeatable::Always {
                return Ok(lease);
            }
            let examined = async {
                match callers {
                    true => at_disposal(&mut lease).await,
                    false => alive(&mut lease).await,
                }
            };
            match tokio::time::timeout(self.store.patience(), examined).await {
                Ok(Ok(())) => return Ok(lease),
                Ok(Err(Unfit::Dead)) => lease.close(),
                // It goes back as it is.
                Ok(Err(Unfit::Fault(fault))) => last = fault,
                Err(_) => {
                    lease.close();
                    return Err(Fault::silence(false));
                }
            }
            if self.started.elapsed() > self.store.patience() {
                break;
            }
        }
        Err(last)
    }

    /// Returns after a pause where another attempt makes sense.
    ///
    /// None is begun later than the time-out for a connection after the first: a caller who
    /// waited that long is better served by an answer.
    pub(super) async fn pause_after(&mut self, fault: Fault) -> Result<(), StoreError> {
        self.made += 1;
        let reason = match fault {
            Fault::Passing {
                in_doubt: true,
                reason,
            } if self.repeatable == Repeatable::UnlessInDoubt => {
                return Err(StoreError::Unavailable(format!(
                    "{reason}; whether the change took effect isn't known"
                )));
            }
            Fault::Passing { reason, .. } => reason,
            Fault::ReadOnlyServer => "the server is read-only".into(),
            // The receipt was there and is gone: pruned or erased in this very moment.
            Fault::ReceiptTaken => "the receipt changed meanwhile".into(),
            Fault::Missing => return Err(self.store.explain_missing().await),
            Fault::Lasting(error) => return Err(error),
        };
        let pause = PAUSE_FIRST * 2_u32.pow(self.made - 1);
        let pause = pause.mul_f64(rand::random_range(0.5..1.5));
        if self.made >= ATTEMPTS_MAX || self.started.elapsed() + pause > self.store.patience() {
            return Err(StoreError::Unavailable(reason.into_owned()));
        }
        tracing::debug!(attempts = self.made, %reason, "store repeats an operation");
        tokio::time::sleep(pause).await;
        Ok(())
    }
}

/// Does work on a connection of a store, and again where it failed in passing.
///
/// A macro because the work borrows the connection: of a closure that returns such a future, the
/// compiler can't tell yet that it may move between threads.
macro_rules! attempted {
    ($store:expr, $repeatable:expr, |$connection:ident| $work:expr) => {{
        let mut attempts = $crate::postgres::attempts::Attempts::new($store, $repeatable);
        loop {
            let answer = match attempts.connection().await {
                Ok(mut lease) => {
                    let $connection = &mut *lease;
                    let answer = $store.limited($work).await;
                    lease.end(answer)
                }
                Err(fault) => Err(fault),
            };
            match answer {
                Ok(answer) => break Ok(answer),
                Err(fault) => {
                    if let Err(error) = attempts.pause_after(fault).await {
                        break Err(error);
                    }
                }
            }
        }
    }};
}
pub(super) use attempted;
