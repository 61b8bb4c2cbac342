//! What keeps the notes, and how it goes away for the replay.

use std::{
    ffi::OsString,
    io::ErrorKind,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Arc,
};

use anyhow::{Context as _, bail};
use notekeeper_contract::DEFAULT_STORE;
use notekeeper_store::{PostgresOptions, PostgresStore, SqliteOptions, SqliteStore, Store};
use sqlx::{Connection as _, PgConnection};

use crate::{
    arguments::DatabaseArgs,
    commands::demo::DemoArgs,
    config::{File, StoreConfig},
};

/// Exit code of `stop-postgres` for a database that was given to us.
const NOT_OURS: i32 = 3;

/// The database of a demonstration.
pub(super) enum Database {
    /// A file in the demonstration's directory.
    Sqlite { store: SqliteStore, path: PathBuf },
    /// A schema of the demonstration's own.
    Postgres {
        store: PostgresStore,
        options: PostgresOptions,
        stopped: bool,
    },
}

/// What became of the database before the replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Gone {
    /// Its file is somewhere else.
    MovedAway,
    /// Its server is stopped.
    Stopped,
    /// It isn't ours to stop: it goes on.
    NotOurs,
}

impl Database {
    /// A file in this directory.
    pub(super) async fn sqlite(directory: &Path) -> anyhow::Result<Self> {
        let path = directory.join("notes.sqlite");
        let store = SqliteStore::open(&SqliteOptions::new(&path)).await?;
        Ok(Self::Sqlite { store, path })
    }

    /// A schema in the database that is named. Nothing is asked of it yet.
    pub(super) fn postgres(file: &File, args: &DemoArgs, unique: &str) -> anyhow::Result<Self> {
        let url = DatabaseArgs {
            database_url: args.database_url.clone(),
            ..DatabaseArgs::default()
        };
        let Some(StoreConfig::Postgres(mut options)) = file.stores(&url)?.remove(DEFAULT_STORE)
        else {
            bail!("with --store postgres the demonstration needs a database: set DATABASE_URL");
        };
        options.schema = format!("notekeeper_demo_{unique}");
        Ok(Self::Postgres {
            store: PostgresStore::connect_lazy(&options)?,
            options,
            stopped: false,
        })
    }

    /// As the report names it.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Sqlite { .. } => "an SQLite file",
            Self::Postgres { .. } => "PostgreSQL, in a schema of its own",
        }
    }

    pub(super) fn store(&self) -> Arc<dyn Store> {
        match self {
            Self::Sqlite { store, .. } => Arc::new(store.clone()),
            Self::Postgres { store, .. } => Arc::new(store.clone()),
        }
    }

    /// Makes what has to be cleared afterwards.
    pub(super) async fn prepare(&self) -> anyhow::Result<()> {
        if let Self::Postgres { store, .. } = self {
            store.migrate().await.context(
                "the database can't be used; `make demo STORE=postgres` starts one where \
                 DATABASE_URL is not set",
            )?;
        }
        Ok(())
    }

    /// Variables that lead a worker to it.
    pub(super) fn variables(&self) -> Vec<(&'static str, OsString)> {
        match self {
            Self::Sqlite { path, .. } => vec![("NOTEKEEPER_SQLITE", path.into())],
            Self::Postgres { options, .. } => vec![
                ("DATABASE_URL", (&options.url).into()),
                ("NOTEKEEPER_SCHEMA", (&options.schema).into()),
            ],
        }
    }

    /// Takes it away. A database that is ours and can't be taken away is an error: the replay would
    /// prove nothing.
    pub(super) async fn take_away(&mut self) -> anyhow::Result<Gone> {
        match self {
            Self::Sqlite { store, path } => {
                store.close().await;
                move_away(path).with_context(|| format!("can't move `{}` away", path.display()))?;
                Ok(Gone::MovedAway)
            }
            Self::Postgres { stopped, .. } => {
                let services = std::env::var_os("NOTEKEEPER_SERVICES").map(PathBuf::from);
                *stopped = stop_database(services.as_deref())?;
                Ok(if *stopped {
                    Gone::Stopped
                } else {
                    Gone::NotOurs
                })
            }
        }
    }

    /// Leaves nothing of the demonstration in it.
    pub(super) async fn clear(&self) {
        match self {
            Self::Sqlite { store, .. } => store.close().await,
            Self::Postgres { stopped: true, .. } => {}
            Self::Postgres { options, .. } => {
                if let Err(error) = drop_schema(options).await {
                    println!(
                        "The schema `{}` is left in the database: {error}",
                        options.schema
                    );
                }
            }
        }
    }
}

/// Moves a file of SQLite's away, with what SQLite keeps beside it: killed workers leave that.
fn move_away(path: &Path) -> std::io::Result<()> {
    for suffix in ["", "-wal", "-shm"] {
        let mut from = path.as_os_str().to_owned();
        from.push(suffix);
        let mut to = from.clone();
        to.push(".away");
        match std::fs::rename(&from, &to) {
            Err(error) if suffix.is_empty() || error.kind() != ErrorKind::NotFound => {
                return Err(error);
            }
            _ => {}
        }
    }
    Ok(())
}

/// Stops the database where it was started for us, by the programs in the directory `services`;
/// says whether it was. Anything else is an error: the replay would prove nothing.
fn stop_database(services: Option<&Path>) -> anyhow::Result<bool> {
    let Some(services) = services else {
        return Ok(false);
    };
    let status = Command::new(services.join("stop-postgres"))
        .stdout(Stdio::null())
        .status()
        .context("can't stop the database")?;
    match status.code() {
        Some(0) => Ok(true),
        Some(NOT_OURS) => Ok(false),
        _ => {
            bail!("the database can't be stopped for the replay: stop-postgres ended with {status}")
        }
    }
}

/// Drops the demonstration's own schema.
async fn drop_schema(database: &PostgresOptions) -> Result<(), sqlx::Error> {
    let mut connection = PgConnection::connect(&database.url).await?;
    // The name was made here, of letters, digits and `_`.
    let statement = format!("drop schema if exists \"{}\" cascade", database.schema);
    sqlx::raw_sql(sqlx::AssertSqlSafe(statement))
        .execute(&mut connection)
        .await?;
    connection.close().await
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// What comes of a `stop-postgres` that ends with this exit code.
    fn stopped_with(code: i32) -> anyhow::Result<bool> {
        let services = tempfile::tempdir().expect("a directory");
        let program = services.path().join("stop-postgres");
        // In place before it is run, and never open for writing in this process.
        let staged = services.path().join("staged");
        std::fs::write(&staged, format!("#!/bin/sh\nexit {code}\n")).expect("a file");
        std::fs::set_permissions(&staged, std::fs::Permissions::from_mode(0o755)).expect("a mode");
        let copied = Command::new("cp")
            .args(["-p"])
            .arg(&staged)
            .arg(&program)
            .status();
        assert!(copied.expect("run cp").success());
        stop_database(Some(services.path()))
    }

    #[test]
    fn only_a_database_that_is_not_ours_may_go_on_during_the_replay() {
        assert!(stopped_with(0).expect("stopped"));
        assert!(!stopped_with(3).expect("not ours"));
        assert!(!stop_database(None).expect("nobody to ask"));
        for code in [1, 2, 127] {
            let said = stopped_with(code).expect_err("not stopped").to_string();
            assert!(said.contains("can't be stopped"), "{said}");
        }
        let nowhere = Path::new("/nowhere");
        assert!(stop_database(Some(nowhere)).is_err());
    }
}
