//! The journal of a store of files: one that can't be read is set aside, one that is newer is left
//! alone.

use std::{
    io::{Seek as _, SeekFrom, Write as _},
    os::unix::fs::symlink,
    path::PathBuf,
    time::Duration,
};

use futures::future::join_all;
use notekeeper_store::{FileStore, MutationError, NoteStore as _, Store as _, StoreError};
use sqlx::{AssertSqlSafe, Executor as _};

use crate::{
    database::{append, operation, scope, text},
    file_root::{FileRoot, JOURNAL},
};

/// A root with one note and one receipt.
async fn root_with_a_note() -> FileRoot {
    let root = FileRoot::new();
    let store = root.store().await;
    append(&store, &scope("m"), "a.md", "one", &operation("1", "f"))
        .await
        .expect("append");
    store.close().await;
    root
}

/// A change of a journal's bytes.
type Spoil = fn(&mut Vec<u8>);

/// What was set aside, as it stands in the root.
fn set_aside(root: &FileRoot) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(&root.options.root).expect("a directory");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut aside: Vec<_> = paths
        .filter(|path| path.to_string_lossy().contains(".set-aside-"))
        .collect();
    aside.sort();
    aside
}

/// The note is there, the receipt isn't, and new ones are kept.
async fn starts_afresh(store: &FileStore) {
    let scope = scope("m");
    assert_eq!(text(store, &scope, "a.md").await.as_deref(), Some("one\n"));
    let first = operation("1", "f");
    assert_eq!(store.receipt(&scope, &first).await.expect("answers"), None);
    for replayed in [false, true] {
        let edit = append(store, &scope, "b.md", "two", &first).await;
        assert_eq!(edit.expect("append").replayed, replayed);
    }
}

#[tokio::test]
async fn one_that_cannot_be_read_is_set_aside_as_it_is() {
    let spoilt: [(&str, Spoil); 5] = [
        ("text", |bytes| *bytes = b"[{\"id\": \"a\"".to_vec()),
        ("cut", |bytes| bytes.truncate(bytes.len() / 2)),
        ("cut in the header", |bytes| bytes.truncate(50)),
        ("overwritten inside", |bytes| {
            let middle = bytes.len() / 4;
            bytes[4_096..middle * 3].fill(0x5a);
        }),
        ("no journal's header", |bytes| bytes[68..72].fill(7)),
    ];
    for (what, spoil) in spoilt {
        let root = root_with_a_note().await;
        let path = root.path(JOURNAL);
        let mut bytes = std::fs::read(&path).expect("read");
        spoil(&mut bytes);
        std::fs::write(&path, &bytes).expect("write");
        starts_afresh(&root.store().await).await;
        let aside = set_aside(&root);
        let kept = aside
            .iter()
            .map(|path| std::fs::read(path).expect("a file"));
        assert!(
            kept.into_iter().any(|kept| kept == bytes),
            "{what}: {aside:?}"
        );
    }
}

#[tokio::test]
async fn another_programs_database_is_set_aside() {
    for other in [
        "create table t (a); pragma user_version = 1",
        "drop table receipts",
        "drop table snapshots; create view snapshots as \
         select '' as scope, '' as digest, '' as created_at, '' as content",
        "drop index receipts_by_age; create trigger t after insert on receipts begin delete from records; end",
    ] {
        let root = root_with_a_note().await;
        if other.starts_with("create") {
            std::fs::remove_file(root.path(JOURNAL)).expect("remove");
            std::fs::write(root.path(JOURNAL), "").expect("write");
        }
        root.journal()
            .await
            .execute(AssertSqlSafe(other))
            .await
            .expect("execute");
        starts_afresh(&root.store().await).await;
        assert!(!set_aside(&root).is_empty());
    }
}

#[tokio::test]
async fn what_is_no_file_in_its_place_is_set_aside() {
    for (what, end) in [
        ("directory", ""),
        ("link", ""),
        ("directory", "-journal"),
        ("link", "-wal"),
    ] {
        let root = root_with_a_note().await;
        let path = root.path(&format!("{JOURNAL}{end}"));
        let _ = std::fs::remove_file(&path);
        match what {
            "directory" => std::fs::create_dir(&path).expect("make"),
            _ => symlink(root.beside("elsewhere"), &path).expect("link"),
        }
        let store = root.store().await;
        assert_eq!(
            text(&store, &scope("m"), "a.md").await.as_deref(),
            Some("one\n")
        );
        assert!(!set_aside(&root).is_empty(), "{what} {end}");
        assert!(
            !root.beside("elsewhere").exists(),
            "nothing is written outside"
        );
    }
}

