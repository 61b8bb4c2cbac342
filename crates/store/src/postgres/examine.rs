//! What is asked of a connection before it is used.

use sqlx::{Connection as _, PgConnection, Row as _};

use super::fault::Fault;
use crate::{StoreError, values::IN_TRANSACTION};

/// One statement alone, by the simple protocol: then a transaction that wasn't open before begins
/// with the statement, at the same time to the microsecond.
const EXAMINE: &str = "select now() = statement_timestamp() as idle, \
     current_setting('synchronous_commit') = 'off' as forgetful";

/// Why a connection can't be used.
#[derive(Debug)]
pub(super) enum Unfit {
    /// It is dead.
    Dead,
    /// It isn't to be touched, or not to be relied on.
    Fault(Fault),
}

/// Whether a connection lives.
pub(super) async fn alive(connection: &mut PgConnection) -> Result<(), Unfit> {
    connection.ping().await.map_err(|_| Unfit::Dead)
}

/// Whether a connection of a caller's pool can be used: it lives, has no transaction open, which
/// what is done here would become a part of, and has what is committed on the disk first.
pub(super) async fn at_disposal(connection: &mut PgConnection) -> Result<(), Unfit> {
    if connection.is_in_transaction() {
        return Err(in_transaction());
    }
    let row = match sqlx::raw_sql(EXAMINE).fetch_one(connection).await {
        Ok(row) => row,
        // A transaction in which a statement failed takes no other.
        Err(sqlx::Error::Database(error)) if error.code().as_deref() == Some("25P02") => {
            return Err(in_transaction());
        }
        Err(_) => return Err(Unfit::Dead),
    };
    let of_row = |error: sqlx::Error| Unfit::Fault(error.into());
    if !row.try_get::<bool, _>("idle").map_err(of_row)? {
        return Err(in_transaction());
    }
    if row.try_get::<bool, _>("forgetful").map_err(of_row)? {
        return Err(Unfit::Fault(Fault::Lasting(StoreError::Unusable(
            "`synchronous_commit` is off on a connection of the caller's pool, so a crash of the \
             server could take back what was answered; leave it on"
                .to_owned(),
        ))));
    }
    Ok(())
}

/// Another connection may be free of it, and this one later.
fn in_transaction() -> Unfit {
    Unfit::Fault(Fault::Passing {
        reason: IN_TRANSACTION.into(),
        in_doubt: false,
    })
}
