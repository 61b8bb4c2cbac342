//! The store: its pool, and the state of its database.

use std::{
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};

use sqlx::{
    Connection as _, PgConnection, PgPool, Postgres, pool::PoolConnection, postgres::PgPoolOptions,
};
use tokio::time::error::Elapsed;

use super::{
    examine::{Unfit, at_disposal},
    extension::ExtensionSchema,
    fault::Fault,
    lease::{AtHand, Lease},
    migrate::{newest_known_migration, settled},
    options::PostgresOptions,
    spare::Spares,
};
use crate::StoreError;

const NEWEST_MIGRATION: &str = include_str!("sql/newest_migration.sql");

/// How long a server over a caller's pool may be silent. Its statements may have time-outs of
/// their own, which should come first.
const ANSWER_TIMEOUT_DEFAULT: Duration = Duration::from_secs(30);

/// How long it may take to learn why a pool gets no connection.
const REASON_TIMEOUT: Duration = Duration::from_secs(1);

/// A connection, and where it may be kept.
type Taken = (PoolConnection<Postgres>, Option<AtHand>);

/// Notes in a PostgreSQL database, shared by any number of workers.
///
/// An operation takes one connection for as long as it lasts. What fails in passing (a lost
/// connection, a serialization failure, a deadlock, a full pool) is attempted again a few times,
/// within the time-out for a connection; then it is [`StoreError::Unavailable`]. A mutation
/// without an operation isn't repeated where it may have taken effect. A server that went silent
/// ends an operation: a statement is waited for as long as both time-outs together, a connection
/// that is tested first as long as one may take to get.
///
/// ```no_run
/// use notekeeper_store::{PostgresOptions, PostgresStore};
///
/// # async fn run() -> Result<(), notekeeper_store::StoreError> {
/// let options = PostgresOptions {
///     connections_max: 20,
///     ..PostgresOptions::new("postgres://notekeeper@db.internal/notekeeper")
/// };
/// let store = PostgresStore::connect_lazy(&options)?;
/// let report = store.migrate().await?;
/// println!("{} migrations applied", report.applied.len());
/// store.check().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct PostgresStore {
    pool: PgPool,
    /// `None`: the pool belongs to the caller, and its connections name the schema.
    schema: Option<String>,
    /// Connections between two operations; none are kept of a caller's pool, which may be used
    /// for other things as well.
    spares: Option<Arc<Spares>>,
    extension: ExtensionSchema,
    answer_timeout: Duration,
}

impl PostgresStore {
    /// A store that connects when it is first used, so that a program can start while its
    /// database is away.
    ///
    /// # Errors
    ///
    /// [`StoreError::InvalidValue`] where an option can't be meant.
    ///
    /// # Panics
    ///
    /// Outside of a Tokio runtime.
    pub fn connect_lazy(options: &PostgresOptions) -> Result<Self, StoreError> {
        let connect_options = options.connect_options()?;
        let pool = PgPoolOptions::new()
            .max_connections(options.connections_max)
            .acquire_timeout(options.acquire_timeout)
            // A test would cost every operation a round trip; a dead connection is stepped over
            // by the next attempt instead.
            .test_before_acquire(false)
            .connect_lazy_with(connect_options);
        Ok(Self {
            pool,
            schema: Some(options.schema.clone()),
            spares: Some(Spares::new(options.connections_max)),
            extension: ExtensionSchema::default(),
            // Longer than any statement is let run.
            answer_timeout: options.statement_timeout + options.acquire_timeout,
        })
    }

