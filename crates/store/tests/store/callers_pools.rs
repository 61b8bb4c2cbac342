//! Stores over pools of the caller's own: nothing of the caller's is touched, and nothing is assumed
//! of a connection that he had.

use std::{sync::Mutex, time::Duration};

use notekeeper_store::{
    Expected, MutationError, NoteStore, PostgresStore, SqliteStore, StoreError, WriteRequest,
    conformance,
};
use sqlx::{
    Connection as _, Executor as _, PgPool, SqlitePool,
    postgres::{PgConnectOptions, PgPoolOptions},
    sqlite::{SqliteConnectOptions, SqlitePoolOptions, SqliteSynchronous},
};

use crate::{
    database::{Database, append, database_url, name, operation, scope, text},
    database_file::DatabaseFile,
};

/// Longer than any wait here on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// A pool in the schema of a database, with settings of the caller's.
fn postgres_pool(database: &Database, connections_max: u32, settings: &[(&str, &str)]) -> PgPool {
    let options: PgConnectOptions = database_url().parse().expect("valid URL");
    let options = options
        .application_name(&database.options.schema)
        .options([("search_path", &database.options.schema)])
        .options(settings.iter().copied());
    PgPoolOptions::new()
        .max_connections(connections_max)
        .acquire_timeout(PATIENCE)
        .connect_lazy_with(options)
}

fn sqlite_pool(
    file: &DatabaseFile,
    connections_max: u32,
    synchronous: SqliteSynchronous,
) -> SqlitePool {
    let options = SqliteConnectOptions::new()
        .filename(&file.options.path)
        .create_if_missing(true)
        .synchronous(synchronous);
    SqlitePoolOptions::new()
        .max_connections(connections_max)
        .acquire_timeout(PATIENCE)
        .connect_lazy_with(options)
}

async fn write(store: &impl NoteStore, file: &str) -> Result<(), MutationError> {
    let request = WriteRequest::new("mine", &Expected::Any);
    let (scope, name) = (scope("pool/main"), name(file));
    store.write(&scope, &name, &request, None).await.map(drop)
}

/// Asserts that a connection with a transaction open was neither used nor ended.
#[track_caller]
fn assert_passed_over<T: std::fmt::Debug, E: Into<MutationError>>(result: Result<T, E>) {
    match result.map_err(Into::into) {
        Err(MutationError::Store(StoreError::Unavailable(reason))) => {
            assert!(reason.contains("has a transaction open"), "{reason}");
        }
        other => panic!("an operation in a caller's transaction came to {other:?}"),
    }
}

/// The suite over pools without any of the settings that stores make for their own, and so small that
/// an operation that took two connections would wait for itself.
async fn exercise_postgres(connections_max: u32) {
    let databases = Mutex::new(Vec::new());
    conformance::exercise(async || {
        let database = Database::migrated().await;
        let pool = postgres_pool(&database, connections_max, &[]);
        databases.lock().expect("no panic").push(database);
        PostgresStore::with_pool(pool)
    })
    .await;
}

#[tokio::test]
async fn a_callers_pool_of_postgres_with_one_connection_does_what_every_store_must() {
    exercise_postgres(1).await;
}

#[tokio::test]
async fn a_callers_pool_of_postgres_with_a_few_connections_does_what_every_store_must() {
    exercise_postgres(3).await;
}

#[tokio::test]
async fn callers_pools_of_sqlite_do_what_every_store_must() {
    for connections_max in [1, 3] {
        let files = Mutex::new(Vec::new());
        conformance::exercise(async || {
            let file = DatabaseFile::new();
            let pool = sqlite_pool(&file, connections_max, SqliteSynchronous::Full);
            files.lock().expect("no panic").push(file);
            SqliteStore::with_pool(pool).await.expect("open")
        })
        .await;
    }
}

