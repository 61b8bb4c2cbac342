//! A schema for each test.

use std::time::Duration;

use notekeeper_domain::{Edit, Fingerprint, NoteName, Operation, OperationId, Scope};
use notekeeper_store::{
    EditRequest, Expected, MutationError, NoteStore, PostgresOptions, PostgresStore, Receipt,
};
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

/// More characters than any note of a test has.
pub(crate) const CHARS_MAX: usize = 1_000_000;

/// Longest that anything in a test may take before it counts as hanging.
pub(crate) const PATIENCE: Duration = Duration::from_secs(40);

pub(crate) fn database_url() -> String {
    std::env::var("DATABASE_URL").expect(
        "DATABASE_URL isn't set: it must name a PostgreSQL database that these tests may create \
         schemas in; `make test` starts one and sets it",
    )
}

/// A schema that is dropped with this value.
#[derive(Debug)]
pub(crate) struct Database {
    pub(crate) options: PostgresOptions,
}

impl Database {
    /// A schema name that nobody else has; the schema itself isn't made yet.
    pub(crate) fn unmigrated() -> Self {
        let mut options = PostgresOptions::new(database_url());
        options.schema = format!("nk_test_{:016x}", rand::random::<u64>());
        // A busy machine is no fault. Tests of time-outs set their own.
        options.acquire_timeout = PATIENCE / 2;
        options.statement_timeout = PATIENCE / 2;
        // Tells the connections of one test from those of the others.
        let separator = if options.url.contains('?') { '&' } else { '?' };
        options.url = format!(
            "{}{separator}application_name={}",
            options.url, options.schema
        );
        Self { options }
    }

    /// A migrated schema.
    pub(crate) async fn migrated() -> Self {
        let database = Self::unmigrated();
        let store = database.store();
        store.migrate().await.expect("migrate");
        store.close().await;
        database
    }

    /// A store over it, as programs make it.
    pub(crate) fn store(&self) -> PostgresStore {
        PostgresStore::connect_lazy(&self.options).expect("valid options")
    }

    /// A store with a pool of a size of its own.
    pub(crate) fn store_of(&self, connections_max: u32) -> PostgresStore {
        let options = PostgresOptions {
            connections_max,
            ..self.options.clone()
        };
        PostgresStore::connect_lazy(&options).expect("valid options")
    }

    /// A connection that sees the schema, for looking behind the store.
    pub(crate) async fn connection(&self) -> PgConnection {
        let mut connection = PgConnection::connect(&database_url())
            .await
            .expect("the database can be reached");
        let path = format!("set search_path = \"{}\"", self.options.schema);
        connection
            .execute(AssertSqlSafe(path))
            .await
            .expect("set search_path");
        connection
    }
}

impl Drop for Database {
    /// On a thread of its own, because a value can be dropped inside of a runtime. Failing to
    /// drop leaves a schema behind, which is no reason to hide why a test failed.
    fn drop(&mut self) {
        let schema = self.options.schema.clone();
        let dropping = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?;
            runtime.block_on(drop_schema(&schema))
        });
        if let Ok(Err(error)) = dropping.join() {
            eprintln!("a schema is left behind: {error}");
        }
    }
}

async fn drop_schema(schema: &str) -> anyhow::Result<()> {
    let mut connection = PgConnection::connect(&database_url()).await?;
    // A connection that hangs in a transaction, because its test failed there or meant it to,
    // would be waited for.
    sqlx::query(
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1",
    )
    .bind(schema)
    .execute(&mut connection)
    .await?;
    let drop_schema = format!("drop schema if exists \"{schema}\" cascade");
    connection.execute("set lock_timeout = '10s'").await?;
    connection.execute(AssertSqlSafe(drop_schema)).await?;
    Ok(())
}

/// The seed of a random test: `NOTEKEEPER_SEED`, or a new one. It is printed, so a failure tells
/// how to repeat it.
pub(crate) fn seed() -> u64 {
    let seed = match std::env::var("NOTEKEEPER_SEED") {
        Ok(seed) => seed.parse().expect("NOTEKEEPER_SEED is a number"),
        Err(_) => rand::random(),
    };
    println!("repeat with NOTEKEEPER_SEED={seed}");
    seed
}

pub(crate) fn scope(path: &str) -> Scope {
    Scope::parse(path).expect("valid scope")
}

pub(crate) fn name(file: &str) -> NoteName {
    NoteName::parse(file).expect("valid name")
}

pub(crate) fn operation(id: &str, fingerprint: &str) -> Operation {
    Operation {
        id: OperationId::parse(id).expect("valid id"),
        fingerprint: Fingerprint::new(fingerprint),
    }
}

/// Appends a line, whatever there is.
pub(crate) async fn append(
    store: &impl NoteStore,
    scope: &Scope,
    file: &str,
    line: &str,
    operation: &Operation,
) -> Result<Receipt, MutationError> {
    let edit = Edit::Append {
        content: line.to_owned(),
    };
    let request = EditRequest {
        edit: &edit,
        note_chars_max: CHARS_MAX,
        expected: Expected::Any,
        metadata: None,
    };
    store.edit(scope, &name(file), &request, operation).await
}

pub(crate) async fn text(store: &impl NoteStore, scope: &Scope, file: &str) -> Option<String> {
    let note = store
        .read(scope, &name(file), CHARS_MAX)
        .await
        .expect("read");
    note.map(|note| note.content)
}
