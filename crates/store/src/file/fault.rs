//! What the file system and the journal report, in terms of what to do about it.

use rustix::io::Errno;

use crate::{
    Denial, OddNote, OddScope, StoreError,
    sqlite::{of_driver, result_code},
};

/// Why an attempt failed. Holds no content, name or path: of the reports of the system and of
/// SQLite only the codes are kept.
#[derive(Debug)]
pub(super) enum Fault {
    /// The journal can't be read as one.
    Corrupt,
    /// A statement doesn't fit the journal, or SQLite has no better word for what went wrong.
    Misfit,
    /// Something is about to be done to the note, or was when its process died. Who has the lock
    /// sees the end of it.
    InProgress,
    /// No attempt will succeed by itself.
    Lasting(StoreError),
}

impl Fault {
    pub(super) fn unavailable(reason: &str) -> Self {
        Self::Lasting(StoreError::Unavailable(reason.to_owned()))
    }

    pub(super) fn unexpected(reason: impl Into<String>) -> Self {
        Self::Lasting(StoreError::Unexpected(reason.into()))
    }

    /// What callers of an operation are told.
    pub(super) fn settled(self) -> StoreError {
        match self {
            Self::Corrupt => StoreError::Unexpected("the store's journal can't be read".to_owned()),
            Self::Misfit => {
                StoreError::Unexpected("SQLite reported an error, result code 1".to_owned())
            }
            Self::InProgress => {
                StoreError::Unavailable("the note is being changed by another process".to_owned())
            }
            Self::Lasting(error) => error,
        }
    }
}

impl From<OddNote> for Fault {
    fn from(odd: OddNote) -> Self {
        Self::Lasting(StoreError::OddNote(odd))
    }
}

impl From<OddScope> for Fault {
    fn from(odd: OddScope) -> Self {
        Self::Lasting(StoreError::OddScope(odd))
    }
}

impl From<Denial> for Fault {
    fn from(denial: Denial) -> Self {
        Self::Lasting(StoreError::Denied(denial))
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Lasting(error)
    }
}

impl From<std::io::Error> for Fault {
    fn from(error: std::io::Error) -> Self {
        Errno::from_io_error(&error).map_or_else(
            || Self::unexpected(format!("the file system failed: {}", error.kind())),
            Self::from,
        )
    }
}

impl From<Errno> for Fault {
    fn from(errno: Errno) -> Self {
        if let Some(denial) = Denial::of_error(std::io::Error::from(errno).kind()) {
            return denial.into();
        }
        match errno {
            Errno::NAMETOOLONG => OddNote::NameTooLong.into(),
            Errno::LOOP => OddNote::LeadsOut.into(),
            // A file system that went away, a disk that fails, no descriptors left.
            Errno::IO
            | Errno::STALE
            | Errno::NODEV
            | Errno::NXIO
            | Errno::NOTCONN
            | Errno::TIMEDOUT
            | Errno::MFILE
            | Errno::NFILE
            | Errno::NOMEM
            | Errno::BUSY => Self::unavailable(&format!(
                "the file system failed, error {}",
                errno.raw_os_error()
            )),
            _ => Self::unexpected(format!(
                "the file system refused, error {}",
                errno.raw_os_error()
            )),
        }
    }
}

impl From<sqlx::Error> for Fault {
    fn from(error: sqlx::Error) -> Self {
        match &error {
            sqlx::Error::Database(e) => of_code(result_code(e.as_ref())),
            sqlx::Error::ColumnDecode { .. } | sqlx::Error::ColumnNotFound(_) => Self::Corrupt,
            error => Self::Lasting(of_driver(error)),
        }
    }
}

/// By SQLite's result code; its lowest byte says the kind.
fn of_code(code: i32) -> Fault {
    match code & 0xff {
        1 => Fault::Misfit,
        // Damage, no database at all.
        11 | 26 => Fault::Corrupt,
        // Busy, locked, and a race that could not be settled.
        5 | 6 | 15 => Fault::unavailable("the store's journal stays locked by another program"),
        8 => Denial::ReadOnlyFileSystem.into(),
        3 | 14 | 23 => Denial::Permission.into(),
        7 => Fault::unavailable("there is no memory left"),
        10 => Fault::unavailable(&format!(
            "the disk failed to read or write, SQLite result code {code}"
        )),
        13 => Denial::NoSpace.into(),
        _ => Fault::unexpected(format!("SQLite reported an error, result code {code}")),
    }
}
