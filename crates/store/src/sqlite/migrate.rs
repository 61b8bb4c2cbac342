//! What a file has to be: a database of this program, with all migrations, that logs ahead.

use std::path::Path;

use sqlx::{
    Connection as _, SqliteConnection,
    migrate::{AppliedMigration, Migrate as _, MigrateError, Migration, Migrator},
};

use super::{fault::Fault, file::unusable, mutation::LOCK_NOTE};
use crate::StoreError;

static MIGRATIONS: Migrator = sqlx::migrate!("../../migrations/sqlite");

/// The table that says which migrations were applied.
const MIGRATIONS_TABLE: &str = "notekeeper_migrations";

/// Stands in the header of the file; the first migration puts it there.
const APPLICATION_ID: i64 = 0x4e74_6b70;

const NEWEST_MIGRATION: &str = include_str!("sql/newest_migration.sql");

/// Applies what is missing, in one transaction. A file that isn't this program's, or is a newer
/// one's, is left as it is.
///
/// Only this refuses a newer file, so programs that run already go on while another migrates it.
pub(super) async fn migrate(connection: &mut SqliteConnection, path: &Path) -> Result<(), Fault> {
    let up_to_date = lacking(connection, path).await?.is_empty();
    log_ahead(connection, path).await?;
    if up_to_date {
        return Ok(());
    }
    let mut transaction = connection.begin_with(LOCK_NOTE).await?;
    // Another process may have been faster.
    let lacking = lacking(&mut transaction, path).await?;
    if !lacking.is_empty() {
        let table = transaction.ensure_migrations_table(MIGRATIONS_TABLE).await;
        table.map_err(of_migration)?;
    }
    for migration in lacking {
        let applied = transaction.apply(MIGRATIONS_TABLE, migration).await;
        applied.map_err(of_migration)?;
    }
    transaction.commit().await?;
    Ok(())
}

/// The migrations that the file lacks, in order; all of them where it is empty.
async fn lacking(
    connection: &mut SqliteConnection,
    path: &Path,
) -> Result<Vec<&'static Migration>, Fault> {
    if !is_ours(connection, path).await? {
        return Ok(MIGRATIONS.iter().collect());
    }
    let found: Option<i64> = sqlx::query_scalar(NEWEST_MIGRATION)
        .fetch_one(&mut *connection)
        .await?;
    let (found, known) = (found.unwrap_or(0), newest_known_migration());
    if found > known {
        return Err(Fault::Lasting(StoreError::TooNew { found, known }));
    }
    let applied = connection
        .list_applied_migrations(MIGRATIONS_TABLE)
        .await
        .map_err(of_migration)?;
    let mut lacking = Vec::new();
    for migration in MIGRATIONS.iter() {
        if !is_applied(migration, &applied)? {
            lacking.push(migration);
        }
    }
    Ok(lacking)
}

fn is_applied(migration: &Migration, applied: &[AppliedMigration]) -> Result<bool, Fault> {
    match applied.iter().find(|a| a.version == migration.version) {
        None => Ok(false),
        Some(applied) if applied.checksum == migration.checksum => Ok(true),
        Some(_) => Err(Fault::Lasting(StoreError::Unexpected(format!(
            "migration {} was applied in another form than this program has",
            migration.version
        )))),
    }
}

/// Whether the file is a store already; `false` where nothing is in it yet.
async fn is_ours(connection: &mut SqliteConnection, path: &Path) -> Result<bool, Fault> {
    let (id, objects): (i64, i64) = sqlx::query_as(
        "select application_id, (select count(*) from sqlite_schema) from pragma_application_id",
    )
    .fetch_one(connection)
    .await?;
    match (id, objects) {
        (APPLICATION_ID, 1..) => Ok(true),
        (0, 0) => Ok(false),
        _ => Err(Fault::Lasting(unusable(
            path,
            "is another program's database; name another file, which is made where it is missing",
        ))),
    }
}

/// Lets readers and the writer work at the same time. The file keeps the setting.
async fn log_ahead(connection: &mut SqliteConnection, path: &Path) -> Result<(), Fault> {
    let mode: String = sqlx::query_scalar("pragma journal_mode = wal")
        .fetch_one(connection)
        .await?;
    if mode == "wal" {
        return Ok(());
    }
    Err(Fault::Lasting(unusable(
        path,
        "is on a file system that shares no memory between processes; name a file on a local disk",
    )))
}

fn newest_known_migration() -> i64 {
    let numbers = MIGRATIONS.iter().map(|migration| migration.version);
    numbers.max().unwrap_or(0)
}

fn of_migration(error: MigrateError) -> Fault {
    match error {
        MigrateError::Execute(error) => error.into(),
        MigrateError::ExecuteMigration(error, version) => match error.into() {
            Fault::Lasting(StoreError::Unexpected(reason)) => Fault::Lasting(
                StoreError::Unexpected(format!("migration {version} failed: {reason}")),
            ),
            fault => fault,
        },
        _ => Fault::Lasting(StoreError::Unexpected(
            "the migrations can't be run".to_owned(),
        )),
    }
}
