//! Databases that can't be used: at another migration, without a privilege, not there.

use std::path::Path;

use serde_json::json;
use sqlx::{Connection as _, SqliteConnection};

use super::{assert_failed, refusing_port, unprivileged};
use crate::support::{Bed, Proxy, Worker, WorkerOptions, dev::run_dev, run};

#[tokio::test]
async fn a_database_that_was_not_migrated_is_refused_with_the_command_that_migrates_it() {
    let bed = Bed::new().await;
    let elsewhere = format!("{}_new", bed.schema);
    let there = [("NOTEKEEPER_SCHEMA", elsewhere.as_str())];

    let refused = run(&bed, &["worker"], &there).await;
    let migrated = run(&bed, &["migrate"], &there).await;
    let again = run(&bed, &["migrate"], &there).await;

    assert_failed(
        &refused,
        1,
        &["store `default`", "run `notekeeper migrate`"],
    );
    assert_eq!(migrated.code, Some(0), "{migrated:?}");
    assert!(
        migrated.stdout.contains("store `default`: applied 1 "),
        "{migrated:?}"
    );
    assert_eq!(again.code, Some(0), "{again:?}");
    assert!(
        again.stdout.contains("up to date at migration"),
        "{again:?}"
    );

    // The worker now serves it.
    let _worker = Worker::start(
        &bed,
        WorkerOptions {
            queues: Some("memory"),
            environment: vec![("NOTEKEEPER_SCHEMA", elsewhere.clone())],
            ..WorkerOptions::default()
        },
    )
    .await;
    let write = json!({"scope": {"namespace": "acme"}, "content": "line"});
    assert_eq!(
        bed.call("write_memory", &write).await.result()["status"],
        "created"
    );
    assert_eq!(
        bed.note("acme/main", "MEMORY.md").await,
        None,
        "another schema"
    );
    bed.execute(&format!("drop schema \"{elsewhere}\" cascade"))
        .await;
    bed.finish().await;
}

#[tokio::test]
async fn a_database_of_a_newer_release_is_refused() {
    let bed = Bed::new().await;
    bed.execute(
        "insert into notekeeper_migrations (version, description, success, checksum, execution_time) \
         values (9999, 'later', true, '', 0)",
    )
    .await;

    let worker = run(&bed, &["worker"], &[]).await;
    let migrate = run(&bed, &["migrate"], &[]).await;

    assert_failed(&worker, 1, &["9999", "newer version"]);
    assert_failed(&migrate, 1, &["9999", "newer version"]);
    bed.finish().await;
}

#[tokio::test]
async fn a_database_at_an_older_migration_is_refused_with_both_numbers() {
    let bed = Bed::new().await;
    let newest = "(select max(version) from notekeeper_migrations)";
    bed.execute(&format!(
        "delete from notekeeper_migrations where version = {newest}"
    ))
    .await;
    let worker = run(&bed, &["worker"], &[]).await;
    assert_failed(
        &worker,
        1,
        &[
            "store `default`",
            "database is at migration",
            "run `notekeeper migrate`",
        ],
    );
    bed.finish().await;
}

/// The same database by another user's name, without a password.
fn as_user(database_url: &str, user: &str) -> String {
    let (scheme, rest) = database_url.split_once("://").expect("a URL");
    let (_, place) = rest.rsplit_once('@').unwrap_or(("", rest));
    format!("{scheme}://{user}@{place}")
}

#[tokio::test]
async fn a_role_that_may_not_do_what_is_needed_is_told_so() {
    let bed = Bed::new().await;
    let role = format!("{}_role", bed.schema);
    bed.execute(&format!("create role \"{role}\" login")).await;
    // What it lacks is the right to read the tables. Without the right to the schema as well, it would
    // be told that there are none.
    let schema = &bed.schema;
    bed.execute(&format!("grant usage on schema \"{schema}\" to \"{role}\""))
        .await;
    let url = as_user(&bed.database_url, &role);
    let elsewhere = format!("{}_other", bed.schema);
    let theirs = [("DATABASE_URL", url.as_str())];
    let there = [theirs[0], ("NOTEKEEPER_SCHEMA", elsewhere.as_str())];

    let migrate = run(&bed, &["migrate"], &there).await;
    let worker = run(&bed, &["worker"], &theirs).await;
    let demo = run(&bed, &["demo", "--store", "postgres"], &theirs).await;

    bed.execute(&format!("drop owned by \"{role}\"; drop role \"{role}\""))
        .await;
    for ended in [migrate, worker, demo] {
        assert_failed(&ended, 1, &["the role lacks a privilege", "42501"]);
    }
    bed.finish().await;
}

