//! What can't be shown from outside: file systems of another kind, and what is logged.

use std::{
    io::Write,
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use notekeeper_domain::{NoteName, Scope};
use tracing_subscriber::fmt::MakeWriter;

use super::{
    FileOptions, FileStore,
    journal::{Journal, Opening, may_fold_case},
    names::JOURNAL,
    root::Root,
    warnings::Warnings,
};
use crate::{Expected, MutationError, NoteStore as _, OddNote, OddScope, StoreError, WriteRequest};

fn scope(path: &str) -> Scope {
    Scope::parse(path).expect("a scope")
}

fn name(file: &str) -> NoteName {
    NoteName::parse(file).expect("a name")
}

async fn put(store: &FileStore, path: &str, file: &str) -> Result<(), StoreError> {
    let write = WriteRequest::new("x", &Expected::Any);
    match store.write(&scope(path), &name(file), &write, None).await {
        Ok(_) => Ok(()),
        Err(MutationError::Store(error)) => Err(error),
        Err(error) => panic!("{error}"),
    }
}

async fn store(root: &Path, folds_case: bool) -> FileStore {
    let mut options = FileOptions::new(root);
    options.folds_case = Some(folds_case);
    FileStore::open(options).await.expect("open")
}

/// As on macOS: the directory says that it takes the two for one, whatever this machine's does.
#[tokio::test]
async fn on_a_file_system_that_folds_case_the_second_spelling_is_refused() {
    let root = tempfile::tempdir().expect("a directory");
    let store = store(root.path(), true).await;
    put(&store, "Alice/main", "a.md")
        .await
        .expect("the first spelling");
    for path in ["alice/main", "ALICE/other", "Alice/Main", "alice"] {
        for refused in [
            put(&store, path, "a.md").await,
            store.read(&scope(path), &name("a.md"), 9).await.map(drop),
            store.names(&scope(path), 9).await.map(drop),
        ] {
            match path {
                // Here `alice` is the directory itself.
                "alice" if refused.is_ok() => {}
                _ => assert!(
                    matches!(refused, Err(StoreError::OddScope(OddScope::OtherCase))),
                    "{path}: {refused:?}"
                ),
            }
        }
    }
    for refused in [
        put(&store, "Alice/main", "A.md").await,
        store
            .read(&scope("Alice/main"), &name("A.md"), 9)
            .await
            .map(drop),
    ] {
        assert!(
            matches!(refused, Err(StoreError::OddNote(OddNote::OtherCase))),
            "{refused:?}"
        );
    }
    put(&store, "Alice/main", "a.md")
        .await
        .expect("the first spelling again");
    put(&store, "Bob/main", "a.md")
        .await
        .expect("another scope");
    let names = store.names(&scope("Alice/main"), 9).await.expect("names");
    assert_eq!(names.names, [name("a.md")]);
    let found = std::fs::read_dir(root.path()).expect("a directory");
    let found = found.filter(|entry| {
        let name = entry.as_ref().expect("an entry").file_name();
        name.eq_ignore_ascii_case("alice")
    });
    assert_eq!(found.count(), 1, "nothing was made beside it");
}

#[tokio::test]
async fn on_a_file_system_that_tells_case_spellings_are_different() {
    let root = tempfile::tempdir().expect("a directory");
    let store = store(root.path(), false).await;
    for (path, file) in [
        ("Alice/main", "a.md"),
        ("alice/main", "a.md"),
        ("alice/main", "A.md"),
    ] {
        put(&store, path, file).await.expect("each is of its own");
    }
}

/// The probe itself, on the file system of this machine.
#[tokio::test]
async fn the_file_system_is_asked_whether_it_folds_case() {
    let root = tempfile::tempdir().expect("a directory");
    let store = FileStore::open(FileOptions::new(root.path()))
        .await
        .expect("open");
    let folds = root.path().join(JOURNAL.to_ascii_uppercase()).exists();
    put(&store, "Alice/main", "a.md").await.expect("the first");
    assert_eq!(put(&store, "alice/main", "a.md").await.is_err(), folds);
    assert_eq!(put(&store, "Alice/main", "A.md").await.is_err(), folds);
}

/// What was logged.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("no panic").extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[test]
fn setting_a_journal_aside_is_warned_of_without_saying_where() {
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join(JOURNAL), "no database").expect("write");
    let lines = Lines::default();
    let subscriber = tracing_subscriber::fmt()
        .with_writer(lines.clone())
        .finish();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    tracing::subscriber::with_default(subscriber, || {
        let root = Root::open(directory.path()).expect("open");
        let lock = root.lock(Duration::from_secs(5)).expect("lock");
        let opening = Opening {
            path: directory.path(),
            busy_timeout: Duration::from_secs(5),
            folds_case: None,
            suspect: false,
            warnings: &Warnings::default(),
        };
        runtime
            .block_on(Journal::open(&root, &lock, opening))
            .expect("a new one");
    });
    let lines = lines.0.lock().expect("no panic").clone();
    let lines = String::from_utf8(lines).expect("UTF-8");
    assert!(
        lines.contains("WARN") && lines.contains("was set aside"),
        "{lines}"
    );
    let path = directory.path().to_string_lossy().into_owned();
    assert!(!lines.contains(&path), "{lines}");
}

#[test]
fn what_is_warned_of_once_is_not_warned_of_again() {
    let lines = Lines::default();
    let subscriber = tracing_subscriber::fmt()
        .with_writer(lines.clone())
        .finish();
    let warnings = Warnings::default();
    tracing::subscriber::with_default(subscriber, || {
        for _ in 0..3 {
            warnings.of_skipped(0);
            warnings.of_skipped(2);
            warnings.of_skipped(3);
            warnings.of_unsettled(2);
            warnings.of_journal();
        }
    });
    let lines = lines.0.lock().expect("no panic").clone();
    let lines = String::from_utf8(lines).expect("UTF-8");
    assert_eq!(lines.matches("WARN").count(), 4, "{lines}");
}

#[test]
fn without_a_journal_another_entry_is_asked_for_whether_case_is_told_apart() {
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::create_dir(directory.path().join("7")).expect("make");
    let root = Root::open(directory.path()).expect("open");
    let asked = || may_fold_case(&root.directory).expect("an answer");
    assert!(asked(), "nothing can be asked for");
    std::fs::create_dir(directory.path().join("Alice")).expect("make");
    assert_eq!(asked(), directory.path().join("aLICE").exists());
}
