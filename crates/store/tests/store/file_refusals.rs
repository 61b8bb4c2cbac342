//! Stores of files that may not be changed: by a setting, by the system, by another process.

use std::{
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use notekeeper_domain::{SearchLimits, SearchQuery, Version};
use notekeeper_store::{
    CONTENT_BYTES_MAX, Denial, Expected, FileOptions, FileStore, MutationError, NoteStore as _,
    NotebookBounds, OddNote, Store as _, StoreError, WriteRequest,
};
use rustix::fs::{FlockOperation, flock};
use serde_json::json;

use crate::{
    child::{heard_with_small_files, heard_without_rights, part, say},
    database::{append, name, operation, scope, text},
    file_root::{FileRoot, JOURNAL},
    sqlite_processes::block_on,
};

fn set_mode(path: &Path, mode: u32) {
    let permissions = std::fs::Permissions::from_mode(mode);
    std::fs::set_permissions(path, permissions).expect("set permissions");
}

async fn read_only(root: &FileRoot) -> FileStore {
    let mut options = root.options.clone();
    options.read_only = true;
    FileStore::open(options).await.expect("open")
}

fn bytes(root: &FileRoot) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = vec![root.path(JOURNAL)];
    files.extend(root.files().iter().map(|path| root.path(path)));
    files.retain(|path| path.is_file());
    let read = |path: PathBuf| (path.clone(), std::fs::read(path).expect("a file"));
    files.into_iter().map(read).collect()
}

#[tokio::test]
async fn a_read_only_store_reads_and_refuses_and_changes_nothing() {
    let root = FileRoot::new();
    let scope = scope("m");
    let writable = root.store().await;
    let first = operation("1", "f");
    append(&writable, &scope, "a.md", "tea", &first)
        .await
        .expect("append");
    root.write("m/b.md", "by hand");
    let before = bytes(&root);
    let store = read_only(&root).await;
    assert!(store.is_read_only() && !writable.is_read_only());
    assert!(store.snapshots().is_none(), "blocks come inline");
    for file in ["a.md", "b.md"] {
        // Versions mean the same to both.
        let read = async |store: &FileStore| store.read(&scope, &name(file), 9).await;
        let (one, other) = (read(&store).await, read(&writable).await);
        assert_eq!(one.expect("read"), other.expect("read"));
    }
    assert_eq!(store.names(&scope, 9).await.expect("names").names.len(), 2);
    assert_eq!(store.list(&scope, 9).await.expect("list").notes.len(), 2);
    let bounds = NotebookBounds {
        main_chars_max: 9,
        names_max: 9,
    };
    assert_eq!(
        store
            .notebook(&scope, bounds)
            .await
            .expect("notebook")
            .names
            .len(),
        2
    );
    let write = WriteRequest::new("x", &Expected::Any);
    for refused in [
        append(&store, &scope, "a.md", "x", &operation("2", "f")).await,
        store.write(&scope, &name("new.md"), &write, None).await,
        store
            .delete(&scope, &name("a.md"), &Expected::Any, None)
            .await,
    ] {
        assert!(
            matches!(refused, Err(MutationError::ReadOnly)),
            "{refused:?}"
        );
    }
    // What was done before is still answered.
    let again = append(&store, &scope, "a.md", "tea", &first)
        .await
        .expect("a receipt");
    assert!(again.replayed);
    let other = append(&store, &scope, "a.md", "tea", &operation("1", "g")).await;
    assert!(
        matches!(other, Err(MutationError::OperationConflict)),
        "{other:?}"
    );
    assert_eq!(bytes(&root), before);
}

