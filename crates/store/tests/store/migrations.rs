//! Migrations: run on request, once, and told.

use std::str::FromStr;

use futures::future::join_all;
use notekeeper_domain::{Fact, RecallQuery};
use notekeeper_store::{MutationError, PostgresStore, Store, StoreError};
use sqlx::{
    AssertSqlSafe, Connection as _, Executor, PgConnection, SqliteConnection,
    migrate::{Migrate as _, Migrator},
    postgres::{PgConnectOptions, PgPoolOptions},
};

use crate::{
    database::{Database, append, operation, scope, text},
    database_file::DatabaseFile,
    faults::{until, within_patience},
    messages::{conversation, message},
    vectors::{chunk, collection, nearest},
};

#[tokio::test]
async fn migrating_applies_what_is_missing_and_reports_it() {
    let database = Database::unmigrated();
    let store = database.store();
    let first = store.migrate().await.expect("migrate");
    assert_eq!(first.before, 0);
    assert_eq!(first.applied.first(), Some(&(1, "notebook".to_owned())));
    store.check().await.expect("the database is migrated");
    let newest = first.applied.last().expect("some were applied").0;
    let again = store.migrate().await.expect("migrate");
    assert_eq!((again.before, again.applied), (newest, Vec::new()));
}

#[tokio::test]
async fn migrations_at_the_same_time_wait_for_each_other() {
    let database = Database::unmigrated();
    let stores: Vec<_> = (0..8).map(|_| database.store()).collect();
    let reports = join_all(stores.iter().map(|store| store.migrate())).await;
    let reports: Vec<_> = reports
        .into_iter()
        .map(|report| report.expect("migrate"))
        .collect();
    let applied = reports
        .iter()
        .filter(|report| !report.applied.is_empty())
        .count();
    assert_eq!(applied, 1, "{reports:?}");
    stores[0].check().await.expect("the database is migrated");
}

#[tokio::test]
async fn a_schema_that_exists_is_used_as_it_is() {
    let database = Database::unmigrated();
    let schema = &database.options.schema;
    let mut connection = database.connection().await;
    connection
        .execute(AssertSqlSafe(format!("create schema \"{schema}\"")))
        .await
        .expect("create schema");
    connection
        .execute("create table someone_elses (id int)")
        .await
        .expect("create table");
    let store = database.store();
    store.migrate().await.expect("migrate");
    store.check().await.expect("the database is migrated");
}

#[tokio::test]
async fn a_database_of_a_newer_program_is_refused_with_both_numbers() {
    let database = Database::migrated().await;
    let store = database.store();
    let mut connection = database.connection().await;
    connection
        .execute(
            "insert into notekeeper_migrations \
             select 9999, 'later', now(), true, '', 0 from notekeeper_migrations limit 1",
        )
        .await
        .expect("insert");
    let checked = store.check().await;
    assert!(
        matches!(
            checked,
            Err(StoreError::TooNew {
                found: 9999,
                known: 1..
            })
        ),
        "{checked:?}"
    );
    let migrated = store.migrate().await;
    assert!(
        matches!(migrated, Err(StoreError::TooNew { found: 9999, .. })),
        "{migrated:?}"
    );
    // Programs that run already go on while the database is ahead of them.
    let scope = scope("t/main");
    append(&store, &scope, "a.md", "x", &operation("1", "f"))
        .await
        .expect("edit");
    assert_eq!(text(&store, &scope, "a.md").await.as_deref(), Some("x\n"));
}

#[tokio::test]
async fn a_migration_that_was_changed_after_it_was_applied_is_refused() {
    let database = Database::migrated().await;
    let mut connection = database.connection().await;
    connection
        .execute("update notekeeper_migrations set checksum = 'other' where version = 1")
        .await
        .expect("update");
    let migrated = database.store().migrate().await;
    assert!(
        matches!(migrated, Err(StoreError::Unexpected(_))),
        "{migrated:?}"
    );
}

