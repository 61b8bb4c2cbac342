//! An SQLite file for each test.

use std::path::PathBuf;

use notekeeper_store::{SqliteOptions, SqliteStore};
use sqlx::{Connection as _, SqliteConnection, sqlite::SqliteConnectOptions};
use tempfile::TempDir;

use crate::database::PATIENCE;

/// Where it can be, it is in memory: thousands of commits each wait for the disk, and another
/// program can keep a disk busy for long. What processes share, and what outlives them, is the same.
pub(crate) fn directory() -> TempDir {
    tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .expect("a directory")
}

/// A file in a directory of its own, which goes with this value.
#[derive(Debug)]
pub(crate) struct DatabaseFile {
    directory: TempDir,
    pub(crate) options: SqliteOptions,
}

impl DatabaseFile {
    /// A place for a file; it isn't made yet.
    pub(crate) fn new() -> Self {
        let directory = directory();
        let mut options = SqliteOptions::new(directory.path().join("notes.db"));
        // A busy machine is no fault. Tests of time-outs set their own.
        options.busy_timeout = PATIENCE / 2;
        Self { directory, options }
    }

    /// A path beside the file.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// A store over it, as programs make it.
    pub(crate) async fn store(&self) -> SqliteStore {
        SqliteStore::open(&self.options).await.expect("open")
    }

    /// A connection, for looking behind the store.
    pub(crate) async fn connection(&self) -> SqliteConnection {
        let options = SqliteConnectOptions::new()
            .filename(&self.options.path)
            .create_if_missing(true);
        SqliteConnection::connect_with(&options)
            .await
            .expect("the file can be opened")
    }
}