#[tokio::test]
async fn a_read_only_store_needs_no_journal_and_makes_none() {
    let root = FileRoot::new();
    root.write("m/a.md", "by hand");
    let store = read_only(&root).await;
    let scope = scope("m");
    let version = async || {
        let note = store.read(&scope, &name("a.md"), 9).await.expect("read");
        note.expect("there").version
    };
    let first: Version = version().await;
    assert_eq!(version().await, first);
    root.write("m/a.md", "edited by hand");
    assert_ne!(version().await, first);
    assert_eq!(
        store
            .receipt(&scope, &operation("1", "f"))
            .await
            .expect("answers"),
        None
    );
    assert_eq!(root.files(), ["m", "m/a.md"]);
    assert!(!root.path(JOURNAL).exists());
    let mut missing = FileOptions::new(root.beside("missing"));
    missing.read_only = true;
    let missing = FileStore::open(missing).await.expect_err("it isn't there");
    assert!(matches!(missing, StoreError::Unavailable(_)), "{missing}");
    assert!(!root.beside("missing").exists());
}

#[tokio::test]
async fn a_place_that_no_store_can_be_in_is_refused_without_saying_the_path() {
    let root = FileRoot::new();
    std::fs::write(root.beside("file"), "").expect("write");
    for (path, unavailable) in [
        (root.beside("none/notes"), true),
        (root.beside("file"), false),
        (root.beside("file/notes"), false),
        (PathBuf::new(), false),
    ] {
        let refused = FileStore::open(FileOptions::new(&path)).await;
        let refused = refused.expect_err("it can't be opened");
        assert_eq!(
            matches!(refused, StoreError::Unavailable(_)),
            unavailable,
            "{refused}"
        );
        let said = refused.to_string();
        assert!(!said.contains("notes") && !said.contains("/file"), "{said}");
    }
}

/// Takes permissions away.
type Forbid = fn(&FileRoot);

/// What a mutation and a read are answered, as a line.
async fn tried(root: &Path) -> String {
    let store = match FileStore::open(FileOptions::new(root)).await {
        Ok(store) => store,
        Err(error) => return format!("open: {error}"),
    };
    let edit = append(
        &store,
        &scope("m"),
        "a.md",
        &"x".repeat(900_000),
        &operation("1", "f"),
    )
    .await;
    let edit = edit.map_or_else(|error| error.to_string(), |_| "done".to_owned());
    let read = store.read(&scope("m"), &name("a.md"), 3).await;
    let read = match read {
        Ok(note) => note.map_or("nothing".to_owned(), |note| note.content),
        Err(error) => error.to_string(),
    };
    format!("edit: {edit} | read: {read}")
}

#[test]
fn what_this_user_may_not_do_is_told_without_names() {
    let test = "file_refusals::what_this_user_may_not_do_is_told_without_names";
    if let Some(part) = part() {
        let root = PathBuf::from(part["root"].as_str().expect("a path"));
        return say(&block_on(tried(&root)));
    }
    let denied = Denial::Permission;
    let cases: [(&str, Forbid, String); 4] = [
        (
            "the root",
            |root| set_mode(&root.options.root, 0o555),
            // Nothing has to be made there any more.
            "edit: done | read: old".to_owned(),
        ),
        (
            "the scope",
            |root| set_mode(&root.path("m"), 0o555),
            format!("edit: store refuses access: {denied} | read: old"),
        ),
        (
            "the note",
            |root| set_mode(&root.path("m/a.md"), 0o200),
            format!("edit: store refuses access: {denied} | read: store refuses access: {denied}"),
        ),
        (
            "everything",
            |root| set_mode(&root.options.root, 0o000),
            format!("open: store refuses access: {denied}"),
        ),
    ];
    for (what, forbid, right) in cases {
        let root = FileRoot::new();
        block_on(async {
            let store = root.store().await;
            append(&store, &scope("m"), "a.md", "old", &operation("0", "f"))
                .await
                .expect("append");
            store.close().await;
        });
        for path in ["", "m"] {
            set_mode(&root.path(path), 0o777);
        }
        for path in ["m/a.md", JOURNAL, ".memory-store.sqlite3-journal"] {
            set_mode(&root.path(path), 0o666);
        }
        set_mode(root.options.root.parent().expect("there"), 0o755);
        forbid(&root);
        let part = json!({"root": root.options.root});
        let said = heard_without_rights(test, &part, &root.options.root);
        set_mode(&root.options.root, 0o700);
        assert_eq!(said, right, "{what}");
        assert!(!said.contains("a.md") && !said.contains("notes"), "{said}");
    }
}