#[tokio::test]
async fn a_failed_migration_leaves_nothing_behind_and_can_be_run_again() {
    let database = Database::unmigrated();
    let schema = &database.options.schema;
    let mut connection = database.connection().await;
    connection
        .execute(AssertSqlSafe(format!("create schema \"{schema}\"")))
        .await
        .expect("create schema");
    // Stands in the way of the last table.
    connection
        .execute("create table snapshots (id int)")
        .await
        .expect("create table");
    let store = database.store();
    let failed = store.migrate().await;
    assert!(
        matches!(failed, Err(StoreError::Unexpected(_))),
        "{failed:?}"
    );
    let unmigrated = store.check().await;
    assert!(
        matches!(unmigrated, Err(StoreError::Unmigrated { found: 0, .. })),
        "{unmigrated:?}"
    );
    connection
        .execute("drop table snapshots")
        .await
        .expect("drop table");
    store.migrate().await.expect("migrate");
    store.check().await.expect("the database is migrated");
}

#[tokio::test]
async fn a_database_that_holds_no_unicode_is_refused() {
    let database = Database::unmigrated();
    let mut connection = database.connection().await;
    let other = database.options.schema.clone();
    let create =
        format!("create database {other} template template0 encoding 'SQL_ASCII' locale 'C'");
    connection
        .execute(AssertSqlSafe(create))
        .await
        .expect("create database");
    let url = PgConnectOptions::from_str(&database.options.url)
        .expect("valid URL")
        .database(&other);
    let store = PostgresStore::with_pool(PgPoolOptions::new().connect_lazy_with(url));
    let refused = store.migrate().await;
    store.close().await;
    let drop = format!("drop database {other} with (force)");
    connection
        .execute(AssertSqlSafe(drop))
        .await
        .expect("drop database");
    let Err(StoreError::Unexpected(reason)) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(
        reason,
        "the database has encoding SQL_ASCII; create it with encoding UTF8"
    );
}

/// What a database of the second migration holds.
const BEFORE_TRANSCRIPTS: &str = "\
    insert into notes (scope, name, content, chars, version) values ('t/main', 'a.md', 'x', 1, 7); \
    insert into receipts (scope, id, fingerprint, kind, name, status, version, existed) values \
        ('t/main', 'written', 'f', 'edit', 'a.md', 'created', 7, false), \
        ('t/main', 'deleted', 'f', 'delete', 'b.md', 'not_found', null, false)";

/// Asserts that what it held is there, and that all else can be kept.
async fn assert_goes_on(store: &impl Store) {
    let scope = scope("t/main");
    assert_eq!(text(store, &scope, "a.md").await.as_deref(), Some("x"));
    for (id, existed) in [("written", false), ("deleted", false)] {
        let receipt = store.receipt(&scope, &operation(id, "f")).await;
        let receipt = receipt.expect("answers").expect("it is there");
        assert!(receipt.replayed && receipt.existed == existed);
    }
    let transcripts = store.transcripts().expect("it keeps transcripts");
    let (id, messages) = (conversation("main"), [message("x")]);
    // An id that was used before the migration stays used.
    let by = operation("written", "f");
    let conflict = transcripts.add_messages(&scope, &id, &messages, Some(&by));
    let conflict = conflict.await;
    assert!(matches!(conflict, Err(MutationError::OperationConflict)));
    let by = operation("new", "f");
    let added = transcripts.add_messages(&scope, &id, &messages, Some(&by));
    assert_eq!(added.await.expect("add").next, 1);
    let fact = Fact::new("key", "value").expect("a fact");
    let facts = store.facts().expect("it keeps facts");
    let kept = facts.remember(&scope, &fact, None).await.expect("remember");
    assert!(!kept.existed);
    let query = RecallQuery::parse("value");
    let found = facts.recall(&scope, &query, 10).await.expect("recall");
    assert_eq!(found.len(), 1);
    assert!(found[0].order > 0, "the numbers are those of the versions");
}

