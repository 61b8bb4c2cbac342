//! Vectors among those of other tenants, under load, and with the extension in all places where an
//! administrator may have put it, or nowhere.

use std::{str::FromStr as _, sync::Arc, time::Duration};

use futures::future::join_all;
use notekeeper_domain::{ItemMetadata, Scope, Where};
use notekeeper_store::{
    Chunk, FoundChunk, InMemoryStore, MigrationReport, MutationError, NoteStore, PostgresOptions,
    PostgresStore, Store, StoreError, VectorCollection, VectorStore,
};
use rand::{Rng as _, SeedableRng as _, rngs::StdRng};
use serde_json::{Value, json};
use sqlx::{
    AssertSqlSafe, Connection as _, Executor as _, PgConnection, Row as _,
    postgres::{PgConnectOptions, PgPoolOptions},
};

use crate::{
    database::{Database, PATIENCE, append, database_url, operation, scope, seed, text},
    database_file::DatabaseFile,
    faults::{until, within_patience},
};

pub(crate) fn collection(name: &str) -> VectorCollection {
    VectorCollection {
        name: name.to_owned(),
        model: "model".to_owned(),
    }
}

pub(crate) fn chunk(id: &str, embedding: &[f32]) -> Chunk {
    Chunk {
        id: id.to_owned(),
        content: format!("content of {id}"),
        metadata: ItemMetadata::default(),
        embedding: embedding.to_vec(),
        mark: None,
    }
}

/// The nearest of the collection `main`.
pub(crate) async fn nearest(
    store: &dyn VectorStore,
    scope: &Scope,
    embedding: &[f32],
    limit: usize,
) -> Result<Vec<FoundChunk>, StoreError> {
    let (main, all) = (collection("main"), Where::default());
    store
        .nearest_chunks(scope, &main, embedding, &all, limit)
        .await
}

async fn keep(store: &dyn VectorStore, scope: &Scope, chunks: &[Chunk]) {
    let main = collection("main");
    let kept = store.keep_chunks(scope, &main, chunks, None).await;
    kept.expect("keep");
}

async fn ids(store: &dyn VectorStore, scope: &Scope, embedding: &[f32]) -> Vec<String> {
    let found = nearest(store, scope, embedding, 10).await;
    let found = found.expect("found").into_iter();
    found.map(|found| found.id).collect()
}

const OTHER_TENANTS: usize = 40;
const CHUNKS_OF_EACH: usize = 500;

/// Fills a store with 20,000 chunks of other tenants that are all nearer to the query than the 20 of the
/// tenant itself. Gives the query.
async fn fill(store: &dyn VectorStore, tenant: &Scope) -> Vec<f32> {
    let random = &mut StdRng::seed_from_u64(seed());
    let query = vec![1.0_f32; 8];
    for other in 0..OTHER_TENANTS {
        let chunks = (0..CHUNKS_OF_EACH).map(|n| {
            let near = query.iter().map(|_| random.random_range(0.9..1.0));
            chunk(&n.to_string(), &near.collect::<Vec<f32>>())
        });
        let chunks: Vec<Chunk> = chunks.collect();
        keep(store, &scope(&format!("other{other}/main")), &chunks).await;
    }
    let far = (0..20).map(|n| {
        let far = query.iter().map(|_| random.random_range(-1.0..0.0));
        chunk(&format!("mine {n}"), &far.collect::<Vec<f32>>())
    });
    let far: Vec<Chunk> = far.collect();
    keep(store, tenant, &far).await;
    query
}

async fn assert_others_take_nobodys_place(store: &dyn VectorStore) -> Vec<f32> {
    let tenant = scope("small/main");
    let query = fill(store, &tenant).await;
    let found = nearest(store, &tenant, &query, 10).await.expect("found");
    assert_eq!(found.len(), 10);
    for found in &found {
        assert_eq!(found.scope, "small/main");
        assert!(found.id.starts_with("mine ") && found.similarity < 0.0);
    }
    let all = nearest(store, &tenant, &query, 1_000).await.expect("found");
    assert_eq!(all.len(), 20);
    assert_eq!(all[..10], found);
    let none = nearest(store, &scope("nobody/main"), &query, 10).await;
    assert_eq!(none.expect("found"), []);
    query
}

#[tokio::test]
async fn beside_20_000_of_others_a_tenant_with_20_finds_as_many_as_it_asks_for_in_memory() {
    assert_others_take_nobodys_place(&InMemoryStore::default()).await;
}

