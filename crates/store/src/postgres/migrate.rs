//! Migrations: run on request only, never in passing.

use sqlx::{
    AssertSqlSafe, Connection, Executor, PgConnection,
    migrate::{Migrate, MigrateError, Migrator},
};

use super::{
    extension::provide_extension,
    fault::Fault,
    migration_locks::{apply, lock_run},
    store::PostgresStore,
};
use crate::StoreError;

static MIGRATIONS: Migrator = sqlx::migrate!("../../migrations/postgres");

/// The table that says which migrations were applied. It has a name of its own, so that it can
/// share a schema with the tables of another program.
const MIGRATIONS_TABLE: &str = "notekeeper_migrations";

/// What a migration run did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MigrationReport {
    /// Newest migration before the run; 0 where there was none.
    pub before: i64,
    /// Numbers and names of the migrations that this run applied, in order. Empty where there was
    /// nothing to do.
    pub applied: Vec<(i64, String)>,
    /// What the run couldn't do, and all but one thing works without: a sentence each, with what to do
    /// about it.
    pub notices: Vec<String>,
}

/// The newest migration that this program knows.
pub(super) fn newest_known_migration() -> i64 {
    MIGRATIONS
        .iter()
        .map(|migration| migration.version)
        .max()
        .unwrap_or(0)
}

impl PostgresStore {
    /// Applies the migrations that the database lacks, and creates the schema where it is missing. Runs
    /// at the same time wait for each other. Each is a transaction of its own; but where an index over
    /// many rows is all that one brings, it is built beside the work of others. A migration that needs a
    /// table for itself waits for it no longer than two seconds at once, so that those who come after it
    /// don't stand still, and tries again for a minute and a half.
    ///
    /// Creates the extension pgvector as well, in the schema `public`, where the database lacks it, the
    /// server has it and the role may; otherwise [`MigrationReport::notices`] says so.
    ///
    /// Over a caller's pool ([`PostgresStore::with_pool`]) the tables are made in the first
    /// schema of the `search_path`, which must exist.
    ///
    /// # Errors
    ///
    /// [`StoreError::TooNew`] where the database has migrations that this program doesn't know;
    /// [`StoreError::Unexpected`] where an applied migration differs from the one known, or the
    /// role lacks a privilege; [`StoreError::Unavailable`], also where transactions of others kept a table
    /// all that time. A server that is silent from the
    /// start is given up; once the run has begun, it takes as long as it takes.
    pub async fn migrate(&self) -> Result<MigrationReport, StoreError> {
        // Apart from the pool: it gets settings that no operation should inherit, and closing it
        // gives the lock back whatever happens.
        let connected = self.connection_apart(self.patience()).await;
        let mut connection = connected.map_err(settled)?;
        let prepared = self.limited(prepare(&mut connection)).await;
        prepared.unwrap_or_else(|_| Err(settled(Fault::silence(false))))?;
        let report = migrate(&mut connection, self.schema()).await;
        // The run is over; how the connection ends changes nothing.
        let _ = self.limited(connection.close()).await;
        report
    }
}

async fn prepare(connection: &mut PgConnection) -> Result<(), StoreError> {
    check_encoding(connection).await?;
    // Waiting for another run, or building an index, may take its time.
    connection
        .execute("set statement_timeout = 0")
        .await
        .map_err(|e| settled(e.into()))?;
    Ok(())
}

async fn migrate(
    connection: &mut PgConnection,
    schema: Option<&str>,
) -> Result<MigrationReport, StoreError> {
    lock_run(connection).await.map_err(of_migration)?;
    if let Some(schema) = schema {
        create_schema(connection, schema).await.map_err(settled)?;
    }
    connection
        .ensure_migrations_table(MIGRATIONS_TABLE)
        .await
        .map_err(of_migration)?;
    let applied_before = connection
        .list_applied_migrations(MIGRATIONS_TABLE)
        .await
        .map_err(of_migration)?;
    let before = applied_before
        .last()
        .map_or(0, |migration| migration.version);
    if before > newest_known_migration() {
        return Err(StoreError::TooNew {
            found: before,
            known: newest_known_migration(),
        });
    }
    let mut applied = Vec::new();
    for migration in MIGRATIONS.iter() {
        match applied_before
            .iter()
            .find(|before| before.version == migration.version)
        {
            Some(before) if before.checksum == migration.checksum => {}
            Some(_) => {
                return Err(StoreError::Unexpected(format!(
                    "migration {} was applied in another form than this program has",
                    migration.version
                )));
            }
            None => {
                let got_locks = apply(connection, MIGRATIONS_TABLE, migration).await;
                if !got_locks.map_err(of_migration)? {
                    return Err(no_locks(migration.version));
                }
                applied.push((migration.version, migration.description.to_string()));
            }
        }
    }
    let notice = provide_extension(connection).await.map_err(settled)?;
    connection.unlock().await.map_err(of_migration)?;
    Ok(MigrationReport {
        before,
        applied,
        notices: notice.into_iter().collect(),
    })
}

/// Lengths are counted in characters, and texts hold any of them: only UTF-8 will do.
async fn check_encoding(connection: &mut PgConnection) -> Result<(), StoreError> {
    let encoding: String = sqlx::query_scalar("select current_setting('server_encoding')")
        .fetch_one(connection)
        .await
        .map_err(|e| settled(e.into()))?;
    if encoding == "UTF8" {
        return Ok(());
    }
    Err(StoreError::Unexpected(format!(
        "the database has encoding {encoding}; create it with encoding UTF8"
    )))
}

/// Creates the schema, but only where it is missing: PostgreSQL asks for the privilege to create
/// schemas even where there is nothing to do.
async fn create_schema(connection: &mut PgConnection, schema: &str) -> Result<(), Fault> {
    let exists: bool =
        sqlx::query_scalar("select exists (select from pg_namespace where nspname = $1)")
            .bind(schema)
            .fetch_one(&mut *connection)
            .await?;
    if !exists {
        // Options accept names only that need no escaping.
        connection
            .execute(AssertSqlSafe(format!("create schema \"{schema}\"")))
            .await?;
    }
    Ok(())
}

/// A migration that others left no moment.
fn no_locks(version: i64) -> StoreError {
    StoreError::Unavailable(format!(
        "migration {version} found no moment in which no transaction used its tables; end those that \
         last long, then run `notekeeper migrate` again"
    ))
}

fn of_migration(error: MigrateError) -> StoreError {
    match error {
        MigrateError::Execute(error) => settled(error.into()),
        MigrateError::ExecuteMigration(error, version) => match settled(error.into()) {
            StoreError::Unexpected(reason) => {
                StoreError::Unexpected(format!("migration {version} failed: {reason}"))
            }
            error => error,
        },
        _ => StoreError::Unexpected("the migrations can't be run".to_owned()),
    }
}

/// A fault of something that isn't attempted again.
pub(super) fn settled(fault: Fault) -> StoreError {
    match fault {
        Fault::Passing { reason, .. } => StoreError::Unavailable(reason.into_owned()),
        Fault::ReadOnlyServer => StoreError::Unavailable("the server is read-only".to_owned()),
        Fault::Missing | Fault::ReceiptTaken => {
            StoreError::Unexpected("the database isn't as the migrations expect it".to_owned())
        }
        Fault::Lasting(error) => error,
    }
}