#[tokio::test]
async fn what_is_left_of_one_that_is_gone_is_not_taken_for_the_new_one() {
    let root = root_with_a_note().await;
    std::fs::remove_file(root.path(JOURNAL)).expect("remove");
    std::fs::write(root.path(&format!("{JOURNAL}-journal")), "left over").expect("write");
    starts_afresh(&root.store().await).await;
    assert_eq!(set_aside(&root).len(), 1);
}

#[tokio::test]
async fn a_newer_programs_journal_is_left_as_it_is_and_the_store_is_not_opened() {
    let root = root_with_a_note().await;
    root.journal()
        .await
        .execute("pragma user_version = 2")
        .await
        .expect("execute");
    let before = std::fs::read(root.path(JOURNAL)).expect("read");
    for read_only in [false, true] {
        let mut options = root.options.clone();
        options.read_only = read_only;
        let refused = FileStore::open(options).await.expect_err("it is newer");
        assert!(
            matches!(refused, StoreError::TooNew { found: 2, known: 1 }),
            "{refused}"
        );
    }
    assert_eq!(std::fs::read(root.path(JOURNAL)).expect("read"), before);
    assert_eq!(set_aside(&root), Vec::<PathBuf>::new());
}

#[tokio::test]
async fn one_that_is_spoilt_while_stores_use_it_is_set_aside_by_the_first_that_notices() {
    let root = root_with_a_note().await;
    let (one, other) = (root.store().await, root.store().await);
    let receipt = one.receipt(&scope("m"), &operation("1", "f")).await;
    assert!(receipt.expect("answers").is_some());
    let length = std::fs::metadata(root.path(JOURNAL)).expect("there").len();
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .open(root.path(JOURNAL))
        .expect("open");
    file.seek(SeekFrom::Start(0)).expect("seek");
    let garbage = vec![0x5a; usize::try_from(length).expect("small")];
    file.write_all(&garbage).expect("write");
    starts_afresh(&one).await;
    // The other goes on with the new one.
    let again = append(&other, &scope("m"), "b.md", "two", &operation("1", "f")).await;
    assert!(again.expect("append").replayed);
    let mut aside = set_aside(&root);
    // What SQLite keeps beside it goes with it.
    aside.retain(|path| !path.to_string_lossy().ends_with("-journal"));
    assert_eq!(aside.len(), 1);
}

