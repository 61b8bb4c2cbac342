//! Notes as files, edited by other programs meanwhile.

use std::{collections::HashSet, os::unix::fs::PermissionsExt as _};

use notekeeper_domain::Version;
use notekeeper_store::{
    Expected, FileStore, MutationError, NotePart, NoteStore as _, WriteRequest,
};
use rand::{Rng as _, SeedableRng as _, rngs::StdRng};

use crate::{
    database::{CHARS_MAX, append, name, operation, scope, seed},
    file_root::FileRoot,
};

const NOTE: &str = "acme/main/a.md";

async fn read(store: &FileStore) -> Option<NotePart> {
    let read = store
        .read(&scope("acme/main"), &name("a.md"), CHARS_MAX)
        .await;
    read.expect("read")
}

async fn version(store: &FileStore) -> Version {
    read(store).await.expect("the note is there").version
}

async fn write(
    store: &FileStore,
    text: &str,
    expected: Expected,
) -> Result<Version, MutationError> {
    let request = WriteRequest::new(text, &expected);
    let write = store
        .write(&scope("acme/main"), &name("a.md"), &request, None)
        .await;
    let receipt = write?;
    Ok(receipt.version.expect("a write makes a version"))
}

async fn delete(store: &FileStore, expected: Expected) -> Result<(), MutationError> {
    let delete = store
        .delete(&scope("acme/main"), &name("a.md"), &expected, None)
        .await;
    delete.map(drop)
}

fn assert_conflict<T: std::fmt::Debug>(result: Result<T, MutationError>) {
    assert!(
        matches!(result, Err(MutationError::VersionConflict)),
        "{result:?}"
    );
}

#[tokio::test]
async fn a_note_is_a_file_that_holds_its_text_and_nothing_else() {
    let root = FileRoot::new();
    let store = root.store().await;
    assert_eq!(store.kind(), "file");
    let text = "\u{feff}# Tea\r\n\r\nתה, 茶, 👩\u{200d}👩\u{2028}\tno end of line";
    write(&store, text, Expected::Absent).await.expect("write");
    assert_eq!(root.text(NOTE), text);
    assert_eq!(root.files(), ["acme", "acme/main", NOTE]);
    delete(&store, Expected::Any).await.expect("delete");
    assert_eq!(root.files(), ["acme", "acme/main"]);
}

#[tokio::test]
async fn a_file_that_a_person_made_is_a_note() {
    let root = FileRoot::new();
    let store = root.store().await;
    root.write(NOTE, "typed by hand\n");
    let note = read(&store).await.expect("it is a note");
    assert_eq!(note.content, "typed by hand\n");
    assert_eq!(note.operation_id, None);
    assert_conflict(write(&store, "x", Expected::Absent).await);
    let edit = append(
        &store,
        &scope("acme/main"),
        "a.md",
        "more",
        &operation("1", "f"),
    )
    .await;
    assert!(edit.expect("append").existed);
    assert_eq!(root.text(NOTE), "typed by hand\nmore\n");
}

#[tokio::test]
async fn an_edit_by_hand_makes_one_version_for_all_who_read_it() {
    let root = FileRoot::new();
    let (one, other) = (root.store().await, root.store().await);
    let edit = append(
        &one,
        &scope("acme/main"),
        "a.md",
        "old",
        &operation("1", "f"),
    )
    .await;
    let first = edit.expect("append").version.expect("a version");
    assert_eq!(version(&other).await, first);
    root.write(NOTE, "new\n");
    let edited = read(&one).await.expect("there");
    assert_ne!(edited.version, first);
    assert_eq!(edited.operation_id, None, "no operation made this version");
    for _ in 0..3 {
        assert_eq!(version(&one).await, edited.version);
        assert_eq!(version(&other).await, edited.version);
    }
    let listed = other.list(&scope("acme/main"), 9).await.expect("list");
    assert_eq!(listed.notes[0].version, edited.version);
}

