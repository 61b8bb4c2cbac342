//! Opening an SQLite file: what becomes of it, and what is said of one that can't be used.

use std::{
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use futures::future::join_all;
use notekeeper_store::{NoteStore as _, SqliteOptions, SqliteStore, StoreError};
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Executor as _};

use crate::{
    child::{heard_without_rights, part, say},
    database::{append, operation, scope, text},
    database_file::DatabaseFile,
};

fn mode(path: &Path) -> u32 {
    let metadata = std::fs::metadata(path).expect("it is there");
    metadata.permissions().mode() & 0o777
}

fn set_mode(path: &Path, mode: u32) {
    let permissions = std::fs::Permissions::from_mode(mode);
    std::fs::set_permissions(path, permissions).expect("set permissions");
}

async fn refused(path: impl Into<PathBuf>) -> String {
    let refused = SqliteStore::open(&SqliteOptions::new(path)).await;
    refused.expect_err("it can't be opened").to_string()
}

async fn pragma(file: &DatabaseFile, name: &str) -> String {
    let mut connection = file.connection().await;
    let pragma = format!("select cast({name} as text) from pragma_{name}");
    sqlx::query_scalar(AssertSqlSafe(pragma))
        .fetch_one(&mut connection)
        .await
        .expect("a pragma")
}

#[tokio::test]
async fn a_file_is_made_for_its_user_alone_and_closed_into_one_file() {
    let file = DatabaseFile::new();
    let store = file.store().await;
    assert_eq!(store.kind(), "sqlite");
    let scope = scope("t/main");
    append(&store, &scope, "a.md", "x", &operation("1", "f"))
        .await
        .expect("append");
    let beside = |end: &str| {
        let mut path = file.options.path.clone().into_os_string();
        path.push(end);
        PathBuf::from(path)
    };
    for end in ["", "-wal", "-shm"] {
        assert_eq!(mode(&beside(end)), 0o600, "{end}");
    }
    store.close().await;
    assert!(!beside("-wal").exists() && !beside("-shm").exists());
    let closed = store.read(&scope, &crate::database::name("a.md"), 9).await;
    let closed = closed.expect_err("the store is closed").to_string();
    assert_eq!(closed, "store is unavailable: the store is closed");
    assert_eq!(pragma(&file, "application_id").await, "1316252528");
    assert_eq!(pragma(&file, "journal_mode").await, "wal");
    let again = file.store().await;
    assert_eq!(text(&again, &scope, "a.md").await.as_deref(), Some("x\n"));
}

#[tokio::test]
async fn an_empty_file_is_used_with_the_permissions_that_it_has() {
    let file = DatabaseFile::new();
    std::fs::write(&file.options.path, "").expect("write");
    set_mode(&file.options.path, 0o640);
    let store = file.store().await;
    append(&store, &scope("t/main"), "a.md", "x", &operation("1", "f"))
        .await
        .expect("append");
    assert_eq!(mode(&file.options.path), 0o640);
}

#[tokio::test(flavor = "multi_thread")]
async fn stores_that_open_a_new_file_at_once_all_succeed() {
    let file = DatabaseFile::new();
    let opening = (0..16).map(|_| {
        let options = file.options.clone();
        tokio::spawn(async move { SqliteStore::open(&options).await })
    });
    let stores = join_all(opening).await;
    let scope = scope("t/main");
    for (index, store) in stores.into_iter().enumerate() {
        let store = store.expect("no panic").expect("open");
        let write = operation(&index.to_string(), "f");
        append(&store, &scope, "a.md", "x", &write)
            .await
            .expect("append");
    }
    let mut connection = file.connection().await;
    let migrations: i64 = sqlx::query_scalar("select count(*) from notekeeper_migrations")
        .fetch_one(&mut connection)
        .await
        .expect("count");
    let known = std::fs::read_dir(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../migrations/sqlite"
    ));
    let known = known.expect("the migrations are there").count();
    assert_eq!(
        usize::try_from(migrations),
        Ok(known),
        "each was applied once"
    );
}

#[tokio::test]
async fn words_that_sqlite_gives_a_meaning_to_are_names_of_files() {
    let file = DatabaseFile::new();
    for name in [":memory:", "file:x?mode=memory", "a b'%20.db"] {
        let path = file.beside(name);
        let store = SqliteStore::open(&SqliteOptions::new(&path)).await;
        store.expect("open").close().await;
        assert!(path.is_file(), "{name}");
    }
}

#[tokio::test]
async fn a_place_where_no_file_can_be_says_what_to_do() {
    let file = DatabaseFile::new();
    let directory = file.beside("directory");
    std::fs::create_dir(&directory).expect("make it");
    let plain = file.beside("plain");
    std::fs::write(&plain, "no database\n").expect("write");
    let long = "no database ".repeat(1_000);
    let longer = file.beside("longer");
    std::fs::write(&longer, &long).expect("write");
    let missing = file.beside("missing/notes.db");
    let below = plain.join("notes.db");
    let expected: [(&Path, &str); 6] = [
        (
            &directory,
            "is a directory; name a file in it, such as `notekeeper.db`",
        ),
        (
            &plain,
            "is no SQLite database; name another file, which is made where it is missing",
        ),
        (
            &longer,
            "is no SQLite database; name another file, which is made where it is missing",
        ),
        (&missing, "can't be made: create the directory `"),
        (&below, "can't be made"),
        (Path::new("/dev/null"), "is neither a file nor a directory"),
    ];
    for (path, what) in expected {
        let said = refused(path).await;
        let start = format!("store can't be used: `{}` {what}", path.display());
        assert!(said.starts_with(&start), "{said}");
    }
    assert_eq!(
        std::fs::read_to_string(&plain).expect("read"),
        "no database\n"
    );
    assert_eq!(std::fs::read_to_string(&longer).expect("read"), long);
    assert!(!missing.exists());
    assert!(refused("").await.contains("`path`: it is empty"));
}