/// The first migrations of a kind of database, to be applied as programs do it.
async fn first_migrations(kind: &str, count: usize) -> Migrator {
    let all = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../migrations");
    let files = std::fs::read_dir(all.join(kind)).expect("the migrations");
    let mut files: Vec<_> = files.map(|file| file.expect("readable").path()).collect();
    files.sort();
    let place = tempfile::tempdir().expect("a directory");
    for file in &files[..count] {
        let name = file.file_name().expect("a name");
        std::fs::copy(file, place.path().join(name)).expect("copy");
    }
    let mut migrator = Migrator::new(place.path()).await.expect("migrations");
    migrator.dangerous_set_table_name("notekeeper_migrations");
    // A schema of its own needs none; one that lies in wait is in the way of those who build indexes.
    migrator.set_locking(false);
    migrator
}

/// A database with the first migrations alone.
pub(crate) async fn older_database(migrations: usize) -> (Database, PgConnection) {
    let database = Database::unmigrated();
    let mut connection = database.connection().await;
    let schema = format!("create schema \"{}\"", database.options.schema);
    connection
        .execute(AssertSqlSafe(schema))
        .await
        .expect("create schema");
    let first = first_migrations("postgres", migrations).await;
    first.run(&mut connection).await.expect("migrate");
    (database, connection)
}

/// A file with the first migrations alone.
pub(crate) async fn older_file(migrations: usize) -> (DatabaseFile, SqliteConnection) {
    let file = DatabaseFile::new();
    let mut connection = file.connection().await;
    let first = first_migrations("sqlite", migrations).await;
    first.run(&mut connection).await.expect("migrate");
    (file, connection)
}

#[tokio::test]
async fn a_database_without_transcripts_keeps_what_it_has() {
    let (database, mut connection) = older_database(2).await;
    connection.execute(BEFORE_TRANSCRIPTS).await.expect("fill");
    let store = database.store();
    let unmigrated = store.check().await;
    assert!(
        matches!(
            unmigrated,
            Err(StoreError::Unmigrated {
                found: 2,
                needed: 3..
            })
        ),
        "{unmigrated:?}"
    );
    let report = store.migrate().await.expect("migrate");
    assert_eq!(report.before, 2);
    let applied = (3, "transcripts and facts".to_owned());
    assert_eq!(report.applied.first(), Some(&applied));
    assert_goes_on(&store).await;
}

#[tokio::test]
async fn a_file_without_transcripts_keeps_what_it_has_and_is_migrated_where_it_is_opened() {
    let (file, mut connection) = older_file(2).await;
    connection.execute(BEFORE_TRANSCRIPTS).await.expect("fill");
    connection.close().await.expect("close");
    assert_goes_on(&file.store().await).await;
}

/// What a database of the third migration holds beside what one of the second does.
const BEFORE_VECTORS: &str = "\
    insert into receipts (scope, id, fingerprint, kind, name, status, version, existed, created_at) \
    values \
        ('t/main', 'newer', 'f', 'write', 'a.md', 'updated', 9, true, '2026-02-03 04:05:06.500'), \
        ('t/main', 'older', 'f', 'write', 'a.md', 'updated', 8, true, '2026-02-03 04:05:06.250'), \
        ('t/main', 'fact', 'f', 'remember', 'key', 'remembered', null, false, \
            '2026-02-03 04:05:07'); \
    update receipts set created_at = '2026-01-01 00:00:00' where id in ('written', 'deleted')";