#[tokio::test]
async fn a_root_that_goes_away_is_unavailable_and_comes_back_as_what_it_is() {
    let root = root_with_a_note().await;
    let store = root.store().await;
    let away = root.beside("away");
    std::fs::rename(&root.options.root, &away).expect("rename");
    let read = store.names(&scope("m"), 9).await.expect_err("it is away");
    assert!(matches!(read, StoreError::Unavailable(_)), "{read}");
    assert!(!read.to_string().contains("notes"), "{read}");
    let edit = append(&store, &scope("m"), "a.md", "x", &operation("2", "f")).await;
    let unavailable = matches!(edit, Err(MutationError::Store(StoreError::Unavailable(_))));
    assert!(unavailable, "{edit:?}");
    assert!(
        !root.options.root.exists(),
        "nothing is made where something was"
    );
    // Another directory has its place for a while: nothing of the first is known there.
    std::fs::create_dir(&root.options.root).expect("make");
    let edit = append(&store, &scope("m"), "a.md", "x", &operation("1", "f")).await;
    assert!(!edit.expect("append").replayed);
    std::fs::rename(&root.options.root, root.beside("second")).expect("rename");
    std::fs::rename(&away, &root.options.root).expect("rename");
    let edit = append(&store, &scope("m"), "a.md", "x", &operation("1", "f")).await;
    assert!(edit.expect("append").replayed);
    assert_eq!(
        text(&store, &scope("m"), "a.md").await.as_deref(),
        Some("one\n")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn stores_that_open_a_new_directory_at_once_all_succeed() {
    let root = FileRoot::new();
    let opening = (0..16).map(|_| tokio::spawn(FileStore::open(root.options.clone())));
    let stores = join_all(opening).await;
    for (index, store) in stores.into_iter().enumerate() {
        let store = store.expect("no panic").expect("open");
        let write = operation(&index.to_string(), "f");
        append(&store, &scope("m"), "a.md", "x", &write)
            .await
            .expect("append");
    }
    assert_eq!(root.text("m/a.md"), "x\n".repeat(16));
    assert_eq!(set_aside(&root), Vec::<PathBuf>::new());
}

#[tokio::test]
async fn the_newest_receipts_of_each_scope_are_kept() {
    const KEPT: usize = 1_024;
    let root = FileRoot::new();
    let store = root.store().await;
    let (busy, quiet) = (scope("busy"), scope("quiet"));
    let first = operation("0", "f");
    append(&store, &quiet, "a.md", "x", &first)
        .await
        .expect("append");
    for index in 0..=KEPT {
        let delete = operation(&index.to_string(), "f");
        let deleted = store
            .delete(
                &busy,
                &crate::database::name("none.md"),
                &notekeeper_store::Expected::Any,
                Some(&delete),
            )
            .await;
        deleted.expect("delete");
    }
    assert_eq!(store.receipt(&busy, &first).await.expect("answers"), None);
    assert!(
        store
            .receipt(&busy, &operation("1", "f"))
            .await
            .expect("answers")
            .is_some()
    );
    assert!(
        store
            .receipt(&quiet, &first)
            .await
            .expect("answers")
            .is_some()
    );
    let kept: i64 = sqlx::query_scalar("select count(*) from receipts where scope = 'busy'")
        .fetch_one(&mut root.journal().await)
        .await
        .expect("count");
    assert_eq!(usize::try_from(kept), Ok(KEPT));
}

#[tokio::test]
async fn a_store_that_is_closed_says_so() {
    let root = root_with_a_note().await;
    let store = root.store().await;
    store.close().await;
    let read = store.names(&scope("m"), 9).await.expect_err("closed");
    assert_eq!(read.to_string(), "store is unavailable: it is closed");
    assert!(store.snapshots().is_some());
}

#[tokio::test]
async fn nothing_is_done_on_the_strength_of_a_plan_that_was_not_committed() {
    let root = root_with_a_note().await;
    let mut options = root.options.clone();
    options.busy_timeout = Duration::from_millis(50);
    let store = FileStore::open(options).await.expect("open");
    // Whoever reads keeps commits waiting.
    let mut reader = root.journal().await;
    reader
        .execute("begin; select count(*) from receipts")
        .await
        .expect("a lock");
    let again = operation("2", "f");
    let edit = append(&store, &scope("m"), "a.md", "two", &again).await;
    let unavailable = matches!(edit, Err(MutationError::Store(StoreError::Unavailable(_))));
    assert!(unavailable, "{edit:?}");
    assert_eq!(root.text("m/a.md"), "one\n");
    reader.execute("rollback").await.expect("no lock");
    for replayed in [false, true] {
        let edit = append(&store, &scope("m"), "a.md", "two", &again).await;
        assert_eq!(edit.expect("append").replayed, replayed);
    }
    assert_eq!(root.text("m/a.md"), "one\ntwo\n");
}

#[tokio::test]
async fn a_link_is_no_journal_where_nothing_may_be_changed_either() {
    for end in ["", "-journal"] {
        let (root, other) = (root_with_a_note().await, root_with_a_note().await);
        let path = root.path(&format!("{JOURNAL}{end}"));
        let _ = std::fs::remove_file(&path);
        symlink(other.path(&format!("{JOURNAL}{end}")), &path).expect("link");
        let mut options = root.options.clone();
        options.read_only = true;
        let store = FileStore::open(options).await.expect("open");
        let found = text(&store, &scope("m"), "a.md").await;
        assert_eq!(found.as_deref(), Some("one\n"));
        let receipt = store.receipt(&scope("m"), &operation("1", "f")).await;
        assert_eq!(receipt.expect("answers"), None, "{end}");
    }
}
