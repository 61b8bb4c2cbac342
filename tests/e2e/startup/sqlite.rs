//! An SQLite file as the store: bad starts, and workers that share one.

use std::path::Path;

use futures::future::join_all;
use notekeeper_store::{SqliteOptions, SqliteStore};
use serde_json::json;
use sqlx::{Connection as _, Executor as _, SqliteConnection, sqlite::SqliteConnectOptions};

use super::{assert_failed, unprivileged};
use crate::support::{Bed, Ended, Worker, WorkerOptions, run};

fn text(path: &Path) -> &str {
    path.to_str().expect("a path that is text")
}

/// Runs a command with a file as the store `default`.
async fn run_with(bed: &Bed, command: &str, path: &Path) -> Ended {
    let no_database = [("DATABASE_URL", ""), ("NOTEKEEPER_SCHEMA", "")];
    run(bed, &[command, "--sqlite", text(path)], &no_database).await
}

/// A connection of another program, which makes the file where it is missing.
async fn another_program(path: &Path) -> SqliteConnection {
    let options = SqliteConnectOptions::new().filename(path);
    SqliteConnection::connect_with(&options.create_if_missing(true))
        .await
        .expect("open the file")
}

async fn made(path: &Path) {
    let store = SqliteStore::open(&SqliteOptions::new(path)).await;
    store.expect("open").close().await;
}

#[tokio::test]
async fn a_file_that_cannot_be_a_store_ends_the_worker_with_what_to_do() {
    let bed = Bed::new().await;
    let directory = bed.path("directory");
    std::fs::create_dir(&directory).expect("a directory");
    let diary = bed.path("diary.md");
    std::fs::write(&diary, "of somebody's").expect("write it");
    let theirs = bed.path("theirs.db");
    let mut other = another_program(&theirs).await;
    other.execute("create table t (id)").await.expect("a table");
    other.close().await.expect("close");
    let newer = bed.path("newer.db");
    made(&newer).await;
    let mut later = another_program(&newer).await;
    later
        .execute(
            "insert into notekeeper_migrations \
             select 9999, 'later', current_timestamp, true, checksum, 0 from notekeeper_migrations \
             limit 1",
        )
        .await
        .expect("insert");
    let kept = bed.path("kept.db");
    made(&kept).await;
    let mut keeper = another_program(&kept).await;
    keeper
        .execute("pragma locking_mode = exclusive; begin exclusive; commit")
        .await
        .expect("keep it");
    let unusable: [(&Path, &[&str]); 6] = [
        (&directory, &["is a directory", "name a file in it"]),
        (&bed.path("no/where.db"), &["create the directory"]),
        (&diary, &["is no SQLite database", "name another file"]),
        (&theirs, &["another program's database", "name another"]),
        (&newer, &["at migration 9999", "newer version"]),
        (&kept, &["stays locked by another program", "end that one"]),
    ];
    for (path, parts) in unusable {
        let ended = run_with(&bed, "worker", path).await;
        assert_failed(&ended, 1, parts);
        assert!(
            ended.stderr.contains("error: store `default`: "),
            "{ended:?}"
        );
    }
    let both = run(&bed, &["worker", "--sqlite", "notes.db"], &[]).await;
    assert_failed(&both, 1, &["--sqlite", "--database-url", "remove one"]);
    drop((later, keeper));
    bed.finish().await;
}

#[tokio::test]
async fn a_file_that_this_user_may_not_write_to_ends_the_worker_with_what_to_do() {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = |path: &Path, mode| {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(path, permissions).expect("set permissions");
    };
    let directory = tempfile::tempdir().expect("a directory");
    mode(directory.path(), 0o755);
    let file = directory.path().join("notes.db");
    made(&file).await;
    mode(&file, 0o444);
    for (name, part) in [
        ("notes.db", "read and write permission"),
        ("new.db", "write permission"),
    ] {
        let path = directory.path().join(name);
        // Beside the store `default`, which the environment may name.
        let config = directory.path().join("notekeeper.toml");
        let section = format!("[stores.shared]\nkind = 'sqlite'\npath = '{}'", text(&path));
        std::fs::write(&config, section).expect("write it");
        let arguments = ["worker", "--config", text(&config)];
        let ended = unprivileged(directory.path(), &arguments).await;
        assert_failed(&ended, 1, &["store `shared`", text(&path), part]);
    }
}

#[tokio::test]
async fn a_file_is_migrated_by_whoever_opens_it_and_migrate_says_so() {
    let bed = Bed::new().await;
    let path = bed.path("notes.db");
    let migrated = run_with(&bed, "migrate", &path).await;
    assert_eq!(
        (migrated.code, migrated.stdout.as_str()),
        (
            Some(0),
            "store `default`: nothing to do; an SQLite file is migrated whenever it is opened\n"
        ),
        "{migrated:?}"
    );
    assert!(!path.exists(), "a look changes nothing");
    bed.finish().await;
}

#[tokio::test]
async fn workers_of_one_host_share_a_file_and_lose_nothing_when_one_is_killed() {
    const CALLS: usize = 60;
    let bed = Bed::new().await;
    let path = bed.path("notes.db");
    let config = bed.config(&format!(
        "[stores.shared]\nkind = 'sqlite'\npath = '{}'",
        text(&path)
    ));
    let options = || WorkerOptions {
        queues: Some("memory"),
        environment: vec![("NOTEKEEPER_CONFIG", config.clone())],
        ..WorkerOptions::default()
    };
    // Both open the file for the first time at the same time.
    let (mut killed, other) = (
        Worker::spawn(&bed, options()),
        Worker::spawn(&bed, options()),
    );
    for worker in [&killed, &other] {
        worker.wait_until_logged("worker is up", 1).await;
    }
    let scope = json!({"namespace": "acme"});
    let append = async |call: usize| {
        let write = json!({
            "store": "shared",
            "scope": scope,
            "content": format!("<{call}>"),
            "operation": {"id": format!("op-{call}")},
        });
        bed.call("write_memory", &write).await.result()["version"].clone()
    };
    join_all((0..CALLS / 2).map(append)).await;
    let calls = join_all((CALLS / 2..CALLS).map(append));
    let kill = async { killed.kill() };
    let (versions, ()) = futures::join!(calls, kill);
    assert!(versions.iter().all(|version| version.is_string()));
    let read = json!({"store": "shared", "scope": scope, "file": "MEMORY.md"});
    let read = bed.call("read_memory", &read).await;
    let read = read.result();
    let note = read["content"].as_str().expect("a text");
    for call in 0..CALLS {
        assert_eq!(note.matches(&format!("<{call}>")).count(), 1, "{call}");
    }
    bed.finish().await;
}
