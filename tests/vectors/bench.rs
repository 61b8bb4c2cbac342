//! The stores that cases run on.

use std::{fmt, path::Path, sync::Arc};

use anyhow::{Context as _, Result};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use notekeeper_activities::{Notebook, Stores};
use notekeeper_contract::DEFAULT_STORE;
use notekeeper_domain::{NoteName, Scope};
use notekeeper_store::{
    Expected, FileOptions, FileStore, InMemoryStore, MutationError, PostgresOptions, PostgresStore,
    SqliteOptions, SqliteStore, Store, StoreError, WriteRequest, conformance::MinimalStore,
};
use serde_json::Value;
use sqlx::{
    AssertSqlSafe, Connection as _, Executor as _, PgConnection, SqliteConnection,
    sqlite::SqliteConnectOptions,
};
use tempfile::TempDir;

use crate::{case::Stop, strings::is_unencodable, topics::script::Notes};

/// Writes before a case, so that no version that a case spells out can be a current one.
const WARM_UP_WRITES: usize = 100;

/// Seeds that are written at a time.
const SEEDS_AT_A_TIME: usize = 8;

/// More characters than any note of a case has.
pub(crate) const CHARS_MAX: usize = 10_000_000;

/// The journal of a store of files, in its root.
pub(crate) const JOURNAL: &str = ".memory-store.sqlite3";

/// A kind of store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum StoreKind {
    InMemory,
    Sqlite,
    Postgres,
    File,
}

impl StoreKind {
    /// Every kind.
    pub(crate) const ALL: [Self; 4] = [Self::InMemory, Self::Sqlite, Self::Postgres, Self::File];

    /// The name that cases give to the peer's store of this kind.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::InMemory => "in_memory",
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
            Self::File => "file",
        }
    }
}

impl fmt::Display for StoreKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A store with nothing in it, and a notebook over it.
#[derive(Debug, Clone)]
pub(crate) struct Bench {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) notebook: Notebook,
}

impl Bench {
    /// A store as it is.
    pub(crate) fn new(store: Arc<dyn Store>) -> Self {
        let stores = [(DEFAULT_STORE.to_owned(), Arc::clone(&store))];
        Self {
            store,
            notebook: Notebook::new(Stores::new(stores)),
        }
    }

    async fn over(store: Arc<dyn Store>) -> Result<Self> {
        let bench = Self::new(store);
        bench.warm_up().await?;
        Ok(bench)
    }

    /// A fresh store in memory.
    pub(crate) async fn in_memory() -> Result<Self> {
        Self::over(Arc::new(InMemoryStore::default())).await
    }

    /// A store of files in this directory, which keeps no metadata.
    pub(crate) async fn of_files(directory: &Path) -> Result<Self> {
        let options = FileOptions::new(directory.join("notes"));
        Self::over(Arc::new(FileStore::open(options).await?)).await
    }

    /// A fresh store that has only what a store must have.
    pub(crate) async fn minimal() -> Result<Self> {
        Self::over(Arc::new(MinimalStore::default())).await
    }

    async fn warm_up(&self) -> Result<()> {
        let scope = Scope::parse("warm/up")?;
        let name = NoteName::main();
        for _ in 0..WARM_UP_WRITES {
            self.store
                .write(&scope, &name, &WriteRequest::new("", &Expected::Any), None)
                .await?;
        }
        self.store
            .delete(&scope, &name, &Expected::Any, None)
            .await?;
        Ok(())
    }

