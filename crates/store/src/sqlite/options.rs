//! Which file, and what to wait for how long.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use sqlx::sqlite::{SqliteConnectOptions, SqliteSynchronous};

use crate::StoreError;

/// Which file holds the notes, and what to wait for how long.
#[derive(Debug, Clone)]
pub struct SqliteOptions {
    /// The database file. It is made where it is missing, for this user alone (mode 0600); its
    /// directory must exist, on a local disk. Beside it SQLite keeps two files of its own while
    /// it is in use, with `-wal` and `-shm` at the end of their names.
    pub path: PathBuf,
    /// Most connections that read at a time, beside the one that writes; at least 1.
    pub readers_max: u32,
    /// Longest wait for a connection and for the file's lock together, where other operations or
    /// processes have them; at most 24 days. An operation starts no further attempt once it has
    /// taken this long.
    pub busy_timeout: Duration,
}

impl SqliteOptions {
    /// Options with defaults: 4 readers, 5 s for connection and lock.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            readers_max: 4,
            busy_timeout: Duration::from_secs(5),
        }
    }

    /// Checks the options; the file's path from the root.
    pub(super) fn checked_path(&self) -> Result<PathBuf, StoreError> {
        if self.readers_max == 0 {
            return Err(invalid("readers_max", "at least 1 is needed"));
        }
        if i32::try_from(self.busy_timeout.as_millis()).is_err() {
            return Err(invalid("busy_timeout", "use at most 24 days"));
        }
        // From the root, because SQLite gives a meaning to `:memory:` and `file:…`, and because a
        // program may change its directory.
        let path = std::path::absolute(&self.path)
            .map_err(|_| invalid("path", "it is empty; name a file"))?;
        if path.to_str().is_none_or(|path| path.contains('\0')) {
            return Err(invalid("path", "SQLite takes paths in UTF-8 alone"));
        }
        Ok(path)
    }

    /// How each connection is made.
    pub(super) fn connect_options(&self, path: &Path) -> SqliteConnectOptions {
        SqliteConnectOptions::new()
            .filename(path)
            // Made beforehand, with the right permissions.
            .create_if_missing(false)
            // A commit is on the disk before anyone is told: Temporal records the answer and
            // never asks again, so what a power failure takes back would be missing for good.
            // Without it, write-ahead logging syncs only now and then.
            .synchronous(SqliteSynchronous::Full)
            // On macOS a sync alone leaves data in the disk's cache; elsewhere this does nothing.
            .pragma("fullfsync", "on")
            .thread_name(|id| format!("notekeeper-sqlite-{id}"))
    }
}

fn invalid(field: &'static str, reason: &str) -> StoreError {
    StoreError::InvalidValue {
        field,
        reason: reason.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use sqlx::{Connection as _, SqliteConnection};

    use super::*;

    #[tokio::test]
    async fn every_commit_is_synced() {
        let directory = tempfile::tempdir().expect("a directory");
        let options = SqliteOptions::new(directory.path().join("a.db"));
        let connect_options = options
            .connect_options(&options.path)
            .create_if_missing(true);
        let mut connection = SqliteConnection::connect_with(&connect_options)
            .await
            .expect("connect");
        for (pragma, expected) in [("synchronous", 2), ("fullfsync", 1)] {
            let found: i64 = sqlx::query_scalar(sqlx::AssertSqlSafe(format!("pragma {pragma}")))
                .fetch_one(&mut connection)
                .await
                .expect("a pragma");
            assert_eq!(found, expected, "{pragma}");
        }
    }
}