#[tokio::test]
async fn another_programs_database_is_refused_and_stays_as_it_is() {
    for made in [
        "create table notes (id integer); insert into notes values (7)",
        "pragma application_id = 7",
        "pragma application_id = 7; create table notes (id integer)",
    ] {
        let file = DatabaseFile::new();
        let mut other = file.connection().await;
        other.execute(made).await.expect("make it");
        drop(other);
        let before = std::fs::read(&file.options.path).expect("read");
        let said = refused(&file.options.path).await;
        assert!(
            said.contains("is another program's database; name another"),
            "{said}"
        );
        let after = std::fs::read(&file.options.path).expect("read");
        assert!(before == after, "{made}");
    }
}

#[tokio::test]
async fn a_file_of_a_newer_program_is_refused_with_both_numbers() {
    let file = DatabaseFile::new();
    let store = file.store().await;
    let mut connection = file.connection().await;
    connection
        .execute(
            "insert into notekeeper_migrations \
             select 9999, 'later', current_timestamp, true, checksum, 0 from notekeeper_migrations \
             where version = 1",
        )
        .await
        .expect("insert");
    let opened = SqliteStore::open(&file.options).await;
    assert!(
        matches!(
            opened,
            Err(StoreError::TooNew {
                found: 9999,
                known: 1..
            })
        ),
        "{opened:?}"
    );
    // Programs that run already go on while the file is ahead of them.
    let scope = scope("t/main");
    append(&store, &scope, "a.md", "x", &operation("1", "f"))
        .await
        .expect("append");
    assert_eq!(text(&store, &scope, "a.md").await.as_deref(), Some("x\n"));
}

#[tokio::test]
async fn a_migration_that_was_changed_after_it_was_applied_is_refused() {
    let file = DatabaseFile::new();
    file.store().await.close().await;
    let mut connection = file.connection().await;
    connection
        .execute("update notekeeper_migrations set checksum = x'00'")
        .await
        .expect("update");
    let said = refused(&file.options.path).await;
    assert!(
        said.contains("migration 1 was applied in another form"),
        "{said}"
    );
}

#[tokio::test]
async fn options_that_cannot_be_meant_are_refused() {
    let file = DatabaseFile::new();
    let with = |change: fn(&mut SqliteOptions)| {
        let mut options = file.options.clone();
        change(&mut options);
        options
    };
    let mut too_long = file.options.clone();
    too_long.busy_timeout = Duration::from_secs(4 * 7 * 24 * 3_600);
    for (options, field) in [
        (with(|options| options.readers_max = 0), "`readers_max`"),
        (too_long, "`busy_timeout`"),
        (with(|options| options.path = "a\0b".into()), "`path`"),
    ] {
        let refused = SqliteStore::open(&options).await.expect_err("invalid");
        assert!(matches!(refused, StoreError::InvalidValue { .. }));
        assert!(refused.to_string().contains(field), "{refused}");
    }
    assert!(!file.options.path.exists());
}

/// Plays the part of a user who may not do what is needed.
fn open_and_say(part: &Value) {
    let path = part["database"].as_str().expect("a path").to_owned();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let opened = runtime.block_on(SqliteStore::open(&SqliteOptions::new(path)));
    match opened {
        Ok(_) => say("opened"),
        Err(error) => say(&error.to_string()),
    }
}

#[test]
fn a_user_without_permission_is_told_what_is_missing() {
    if let Some(part) = part() {
        return open_and_say(&part);
    }
    let test = "sqlite_files::a_user_without_permission_is_told_what_is_missing";
    let file = DatabaseFile::new();
    let directory = file.beside("");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async { file.store().await.close().await });
    let said = |path: &Path| {
        let part = json!({ "database": path });
        heard_without_rights(test, &part, &directory)
    };
    let path = file.options.path.display();
    let no_rights = format!(
        "store can't be used: `{path}` can't be written to: give this user read and write \
         permission for the file and its directory"
    );
    // In the order of what a person would grant.
    set_mode(&directory, 0o555);
    set_mode(&file.options.path, 0o000);
    assert_eq!(said(&file.options.path), no_rights);
    set_mode(&file.options.path, 0o444);
    assert_eq!(said(&file.options.path), no_rights);
    set_mode(&file.options.path, 0o666);
    assert_eq!(said(&file.options.path), no_rights);
    let new = said(&directory.join("new.db"));
    assert!(
        new.contains("can't be made or reached: give this user write"),
        "{new}"
    );
    set_mode(&directory, 0o777);
    assert_eq!(said(&file.options.path), "opened");
}