    /// Puts notes into the store.
    pub(crate) async fn seed<'a>(
        &self,
        notes: impl IntoIterator<Item = (&'a str, &'a Value)>,
    ) -> Result<(), Stop> {
        stream::iter(notes)
            .map(|(path, text)| self.seed_one(path, text))
            .buffer_unordered(SEEDS_AT_A_TIME)
            .try_collect()
            .await
    }

    async fn seed_one(&self, path: &str, text: &Value) -> Result<(), Stop> {
        if is_unencodable(text) {
            return Err(Stop::Unencodable(text.clone()));
        }
        let text = text
            .as_str()
            .ok_or_else(|| Stop::NotUnderstood(format!("the note `{path}` is no text")))?;
        let (scope, name) = address(path)
            .ok_or_else(|| Stop::NotUnderstood(format!("`{path}` names no note of a scope")))?;
        match self
            .store
            .write(
                &scope,
                &name,
                &WriteRequest::new(text, &Expected::Absent),
                None,
            )
            .await
        {
            Ok(_) => Ok(()),
            Err(MutationError::Store(StoreError::InvalidValue { .. })) if text.contains('\0') => {
                Err(Stop::SeedRefused("nul"))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// All notes of some scopes, by storage path.
    pub(crate) async fn notes(&self, scopes: &[Scope]) -> Result<Notes> {
        let mut notes = Notes::new();
        for scope in scopes {
            for name in self.store.names(scope, CHARS_MAX).await?.names {
                let part = self.store.read(scope, &name, CHARS_MAX).await?;
                let content = part.context("a listed note is gone")?.content;
                notes.insert(scope.key(&name), Value::String(content));
            }
        }
        Ok(notes)
    }
}

/// Scope and name of a storage path.
pub(crate) fn address(path: &str) -> Option<(Scope, NoteName)> {
    let (scope, name) = path.rsplit_once('/')?;
    Some((Scope::parse(scope).ok()?, NoteName::parse(name).ok()?))
}

/// Stores of every kind, to be used one case after the other.
#[derive(Debug)]
pub(crate) struct Benches {
    file: DatabaseFile,
    database: Database,
    directory: Directory,
}

impl Benches {
    /// Makes the databases.
    pub(crate) async fn create() -> Result<Self> {
        Ok(Self {
            file: DatabaseFile::create().await?,
            database: Database::create().await?,
            directory: Directory::create().await?,
        })
    }

    /// A store with nothing in it.
    pub(crate) async fn empty(&mut self, kind: StoreKind) -> Result<Bench> {
        match kind {
            StoreKind::InMemory => Bench::in_memory().await,
            StoreKind::Sqlite => self.file.emptied().await,
            StoreKind::Postgres => self.database.emptied().await,
            StoreKind::File => self.directory.emptied().await,
        }
    }
}

/// An SQLite file in a directory of its own, which goes with this value.
#[derive(Debug)]
struct DatabaseFile {
    bench: Bench,
    behind: SqliteConnection,
    _directory: TempDir,
}

impl DatabaseFile {
    async fn create() -> Result<Self> {
        let directory = tempfile::tempdir()?;
        let path = directory.path().join("vectors.db");
        let store = SqliteStore::open(&SqliteOptions::new(&path)).await?;
        let options = SqliteConnectOptions::new().filename(&path);
        Ok(Self {
            bench: Bench::over(Arc::new(store)).await?,
            behind: SqliteConnection::connect_with(&options).await?,
            _directory: directory,
        })
    }

    /// The store, emptied. Its versions go on.
    async fn emptied(&mut self) -> Result<Bench> {
        for empty in [
            "delete from notes",
            "delete from receipts",
            "delete from snapshots",
        ] {
            self.behind.execute(empty).await?;
        }
        Ok(self.bench.clone())
    }
}

/// Where it can be, it is in memory: each of thousands of writes waits for the disk several times.
pub(crate) fn directory_in_memory() -> Result<TempDir> {
    Ok(tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir())?)
}

/// A directory of notes, which goes with this value.
#[derive(Debug)]
struct Directory {
    bench: Bench,
    behind: SqliteConnection,
    directory: TempDir,
}

impl Directory {
    async fn create() -> Result<Self> {
        let directory = directory_in_memory()?;
        let store = FileStore::open(FileOptions::new(directory.path())).await?;
        let journal = directory.path().join(JOURNAL);
        let options = SqliteConnectOptions::new().filename(journal);
        Ok(Self {
            bench: Bench::over(Arc::new(store)).await?,
            behind: SqliteConnection::connect_with(&options).await?,
            directory,
        })
    }

    /// The store, emptied.
    async fn emptied(&mut self) -> Result<Bench> {
        for entry in std::fs::read_dir(self.directory.path())? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                std::fs::remove_dir_all(entry.path())?;
            }
        }
        for empty in [
            "delete from records",
            "delete from receipts",
            "delete from snapshots",
        ] {
            self.behind.execute(empty).await?;
        }
        Ok(self.bench.clone())
    }
}

/// A schema of its own in the database that `DATABASE_URL` names. It is dropped with this value.
#[derive(Debug)]
struct Database {
    options: PostgresOptions,
    bench: Bench,
    behind: PgConnection,
}

impl Database {
    /// Makes the schema, migrates it and connects to it.
    async fn create() -> Result<Self> {
        let url = std::env::var("DATABASE_URL").context(
            "DATABASE_URL isn't set: these cases need a PostgreSQL database that they may create \
             schemas in, such as postgres://user@127.0.0.1:5432/postgres; `make vectors` starts \
             one and sets it",
        )?;
        let mut options = PostgresOptions::new(url);
        options.schema = format!("nk_vectors_{:016x}", rand::random::<u64>());
        options.connections_max = 16;
        let behind = PgConnection::connect(&options.url)
            .await
            .context("the database that DATABASE_URL names can't be reached")?;
        let store = PostgresStore::connect_lazy(&options)?;
        store.migrate().await?;
        let bench = Bench::over(Arc::new(store)).await?;
        Ok(Self {
            options,
            bench,
            behind,
        })
    }

    /// The store, emptied. Its versions go on.
    async fn emptied(&mut self) -> Result<Bench> {
        let schema = &self.options.schema;
        let tables: Vec<String> = sqlx::query_scalar(
            "select format('%I.%I', schemaname, tablename) from pg_tables \
             where schemaname = $1 and tablename not like '%migrations'",
        )
        .bind(schema)
        .fetch_all(&mut self.behind)
        .await?;
        let empty = format!("truncate {}", tables.join(", "));
        self.behind.execute(AssertSqlSafe(empty)).await?;
        Ok(self.bench.clone())
    }
}

impl Drop for Database {
    /// On a thread of its own, because this value is dropped inside of a runtime.
    fn drop(&mut self) {
        let url = self.options.url.clone();
        let drop_schema = format!("drop schema if exists \"{}\" cascade", self.options.schema);
        let dropping = std::thread::spawn(move || -> Result<()> {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?;
            runtime.block_on(async {
                let mut connection = PgConnection::connect(&url).await?;
                connection.execute(AssertSqlSafe(drop_schema)).await?;
                Ok(())
            })
        });
        if !matches!(dropping.join(), Ok(Ok(()))) {
            eprintln!("the schema {} could not be dropped", self.options.schema);
        }
    }
}
