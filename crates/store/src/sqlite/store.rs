//! The store: its connections, and how it is opened.

use std::{
    fmt,
    ops::{Deref, DerefMut},
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use sqlx::{
    Sqlite, SqliteConnection, SqlitePool,
    pool::PoolConnection,
    sqlite::{SqliteConnectOptions, SqlitePoolOptions},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{
    attempts::wait_for_lock,
    examine::{durable, idle},
    fault::Fault,
    file, migrate,
    options::SqliteOptions,
};
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
    /// Whose turn it is to write, where both pools are the caller's one; `None` where they are the
    /// store's own.
    turns: Option<Arc<Semaphore>>,
    patience: Duration,
}

/// The connection that writes.
pub(super) struct Writer {
    connection: PoolConnection<Sqlite>,
    /// Given up after the connection.
    _turn: Option<OwnedSemaphorePermit>,
}

impl Deref for Writer {
    type Target = SqliteConnection;

    fn deref(&self) -> &SqliteConnection {
        &self.connection
    }
}

impl DerefMut for Writer {
    fn deref_mut(&mut self) -> &mut SqliteConnection {
        &mut self.connection
    }
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
            turns: None,
            patience: options.busy_timeout,
            path,
        };
        let prepared = store.prepare().await;
        if prepared.is_err() {
            store.close().await;
        }
        prepared.map(|()| store)
    }

    /// A store over a pool of the caller's own, who closes it: [`close`](Self::close) leaves it open.
    ///
    /// The file must be the store's alone, or empty, and is migrated as [`open`](Self::open) does;
    /// where it is missing, the pool's options say whether it is made. An operation takes one
    /// connection at a time, so a pool of one will do. Writers of this store take turns among
    /// themselves before they ask for a connection; of several stores over one file, in this process
    /// or others, each waits for the lock of the file.
    ///
    /// Nothing is set on the connections, and no transaction of the caller's is committed, rolled
    /// back or added to: each connection is examined before it is used, and one with a transaction
    /// open is passed over. Where the pool has no other the operation is
    /// [`StoreError::Unavailable`]. What the connections must have:
    ///
    /// - `synchronous` at `full` or `extra`, as it is where nobody sets it, or mutations are
    ///   [`StoreError::Unusable`]: what was answered must survive a power failure
    /// - `query_only` off
    ///
    /// The file logs ahead (`journal_mode = wal`) from here on; a database in memory can't, and is
    /// refused. How long an operation waits, and goes on with further attempts, is the pool's
    /// `acquire_timeout`; the connections' `busy_timeout` should be shorter than that.
    ///
    /// ```
    /// use notekeeper_store::SqliteStore;
    /// use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// let file = directory.path().join("notekeeper.db");
    /// let connect = SqliteConnectOptions::new().filename(file).create_if_missing(true);
    /// let pool = SqlitePoolOptions::new().connect_with(connect).await?;
    /// let store = SqliteStore::with_pool(pool.clone()).await?;
    /// // …
    /// drop(store);
    /// pool.close().await;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub async fn with_pool(pool: SqlitePool) -> Result<Self, StoreError> {
        let store = Self {
            path: pool.connect_options().get_filename().to_owned(),
            patience: pool.options().get_acquire_timeout(),
            turns: Some(Arc::new(Semaphore::new(1))),
            writer: pool.clone(),
            readers: pool,
        };
        let migrated = store.migrated().await;
        migrated.map_err(|fault| fault.at_opening(&store.path))?;
        Ok(store)
    }

    /// Closes the connections: operations in flight end first. The last store on a file puts all
    /// of it into the one file. Later operations fail as [`StoreError::Unavailable`]. A caller's
    /// pool stays as it is: who made it closes it.
    pub async fn close(&self) {
        if self.turns.is_none() {
            self.readers.close().await;
            self.writer.close().await;
        }
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
    pub(super) async fn writer(&self) -> Result<Writer, Fault> {
        let Some(turns) = &self.turns else {
            let connection = self.writer.acquire().await?;
            return Ok(Writer {
                connection,
                _turn: None,
            });
        };
        let turn = Arc::clone(turns).acquire_owned();
        let turn = tokio::time::timeout(self.patience, turn).await;
        let turn = turn.map_err(|_| sqlx::Error::PoolTimedOut)?;
        let mut connection = self.writer.acquire().await?;
        idle(&mut connection).await?;
        durable(&mut connection).await?;
        Ok(Writer {
            connection,
            // Nobody closes the semaphore.
            _turn: turn.ok(),
        })
    }

    /// A connection to read on.
    pub(super) async fn reader(&self) -> Result<PoolConnection<Sqlite>, Fault> {
        let mut connection = self.readers.acquire().await?;
        if self.turns.is_some() {
            idle(&mut connection).await?;
        }
        Ok(connection)
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