#[tokio::test]
async fn what_is_based_on_the_text_before_an_edit_by_hand_conflicts() {
    let root = FileRoot::new();
    let store = root.store().await;
    let old = write(&store, "old\n", Expected::Any).await.expect("write");
    root.write(NOTE, "by hand\n");
    assert_conflict(write(&store, "x", Expected::Version(old.clone())).await);
    assert_conflict(delete(&store, Expected::Version(old.clone())).await);
    assert_eq!(root.text(NOTE), "by hand\n");
    let new = Expected::Version(version(&store).await);
    write(&store, "based on it\n", new.clone())
        .await
        .expect("write");
    assert_conflict(write(&store, "x", new).await);
    // Editors often write another file and rename it.
    let current = version(&store).await;
    std::fs::write(root.beside("a"), "renamed here\n").expect("write");
    std::fs::rename(root.beside("a"), root.path(NOTE)).expect("rename");
    assert_conflict(write(&store, "x", Expected::Version(current)).await);
    assert_eq!(root.text(NOTE), "renamed here\n");
    let current = version(&store).await;
    std::fs::remove_file(root.path(NOTE)).expect("remove");
    assert_conflict(delete(&store, Expected::Version(current)).await);
    assert_eq!(read(&store).await, None);
}

/// Going back to an old text isn't going back to its version.
#[tokio::test]
async fn no_version_comes_back_whoever_writes() {
    let root = FileRoot::new();
    let stores = [root.store().await, root.store().await];
    let mut random = StdRng::seed_from_u64(seed());
    let mut given_out = HashSet::new();
    let mut last: Option<Version> = None;
    let mut changes = 0;
    while changes < 300 {
        let store = &stores[random.random_range(0..2)];
        let text = ["A", "B"][random.random_range(0..2)];
        match random.random_range(0..6) {
            0 => drop(write(store, text, Expected::Any).await.expect("write")),
            1 => delete(store, Expected::Any).await.expect("delete"),
            2 if root.path(NOTE).exists() => {
                std::fs::remove_file(root.path(NOTE)).expect("remove");
            }
            3 => {
                std::fs::create_dir_all(root.path("acme/main")).expect("make");
                std::fs::write(root.beside("next"), text).expect("write");
                std::fs::rename(root.beside("next"), root.path(NOTE)).expect("rename");
            }
            _ => {
                // The file system's clock must go on between two edits in place.
                let before = std::fs::metadata(root.path(NOTE)).ok();
                let changed = |m: &std::fs::Metadata| m.modified().expect("a time");
                loop {
                    root.write(NOTE, text);
                    let after = std::fs::metadata(root.path(NOTE)).expect("there");
                    if before.as_ref().map(changed) != Some(changed(&after)) {
                        break;
                    }
                }
            }
        }
        changes += 1;
        let now = read(store).await.map(|note| note.version);
        assert_eq!(read(&stores[0]).await.map(|note| note.version), now);
        if let Some(version) = &now {
            assert!(given_out.insert(version.clone()), "{version:?} came back");
            if let Some(old) = last.filter(|old| old != version) {
                assert_conflict(write(store, "x", Expected::Version(old)).await);
            }
        }
        last = now;
    }
}

#[tokio::test]
async fn a_note_keeps_the_permissions_that_a_person_gave_it() {
    let root = FileRoot::new();
    let store = root.store().await;
    write(&store, "x", Expected::Any).await.expect("write");
    let path = root.path(NOTE);
    for mode in [0o640, 0o604] {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(&path, permissions).expect("set");
        write(&store, "y", Expected::Any).await.expect("write");
        let metadata = std::fs::metadata(&path).expect("there");
        assert_eq!(metadata.permissions().mode() & 0o777, mode);
    }
    let journal = std::fs::metadata(root.path(crate::file_root::JOURNAL)).expect("there");
    assert_eq!(journal.permissions().mode() & 0o777, 0o600);
    let made = std::fs::metadata(&root.options.root).expect("there");
    assert_eq!(made.permissions().mode() & 0o777, 0o700);
}

#[tokio::test]
async fn a_text_that_a_dead_process_left_is_no_note_and_goes_with_the_next_write() {
    let root = FileRoot::new();
    let store = root.store().await;
    root.write("acme/main/.memory-tmp-next", "never published");
    assert_eq!(read(&store).await, None);
    let names = store.names(&scope("acme/main"), 9).await.expect("names");
    assert_eq!(names.names, []);
    write(&store, "x", Expected::Any).await.expect("write");
    assert_eq!(root.files(), ["acme", "acme/main", NOTE]);
}