#[tokio::test]
async fn beside_20_000_of_others_a_tenant_with_20_finds_as_many_as_it_asks_for_in_sqlite() {
    let file = DatabaseFile::new();
    assert_others_take_nobodys_place(&file.store().await).await;
}

/// The rows that the nodes of a plan read or drop, of whichever table.
fn rows_read(node: &Value) -> i64 {
    let count = |key: &str| node[key].as_f64().unwrap_or_default().round() as i64;
    let own = match node["Relation Name"].as_str() {
        Some("chunks") => count("Actual Rows") + count("Rows Removed by Filter"),
        _ => 0,
    };
    let children = node["Plans"].as_array().into_iter().flatten();
    own + children.map(rows_read).sum::<i64>()
}

#[tokio::test]
async fn beside_20_000_of_others_a_tenant_with_20_finds_as_many_and_reads_its_own_in_postgres() {
    let database = Database::migrated().await;
    let store = database.store();
    let query = assert_others_take_nobodys_place(&store).await;
    let mut behind = database.connection().await;
    let kept: i64 = sqlx::query_scalar("select count(*) from chunks")
        .fetch_one(&mut behind)
        .await
        .expect("count");
    assert_eq!(kept, 20_020);
    behind.execute("analyze chunks").await.expect("analyze");
    let statement = include_str!("../../src/postgres/sql/nearest_chunks.sql");
    let explain = format!("explain (analyze, format json) {statement}");
    for values in [None, Some(r#"{"tier":"a"}"#)] {
        let plan = sqlx::query(AssertSqlSafe(explain.clone()))
            .bind("small/main")
            .bind("main")
            .bind("model")
            .bind(8_i32)
            .bind(&query)
            .bind(values)
            .bind(10_i64)
            .bind(true)
            .fetch_one(&mut behind)
            .await
            .expect("explain");
        let plan: Value = plan.try_get(0).expect("a plan");
        let plan = &plan[0]["Plan"];
        assert_eq!(rows_read(plan), 20, "{plan:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_small_pool_survives_many_searches_that_find_nothing() {
    let database = Database::migrated().await;
    for (connections_max, searches) in [(5, 100), (1, 64)] {
        let store = Arc::new(database.store_of(connections_max));
        for _ in 0..2 {
            let searches = (0..searches).map(|n| {
                let store = Arc::clone(&store);
                tokio::spawn(async move {
                    let nobody = scope(&format!("nobody{n}/main"));
                    nearest(&*store, &nobody, &[1.0, 0.0], 10).await
                })
            });
            let ended = tokio::time::timeout(PATIENCE, join_all(searches)).await;
            for found in ended.expect("no search waits for another without end") {
                assert_eq!(found.expect("no panic").expect("found"), []);
            }
        }
        let own = scope("own/main");
        keep(&*store, &own, &[chunk("a", &[1.0, 0.0])]).await;
        assert_eq!(ids(&*store, &own, &[1.0, 0.0]).await, ["a"]);
        store.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn searches_that_are_given_up_give_their_connections_back() {
    let database = Database::migrated().await;
    let store = Arc::new(database.store_of(2));
    let own = scope("own/main");
    let chunks: Vec<Chunk> = (0..1_000)
        .map(|n| chunk(&n.to_string(), &[1.0, n as f32]))
        .collect();
    keep(&*store, &own, &chunks).await;
    let searches = (0..100_u64).map(|n| {
        let (store, own) = (Arc::clone(&store), own.clone());
        tokio::spawn(async move {
            let search = nearest(&*store, &own, &[1.0, 0.0], 1_000);
            tokio::time::timeout(Duration::from_micros(n * 50), search).await
        })
    });
    join_all(searches).await;
    assert_eq!(ids(&*store, &own, &[1.0, 0.0]).await.len(), 10);
    store.close().await;
}

#[tokio::test]
async fn two_schemas_of_one_database_keep_their_own() {
    let (one, other) = (Database::migrated().await, Database::migrated().await);
    let (first, second) = (one.store(), other.store());
    let own = scope("t/main");
    keep(&first, &own, &[chunk("first", &[1.0, 0.0])]).await;
    keep(&second, &own, &[chunk("second", &[1.0, 0.0])]).await;
    assert_eq!(ids(&first, &own, &[1.0, 0.0]).await, ["first"]);
    assert_eq!(ids(&second, &own, &[1.0, 0.0]).await, ["second"]);
    let (main, gone) = (collection("main"), ["second".to_owned()]);
    let removed = first.remove_chunks(&own, &main, &gone).await;
    removed.expect("remove");
    assert_eq!(ids(&second, &own, &[1.0, 0.0]).await, ["second"]);
    let edit = operation("1", "f");
    let edited = append(&first, &own, "a.md", "x", &edit).await;
    edited.expect("edit");
    let journal = |store: &PostgresStore| store.journal().is_some();
    assert!(journal(&first) && journal(&second));
    let told = async |store: &PostgresStore| {
        let journal = store.journal().expect("it has one");
        let told = journal.newest_changes(&own, 10).await;
        told.expect("told").changes.len()
    };
    assert_eq!((told(&first).await, told(&second).await), (1, 0));
}

/// A database of its own, because an extension is a database's.
struct OwnDatabase {
    name: String,
    options: PostgresOptions,
}

impl OwnDatabase {
    async fn new() -> Self {
        let name = format!("nk_test_{:016x}", rand::random::<u64>());
        let create = format!("create database {name}");
        execute(&database_url(), &create).await;
        let mut options = PostgresOptions::new(url_of(&name));
        options.acquire_timeout = PATIENCE / 2;
        options.statement_timeout = PATIENCE / 2;
        Self { name, options }
    }

    fn store(&self) -> PostgresStore {
        PostgresStore::connect_lazy(&self.options).expect("valid options")
    }

    async fn run(&self, statements: &str) {
        execute(&url_of(&self.name), statements).await;
    }

    /// The schema in which the extension lies.
    async fn extension(&self) -> Option<String> {
        let mut connection = connected(&url_of(&self.name)).await;
        let schema = sqlx::query_scalar(
            "select extnamespace::regnamespace::text from pg_extension where extname = 'vector'",
        );
        let schema = schema.fetch_optional(&mut connection).await;
        connection.close().await.expect("close");
        schema.expect("asked")
    }

    /// A role that may make tables here and nothing else, as whom a store connects.
    async fn role(&self) -> PostgresOptions {
        let (name, role) = (&self.name, self.role_name());
        self.run(&format!(
            "create role {role} login; grant {role} to current_user; \
             grant create, connect on database {name} to {role}"
        ))
        .await;
        let mut options = self.options.clone();
        let separator = if options.url.contains('?') { '&' } else { '?' };
        options.url = format!("{}{separator}options=-crole%3D{role}", options.url);
        options
    }

    fn role_name(&self) -> String {
        format!("{}_role", self.name)
    }
}

impl Drop for OwnDatabase {
    /// As a test's schema goes: on a thread of its own, and also where the test failed.
    fn drop(&mut self) {
        let (name, role) = (self.name.clone(), self.role_name());
        let dropping = std::thread::spawn(move || -> anyhow::Result<()> {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?;
            runtime.block_on(async {
                let mut connection = PgConnection::connect(&database_url()).await?;
                for drop in [
                    format!("drop database if exists {name} with (force)"),
                    format!("drop role if exists {role}"),
                ] {
                    connection.execute(AssertSqlSafe(drop)).await?;
                }
                Ok(())
            })
        });
        if let Ok(Err(error)) = dropping.join() {
            eprintln!("a database is left behind: {error}");
        }
    }
}

/// The tests' database server, with another database.
fn url_of(name: &str) -> String {
    let url = database_url();
    let (server, rest) = url.rsplit_once('/').expect("a path");
    let parameters = rest.split_once('?').map(|(_, parameters)| parameters);
    match parameters {
        Some(parameters) => format!("{server}/{name}?{parameters}"),
        None => format!("{server}/{name}"),
    }
}

async fn connected(url: &str) -> PgConnection {
    let options = PgConnectOptions::from_str(url).expect("valid URL");
    let connection = PgConnection::connect_with(&options).await;
    connection.expect("the database can be reached")
}

async fn execute(url: &str, statements: &str) {
    let mut connection = connected(url).await;
    let done = sqlx::raw_sql(AssertSqlSafe(statements.to_owned()));
    done.execute(&mut connection).await.expect(statements);
    connection.close().await.expect("close");
}

async fn migrated(store: &PostgresStore) -> MigrationReport {
    store.migrate().await.expect("migrate")
}

/// Keeps and finds, and is asked first whether it can.
async fn assert_finds(store: &PostgresStore) {
    store.check_vectors().await.expect("vectors can be found");
    let own = scope("found/main");
    keep(
        store,
        &own,
        &[chunk("far", &[0.0, 1.0]), chunk("near", &[1.0, 0.1])],
    )
    .await;
    assert_eq!(ids(store, &own, &[1.0, 0.0]).await, ["near", "far"]);
}

#[tokio::test]
async fn migrating_makes_the_extension_in_public_and_never_beside_the_tables() {
    let database = OwnDatabase::new().await;
    let store = database.store();
    assert_eq!(migrated(&store).await.notices, [""; 0]);
    assert_eq!(database.extension().await.as_deref(), Some("public"));
    assert_finds(&store).await;
    // An application that goes with its schema leaves the extension to the others.
    store.close().await;
    database.run("drop schema notekeeper cascade").await;
    assert_eq!(database.extension().await.as_deref(), Some("public"));
}

#[tokio::test]
async fn the_extension_is_found_in_any_schema_whatever_the_search_path() {
    let database = OwnDatabase::new().await;
    database
        .run(
            "create schema \"Ext en\"\"sions\"; create extension vector schema \"Ext en\"\"sions\"",
        )
        .await;
    let store = database.store();
    assert_eq!(migrated(&store).await.notices, [""; 0]);
    assert_eq!(
        database.extension().await.as_deref(),
        Some("\"Ext en\"\"sions\""),
        "one that is there stays where it is"
    );
    assert_finds(&store).await;
    let pool = PgConnectOptions::from_str(&database.options.url).expect("valid URL");
    let pool = pool.options([("search_path", "notekeeper,pg_catalog")]);
    let pool = PgPoolOptions::new().connect_lazy_with(pool);
    assert_finds(&PostgresStore::with_pool(pool.clone())).await;
    // It is moved while the store runs.
    database
        .run("alter extension vector set schema public")
        .await;
    assert_finds(&store).await;
    database
        .run("create schema later; alter extension vector set schema later")
        .await;
    assert_finds(&store).await;
    store.close().await;
    pool.close().await;
}

#[track_caller]
fn assert_unusable<T: std::fmt::Debug>(result: Result<T, StoreError>) {
    match result {
        Err(StoreError::Unusable(reason)) => assert_eq!(
            reason,
            "the database lacks the extension pgvector, without which it compares no vectors; run \
             `notekeeper migrate`, or have an administrator run `create extension vector`"
        ),
        other => panic!("a database without the extension comes to {other:?}"),
    }
}

/// An administrator's role may do everything, so the tables are made by one that may not.
#[tokio::test]
async fn without_the_extension_all_works_but_the_search_which_says_what_to_do() {
    let database = OwnDatabase::new().await;
    let options = database.role().await;
    let store = PostgresStore::connect_lazy(&options).expect("valid options");
    let unmigrated = store.check_vectors().await;
    assert!(
        matches!(unmigrated, Err(StoreError::Unmigrated { found: 0, .. })),
        "{unmigrated:?}"
    );
    let report = migrated(&store).await;
    assert_eq!(
        report.notices,
        [
            "vectors can't be searched: this role can't create the extension pgvector; have an \
             administrator run `create extension vector`; all else works without it"
        ]
    );
    store.check().await.expect("the database is migrated");
    let own = scope("t/main");
    let edited = append(&store, &own, "a.md", "x", &operation("1", "f")).await;
    edited.expect("edit");
    assert_eq!(text(&store, &own, "a.md").await.as_deref(), Some("x\n"));
    keep(&store, &own, &[chunk("a", &[1.0, 0.0])]).await;
    let marks = store.chunk_marks(&own, &collection("main")).await;
    assert_eq!(marks.expect("marks").len(), 1);
    assert_unusable(store.check_vectors().await);
    assert_unusable(nearest(&store, &own, &[1.0, 0.0], 10).await);
    assert_eq!(migrated(&store).await.notices, report.notices);
    // The administrator does as he is told, and the store needs no restart.
    database.run("create extension vector").await;
    assert_eq!(ids(&store, &own, &[1.0, 0.0]).await, ["a"]);
    assert_finds(&store).await;
    assert_eq!(migrated(&store).await.notices, [""; 0]);
    database.run("drop extension vector").await;
    assert_unusable(nearest(&store, &own, &[1.0, 0.0], 10).await);
    let names = store.names(&own, 10).await.expect("names");
    assert_eq!(names.names.len(), 1);
    store.close().await;
}

#[track_caller]
fn assert_unusable_because<T: std::fmt::Debug>(result: Result<T, StoreError>, parts: &[&str]) {
    match result {
        Err(StoreError::Unusable(reason)) => {
            assert!(parts.iter().all(|part| reason.contains(part)), "{reason}");
        }
        other => panic!("it comes to {other:?}"),
    }
}

#[tokio::test]
async fn a_role_that_may_not_use_the_schema_of_the_extension_is_told_what_it_lacks() {
    let database = OwnDatabase::new().await;
    database
        .run("create schema extensions; create extension vector schema extensions")
        .await;
    let options = database.role().await;
    let store = PostgresStore::connect_lazy(&options).expect("valid options");
    assert_eq!(migrated(&store).await.notices, [""; 0]);
    let told = ["`extensions`", "grant usage on schema extensions"];
    assert_unusable_because(store.check_vectors().await, &told);
    let own = scope("t/main");
    keep(&store, &own, &[chunk("a", &[1.0, 0.0])]).await;
    let role = database.role_name();
    database
        .run(&format!("grant usage on schema extensions to {role}"))
        .await;
    assert_eq!(ids(&store, &own, &[1.0, 0.0]).await, ["a"]);
    assert_finds(&store).await;
    // It is taken back while the store runs and knows the schema.
    database
        .run(&format!("revoke usage on schema extensions from {role}"))
        .await;
    assert_unusable_because(store.check_vectors().await, &told);
    let found = nearest(&store, &own, &[1.0, 0.0], 10).await;
    assert_unusable_because(found, &told);
    store.close().await;
}

#[tokio::test]
async fn a_server_that_lost_the_library_of_the_extension_is_found_before_anything_is_kept() {
    let database = OwnDatabase::new().await;
    let store = database.store();
    migrated(&store).await;
    store.check_vectors().await.expect("vectors can be found");
    store.close().await;
    // As after an upgrade of the server alone.
    database
        .run("update pg_proc set probin = '$libdir/gone' where probin = '$libdir/vector'")
        .await;
    let store = database.store();
    let told = ["lacks its library", "install pgvector"];
    assert_unusable_because(store.check_vectors().await, &told);
    let own = scope("t/main");
    keep(&store, &own, &[chunk("a", &[1.0, 0.0])]).await;
    let found = nearest(&store, &own, &[1.0, 0.0], 10).await;
    assert_unusable_because(found, &told);
    store.close().await;
}

#[tokio::test]
async fn an_extension_that_stumbles_over_something_else_is_not_said_to_lack_a_privilege() {
    let database = OwnDatabase::new().await;
    database.run("create type public.vector as (x int)").await;
    let store = database.store();
    let report = migrated(&store).await;
    assert_eq!(
        report.notices,
        [
            "vectors can't be searched: the extension pgvector couldn't be created (the database \
             reported an error, SQLSTATE 42710); the server's log says why; then run `notekeeper \
             migrate` again; all else works without it"
        ]
    );
    store.close().await;
}

/// A backend that creates the extension and waits for another that does.
const CREATION_WAITS: &str = "select exists (select from pg_stat_activity where datname = $1 \
     and wait_event_type = 'Lock' and query like 'create extension%')";

#[tokio::test(flavor = "multi_thread")]
async fn an_extension_that_somebody_else_makes_meanwhile_is_no_obstacle() {
    let database = OwnDatabase::new().await;
    let mut other = connected(&url_of(&database.name)).await;
    let mut behind = connected(&database_url()).await;
    let create = "begin; create extension vector schema public";
    other.execute(create).await.expect("create extension");
    let store = database.store();
    let runs = store.clone();
    let migration = tokio::spawn(async move { runs.migrate().await });
    until(&mut behind, CREATION_WAITS, &database.name).await;
    other.execute("commit").await.expect("commit");
    let report = within_patience(migration).await.expect("no panic");
    assert_eq!(report.expect("migrate").notices, [""; 0]);
    assert_finds(&store).await;
    other.close().await.expect("close");
    store.close().await;
}

#[tokio::test]
async fn without_a_schema_for_it_the_extension_is_left_to_an_administrator() {
    let database = OwnDatabase::new().await;
    database.run("drop schema public").await;
    let store = database.store();
    let report = migrated(&store).await;
    assert_eq!(report.notices.len(), 1, "{report:?}");
    assert!(report.notices[0].contains("has no schema `public`"));
    assert_eq!(database.extension().await, None);
    assert_unusable(store.check_vectors().await);
    database
        .run("create schema extensions; create extension vector schema extensions")
        .await;
    assert_finds(&store).await;
    store.close().await;
}

/// What a person with a console leaves in the tables takes nothing else with it.
#[tokio::test]
async fn odd_rows_are_refused_by_the_tables_or_passed_over() {
    let database = Database::migrated().await;
    let store = database.store();
    let own = scope("t/main");
    keep(&store, &own, &[chunk("a", &[1.0, 0.0])]).await;
    let mut behind = database.connection().await;
    for odd in [
        "update chunks set metadata = '[]'",
        "update chunks set metadata = 'no JSON'",
        "update chunks set embedding = '{1,0,0}'",
        "update chunks set embedding = '{1,null}'",
    ] {
        let done = behind.execute(odd).await;
        assert!(done.is_err(), "{odd}");
    }
    let odd = "insert into chunks \
         (scope, collection, id, model, dimensions, content, metadata, embedding) \
         values ('t/main', 'main', 'odd', 'model', 2, 'x', '{\"n\":1e999}', '{1,0}')";
    behind.execute(odd).await.expect("insert");
    keep(&store, &own, &[chunk("far", &[0.0, 1.0])]).await;
    assert_eq!(ids(&store, &own, &[1.0, 0.0]).await, ["a", "far"]);
    // It is as near as the nearest, and takes nobody's place.
    behind
        .execute("update chunks set id = '0' where id = 'odd'")
        .await
        .expect("update");
    for limit in 0..=3 {
        let found = nearest(&store, &own, &[1.0, 0.0], limit).await;
        let found = found.expect("found").into_iter();
        let found: Vec<_> = found.map(|found| (found.id, found.content)).collect();
        let right = [("a", "content of a"), ("far", "content of far")];
        let right = right.map(|(id, content)| (id.to_owned(), content.to_owned()));
        assert_eq!(found, right[..limit.min(2)]);
    }
}

/// A condition that the database can't decide alone is decided by the program, which reads the contents
/// of those alone that it took.
#[tokio::test]
async fn what_the_program_decides_comes_with_its_contents() {
    let database = Database::migrated().await;
    let store = database.store();
    let (own, main) = (scope("t/main"), collection("main"));
    let chunks = (0..20).map(|n| {
        let metadata = json!({"of": {"place": n % 2}});
        Chunk {
            metadata: ItemMetadata::of_value(metadata).expect("an object"),
            ..chunk(&format!("{n:02}"), &[1.0, n as f32])
        }
    });
    let chunks: Vec<Chunk> = chunks.collect();
    keep(&store, &own, &chunks).await;
    let condition = json!({"of": {"place": 1}});
    let condition = Where::of_value(condition).expect("an object");
    for limit in [0, 3, 100] {
        let found = store.nearest_chunks(&own, &main, &[1.0, 0.0], &condition, limit);
        let found = found.await.expect("found").into_iter();
        let found: Vec<_> = found.map(|found| (found.id, found.content)).collect();
        let odd = chunks.iter().skip(1).step_by(2).take(limit);
        let right: Vec<_> = odd.map(|c| (c.id.clone(), c.content.clone())).collect();
        assert_eq!(found, right);
    }
}

#[tokio::test]
async fn the_operation_of_another_kind_is_no_keeping() {
    let database = Database::migrated().await;
    let store = database.store();
    let (own, by) = (scope("t/main"), operation("1", "f"));
    let edited = append(&store, &own, "a.md", "x", &by).await;
    edited.expect("edit");
    let chunks = [chunk("a", &[1.0])];
    let main = collection("main");
    let kept = store.keep_chunks(&own, &main, &chunks, Some(&by)).await;
    assert!(
        matches!(kept, Err(MutationError::OperationConflict)),
        "{kept:?}"
    );
    let condition = Where::of_value(json!({"a": 1})).expect("an object");
    let none = store
        .nearest_chunks(&own, &main, &[1.0], &condition, 10)
        .await;
    assert_eq!(none.expect("found"), []);
}