#[test]
fn a_full_disk_is_told_and_leaves_the_note_as_it_was() {
    let test = "file_refusals::a_full_disk_is_told_and_leaves_the_note_as_it_was";
    if let Some(part) = part() {
        let root = PathBuf::from(part["root"].as_str().expect("a path"));
        return say(&block_on(tried(&root)));
    }
    let root = FileRoot::new();
    block_on(async {
        let store = root.store().await;
        append(&store, &scope("m"), "a.md", "old", &operation("0", "f"))
            .await
            .expect("append");
    });
    let part = json!({"root": root.options.root});
    let said = heard_with_small_files(test, &part, 256);
    assert_eq!(
        said,
        format!(
            "edit: store refuses access: {} | read: old",
            Denial::NoSpace
        )
    );
    assert_eq!(root.files(), ["m", "m/a.md"], "what didn't fit is gone");
    block_on(async {
        assert_eq!(root.prepared().await, 0);
        let store = root.store().await;
        let again = append(&store, &scope("m"), "a.md", "new", &operation("1", "f")).await;
        assert!(
            !again.expect("append").replayed,
            "a refused call leaves no receipt"
        );
        assert_eq!(
            text(&store, &scope("m"), "a.md").await.as_deref(),
            Some("old\nnew\n")
        );
    });
}

#[tokio::test]
async fn a_lock_that_another_keeps_is_waited_for_within_bounds() {
    let root = FileRoot::new();
    let store = root.store().await;
    append(&store, &scope("m"), "a.md", "old", &operation("0", "f"))
        .await
        .expect("append");
    let mut options = root.options.clone();
    options.busy_timeout = Duration::from_millis(50);
    let impatient = FileStore::open(options).await.expect("open");
    let held = std::fs::File::open(&root.options.root).expect("open");
    flock(&held, FlockOperation::LockExclusive).expect("lock");
    let edit = append(&impatient, &scope("m"), "a.md", "x", &operation("1", "f")).await;
    let unavailable = matches!(edit, Err(MutationError::Store(StoreError::Unavailable(_))));
    assert!(unavailable, "{edit:?}");
    // Reads go on.
    assert_eq!(
        text(&impatient, &scope("m"), "a.md").await.as_deref(),
        Some("old\n")
    );
    drop(held);
    let edit = append(&impatient, &scope("m"), "a.md", "x", &operation("1", "f")).await;
    assert!(!edit.expect("append").replayed);
}

/// Peak of this process's memory in KiB.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.expect("a peak").parse().expect("a number")
}

#[cfg(target_os = "linux")]
#[test]
fn a_huge_file_takes_no_more_memory_than_is_asked_for() {
    const MIB: usize = 16;
    let test = "file_refusals::a_huge_file_takes_no_more_memory_than_is_asked_for";
    if let Some(part) = part() {
        let root = PathBuf::from(part["root"].as_str().expect("a path"));
        let before = peak_kib();
        block_on(async {
            let store = FileStore::open(FileOptions::new(root)).await.expect("open");
            let scope = scope("m");
            let note = store
                .read(&scope, &name("MEMORY.md"), 10)
                .await
                .expect("read");
            assert!(note.expect("there").truncated);
            let listed = store.list(&scope, 9).await.expect("list");
            assert_eq!(listed.notes[0].chars, MIB << 20);
            let bounds = NotebookBounds {
                main_chars_max: 10,
                names_max: 9,
            };
            let notebook = store.notebook(&scope, bounds).await.expect("notebook");
            assert_eq!(notebook.main.expect("there").content, "xxxxxxxxxx");
            let edit = append(&store, &scope, "MEMORY.md", "x", &operation("1", "f")).await;
            assert!(matches!(edit, Err(MutationError::Refused(_))), "{edit:?}");
        });
        return say(&format!("{}", peak_kib() - before));
    }
    let root = FileRoot::new();
    root.write("m/MEMORY.md", "x".repeat(MIB << 20));
    set_mode(&root.options.root, 0o777);
    let part = json!({"root": root.options.root});
    let grown = heard_with_small_files(test, &part, u32::MAX >> 2);
    let grown: usize = grown.parse().unwrap_or_else(|_| panic!("{grown}"));
    // The edit needs as much of it as its bound is, and the program itself some more.
    assert!(grown * 1_024 < MIB << 20, "{grown} KiB more");
}

