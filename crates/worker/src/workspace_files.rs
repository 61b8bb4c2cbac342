//! File stores in workspaces: opened once in each, and never outside its root.

use std::{
    collections::BTreeMap,
    io::ErrorKind,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use notekeeper_activities::{OpenFiles, Workspace};
use notekeeper_store::{Denial, FileOptions, FileStore, InMemoryStore, Store, StoreError};
use tokio::sync::OnceCell;

/// A store that is open, or about to be.
type Opened = Arc<OnceCell<FileStore>>;

/// The file stores of a worker that are open, by directory and by whether they only read.
#[derive(Debug, Default)]
pub(crate) struct WorkspaceFiles {
    opened: Mutex<BTreeMap<(PathBuf, bool), Opened>>,
}

#[async_trait]
impl OpenFiles for WorkspaceFiles {
    /// Whether the directory is still below the root is looked at each time: who works in the
    /// workspace can put a link in its place.
    async fn open(
        &self,
        workspace: &Workspace,
        directory: &str,
    ) -> Result<Arc<dyn Store>, StoreError> {
        let read_only = workspace.read_only;
        let (root, directory) = (workspace.root.clone(), directory.to_owned());
        let find = move || find(&root, &directory, read_only);
        let found = tokio::task::spawn_blocking(find)
            .await
            .map_err(|_| StoreError::Unexpected("a thread of the program ended".to_owned()))?;
        let Some(path) = found? else {
            // Nobody has written yet, and nothing may be made: there are no notes.
            return Ok(Arc::new(InMemoryStore::default()));
        };
        let cell = self.cell(path.clone(), read_only);
        let mut options = FileOptions::new(path);
        options.read_only = read_only;
        let open = || FileStore::open(options);
        Ok(Arc::new(cell.get_or_try_init(open).await?.clone()))
    }
}

impl WorkspaceFiles {
    fn cell(&self, path: PathBuf, read_only: bool) -> Opened {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(opened.entry((path, read_only)).or_default())
    }
}

/// Where the directory is, without links. What is missing of it is made but for its last part, which
/// the store makes itself; `None` where it is missing and nothing may be made.
fn find(root: &Path, directory: &str, read_only: bool) -> Result<Option<PathBuf>, StoreError> {
    let root = root.canonicalize().map_err(|error| match error.kind() {
        ErrorKind::NotFound => StoreError::Unavailable(
            "the root of its workspace isn't there; make it, or mount what it is on".to_owned(),
        ),
        kind => fault(kind),
    })?;
    let mut path = root.clone();
    let mut segments = directory
        .split('/')
        .filter(|segment| !segment.is_empty())
        .peekable();
    while let Some(segment) = segments.next() {
        path.push(segment);
        match path.canonicalize() {
            Ok(found) if found.starts_with(&root) => path = found,
            Ok(_) => {
                return Err(StoreError::Unusable(
                    "a link leads its directory out of the workspace".to_owned(),
                ));
            }
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(fault(error.kind())),
            Err(_) if read_only => return Ok(None),
            Err(_) if segments.peek().is_some() => make(&path)?,
            Err(_) => {}
        }
    }
    Ok(Some(path))
}

/// Makes a directory; another may be faster.
fn make(path: &Path) -> Result<(), StoreError> {
    match std::fs::create_dir(path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(fault(error.kind())),
        _ => Ok(()),
    }
}

fn fault(kind: ErrorKind) -> StoreError {
    match kind {
        ErrorKind::PermissionDenied => StoreError::Denied(Denial::Permission),
        ErrorKind::ReadOnlyFilesystem => StoreError::Denied(Denial::ReadOnlyFileSystem),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => StoreError::Denied(Denial::NoSpace),
        ErrorKind::NotADirectory => StoreError::Unusable(
            "a file has the name of one of the directories on its path".to_owned(),
        ),
        kind => StoreError::Unavailable(format!("the file system failed: {kind}")),
    }
}

#[cfg(test)]
mod tests {
    use notekeeper_domain::{NoteName, Scope};
    use notekeeper_store::{Expected, WriteRequest};

    use super::*;

    fn workspace(root: &Path) -> Workspace {
        Workspace {
            root: root.to_owned(),
            read_only: false,
            task_queue: None,
            is_served: true,
        }
    }

    async fn write(store: &dyn Store, content: &str) {
        let scope = Scope::parse("acme/main").expect("a scope");
        let request = WriteRequest::new(content, &Expected::Any);
        let name = NoteName::main();
        let write = store.write(&scope, &name, &request, None);
        write.await.expect("a write");
    }

    #[tokio::test]
    async fn each_workspace_has_files_of_its_own_in_the_same_directory_of_it() {
        let root = tempfile::tempdir().expect("a directory");
        let files = WorkspaceFiles::default();
        for name in ["a", "b"] {
            let workspace = workspace(&root.path().join(name));
            std::fs::create_dir(&workspace.root).expect("a root");
            let store = files.open(&workspace, "kept/notes").await.expect("a store");
            write(store.as_ref(), name).await;
            files.open(&workspace, "kept/notes").await.expect("again");
            let note = workspace.root.join("kept/notes/acme/main/MEMORY.md");
            assert_eq!(std::fs::read_to_string(note).expect("a note"), name);
        }
        assert_eq!(files.opened.lock().expect("no panic").len(), 2);
    }

    #[tokio::test]
    async fn the_root_itself_can_hold_the_scopes() {
        let root = tempfile::tempdir().expect("a directory");
        let files = WorkspaceFiles::default();
        let store = files
            .open(&workspace(root.path()), "")
            .await
            .expect("a store");
        write(store.as_ref(), "x").await;
        assert!(root.path().join("acme/main/MEMORY.md").is_file());
    }

    #[tokio::test]
    async fn nothing_is_made_in_a_read_only_workspace_and_it_is_an_empty_notebook() {
        let root = tempfile::tempdir().expect("a directory");
        let read_only = Workspace {
            read_only: true,
            ..workspace(root.path())
        };
        let files = WorkspaceFiles::default();
        let store = files.open(&read_only, "kept/notes").await.expect("a store");
        let scope = Scope::parse("acme/main").expect("a scope");
        let read = store.read(&scope, &NoteName::main(), 10).await;
        assert_eq!(read.expect("an answer"), None);
        let made = std::fs::read_dir(root.path()).expect("the root").count();
        assert_eq!(made, 0);
    }

    #[tokio::test]
    async fn a_link_out_of_the_workspace_is_refused_whenever_it_was_made() {
        let root = tempfile::tempdir().expect("a directory");
        let outside = tempfile::tempdir().expect("a directory");
        let workspace = workspace(root.path());
        let files = WorkspaceFiles::default();
        files.open(&workspace, "notes").await.expect("a store");

        std::fs::remove_dir_all(root.path().join("notes")).expect("it was made");
        std::os::unix::fs::symlink(outside.path(), root.path().join("notes")).expect("a link");
        let refused = files.open(&workspace, "notes").await;

        assert!(
            matches!(refused, Err(StoreError::Unusable(_))),
            "{refused:?}"
        );
        let made = std::fs::read_dir(outside.path()).expect("it").count();
        assert_eq!(made, 0);
    }

    #[tokio::test]
    async fn a_root_that_is_not_there_may_come_back() {
        let root = tempfile::tempdir().expect("a directory");
        let gone = workspace(&root.path().join("gone"));
        let files = WorkspaceFiles::default();
        let away = files.open(&gone, "notes").await;
        assert!(matches!(away, Err(StoreError::Unavailable(_))), "{away:?}");
        std::fs::create_dir(&gone.root).expect("a root");
        files.open(&gone, "notes").await.expect("a store");
    }
}
