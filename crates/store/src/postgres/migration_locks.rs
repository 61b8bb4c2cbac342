//! What migrations wait for, and what waits for them.
//!
//! Whoever waits for a lock on a table keeps all who come later from it, readers as well. So a migration
//! waits for one no longer than others can bear, lets them pass, and tries again. Indexes over all rows
//! are built beside the work of others, by migrations without a transaction. Such a build waits for
//! every statement that began before it, so nobody here may lie in wait for the end of a run with one.

use std::time::Duration;

use sqlx::{
    AssertSqlSafe, Executor as _, PgConnection,
    migrate::{Migrate as _, MigrateError, Migration},
};

use super::fault::Fault;

/// Longest wait of a migration for a lock on a table.
const LOCK_WAIT: &str = "set lock_timeout = '2s'";

/// Times that a migration tries to get its locks: with pauses, a minute and a half.
const LOCK_ATTEMPTS_MAX: u32 = 30;

/// Pause between two of them, in which others pass.
const LOCK_PAUSE: Duration = Duration::from_secs(1);

/// Hardly a wait for another run: one that ends within it can't be waited for in return.
const RUN_WAIT: &str = "set lock_timeout = '10ms'";

/// Pause between two questions whether another run is over.
const RUN_PAUSE: Duration = Duration::from_millis(50);

const NO_LIMIT: &str = "set lock_timeout = 0";

/// Indexes that migrations build beside the work of others.
const BUILT_BESIDE: &[&str] = &["receipts_by_order"];

const FIND_UNFINISHED: &str = "select quote_ident(index.relname) \
     from pg_catalog.pg_index as entry \
     join pg_catalog.pg_class as index on index.oid = entry.indexrelid \
     join pg_catalog.pg_namespace as schema on schema.oid = index.relnamespace \
     where not entry.indisvalid and index.relname = any($1) and schema.nspname = current_schema()";

/// Waits until no other run is under way, and keeps others from beginning.
pub(super) async fn lock_run(connection: &mut PgConnection) -> Result<(), MigrateError> {
    connection.execute(RUN_WAIT).await?;
    loop {
        match connection.lock().await {
            Err(MigrateError::Execute(error)) if is_lock_wait(&error) => {
                tokio::time::sleep(RUN_PAUSE).await;
            }
            locked => {
                locked?;
                connection.execute(NO_LIMIT).await?;
                return Ok(());
            }
        }
    }
}

/// Applies a migration. `false`: it didn't get its locks on tables, and nothing was done.
pub(super) async fn apply(
    connection: &mut PgConnection,
    table: &'static str,
    migration: &Migration,
) -> Result<bool, MigrateError> {
    for attempt in 1..=LOCK_ATTEMPTS_MAX {
        if migration.no_tx {
            drop_unfinished(connection).await?;
        } else {
            connection.execute(LOCK_WAIT).await?;
        }
        let applied = connection.apply(table, migration).await;
        connection.execute(NO_LIMIT).await?;
        match applied {
            Err(MigrateError::ExecuteMigration(error, _)) if is_of_locks(&error) => {
                if attempt == LOCK_ATTEMPTS_MAX {
                    break;
                }
                if let_others_pass(connection, table, migration).await? {
                    return Ok(true);
                }
            }
            applied => return applied.map(|_| true),
        }
    }
    Ok(false)
}

/// Lets others have what this run is in the way of, be it their own run. Whether they applied the
/// migration meanwhile.
async fn let_others_pass(
    connection: &mut PgConnection,
    table: &'static str,
    migration: &Migration,
) -> Result<bool, MigrateError> {
    connection.unlock().await?;
    tokio::time::sleep(LOCK_PAUSE).await;
    lock_run(connection).await?;
    let applied = connection.list_applied_migrations(table).await?;
    let mut applied = applied.iter().map(|applied| applied.version);
    Ok(applied.any(|version| version == migration.version))
}

/// Drops what a build left that was given up: nobody can use it, and all who write pay for it.
async fn drop_unfinished(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    let unfinished: Vec<String> = sqlx::query_scalar(FIND_UNFINISHED)
        .bind(BUILT_BESIDE)
        .fetch_all(&mut *connection)
        .await?;
    for index in unfinished {
        // The database quotes its names.
        let drop = AssertSqlSafe(format!("drop index concurrently {index}"));
        connection.execute(drop).await?;
    }
    Ok(())
}

/// Whether others were in the way: for too long, or because they wait for this as well, as runs of
/// other programs do that lie in wait for the end of this one.
fn is_of_locks(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(|error| error.code());
    is_lock_wait(error) || code.as_deref() == Some("40P01")
}

fn is_lock_wait(error: &sqlx::Error) -> bool {
    let error = error.as_database_error();
    error.is_some_and(|error| error.code().as_deref() == Some(Fault::LOCK_WAIT))
}
