//! A store of each kind, new for each test.

use std::{fmt::Debug, sync::Arc, time::Duration};

use notekeeper_models::HashingEmbedder;
use notekeeper_recall::{FactsSource, FileSource, OpenStores, Source, VectorSource};
use notekeeper_store::{
    FileOptions, FileStore, InMemoryStore, PostgresOptions, PostgresStore, SqliteOptions,
    SqliteStore, Store,
};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection};
use tempfile::TempDir;

use crate::fixture::opening;

/// Longest that a store waits for others: a busy machine is no fault.
const PATIENCE: Duration = Duration::from_secs(20);

/// A store, and what goes with it.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) store: Arc<dyn Store>,
    _place: Box<dyn Debug + Send>,
}

impl Kept {
    fn new(store: impl Store + 'static, place: impl Debug + Send + 'static) -> Self {
        Self {
            store: Arc::new(store),
            _place: Box::new(place),
        }
    }

    pub(crate) async fn in_memory() -> Self {
        Self::new(InMemoryStore::default(), ())
    }

    pub(crate) async fn sqlite() -> Self {
        let directory = directory();
        let mut options = SqliteOptions::new(directory.path().join("notes.db"));
        options.busy_timeout = PATIENCE;
        Self::new(SqliteStore::open(&options).await.expect("open"), directory)
    }

    pub(crate) async fn files() -> Self {
        let directory = directory();
        let mut options = FileOptions::new(directory.path().join("notes"));
        options.busy_timeout = PATIENCE;
        Self::new(FileStore::open(options).await.expect("open"), directory)
    }

    pub(crate) async fn postgres() -> Self {
        let schema = Schema(format!("nk_test_{:016x}", rand::random::<u64>()));
        let mut options = PostgresOptions::new(database_url());
        options.schema = schema.0.clone();
        options.acquire_timeout = PATIENCE;
        options.statement_timeout = PATIENCE;
        let store = PostgresStore::connect_lazy(&options).expect("valid options");
        store.migrate().await.expect("migrate");
        Self::new(store, schema)
    }

    /// Asserts that this is a store of files, which keeps notes alone: no other may leave a case out.
    pub(crate) fn is_of_files(&self) {
        assert_eq!(self.store.kind(), "file");
    }

    pub(crate) fn stores(&self) -> Arc<dyn OpenStores> {
        opening(&self.store)
    }

    /// Each source that something can be written to and that works on this store, each under a name of its
    /// own.
    pub(crate) fn writable(&self) -> Vec<Arc<dyn Source>> {
        let file = FileSource::new("file", self.stores(), "default");
        let mut sources: Vec<Arc<dyn Source>> = vec![Arc::new(file)];
        for vectors in self.vectors() {
            sources.push(Arc::new(vectors));
        }
        match self.store.facts() {
            Some(_) => {
                let facts = FactsSource::new("facts", self.stores(), "default");
                sources.push(Arc::new(facts));
            }
            None => self.is_of_files(),
        }
        sources
    }

    /// Each source over vectors that works on this store, each under a name of its own.
    pub(crate) fn vectors(&self) -> Vec<VectorSource> {
        let mut sources = vec![VectorSource::in_memory("in_memory")];
        match self.store.vectors() {
            Some(_) => sources.push(VectorSource::embedded(
                "embedded",
                self.stores(),
                "default",
                "collection",
                Arc::new(HashingEmbedder::default()),
            )),
            None => self.is_of_files(),
        }
        sources
    }
}

/// Where it can be, in memory: another program can keep a disk busy for long.
fn directory() -> TempDir {
    tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .expect("a directory")
}

#[expect(
    clippy::disallowed_methods,
    reason = "a test is told where its database is"
)]
fn database_url() -> String {
    std::env::var("DATABASE_URL").expect(
        "DATABASE_URL isn't set: it must name a PostgreSQL database that these tests may create \
         schemas in; `make test` starts one and sets it",
    )
}

/// A schema that is dropped with this value.
#[derive(Debug)]
struct Schema(String);

impl Drop for Schema {
    /// On a thread of its own, because a value can be dropped inside of a runtime.
    fn drop(&mut self) {
        let drop_schema = format!("drop schema if exists \"{}\" cascade", self.0);
        let dropping = std::thread::spawn(move || -> anyhow::Result<()> {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?;
            runtime.block_on(async {
                let mut connection = PgConnection::connect(&database_url()).await?;
                connection.execute("set lock_timeout = '10s'").await?;
                connection.execute(AssertSqlSafe(drop_schema)).await?;
                Ok(())
            })
        });
        if let Ok(Err(error)) = dropping.join() {
            eprintln!("a schema is left behind: {error}");
        }
    }
}

/// Makes a test of each case for each kind of store: the case is given the store.
macro_rules! on_each_store {
    ($($case:ident),+ $(,)?) => {
        $crate::stores::on_each_store!(@ in_memory $($case)+);
        $crate::stores::on_each_store!(@ sqlite $($case)+);
        $crate::stores::on_each_store!(@ files $($case)+);
        $crate::stores::on_each_store!(@ postgres $($case)+);
    };
    (@ $kind:ident $($case:ident)+) => {
        mod $kind {
            $(
                #[tokio::test]
                async fn $case() {
                    super::$case($crate::stores::Kept::$kind().await).await;
                }
            )+
        }
    };
}

pub(crate) use on_each_store;
