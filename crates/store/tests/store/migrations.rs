//! Migrations: run on request, once, and told.

use std::str::FromStr;

use futures::future::join_all;
use notekeeper_store::{PostgresStore, StoreError};
use sqlx::{
    AssertSqlSafe, Executor,
    postgres::{PgConnectOptions, PgPoolOptions},
};

use crate::database::{Database, append, operation, scope, text};

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
