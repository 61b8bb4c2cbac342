//! What the driver reports, in terms of what to do about it.

use std::borrow::Cow;

use crate::StoreError;

/// Why an attempt failed. Holds no content, name, scope or credential: of the database's reports
/// only the code is kept, because their texts quote values.
#[derive(Debug)]
pub(super) enum Fault {
    /// Another attempt may succeed.
    Passing {
        /// What happened.
        reason: Cow<'static, str>,
        /// Whether the database may have done what it was asked to.
        in_doubt: bool,
    },
    /// The connection leads to a server that only reads: a primary that became a standby, most
    /// likely. Nothing was changed. A new connection may lead to the primary.
    ReadOnlyServer,
    /// A table or column isn't there: the database is at another migration, most likely. Or what an
    /// extension brings isn't where it was.
    Missing,
    /// The operation's receipt was written by another call in the meantime.
    ReceiptTaken,
    /// No attempt will succeed by itself.
    Lasting(StoreError),
}

impl Fault {
    /// The code of a lock that wasn't free in time.
    pub(super) const LOCK_WAIT: &'static str = "55P03";

    /// The code of a role that lacks a privilege.
    pub(super) const DENIED: &'static str = "42501";

    /// The code of a file that the server lacks, such as an extension's library.
    pub(super) const NO_FILE: &'static str = "58P01";

    /// A failure while getting a connection: nothing was asked of the database yet.
    pub(super) fn of_connecting(error: sqlx::Error) -> Self {
        let reason: Cow<'static, str> = match &error {
            sqlx::Error::PoolTimedOut => "no connection became free in time".into(),
            sqlx::Error::Io(e) => format!("can't connect ({:?})", e.kind()).into(),
            sqlx::Error::PoolClosed => return Self::unavailable("the store is closed"),
            sqlx::Error::Tls(_) => return Self::unavailable("can't agree on TLS"),
            sqlx::Error::Database(e) => {
                let code = e.code().unwrap_or_default();
                let reason = format!("the connection was refused ({})", described(&code));
                if !is_passing(&code) {
                    return Self::unavailable(reason);
                }
                reason.into()
            }
            _ => return Self::unavailable("can't connect"),
        };
        Self::Passing {
            reason,
            in_doubt: false,
        }
    }

    /// A server, or a network before it, that says nothing any more.
    pub(super) fn silence(in_doubt: bool) -> Self {
        Self::Passing {
            reason: "the server doesn't answer".into(),
            in_doubt,
        }
    }

    /// Whether a code is that of a table, a column, a schema, a type or an operator that isn't there.
    pub(super) fn is_of_missing(code: &str) -> bool {
        matches!(code, "42P01" | "42703" | "3F000" | "42704" | "42883")
    }

    fn unavailable(reason: impl Into<String>) -> Self {
        Self::Lasting(StoreError::Unavailable(reason.into()))
    }
}

impl From<sqlx::Error> for Fault {
    /// A failure of a statement.
    fn from(error: sqlx::Error) -> Self {
        match &error {
            sqlx::Error::Io(e) => Self::Passing {
                reason: format!("the connection was lost ({:?})", e.kind()).into(),
                in_doubt: true,
            },
            sqlx::Error::Database(e) => of_code(
                &e.code().unwrap_or_default(),
                e.constraint().unwrap_or_default(),
            ),
            sqlx::Error::BeginFailed => Self::Passing {
                reason: "the transaction didn't begin".into(),
                in_doubt: false,
            },
            sqlx::Error::ColumnDecode { index, .. } => Self::Lasting(StoreError::Unexpected(
                format!("a value of column {index} can't be decoded"),
            )),
            sqlx::Error::Protocol(_) => Self::Passing {
                reason: "the connection's protocol broke".into(),
                in_doubt: true,
            },
            _ => Self::Lasting(StoreError::Unexpected("the driver failed".to_owned())),
        }
    }
}

fn of_code(code: &str, constraint: &str) -> Fault {
    match code {
        "23505" if constraint == "receipts_pkey" => Fault::ReceiptTaken,
        code if Fault::is_of_missing(code) => Fault::Missing,
        "25006" => Fault::ReadOnlyServer,
        // The server took its connection back. Its report can arrive in place of the answer to
        // a commit.
        code if is_shutdown(code) || code.starts_with("08") => Fault::Passing {
            reason: described(code).into(),
            in_doubt: true,
        },
        code if is_passing(code) => Fault::Passing {
            reason: described(code).into(),
            in_doubt: false,
        },
        // Out of time, of resources or of a working disk: an attempt right away would make it worse.
        code if code == "57014" || code.starts_with("53") || code.starts_with("58") => {
            Fault::unavailable(described(code))
        }
        code => Fault::Lasting(StoreError::Unexpected(described(code))),
    }
}

fn is_shutdown(code: &str) -> bool {
    matches!(code, "57P01" | "57P02" | "57P05")
}

/// Failures that are over soon: serialization failure, deadlock, lock not available, a server
/// that starts or stops, too many connections, a transaction that the server gave up because this
/// program paused in it.
fn is_passing(code: &str) -> bool {
    matches!(
        code,
        "25P03" | "40001" | "40P01" | Fault::LOCK_WAIT | "57P03" | "53300"
    ) || is_shutdown(code)
}

/// A code with words for those that a person can act on.
pub(super) fn described(code: &str) -> String {
    let words = match code {
        "25P03" => "the server gave up a transaction that stood still",
        "28000" | "28P01" => "authentication failed",
        "3D000" => "there is no such database",
        "40001" => "serialization failure",
        "40P01" => "deadlock",
        Fault::DENIED => "the role lacks a privilege",
        "53100" => "the disk is full",
        "53300" => "too many connections",
        "57014" => "the statement took too long",
        "57P01" | "57P02" | "57P05" => "the server closed the connection",
        "57P03" => "the server is starting or stopping",
        _ => "the database reported an error",
    };
    format!("{words}, SQLSTATE {code}")
}
