//! What the driver reports, in terms of what to do about it.

use std::path::Path;

use sqlx::error::DatabaseError;

use super::file::unusable;
use crate::{StoreError, values::IN_TRANSACTION};

/// Why an attempt failed. Holds no content, name or scope: of SQLite's reports only the code is
/// kept, because their texts quote values. Nothing was changed, whichever it is.
#[derive(Debug)]
pub(super) enum Fault {
    /// Another connection has the lock. It gives it back soon, most likely.
    Locked,
    /// A connection of the caller's pool has a transaction open.
    InTransaction,
    /// The file or its directory can't be written to, or not even be opened.
    Forbidden,
    /// The file holds something else.
    NoDatabase,
    /// No attempt will succeed by itself.
    Lasting(StoreError),
}

impl Fault {
    /// What callers of an operation are told.
    pub(super) fn settled(self) -> StoreError {
        match self {
            Self::Locked => StoreError::Unavailable(
                "the database file stays locked by another program".to_owned(),
            ),
            Self::InTransaction => in_transaction(),
            Self::Forbidden => StoreError::Unavailable(
                "the database file or its directory can't be written to any more; check their \
                 permissions"
                    .to_owned(),
            ),
            Self::NoDatabase => StoreError::Unexpected(
                "the database file was overwritten; restore it from a backup".to_owned(),
            ),
            Self::Lasting(error) => error,
        }
    }

    /// What those are told who open the store.
    pub(super) fn at_opening(self, path: &Path) -> StoreError {
        match self {
            Self::Locked => StoreError::Unavailable(format!(
                "`{}` stays locked by another program; end that one, or name another file",
                path.display()
            )),
            Self::InTransaction => in_transaction(),
            Self::Forbidden => unusable(
                path,
                "can't be written to: give this user read and write permission for the file and \
                 its directory",
            ),
            Self::NoDatabase => unusable(
                path,
                "is no SQLite database; name another file, which is made where it is missing",
            ),
            Self::Lasting(error) => error,
        }
    }

    fn unavailable(reason: &str) -> Self {
        Self::Lasting(StoreError::Unavailable(reason.to_owned()))
    }

    fn unexpected(reason: impl Into<String>) -> Self {
        Self::Lasting(StoreError::Unexpected(reason.into()))
    }
}

impl From<sqlx::Error> for Fault {
    fn from(error: sqlx::Error) -> Self {
        match &error {
            sqlx::Error::Database(e) => of_code(result_code(e.as_ref())),
            sqlx::Error::ColumnDecode { index, .. } => {
                Self::unexpected(format!("a value of column {index} can't be decoded"))
            }
            error => Self::Lasting(of_driver(error)),
        }
    }
}

/// SQLite's result code in a report of its own; 0 where it has none.
pub(crate) fn result_code(report: &dyn DatabaseError) -> i32 {
    let code = report.code().and_then(|code| code.parse().ok());
    code.unwrap_or(0)
}

/// What the driver says beside SQLite's own reports: that there is no connection, which may pass, or
/// what nobody expects.
pub(crate) fn of_driver(error: &sqlx::Error) -> StoreError {
    let reason = match error {
        sqlx::Error::PoolTimedOut => "no connection became free in time",
        sqlx::Error::PoolClosed => "the store is closed",
        sqlx::Error::WorkerCrashed => "a connection's thread ended",
        _ => return StoreError::Unexpected("the driver failed".to_owned()),
    };
    StoreError::Unavailable(reason.to_owned())
}

/// Another connection may be free of it, and this one later.
fn in_transaction() -> StoreError {
    StoreError::Unavailable(IN_TRANSACTION.to_owned())
}

/// By the result code; its lowest byte says the kind.
fn of_code(code: i32) -> Fault {
    match code & 0xff {
        // Busy, locked, and a race for the log that could not be settled.
        5 | 6 | 15 => Fault::Locked,
        // No permission, read-only, can't open, not authorised.
        3 | 8 | 14 | 23 => Fault::Forbidden,
        7 => Fault::unavailable("there is no memory left"),
        10 => Fault::unavailable(&format!(
            "the disk failed to read or write, SQLite result code {code}"
        )),
        11 => Fault::unexpected("the database file is damaged; restore it from a backup"),
        13 => Fault::unavailable("the disk is full"),
        26 => Fault::NoDatabase,
        _ => Fault::unexpected(format!("SQLite reported an error, result code {code}")),
    }
}
