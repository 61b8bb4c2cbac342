//! A connection on loan from the pool.

use std::{
    ops::{Deref, DerefMut},
    sync::Arc,
    time::{Duration, Instant},
};

use sqlx::{PgConnection, Postgres, pool::PoolConnection};
use tokio::{sync::OwnedSemaphorePermit, time::error::Elapsed};

use super::{fault::Fault, spare::Spares};

/// A connection for one operation.
///
/// Where the operation ended well the next one may have it at once ([`Spares`]). In any other case
/// it goes back to the pool when this is dropped, and on its way back the driver asks the server
/// whether the connection still lives. That happens in a task of its own, so no caller waits for
/// the answer. But the driver itself would wait for it without end, and keep the connection's place
/// in the pool meanwhile: a server that went silent would use up the pool for as long as TCP takes
/// to notice.
#[derive(Debug)]
pub(super) struct Lease {
    /// Missing only at the very end.
    connection: Option<PoolConnection<Postgres>>,
    /// Where it may be kept; missing where the pool is the caller's, who may need it back.
    at_hand: Option<AtHand>,
    /// How long the server may take to answer the driver's question. An operation that was
    /// cancelled can leave a statement behind, whose end comes first.
    answer_timeout: Duration,
}

/// What a connection needs to be kept for the next operation.
#[derive(Debug)]
pub(super) struct AtHand {
    pub(super) spares: Arc<Spares>,
    /// When the connection was taken from the pool.
    pub(super) taken: Instant,
    /// Given up after the connection, so that whoever gets it finds the connection.
    pub(super) place: OwnedSemaphorePermit,
}

impl Lease {
    pub(super) fn new(
        connection: PoolConnection<Postgres>,
        at_hand: Option<AtHand>,
        answer_timeout: Duration,
    ) -> Self {
        Self {
            connection: Some(connection),
            at_hand,
            answer_timeout,
        }
    }

    /// Ends the loan after work on the connection. One that went silent must not go to the pool,
    /// nor one that leads to the wrong server.
    pub(super) fn end<T>(mut self, answer: Result<Result<T, Fault>, Elapsed>) -> Result<T, Fault> {
        match answer {
            Err(_) => {
                self.close();
                Err(Fault::silence(true))
            }
            Ok(Err(Fault::ReadOnlyServer)) => {
                self.close();
                Err(Fault::ReadOnlyServer)
            }
            Ok(Ok(value)) => {
                self.keep();
                Ok(value)
            }
            Ok(Err(fault)) => Err(fault),
        }
    }

    /// Closes the connection instead of giving it back. Nobody waits for its good-bye.
    pub(super) fn close(mut self) {
        if let Some(mut connection) = self.connection.take() {
            connection.close_on_drop();
        }
    }

    /// Leaves the connection to the next operation.
    fn keep(&mut self) {
        let Some(AtHand {
            spares,
            taken,
            place,
        }) = self.at_hand.take()
        else {
            return;
        };
        if let Some(connection) = self.connection.take() {
            self.connection = spares.keep(connection, taken);
        }
        drop(place);
    }
}

impl Deref for Lease {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        self.connection.as_ref().expect("the loan lasts")
    }
}

impl DerefMut for Lease {
    fn deref_mut(&mut self) -> &mut PgConnection {
        self.connection.as_mut().expect("the loan lasts")
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(mut connection) = self.connection.take() {
            let returned = connection.return_to_pool();
            // Giving up drops the connection, which frees its place.
            tokio::spawn(tokio::time::timeout(self.answer_timeout, returned));
        }
    }
}