/// Asserts that old changes are told after new ones, and that vectors can be kept.
async fn assert_tells_and_finds(store: &impl Store) {
    let scope = scope("t/main");
    let edited = append(store, &scope, "b.md", "x", &operation("today", "f")).await;
    edited.expect("edit");
    let again = append(store, &scope, "a.md", "x", &operation("newer", "f")).await;
    assert!(again.expect("replay").replayed);
    let journal = store.journal().expect("it has one");
    let told = journal.newest_changes(&scope, 10).await.expect("told");
    let told = told.changes;
    let ids: Vec<&str> = told.iter().map(|entry| &*entry.operation_id).collect();
    assert_eq!(ids, ["today", "newer", "older", "written", "deleted"]);
    let newer = &told[1];
    assert_eq!(newer.at, "2026-02-03T04:05:06Z");
    assert_eq!(newer.version.as_ref().map(|v| v.as_str()), Some("9"));
    let vectors = store.vectors().expect("it keeps vectors");
    vectors.check_vectors().await.expect("they can be found");
    let (main, chunks) = (collection("main"), [chunk("a", &[1.0, 0.0])]);
    // An id that was used before the migration stays used.
    let by = operation("fact", "f");
    let conflict = vectors.keep_chunks(&scope, &main, &chunks, Some(&by)).await;
    assert!(matches!(conflict, Err(MutationError::OperationConflict)));
    let by = operation("chunks", "f");
    let kept = vectors.keep_chunks(&scope, &main, &chunks, Some(&by)).await;
    assert!(!kept.expect("keep").replayed);
    let found = nearest(vectors, &scope, &[1.0, 0.0], 10).await;
    assert_eq!(found.expect("found").len(), 1);
}

/// What programs of the release before write, which go on while a newer one migrates.
const BY_OLD: &[&str] = &[
    "insert into receipts (scope, id, fingerprint, kind, name, status, version, existed) \
     values ('t/main', 'z, by old', 'f', 'write', 'a.md', 'updated', 99, true)",
    "insert into receipts (scope, id, fingerprint, kind, name, status, version, existed) \
     values ('t/main', 'a, by old', 'f', 'delete', 'a.md', 'deleted', null, true)",
];

/// Asserts that it is told in its place: after what came before it, and before what comes after it.
async fn assert_tells_what_old_programs_do(store: &impl Store) {
    let scope = scope("t/main");
    let edited = append(store, &scope, "c.md", "x", &operation("later", "f")).await;
    edited.expect("edit");
    let journal = store.journal().expect("it has one");
    let told = journal.newest_changes(&scope, 4).await.expect("told");
    let ids: Vec<&str> = told
        .changes
        .iter()
        .map(|entry| &*entry.operation_id)
        .collect();
    assert_eq!(ids, ["later", "a, by old", "z, by old", "today"]);
}

/// A connection of the migration that waits for a lock.
const MIGRATION_WAITS: &str = "select exists (select from pg_stat_activity \
     where application_name = $1 and wait_event_type = 'Lock' and query like '%receipts%')";

#[tokio::test(flavor = "multi_thread")]
async fn a_migration_that_needs_a_table_lets_others_pass_until_it_is_free() {
    let (database, mut holder) = older_database(3).await;
    let mut other = database.connection().await;
    let mut behind = database.connection().await;
    holder.execute("begin").await.expect("begin");
    let read = "select count(*) from receipts";
    holder.execute(read).await.expect("read");
    let store = database.store();
    let migration = tokio::spawn(async move { store.migrate().await });
    for _ in 0..2 {
        until(&mut behind, MIGRATION_WAITS, &database.options.schema).await;
        // Behind the one that waits.
        within_patience(other.execute(read)).await.expect("read");
    }
    assert!(!migration.is_finished());
    holder.execute("commit").await.expect("commit");
    let report = within_patience(migration).await.expect("no panic");
    let report = report.expect("migrate");
    assert_eq!(report.before, 3);
}

const INDEX_IS_VALID: &str = "select indisvalid from pg_index \
     where indexrelid = 'receipts_by_order'::regclass";
const CANCEL_THE_BUILD: &str = "select count(pg_cancel_backend(pid)) from pg_stat_activity \
     where application_name = $1 and query like '%create index concurrently%'";

