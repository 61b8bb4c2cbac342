use std::{
    path::PathBuf,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use notekeeper_activities::{FileStores, Notebook, OpenFiles, Stores, Workspace};
use notekeeper_contract::{
    FailureType, MemoryDescription, Outcome, Refused, SnapshotAnswer, WrittenMemory,
};
use notekeeper_store::{Denial, InMemoryStore, MutationError, NoteStore as _, Store, StoreError};
use serde_json::{Value, json};

use crate::fixture::{Watched, caller, input};

/// Stands for a directory in each workspace: a store of its own, kept between openings.
#[derive(Debug, Default)]
struct Directories {
    opened: Mutex<Vec<PathBuf>>,
    store: Arc<Watched>,
    failure: Mutex<Option<fn() -> StoreError>>,
}

#[async_trait]
impl OpenFiles for Directories {
    async fn open(
        &self,
        workspace: &Workspace,
        directory: &str,
    ) -> Result<Arc<dyn Store>, StoreError> {
        if let Some(failure) = self.failure.lock().unwrap().take() {
            return Err(failure());
        }
        let path = workspace.root.join(directory);
        self.opened.lock().unwrap().push(path);
        Ok(Arc::clone(&self.store) as Arc<dyn Store>)
    }
}

fn workspace(root: &str) -> Workspace {
    Workspace {
        root: root.into(),
        read_only: false,
        task_queue: None,
        is_served: true,
    }
}

/// A worker with workspaces `a`, `b` (read-only) and `far`, which another worker serves; the store
/// `notes` keeps files in the run's workspace, `own` in `b`, `plain` none.
fn notebook() -> (Arc<Directories>, Notebook) {
    let directories = Arc::new(Directories::default());
    let files = |directory: &str, own: Option<&str>| {
        let opener = Arc::clone(&directories) as Arc<dyn OpenFiles>;
        FileStores::new(directory, own.map(str::to_owned), opener)
    };
    let read_only = Workspace {
        read_only: true,
        ..workspace("/b")
    };
    let far = Workspace {
        task_queue: Some("far-queue".to_owned()),
        is_served: false,
        ..workspace("/far")
    };
    let plain: Arc<dyn Store> = Arc::new(InMemoryStore::default());
    let stores = Stores::with_workspaces(
        [("plain".to_owned(), plain)],
        [
            ("notes".to_owned(), files("./.agent-memory/", None)),
            ("own".to_owned(), files("kept", Some("b"))),
        ],
        [
            ("a".to_owned(), workspace("/a")),
            ("b".to_owned(), read_only),
            ("far".to_owned(), far),
        ],
    );
    (directories, Notebook::new(stores))
}

fn described(store: &str, workspace: Option<&str>) -> Result<MemoryDescription, String> {
    let (_, notebook) = notebook();
    let asked = json!({"memories": [{"store": store, "workspace": workspace}]});
    match notebook.describe(&input(asked)) {
        Ok(mut output) => Ok(output.memories.remove(0)),
        Err(failure) => {
            assert_eq!(failure.kind, FailureType::InvalidArgument);
            Err(failure.message)
        }
    }
}

async fn write(notebook: &Notebook, at: Value, operation: &str) -> Outcome<WrittenMemory> {
    let mut write = json!({
        "scope": {"namespace": "acme"}, "file": "teas", "content": "- sencha",
        "operation": {"id": operation},
    });
    for (key, value) in at.as_object().unwrap() {
        write[key] = value.clone();
    }
    notebook.write(input(write), &caller("1")).await.unwrap()
}

fn refused<T: std::fmt::Debug>(outcome: Outcome<T>) -> Refused {
    match outcome {
        Outcome::Refused(refused) => refused,
        done @ Outcome::Ok(_) => panic!("{done:?}"),
    }
}

#[test]
fn a_store_in_the_runs_workspace_is_described_by_that_workspace() {
    let file = MemoryDescription {
        kind: "file".to_owned(),
        keeps_facts: Some(false),
        directory: Some(".agent-memory".to_owned()),
        ..MemoryDescription::default()
    };
    assert_eq!(described("notes", Some("a")), Ok(file.clone()));
    let read_only = MemoryDescription {
        read_only: true,
        ..file.clone()
    };
    assert_eq!(described("notes", Some("b")), Ok(read_only));
    let far = MemoryDescription {
        task_queue: Some("far-queue".to_owned()),
        ..file
    };
    assert_eq!(described("notes", Some("far")), Ok(far));
}

#[test]
fn a_store_with_a_workspace_of_its_own_follows_that_one_and_no_reader_sees_its_files() {
    let own = MemoryDescription {
        kind: "file".to_owned(),
        read_only: true,
        keeps_facts: Some(false),
        ..MemoryDescription::default()
    };
    assert_eq!(described("own", Some("a")), Ok(own.clone()));
    assert_eq!(described("own", None), Ok(own));
}

#[test]
fn a_store_without_files_needs_no_workspace_and_is_not_touched_by_one() {
    let plain = MemoryDescription {
        kind: "in_memory".to_owned(),
        keeps_metadata: InMemoryStore::default().keeps_metadata(),
        keeps_transcripts: true,
        keeps_facts: Some(true),
        ..MemoryDescription::default()
    };
    assert_eq!(described("plain", None), Ok(plain.clone()));
    assert_eq!(described("plain", Some("b")), Ok(plain));
}

#[test]
fn what_a_run_names_wrongly_or_forgets_is_told_without_the_names_of_workspaces() {
    assert_eq!(
        described("notes", None).unwrap_err(),
        "memory 0 (from 0): `workspace` is missing, and `store` keeps its files in the run's \
         workspace; give the run one of those that the worker has"
    );
    for store in ["notes", "plain", "own"] {
        assert_eq!(
            described(store, Some("c")).unwrap_err(),
            "memory 0 (from 0): `workspace` names no configured workspace; `notekeeper config check` \
             lists those of a worker"
        );
    }
    assert_eq!(
        described("other", Some("a")).unwrap_err(),
        "memory 0 (from 0): `store` names no configured store; configured: `notes`, `own`, `plain`"
    );
}

#[tokio::test]
async fn each_operation_is_on_the_files_of_the_workspace_that_the_run_or_the_store_names() {
    let (directories, notebook) = notebook();
    for (store, workspace) in [("notes", "a"), ("notes", "b"), ("own", "a")] {
        let read = json!({
            "store": store, "workspace": workspace, "scope": {"namespace": "acme"}, "file": "teas",
        });
        notebook.read(input(read)).await.unwrap();
    }
    let opened = directories.opened.lock().unwrap().clone();
    assert_eq!(
        opened,
        ["/a/.agent-memory", "/b/.agent-memory", "/b/kept"].map(PathBuf::from)
    );
}

#[tokio::test]
async fn a_directory_that_could_not_be_opened_is_tried_again_by_the_next_call() {
    let (directories, notebook) = notebook();
    *directories.failure.lock().unwrap() =
        Some(|| StoreError::Unavailable("not mounted".to_owned()));
    let list = json!({"store": "notes", "workspace": "a", "scope": {"namespace": "acme"}});
    let failure = notebook.list(input(list.clone())).await.unwrap_err();
    assert_eq!(failure.kind, FailureType::Unavailable);
    notebook.list(input(list)).await.unwrap();
}

#[tokio::test]
async fn the_files_of_a_workspace_that_another_worker_serves_are_left_alone() {
    let (directories, notebook) = notebook();
    let list = json!({"store": "notes", "workspace": "far", "scope": {"namespace": "acme"}});
    let failure = notebook.list(input(list)).await.unwrap_err();
    // A worker with another setting may take the next attempt.
    assert_eq!(failure.kind, FailureType::Unavailable);
    assert!(failure.message.contains("`far-queue`"), "{failure}");
    assert_eq!(directories.opened.lock().unwrap().len(), 0);
}

#[tokio::test]
async fn what_changes_a_note_of_a_read_only_workspace_is_refused_and_names_only_the_note() {
    let (directories, notebook) = notebook();
    for at in [
        json!({"store": "notes", "workspace": "b"}),
        json!({"store": "own", "workspace": "a"}),
    ] {
        let told = refused(write(&notebook, at.clone(), "1").await);
        assert_eq!(told.reason, "read_only");
        assert_eq!(
            told.message,
            "teas.md can't be changed: this notebook is read-only"
        );
        let mut delete = at;
        delete["scope"] = json!({"namespace": "acme"});
        delete["file"] = json!("teas");
        let deleted = notebook.delete(input(delete), &caller("1")).await.unwrap();
        assert_eq!(refused(deleted).reason, "read_only");
    }
    let calls = directories.store.take_calls();
    assert!(
        !calls.contains(&"edit") && !calls.contains(&"delete"),
        "{calls:?}"
    );
}

/// A worker that died after its write comes back with another setting.
#[tokio::test]
async fn a_write_that_took_effect_before_is_answered_in_a_read_only_workspace_too() {
    let (_, notebook) = notebook();
    write(&notebook, json!({"store": "notes", "workspace": "a"}), "1").await;
    let again = write(&notebook, json!({"store": "notes", "workspace": "b"}), "1").await;
    let Outcome::Ok(written) = again else {
        panic!("{again:?}");
    };
    assert!(written.replayed);
}

#[tokio::test]
async fn what_a_workspace_refuses_is_a_failed_call_and_what_it_cannot_answer_is_tried_again() {
    type Case = (fn() -> MutationError, &'static str);
    let cases: [Case; 3] = [
        (
            || StoreError::Denied(Denial::ReadOnlyFileSystem).into(),
            "read_only",
        ),
        (
            || StoreError::Denied(Denial::Permission).into(),
            "workspace_refused",
        ),
        (
            || StoreError::Denied(Denial::NoSpace).into(),
            "workspace_refused",
        ),
    ];
    for (failure, reason) in cases {
        let (directories, notebook) = notebook();
        directories.store.fail_with(failure);
        let Refused {
            reason: told,
            message,
        } = refused(write(&notebook, json!({"store": "notes", "workspace": "a"}), "1").await);
        assert_eq!(told, reason);
        assert!(message.starts_with("teas.md "), "{message}");
        for secret in ["acme", "/a", "agent-memory"] {
            assert!(!message.contains(secret), "{message}");
        }
    }
    let (directories, notebook) = notebook();
    directories
        .store
        .fail_with(|| StoreError::Unavailable("away".to_owned()).into());
    let write = json!({
        "store": "notes", "workspace": "a", "scope": {"namespace": "acme"}, "content": "- x",
    });
    let failure = notebook
        .write(input(write), &caller("1"))
        .await
        .unwrap_err();
    assert_eq!(failure.kind, FailureType::Unavailable);
}

/// What was logged, as bytes.
#[derive(Debug, Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The call succeeds, so whoever runs the worker would learn of it nowhere else.
#[tokio::test]
async fn what_a_full_disk_refuses_stands_in_the_log_without_names() {
    let log = Log::default();
    let written = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_writer(move || written.clone())
        .finish();
    let (directories, notebook) = notebook();
    directories
        .store
        .fail_with(|| StoreError::Denied(Denial::NoSpace).into());
    {
        let _guard = tracing::subscriber::set_default(subscriber);
        refused(write(&notebook, json!({"store": "notes", "workspace": "a"}), "1").await);
    }
    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert_eq!(log.lines().count(), 1, "{log}");
    assert!(
        log.contains("WARN") && log.contains("no space left"),
        "{log}"
    );
    for secret in ["acme", "teas", "/a", "sencha"] {
        assert!(!log.contains(secret), "{log}");
    }
}

#[tokio::test]
async fn an_open_that_a_workspace_refuses_fails_the_change_and_not_the_run() {
    let (directories, notebook) = notebook();
    *directories.failure.lock().unwrap() = Some(|| StoreError::Denied(Denial::Permission));
    let told = refused(write(&notebook, json!({"store": "notes", "workspace": "a"}), "1").await);
    assert_eq!(told.reason, "workspace_refused");
}

/// Of one note, of the directory of a scope, and of the place of all.
#[tokio::test]
async fn a_place_that_lets_nobody_read_is_told_to_the_model_and_never_called_read_only() {
    const DENIED: fn() -> StoreError = || StoreError::Denied(Denial::Permission);
    let at = json!({"store": "notes", "workspace": "a", "scope": {"namespace": "acme"}});
    let with = |key: &str, value: &str| {
        let mut at = at.clone();
        at[key] = json!(value);
        at
    };
    for is_opened in [true, false] {
        let (directories, notebook) = notebook();
        let deny = || match is_opened {
            true => directories.store.fail_with(|| DENIED().into()),
            false => *directories.failure.lock().unwrap() = Some(DENIED),
        };
        deny();
        let read = notebook.read(input(with("file", "teas"))).await.unwrap();
        let told = refused(read);
        assert_eq!(told.reason, "read_refused");
        assert!(told.message.starts_with("teas.md could not be read"));
        deny();
        let query = with("query", "tea");
        let told = refused(notebook.search(input(query)).await.unwrap());
        assert_eq!(told.reason, "read_refused");
        assert!(told.message.starts_with("the notebook could not be read"));
        deny();
        let failure = notebook.list(input(at.clone())).await.unwrap_err();
        assert_eq!(failure.kind, FailureType::AccessDenied);
        deny();
        let load = json!({"memories": [at]});
        let output = notebook.load_snapshot(input(load)).await.unwrap();
        let [SnapshotAnswer::Error { error_type, .. }] = output.snapshots.as_slice() else {
            panic!("{output:?}");
        };
        assert_eq!(error_type, "AccessDenied");
    }
}

#[tokio::test]
async fn a_block_says_where_the_files_are_and_how_they_are_read() {
    let (_, notebook) = notebook();
    write(
        &notebook,
        json!({"store": "notes", "workspace": "a", "file": "MEMORY"}),
        "1",
    )
    .await;
    let load = json!({"memories": [{
        "store": "notes", "workspace": "a", "scope": {"namespace": "acme"},
        "render": {
            "max_lines": 0,
            "location": "These files are in `.agent-memory/acme/main/` in the workspace.",
            "file_reader": "read_file on `.agent-memory/acme/main/MEMORY.md`",
        },
    }]});
    let output = notebook.load_snapshot(input(load)).await.unwrap();
    let [SnapshotAnswer::Block { text, stats, .. }] = output.snapshots.as_slice() else {
        panic!("{output:?}");
    };
    assert!(stats.located);
    assert_eq!(
        text.as_deref().unwrap(),
        "<memory>\nThese files are in `.agent-memory/acme/main/` in the workspace.\n\n\
         ### MEMORY.md\n\n\
         [1 line left out: use read_file on `.agent-memory/acme/main/MEMORY.md`]\n</memory>"
    );
}
