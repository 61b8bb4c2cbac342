//! Repeating what failed in passing, within bounds.

use std::time::{Duration, Instant};

use sqlx::{Connection, Postgres, pool::PoolConnection};
use tokio::time::error::Elapsed;

use super::{fault::Fault, store::PostgresStore};
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
    /// through if need be.
    pub(super) async fn connection(&self) -> Result<PoolConnection<Postgres>, Fault> {
        let mut connection = self.store.connection().await?;
        if self.made == 0 && self.repeatable == Repeatable::Always {
            return Ok(connection);
        }
        for _ in 0..self.store.connections_max() {
            if let Ok(Ok(())) = self.limited(connection.ping()).await {
                break;
            }
            // It is dead already, so nobody waits for its good-bye.
            connection.close_on_drop();
            connection = self.store.connection().await?;
        }
        Ok(connection)
    }

    /// Work on a connection, given up where the server doesn't answer. The server's own time-outs
    /// end statements that take too long; this is for a server or network that went silent.
    pub(super) async fn limited<T>(&self, work: impl Future<Output = T>) -> Result<T, Elapsed> {
        tokio::time::timeout(self.store.answer_timeout(), work).await
    }

    /// Takes a connection back after work on it. One that went silent must not go to the pool,
    /// which would wait for it, nor one that leads to the wrong server.
    pub(super) fn take_back<T>(
        &self,
        mut connection: PoolConnection<Postgres>,
        answer: Result<Result<T, Fault>, Elapsed>,
    ) -> Result<T, Fault> {
        let answer = answer.unwrap_or_else(|_| {
            connection.close_on_drop();
            Err(Fault::Passing {
                reason: "the server doesn't answer".into(),
                in_doubt: true,
            })
        });
        if matches!(answer, Err(Fault::ReadOnlyServer)) {
            connection.close_on_drop();
        }
        answer
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
                    let answer = attempts.limited($work).await;
                    attempts.take_back(lease, answer)
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