#[tokio::test(flavor = "multi_thread")]
async fn an_index_is_built_beside_the_work_of_others_and_again_where_it_was_given_up() {
    let (database, mut holder) = older_database(4).await;
    let mut other = database.connection().await;
    let mut behind = database.connection().await;
    holder.execute("begin").await.expect("begin");
    holder.execute(BY_OLD[0]).await.expect("insert");
    let store = database.store();
    let runs = store.clone();
    let migration = tokio::spawn(async move { runs.migrate().await });
    until(&mut behind, MIGRATION_WAITS, &database.options.schema).await;
    within_patience(other.execute(BY_OLD[1]))
        .await
        .expect("insert");
    let cancelled: i64 = sqlx::query_scalar(CANCEL_THE_BUILD)
        .bind(&database.options.schema)
        .fetch_one(&mut behind)
        .await
        .expect("cancel");
    assert_eq!(cancelled, 1);
    let given_up = within_patience(migration).await.expect("no panic");
    assert!(given_up.is_err(), "{given_up:?}");
    let valid = async |connection: &mut PgConnection| -> bool {
        let valid = sqlx::query_scalar(INDEX_IS_VALID);
        valid.fetch_one(connection).await.expect("it is there")
    };
    assert!(
        !valid(&mut behind).await,
        "what was given up left something"
    );
    holder.execute("commit").await.expect("commit");
    let report = store.migrate().await.expect("migrate");
    assert_eq!(report.applied, [(5, "journal index".to_owned())]);
    assert!(valid(&mut behind).await);
    store.check().await.expect("the database is migrated");
}

/// As programs of the release before do: such a run holds up the index, which holds up the run.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_lies_in_wait_for_one_with_an_index_is_let_pass() {
    let (database, mut holder) = older_database(4).await;
    let mut behind = database.connection().await;
    holder.execute("begin").await.expect("begin");
    holder.execute(BY_OLD[0]).await.expect("insert");
    let store = database.store();
    let migration = tokio::spawn(async move { store.migrate().await });
    until(&mut behind, MIGRATION_WAITS, &database.options.schema).await;
    let mut old = database.connection().await;
    let pid: i32 = sqlx::query_scalar("select pg_backend_pid()")
        .fetch_one(&mut old)
        .await
        .expect("asked");
    let old = tokio::spawn(async move {
        old.lock().await?;
        old.unlock().await
    });
    let waits =
        "select exists (select from pg_locks where pid = $1::text::integer and not granted)";
    until(&mut behind, waits, &pid.to_string()).await;
    holder.execute("commit").await.expect("commit");
    let report = within_patience(migration).await.expect("no panic");
    report.expect("migrate");
    // It may have been given up as well; what matters is that it ended.
    let _ = within_patience(old).await.expect("no panic");
}

#[tokio::test]
async fn a_database_without_vectors_keeps_what_it_has() {
    let (database, mut connection) = older_database(3).await;
    connection
        .execute("set time zone 'UTC'")
        .await
        .expect("set");
    connection.execute(BEFORE_TRANSCRIPTS).await.expect("fill");
    connection.execute(BEFORE_VECTORS).await.expect("fill");
    let store = database.store();
    let report = store.migrate().await.expect("migrate");
    assert_eq!(report.before, 3);
    let applied = (4, "vectors and journal".to_owned());
    assert_eq!(report.applied.first(), Some(&applied));
    assert_eq!(report.notices, [""; 0]);
    assert_tells_and_finds(&store).await;
    for change in BY_OLD {
        connection.execute(*change).await.expect("insert");
    }
    assert_tells_what_old_programs_do(&store).await;
}

#[tokio::test]
async fn a_file_without_vectors_keeps_what_it_has() {
    let (file, mut connection) = older_file(3).await;
    connection.execute(BEFORE_TRANSCRIPTS).await.expect("fill");
    connection.execute(BEFORE_VECTORS).await.expect("fill");
    let store = file.store().await;
    assert_tells_and_finds(&store).await;
    for change in BY_OLD {
        connection.execute(*change).await.expect("insert");
    }
    connection.close().await.expect("close");
    assert_tells_what_old_programs_do(&store).await;
}