/// The same server, with another database and in the part of another role.
fn in_database(database_url: &str, database: &str, role: &str) -> String {
    let (server, rest) = database_url.rsplit_once('/').expect("a path");
    let parameters = rest.split_once('?').map(|(_, parameters)| parameters);
    let parameters = parameters.map_or(String::new(), |parameters| format!("{parameters}&"));
    format!("{server}/{database}?{parameters}options=-crole%3D{role}")
}

#[tokio::test]
async fn a_worker_without_pgvector_serves_all_else_and_says_what_to_do() {
    let bed = Bed::new().await;
    // An extension is a database's, and an administrator's role would make it.
    let (database, role) = (
        format!("{}_plain", bed.schema),
        format!("{}_role", bed.schema),
    );
    bed.execute(&format!("create database {database}")).await;
    bed.execute(&format!(
        "create role {role} login; grant {role} to current_user; \
         grant create, connect on database {database} to {role}"
    ))
    .await;
    let url = in_database(&bed.database_url, &database, &role);
    let there = [("DATABASE_URL", url.as_str())];
    let migrated = run(&bed, &["migrate"], &there).await;
    assert_eq!(migrated.code, Some(0), "{migrated:?}");
    let notice = "vectors can't be searched: this role can't create the extension pgvector";
    assert!(
        format!("{}{}", migrated.stdout, migrated.stderr).contains(notice),
        "{migrated:?}"
    );

    let warning = "store `default`: vectors can't be searched: the database lacks the extension pgvector, \
                   without which it compares no vectors; run `notekeeper migrate`, or have an administrator run \
                   `create extension vector`";
    let options = || WorkerOptions {
        queues: Some("memory"),
        database_url: Some(url.clone()),
        ..WorkerOptions::default()
    };
    let worker = Worker::start(&bed, options()).await;
    let said = |worker: &Worker| {
        let log = worker.log();
        log.iter().filter(|line| line.contains(warning)).count()
    };
    assert_eq!(said(&worker), 1, "{:?}", worker.log());
    let write = json!({"scope": {"namespace": "acme"}, "content": "line"});
    assert_eq!(
        bed.call("write_memory", &write).await.result()["status"],
        "created"
    );
    drop(worker);

    // The administrator does as he is told.
    let pool = sqlx::PgPool::connect(&in_database(&bed.database_url, &database, "none"))
        .await
        .expect("connect");
    sqlx::raw_sql("create extension vector")
        .execute(&pool)
        .await
        .expect("create it");
    pool.close().await;
    let worker = Worker::start(&bed, options()).await;
    assert_eq!(said(&worker), 0, "{:?}", worker.log());
    drop(worker);
    bed.execute(&format!("drop database {database} with (force)"))
        .await;
    bed.execute(&format!("drop role {role}")).await;
    bed.finish().await;
}

#[tokio::test]
async fn a_user_or_database_that_does_not_exist_fails_a_command_and_keeps_a_worker_waiting() {
    let bed = Bed::new().await;
    let user = as_user(&bed.database_url, "nobody_of_this_name");
    let (server, _) = bed
        .database_url
        .rsplit_once('/')
        .expect("a database's name");
    let database = format!("{server}/no_database_of_this_name");
    let cases = [
        (user, "authentication failed"),
        (database, "there is no such database"),
    ];
    for (url, part) in cases {
        for arguments in [&["migrate"][..], &["demo", "--store", "postgres"]] {
            let ended = run(&bed, arguments, &[("DATABASE_URL", &url)]).await;
            assert_failed(&ended, 1, &[part]);
        }
        let mut worker = Worker::spawn(
            &bed,
            WorkerOptions {
                database_url: Some(url),
                ..WorkerOptions::default()
            },
        );
        worker.wait_until_logged(part, 2).await;
        worker.terminate();
        assert_eq!(worker.ended().await.code(), Some(0));
    }
    bed.finish().await;
}