#[tokio::test]
async fn a_file_that_no_note_can_be_as_large_as_is_not_read() {
    let root = FileRoot::new();
    root.write("m/a.md", "needle");
    root.write("m/huge.md", "needle");
    let huge = std::fs::OpenOptions::new()
        .write(true)
        .open(root.path("m/huge.md"))
        .expect("open");
    huge.set_len(CONTENT_BYTES_MAX as u64 + 1).expect("grow");
    let store = root.store().await;
    let read = store.read(&scope("m"), &name("huge.md"), 9).await;
    assert!(
        matches!(read, Err(StoreError::OddNote(OddNote::TooLarge))),
        "{read:?}"
    );
    let edit = append(&store, &scope("m"), "huge.md", "x", &operation("1", "f")).await;
    let too_large = StoreError::OddNote(OddNote::TooLarge).to_string();
    assert_eq!(edit.expect_err("it is too large").to_string(), too_large);
    let listed = store.list(&scope("m"), 9).await.expect("list").notes;
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].name, name("a.md"));
}

/// What a list and a search find, as a line.
async fn looked(root: &Path) -> String {
    let store = FileStore::open(FileOptions::new(root)).await.expect("open");
    let listed = store.list(&scope("m"), 9).await.expect("list").notes;
    let listed: Vec<_> = listed.iter().map(|note| note.name.as_str()).collect();
    let query = SearchQuery::parse("needle").expect("a query");
    let limits = SearchLimits {
        results_max: 10,
        result_chars_max: 4_000,
        files_max: 100,
        note_chars_max: 65_536,
    };
    let found = store.search(&scope("m"), &query, &limits).await;
    let found = found.expect("search").matches;
    let found: Vec<_> = found.iter().map(|hit| hit.file.as_str()).collect();
    format!("{listed:?} {found:?}")
}

#[test]
fn a_note_that_this_user_may_not_read_does_not_keep_the_others_from_being_found() {
    let test = "file_refusals::a_note_that_this_user_may_not_read_does_not_keep_the_others_from_being_found";
    if let Some(part) = part() {
        let root = PathBuf::from(part["root"].as_str().expect("a path"));
        return say(&block_on(looked(&root)));
    }
    let root = FileRoot::new();
    block_on(async { root.store().await.close().await });
    for file in ["m/a.md", "m/b.md", "m/secret/c.md"] {
        root.write(file, "needle");
    }
    std::os::unix::fs::symlink("secret/c.md", root.path("m/link.md")).expect("link");
    for path in ["", "m"] {
        set_mode(&root.path(path), 0o777);
    }
    for path in ["m/a.md", JOURNAL, ".memory-store.sqlite3-journal"] {
        set_mode(&root.path(path), 0o666);
    }
    set_mode(&root.path("m/b.md"), 0o200);
    set_mode(&root.path("m/secret"), 0o200);
    set_mode(root.options.root.parent().expect("there"), 0o755);
    let part = json!({"root": root.options.root});
    let said = heard_without_rights(test, &part, &root.options.root);
    set_mode(&root.path("m/secret"), 0o700);
    assert_eq!(said, r#"["a.md"] ["a.md"]"#);
}
