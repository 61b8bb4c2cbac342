//! What is asked of a connection of a caller's pool before it is used.

use sqlx::{Connection as _, SqliteConnection};

use super::fault::Fault;
use crate::StoreError;

/// `synchronous = full`: a commit is on the disk before anyone is told.
const SYNCHRONOUS_FULL: i64 = 2;

/// Refuses a connection with a transaction open: what is done here would become a part of it.
pub(super) async fn idle(connection: &mut SqliteConnection) -> Result<(), Fault> {
    if connection.is_in_transaction() {
        return Err(Fault::InTransaction);
    }
    // SQLite refuses to begin a transaction in one that the driver doesn't know of, and changes
    // nothing then. Nothing is read or locked in this one.
    match connection.begin().await {
        Ok(transaction) => Ok(transaction.rollback().await?),
        Err(sqlx::Error::Database(error)) if error.code().as_deref() == Some("1") => {
            Err(Fault::InTransaction)
        }
        Err(error) => Err(error.into()),
    }
}

/// Refuses a connection that tells of commits before they are on the disk.
pub(super) async fn durable(connection: &mut SqliteConnection) -> Result<(), Fault> {
    let synchronous: i64 = sqlx::query_scalar("pragma synchronous")
        .fetch_one(connection)
        .await?;
    if synchronous >= SYNCHRONOUS_FULL {
        return Ok(());
    }
    Err(Fault::Lasting(StoreError::Unusable(
        "`synchronous` is below `full` on a connection of the caller's pool, so a power failure \
         could take back what was answered; open the pool with `SqliteSynchronous::Full`"
            .to_owned(),
    )))
}