    /// A store over a pool of the caller's own, who may use it for other things as well, and closes
    /// it: [`close`](Self::close) leaves it open.
    ///
    /// An operation takes one connection at a time, so a pool of one will do. Nothing is set on it,
    /// and no transaction of the caller's is committed, rolled back or added to: each connection is
    /// examined before it is used, which costs a round trip, and one with a transaction open is
    /// passed over. Where the pool has no other the operation is [`StoreError::Unavailable`].
    ///
    /// What the connections must have, by options of the pool or defaults of the role or database:
    ///
    /// - a `search_path` by which the tables are found; what is first in it is where
    ///   [`migrate`](Self::migrate) makes them
    /// - `synchronous_commit` in any form but `off`, or operations are [`StoreError::Unusable`]: what
    ///   was answered must survive a crash of the server
    ///
    /// What they should have:
    ///
    /// - `default_transaction_isolation` as PostgreSQL has it, `read committed`: under stricter
    ///   levels, concurrent edits of one note fail each other and are attempted again a few times
    ///   only
    /// - a `statement_timeout` below 30 s, after which the store takes the server for silent and has
    ///   the connection closed
    /// - an `idle_in_transaction_session_timeout`, or a program that vanishes can leave a note locked
    ///   for hours
    /// - `plan_cache_mode = force_generic_plan`, as the store's own connections have it, which saves
    ///   plans
    ///
    /// How long an operation waits for a connection, and goes on with further attempts, is the pool's
    /// `acquire_timeout`.
    ///
    /// ```no_run
    /// use notekeeper_store::PostgresStore;
    /// use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
    ///
    /// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
    /// let connect: PgConnectOptions = "postgres://app@db.internal/app".parse()?;
    /// let connect = connect.options([
    ///     ("search_path", "notekeeper"),
    ///     ("statement_timeout", "8s"),
    ///     ("idle_in_transaction_session_timeout", "4s"),
    /// ]);
    /// let pool = PgPoolOptions::new().connect_with(connect).await?;
    /// let store = PostgresStore::with_pool(pool.clone());
    /// store.check().await?;
    /// // …
    /// pool.close().await;
    /// # Ok(())
    /// # }
    /// ```
    pub fn with_pool(pool: PgPool) -> Self {
        Self {
            pool,
            schema: None,
            spares: None,
            extension: ExtensionSchema::default(),
            answer_timeout: ANSWER_TIMEOUT_DEFAULT,
        }
    }

    /// Checks that the database can be reached and is at the migration that this program needs.
    ///
    /// A newer database is refused as well: what a later migration changed, this program can't
    /// know. Only this check refuses it, so programs that run already go on while the database
    /// is migrated and they are replaced.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unmigrated`] and [`StoreError::TooNew`] with both numbers;
    /// [`StoreError::Unavailable`] where the database can't be reached.
    pub async fn check(&self) -> Result<(), StoreError> {
        let needed = newest_known_migration();
        let found = self.newest_migration().await?;
        match found.cmp(&needed) {
            std::cmp::Ordering::Less => Err(StoreError::Unmigrated { found, needed }),
            std::cmp::Ordering::Equal => Ok(()),
            std::cmp::Ordering::Greater => Err(StoreError::TooNew {
                found,
                known: needed,
            }),
        }
    }

    /// Closes the pool: operations in flight end, then the connections are closed. Later
    /// operations fail as [`StoreError::Unavailable`]. A caller's pool stays as it is: who made it
    /// closes it.
    pub async fn close(&self) {
        if let Some(spares) = &self.spares {
            spares.close();
            self.pool.close().await;
        }
    }

    /// A connection for one operation.
    pub(super) async fn connection(&self) -> Result<Lease, Fault> {
        let taken = match &self.spares {
            Some(spares) => {
                let taking = tokio::time::timeout(self.patience(), self.place(spares));
                taking.await.unwrap_or(Err(sqlx::Error::PoolTimedOut))
            }
            None => self.pool.acquire().await.map(|taken| (taken, None)),
        };
        match taken {
            // The pool has none and got none: it doesn't say why not.
            Err(sqlx::Error::PoolTimedOut) if self.pool.size() == 0 => {
                let refused = self.connection_apart(REASON_TIMEOUT).await.err();
                Err(refused.unwrap_or_else(|| Fault::of_connecting(sqlx::Error::PoolTimedOut)))
            }
            Ok((connection, at_hand)) => Ok(Lease::new(connection, at_hand, self.answer_timeout)),
            Err(error) => Err(Fault::of_connecting(error)),
        }
    }

