//! Connections kept at hand between operations.
//!
//! The driver's pool asks the server whether a connection lives each time one is given back: a
//! round trip for each operation, in which the connection serves nobody. A connection whose
//! operation just ended well needs no such question. So it is kept here for the next operation,
//! and goes back to the pool, which asks and looks at its age, once a minute, or where it isn't
//! needed for a while, or where anything went wrong.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::{Duration, Instant},
};

use sqlx::{Postgres, pool::PoolConnection};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Longest that a connection stays away from the pool.
const AWAY_MAX: Duration = Duration::from_secs(60);

/// Longest that it is kept without being used.
const UNUSED_MAX: Duration = Duration::from_secs(10);

/// The connections at hand, and the places for operations that use one.
#[derive(Debug)]
pub(super) struct Spares {
    /// One for each connection that the pool may open: whoever holds one finds a connection here,
    /// or a place in the pool for another.
    places: Arc<Semaphore>,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    /// The latest used last: it is taken first, so that those that aren't needed grow old.
    connections: VecDeque<Spare>,
    /// Whether somebody looks for those that grew old.
    watched: bool,
    closed: bool,
}

/// A connection that is kept.
#[derive(Debug)]
struct Spare {
    connection: PoolConnection<Postgres>,
    taken: Instant,
    used: Instant,
}

impl Spares {
    /// For a pool of so many connections.
    pub(super) fn new(connections_max: u32) -> Arc<Self> {
        Arc::new(Self {
            places: Arc::new(Semaphore::new(connections_max as usize)),
            kept: Mutex::default(),
        })
    }

    /// A place, in the order of asking.
    pub(super) async fn place(&self) -> Option<OwnedSemaphorePermit> {
        // Nobody closes the semaphore.
        Arc::clone(&self.places).acquire_owned().await.ok()
    }

    /// A connection that is at hand, and when it was taken from the pool.
    pub(super) fn take(&self) -> Option<(PoolConnection<Postgres>, Instant)> {
        let spare = self.kept().connections.pop_back()?;
        Some((spare.connection, spare.taken))
    }

    /// Keeps a connection, or gives it back where it should go to the pool.
    pub(super) fn keep(
        self: &Arc<Self>,
        connection: PoolConnection<Postgres>,
        taken: Instant,
    ) -> Option<PoolConnection<Postgres>> {
        let mut kept = self.kept();
        if kept.closed || taken.elapsed() > AWAY_MAX {
            return Some(connection);
        }
        kept.connections.push_back(Spare {
            connection,
            taken,
            used: Instant::now(),
        });
        if !kept.watched {
            kept.watched = true;
            tokio::spawn(watch(Arc::downgrade(self)));
        }
        None
    }

    /// Gives all connections to the pool, and keeps none from now on.
    pub(super) fn close(&self) {
        let mut kept = self.kept();
        kept.closed = true;
        // Dropping returns them.
        let returned = std::mem::take(&mut kept.connections);
        drop(kept);
        drop(returned);
    }

    /// Gives those to the pool that weren't used for a while. Says whether any are left.
    fn sweep(&self) -> bool {
        let mut kept = self.kept();
        let mut old = Vec::new();
        while let Some(spare) = kept
            .connections
            .pop_front_if(|spare| spare.used.elapsed() >= UNUSED_MAX)
        {
            old.push(spare);
        }
        kept.watched = !kept.connections.is_empty();
        kept.watched
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        // Nothing panics while it holds the lock.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Spares {
    /// Closes what is left. Not by way of the pool, which would need a runtime for it: a store may
    /// be dropped outside of one.
    fn drop(&mut self) {
        let kept = std::mem::take(&mut self.kept().connections);
        for spare in kept {
            drop(spare.connection.leak());
        }
    }
}

/// Sweeps as long as there is anything to sweep.
async fn watch(spares: Weak<Spares>) {
    loop {
        tokio::time::sleep(UNUSED_MAX).await;
        match spares.upgrade() {
            Some(spares) if spares.sweep() => {}
            _ => return,
        }
    }
}