#[tokio::test]
async fn a_database_that_is_out_of_reach_fails_a_migration() {
    let bed = Bed::new().await;
    let (_refusing, address) = refusing_port();
    let target = Proxy::target(&bed.database_url);
    let refused = bed.database_url.replace(&target, &address);
    let nowhere = bed.database_url.replace(&target, "nowhere.invalid:5432");
    for url in [refused, nowhere] {
        let ended = run(&bed, &["migrate"], &[("DATABASE_URL", &url)]).await;
        assert_failed(
            &ended,
            1,
            &["store `default`", "unavailable", "can't connect"],
        );
    }
    bed.finish().await;
}

/// Runs a statement on an SQLite file.
async fn execute(file: &Path, statement: &'static str) {
    let url = format!("sqlite://{}", file.display());
    let mut connection = SqliteConnection::connect(&url)
        .await
        .expect("open the file");
    sqlx::raw_sql(statement)
        .execute(&mut connection)
        .await
        .expect("the statement");
    connection.close().await.expect("close the file");
}

#[tokio::test]
async fn a_file_of_a_newer_release_is_refused() {
    let bed = Bed::new().await;
    let data = bed.path("data");
    std::fs::create_dir(&data).expect("a directory");
    let file = data.join("notes.sqlite");
    let options = notekeeper_store::SqliteOptions::new(&file);
    let store = notekeeper_store::SqliteStore::open(&options).await;
    store.expect("make the file").close().await;
    execute(
        &file,
        "insert into notekeeper_migrations (version, description, success, checksum, execution_time) \
         values (9999, 'later', true, x'', 0)",
    )
    .await;
    let path = file.to_str().expect("a path that is text");

    let on_file = [
        ("DATABASE_URL", ""),
        ("NOTEKEEPER_SCHEMA", ""),
        ("NOTEKEEPER_SQLITE", path),
    ];
    let worker = run(&bed, &["worker"], &on_file).await;
    let dev = run_dev(&data, &["--port", "0"], &[]).await;

    for ended in [worker, dev] {
        assert_failed(&ended, 1, &["store `default`", "9999", "newer version"]);
    }
    bed.finish().await;
}

#[tokio::test]
async fn a_file_that_a_worker_cannot_use_is_named() {
    let directory = tempfile::tempdir().expect("a directory");
    let bed = Bed::new().await;
    let text = bed.config("not a database, but long enough to be one");
    let on = |path: &str| {
        [
            ("DATABASE_URL", ""),
            ("NOTEKEEPER_SCHEMA", ""),
            ("NOTEKEEPER_SQLITE", path),
        ]
        .map(|(a, b)| (a, b.to_owned()))
    };
    let cases = [
        (text.as_str(), "is no SQLite database"),
        ("/nowhere/notes.sqlite", "create the directory `/nowhere`"),
        ("/", "is a directory"),
    ];
    for (path, part) in cases {
        let on = on(path);
        let on: Vec<_> = on
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        let ended = run(&bed, &["worker"], &on).await;
        assert_failed(&ended, 1, &["store `default`", path, part]);
    }
    bed.finish().await;

    super::open_to_all(directory.path(), 0o755);
    let file = directory.path().join("notes.sqlite");
    let file = file.to_str().expect("a path that is text");
    let ended = unprivileged(directory.path(), &["worker", "--sqlite", file]).await;
    assert_failed(&ended, 1, &["store `default`", file, "write permission"]);
}

#[tokio::test]
async fn stores_that_were_migrated_before_another_one_failed_are_told_to_programs() {
    let bed = Bed::new().await;
    let url = &bed.database_url;
    let away = url.replace(&crate::support::Proxy::target(url), "127.0.0.1:1");
    let (schema, place) = (&bed.schema, "kind = 'postgres'\nurl");
    let config = bed.config(&format!(
        "[stores.a]\n{place} = '{url}'\nschema = '{schema}'\n[stores.b]\n{place} = '{away}'"
    ));
    let arguments = ["migrate", "--json", "--config", &config];
    let none = [("DATABASE_URL", ""), ("NOTEKEEPER_SCHEMA", "")];
    let ended = run(&bed, &arguments, &none).await;
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let done: serde_json::Value = serde_json::from_str(&ended.stdout).expect("JSON");
    assert_eq!(done["stores"][0]["store"], "a", "{ended:?}");
    assert!(ended.stderr.contains("store `b`"), "{ended:?}");
    bed.finish().await;
}