    /// A connection at hand, or else one of the pool, with a place among those that are in use.
    async fn place(&self, spares: &Arc<Spares>) -> Result<Taken, sqlx::Error> {
        let place = spares.place().await;
        let (connection, taken) = match spares.take() {
            Some(kept) => kept,
            None => (self.pool.acquire().await?, Instant::now()),
        };
        let at_hand = place.map(|place| AtHand {
            spares: Arc::clone(spares),
            taken,
            place,
        });
        Ok((connection, at_hand))
    }

    /// A connection beside the pool. Where the server refuses it, it says so at once; the pool
    /// would go on trying, and not say why in the end.
    pub(super) async fn connection_apart(&self, timeout: Duration) -> Result<PgConnection, Fault> {
        if self.pool_is_callers() || self.pool.is_closed() {
            // A caller's pool may do more to its connections than connect.
            return self.taken_out(timeout).await;
        }
        let options = self.pool.connect_options();
        match tokio::time::timeout(timeout, PgConnection::connect_with(&options)).await {
            Ok(connected) => connected.map_err(Fault::of_connecting),
            Err(_) => Err(Fault::silence(false)),
        }
    }

    /// A connection that the pool no longer counts among its own.
    async fn taken_out(&self, timeout: Duration) -> Result<PgConnection, Fault> {
        let mut connection = self.pool.acquire().await.map_err(Fault::of_connecting)?;
        match tokio::time::timeout(timeout, at_disposal(&mut connection)).await {
            Ok(Ok(())) => Ok(connection.detach()),
            Ok(Err(Unfit::Fault(fault))) => Err(fault),
            Ok(Err(Unfit::Dead)) | Err(_) => {
                connection.close_on_drop();
                Err(Fault::silence(false))
            }
        }
    }

    /// Whether the pool is the caller's, who may do other things with its connections.
    pub(super) fn pool_is_callers(&self) -> bool {
        self.spares.is_none()
    }

    pub(super) fn schema(&self) -> Option<&str> {
        self.schema.as_deref()
    }

    /// Where the extension pgvector lay when it was looked for last.
    pub(super) fn extension(&self) -> &ExtensionSchema {
        &self.extension
    }

    /// How long an operation may take before it makes no further attempt.
    pub(super) fn patience(&self) -> Duration {
        self.pool.options().get_acquire_timeout()
    }

    /// Work on a connection, given up where the server doesn't answer. The server's own time-outs
    /// end statements that take too long; this is for a server or network that went silent.
    pub(super) async fn limited<T>(&self, work: impl Future<Output = T>) -> Result<T, Elapsed> {
        tokio::time::timeout(self.answer_timeout, work).await
    }

    pub(super) fn connections_max(&self) -> u32 {
        self.pool.options().get_max_connections()
    }

    /// What it means that a table isn't there.
    pub(super) async fn explain_missing(&self) -> StoreError {
        match self.check().await {
            Ok(()) => StoreError::Unexpected(
                "a table or column is missing although all migrations were applied".to_owned(),
            ),
            Err(error) => error,
        }
    }

    /// The newest migration that was applied; 0 where there is none.
    async fn newest_migration(&self) -> Result<i64, StoreError> {
        let found = async {
            let mut connection = self.connection_apart(self.patience()).await?;
            let query = sqlx::query_scalar(NEWEST_MIGRATION).fetch_one(&mut connection);
            let found: Option<i64> = match self.limited(query).await {
                Ok(answer) => answer?,
                Err(_) => return Err(Fault::silence(false)),
            };
            // What was asked is answered; how the connection ends changes nothing.
            let _ = self.limited(connection.close()).await;
            Ok(found.unwrap_or(0))
        };
        match found.await {
            Ok(found) => Ok(found),
            Err(Fault::Missing) => Ok(0),
            Err(fault) => Err(settled(fault)),
        }
    }
}

impl fmt::Debug for PostgresStore {
    /// Leaves out how to connect, which holds a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresStore")
            .field("schema", &self.schema)
            .field("connections", &self.pool.size())
            .finish_non_exhaustive()
    }
}