#[tokio::test]
async fn a_transaction_that_a_caller_left_open_in_postgres_is_left_alone() {
    let database = Database::migrated().await;
    let pool = postgres_pool(&database, 1, &[]);
    let store = PostgresStore::with_pool(pool.clone());
    write(&store, "before.md").await.expect("write");
    pool.execute("create table callers (n integer)")
        .await
        .expect("a table of the caller's");
    // Not by the driver's own transactions, which end where they are dropped.
    pool.execute("begin").await.expect("begin");
    pool.execute("insert into callers values (1)")
        .await
        .expect("insert");

    assert_passed_over(write(&store, "a.md").await);
    assert_passed_over(
        store
            .read(&scope("pool/main"), &name("before.md"), 10)
            .await,
    );
    assert_passed_over(store.names(&scope("pool/main"), 10).await);
    assert_passed_over(store.check().await);
    assert_passed_over(store.migrate().await);

    // Still open, and still the caller's to decide on.
    let seen: i64 = sqlx::query_scalar("select count(*) from callers")
        .fetch_one(&pool)
        .await
        .expect("count");
    assert_eq!(seen, 1);
    pool.execute("rollback").await.expect("rollback");
    let kept: i64 = sqlx::query_scalar("select count(*) from callers")
        .fetch_one(&pool)
        .await
        .expect("count");
    assert_eq!(kept, 0, "nobody had committed it");
    write(&store, "a.md").await.expect("the connection is free");
    store.check().await.expect("so is this");

    // One in which a statement failed takes no other.
    pool.execute("begin").await.expect("begin");
    assert!(pool.execute("select 1 / 0").await.is_err());
    assert_passed_over(write(&store, "b.md").await);
    pool.execute("rollback").await.expect("rollback");
    write(&store, "b.md").await.expect("the connection is free");
    pool.close().await;
}

#[tokio::test]
async fn a_transaction_that_a_caller_left_open_in_sqlite_is_left_alone() {
    let file = DatabaseFile::new();
    let pool = sqlite_pool(&file, 1, SqliteSynchronous::Full);
    let store = SqliteStore::with_pool(pool.clone()).await.expect("open");
    write(&store, "before.md").await.expect("write");
    pool.execute("begin").await.expect("begin");
    pool.execute("delete from notes").await.expect("delete");

    assert_passed_over(write(&store, "a.md").await);
    assert_passed_over(
        store
            .read(&scope("pool/main"), &name("before.md"), 10)
            .await,
    );
    assert_passed_over(store.names(&scope("pool/main"), 10).await);
    assert_passed_over(SqliteStore::with_pool(pool.clone()).await.map(drop));

    pool.execute("rollback").await.expect("it is open still");
    let kept = text(&store, &scope("pool/main"), "before.md").await;
    assert_eq!(kept.as_deref(), Some("mine"), "nobody had committed it");
    write(&store, "a.md").await.expect("the connection is free");
    pool.close().await;
}

#[tokio::test]
async fn a_connection_in_a_callers_transaction_is_passed_over_for_another() {
    let database = Database::migrated().await;
    let pool = postgres_pool(&database, 2, &[]);
    let store = PostgresStore::with_pool(pool.clone());
    // Both are open, and the one in a transaction goes back to the pool first.
    let (mut first, second) = (
        pool.acquire().await.expect("a connection"),
        pool.acquire().await.expect("another"),
    );
    first.execute("begin").await.expect("begin");
    drop(first);
    drop(second);
    for note in 0..10 {
        write(&store, &format!("n{note}.md")).await.expect("write");
    }
    // Whichever of the two it is on: they are there outside of that transaction.
    let mut own = database.connection().await;
    let written: i64 = sqlx::query_scalar("select count(*) from notes")
        .fetch_one(&mut own)
        .await
        .expect("count");
    assert_eq!(written, 10);
    let open: i64 = sqlx::query_scalar(
        "select count(*) from pg_stat_activity \
         where state = 'idle in transaction' and application_name = $1",
    )
    .bind(&database.options.schema)
    .fetch_one(&mut own)
    .await
    .expect("count");
    assert_eq!(open, 1, "the caller's transaction is open still");
    pool.close().await;
}

#[tokio::test]
async fn who_made_a_pool_closes_it() {
    let database = Database::migrated().await;
    let pool = postgres_pool(&database, 1, &[]);
    let store = PostgresStore::with_pool(pool.clone());
    store.close().await;
    assert!(!pool.is_closed());
    write(&store, "a.md").await.expect("write");
    pool.close().await;
    let closed = write(&store, "b.md").await;
    assert!(matches!(
        closed,
        Err(MutationError::Store(StoreError::Unavailable(_)))
    ));

    let file = DatabaseFile::new();
    let pool = sqlite_pool(&file, 1, SqliteSynchronous::Full);
    let store = SqliteStore::with_pool(pool.clone()).await.expect("open");
    store.close().await;
    assert!(!pool.is_closed());
    write(&store, "a.md").await.expect("write");
    pool.close().await;
    let closed = write(&store, "b.md").await;
    assert!(matches!(
        closed,
        Err(MutationError::Store(StoreError::Unavailable(_)))
    ));
}

