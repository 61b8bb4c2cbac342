//! The store: its connections, and how it is opened.

use std::{
    fmt,
    path::PathBuf,
    time::{Duration, Instant},
};

use sqlx::{
    Sqlite, SqlitePool,
    pool::PoolConnection,
    sqlite::{SqliteConnectOptions, SqlitePoolOptions},
};

use super::{attempts::wait_for_lock, fault::Fault, file, migrate, options::SqliteOptions};
use crate::StoreError;

/// Notes in one SQLite file.
///
/// Several processes of one host can use the file at once, each with a store of its own; a clone
/// shares its connections. What is in passing (the file's lock) is waited for within
/// [`SqliteOptions::busy_timeout`]; then it is [`StoreError::Unavailable`], and nothing was
/// changed. A mutation that was answered survives the end of the process and of the power.
///
/// SQLite runs on threads of the store's own, so no task of the program waits for the disk.
///
/// ```
/// use notekeeper_store::{SqliteOptions, SqliteStore};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let directory = tempfile::tempdir()?;
/// let options = SqliteOptions::new(directory.path().join("notekeeper.db"));
/// let store = SqliteStore::open(&options).await?;
/// // …
/// store.close().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct SqliteStore {
    path: PathBuf,
    /// One connection: a file has one writer at a time, and those of this process take turns.
    writer: SqlitePool,
    readers: SqlitePool,
    patience: Duration,
}

impl SqliteStore {
    /// Opens the file. Where it is missing it is made; migrations that it lacks are applied, all
    /// of them or none. Several processes may do so at the same time.
    ///
    /// # Errors
    ///
    /// [`StoreError::InvalidValue`] where an option can't be meant; [`StoreError::Unusable`] where
    /// the path can't be a store, with what to do: its directory is missing, this user may not
    /// write there, or the file is another program's; [`StoreError::TooNew`] where a newer program
    /// migrated it; [`StoreError::Unavailable`] where another program keeps it locked.
    pub async fn open(options: &SqliteOptions) -> Result<Self, StoreError> {
        let path = options.checked_path()?;
        let connect_options = options.connect_options(&path);
        let store = Self {
            writer: writer(options, connect_options.clone()),
            readers: readers(options, connect_options),
            patience: options.busy_timeout,
            path,
        };
        let prepared = store.prepare().await;
        if prepared.is_err() {
            store.close().await;
        }
        prepared.map(|()| store)
    }

    /// Closes the connections: operations in flight end first. The last store on a file puts all
    /// of it into the one file. Later operations fail as [`StoreError::Unavailable`].
    pub async fn close(&self) {
        self.readers.close().await;
        self.writer.close().await;
    }

    /// Makes the file, and makes it a store.
    async fn prepare(&self) -> Result<(), StoreError> {
        let path = self.path.clone();
        // On a thread for such work: a disk can be slow.
        tokio::task::spawn_blocking(move || file::make_where_missing(&path))
            .await
            .map_err(|_| StoreError::Unexpected("a thread of the program ended".to_owned()))??;
        self.migrated()
            .await
            .map_err(|fault| fault.at_opening(&self.path))
    }

    async fn migrated(&self) -> Result<(), Fault> {
        let deadline = Instant::now() + self.patience;
        let mut connection = loop {
            match self.writer().await {
                Ok(connection) => break connection,
                Err(fault) => wait_for_lock(fault, deadline).await?,
            }
        };
        while let Err(fault) = migrate::migrate(&mut connection, &self.path).await {
            wait_for_lock(fault, deadline).await?;
        }
        Ok(())
    }

    /// The connection that writes, when it is this operation's turn.
    pub(super) async fn writer(&self) -> Result<PoolConnection<Sqlite>, Fault> {
        Ok(self.writer.acquire().await?)
    }

    /// A connection to read on.
    pub(super) async fn reader(&self) -> Result<PoolConnection<Sqlite>, Fault> {
        Ok(self.readers.acquire().await?)
    }

    /// How long an operation may take before it makes no further attempt.
    pub(super) fn patience(&self) -> Duration {
        self.patience
    }
}

fn writer(options: &SqliteOptions, connect_options: SqliteConnectOptions) -> SqlitePool {
    pool(options)
        .max_connections(1)
        // The store waits for the lock in its own way.
        .connect_lazy_with(connect_options.busy_timeout(Duration::ZERO))
}

fn readers(options: &SqliteOptions, connect_options: SqliteConnectOptions) -> SqlitePool {
    let connect_options = connect_options
        // Readers wait for nobody but who has the whole file for himself. They say so before the
        // pool could say that it has no connection.
        .busy_timeout(options.busy_timeout / 2)
        .pragma("query_only", "on");
    pool(options)
        .max_connections(options.readers_max)
        .connect_lazy_with(connect_options)
}

fn pool(options: &SqliteOptions) -> SqlitePoolOptions {
    SqlitePoolOptions::new()
        .acquire_timeout(options.busy_timeout)
        // There is no network that could have lost a connection.
        .test_before_acquire(false)
        .max_lifetime(None)
        .idle_timeout(None)
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}
