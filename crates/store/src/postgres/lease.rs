//! A connection on loan from the pool.

use std::{
    ops::{Deref, DerefMut},
    time::Duration,
};

use sqlx::{PgConnection, Postgres, pool::PoolConnection};
use tokio::time::error::Elapsed;

use super::fault::Fault;

/// A connection for one operation; it goes back to the pool when it is dropped.
///
/// On its way back the driver asks the server whether the connection still lives. That happens in
/// a task of its own, so no caller waits for the answer. But the driver itself would wait for it
/// without end, and keep the connection's place in the pool meanwhile: a server that went silent
/// would use up the pool for as long as TCP takes to notice.
#[derive(Debug)]
pub(super) struct Lease {
    connection: PoolConnection<Postgres>,
    /// How long the server may take to answer the driver's question. An operation that was
    /// cancelled can leave a statement behind, whose end comes first.
    answer_timeout: Duration,
    closing: bool,
}

impl Lease {
    pub(super) fn new(connection: PoolConnection<Postgres>, answer_timeout: Duration) -> Self {
        Self {
            connection,
            answer_timeout,
            closing: false,
        }
    }

    /// Ends the loan after work on the connection. One that went silent must not go to the pool,
    /// nor one that leads to the wrong server.
    pub(super) fn end<T>(self, answer: Result<Result<T, Fault>, Elapsed>) -> Result<T, Fault> {
        match answer {
            Err(_) => {
                self.close();
                Err(Fault::silence(true))
            }
            Ok(Err(Fault::ReadOnlyServer)) => {
                self.close();
                Err(Fault::ReadOnlyServer)
            }
            Ok(answer) => answer,
        }
    }

    /// Closes the connection instead of giving it back. Nobody waits for its good-bye.
    pub(super) fn close(mut self) {
        self.closing = true;
        self.connection.close_on_drop();
    }
}

impl Deref for Lease {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        &self.connection
    }
}

impl DerefMut for Lease {
    fn deref_mut(&mut self) -> &mut PgConnection {
        &mut self.connection
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if !self.closing {
            let returned = self.connection.return_to_pool();
            // Giving up drops the connection, which frees its place.
            tokio::spawn(tokio::time::timeout(self.answer_timeout, returned));
        }
    }
}