#[track_caller]
fn assert_unusable<T: std::fmt::Debug, E: Into<MutationError>>(
    result: Result<T, E>,
    setting: &str,
) {
    match result.map_err(Into::into) {
        Err(MutationError::Store(StoreError::Unusable(reason))) => {
            assert!(reason.contains(setting), "{reason}");
        }
        other => panic!("expected a complaint of `{setting}`, found {other:?}"),
    }
}

#[tokio::test]
async fn connections_that_could_forget_what_was_answered_are_refused() {
    let database = Database::migrated().await;
    let forgetful = postgres_pool(&database, 1, &[("synchronous_commit", "off")]);
    let store = PostgresStore::with_pool(forgetful);
    assert_unusable(write(&store, "a.md").await, "synchronous_commit");
    let local = postgres_pool(&database, 1, &[("synchronous_commit", "local")]);
    write(&PostgresStore::with_pool(local), "a.md")
        .await
        .expect("write");

    let file = DatabaseFile::new();
    let normal = sqlite_pool(&file, 1, SqliteSynchronous::Normal);
    assert_unusable(
        SqliteStore::with_pool(normal).await.map(drop),
        "synchronous",
    );
    let extra = sqlite_pool(&file, 1, SqliteSynchronous::Extra);
    let store = SqliteStore::with_pool(extra).await.expect("open");
    write(&store, "a.md").await.expect("write");
}

/// Its other settings and its own tables don't matter to a store, nor its to them.
#[tokio::test]
async fn nothing_is_set_on_the_connections_of_a_callers_pool() {
    let database = Database::migrated().await;
    let pool = postgres_pool(
        &database,
        1,
        &[("statement_timeout", "17s"), ("plan_cache_mode", "auto")],
    );
    let settings = "select string_agg(name || '=' || setting, ' ' order by name) from pg_settings";
    let read = async || -> String {
        sqlx::query_scalar(settings)
            .fetch_one(&pool)
            .await
            .expect("settings")
    };
    let before = read().await;
    let store = PostgresStore::with_pool(pool.clone());
    store.migrate().await.expect("nothing to migrate");
    write(&store, "a.md").await.expect("write");
    append(
        &store,
        &scope("pool/main"),
        "a.md",
        "more",
        &operation("1", "f"),
    )
    .await
    .expect("append");
    assert_eq!(read().await, before);
    pool.close().await;

    let file = DatabaseFile::new();
    let pool = sqlite_pool(&file, 1, SqliteSynchronous::Extra);
    let store = SqliteStore::with_pool(pool.clone()).await.expect("open");
    write(&store, "a.md").await.expect("write");
    for (pragma, right) in [
        ("synchronous", 3),
        ("query_only", 0),
        ("busy_timeout", 5_000),
    ] {
        let statement = sqlx::AssertSqlSafe(format!("pragma {pragma}"));
        let found: i64 = sqlx::query_scalar(statement)
            .fetch_one(&pool)
            .await
            .expect("a pragma");
        assert_eq!(found, right, "{pragma}");
    }
    pool.close().await;
}

#[tokio::test]
async fn a_database_that_cannot_be_a_store_is_refused_over_a_callers_pool() {
    let file = DatabaseFile::new();
    let mut other = file.connection().await;
    other
        .execute("create table callers (n integer)")
        .await
        .expect("a table of another program");
    other.close().await.expect("close");
    let pool = sqlite_pool(&file, 1, SqliteSynchronous::Full);
    assert_unusable(
        SqliteStore::with_pool(pool).await.map(drop),
        "another program's database",
    );
    let in_memory = SqlitePoolOptions::new()
        .max_connections(1)
        .connect_lazy_with(SqliteConnectOptions::new().in_memory(true));
    assert_unusable(
        SqliteStore::with_pool(in_memory).await.map(drop),
        "local disk",
    );
}
