//! File stores in workspaces: opened once in each, and never outside its root.

use std::{
    collections::BTreeMap,
    io::ErrorKind,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use notekeeper_activities::{OpenFiles, Workspace};
use notekeeper_store::{Denial, FileOptions, FileStore, InMemoryStore, Store, StoreError};
use rustix::{
    fs::{Mode, OFlags, fstat, mkdirat, open, openat},
    io::Errno,
};
use tokio::sync::OnceCell;

/// How directories are opened: never over a link.
const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// The file stores of a worker that are open.
#[derive(Debug, Default)]
pub(crate) struct WorkspaceFiles {
    opened: Mutex<BTreeMap<Place, Arc<Opened>>>,
}

/// A directory by its path without links, and whether it is only read.
type Place = (PathBuf, bool);

/// A store that is open, or about to be, and its directory.
#[derive(Debug)]
struct Opened {
    /// Open for as long as this is kept, so no other directory gets its inode.
    directory: Arc<OwnedFd>,
    store: OnceCell<FileStore>,
}

#[async_trait]
impl OpenFiles for WorkspaceFiles {
    /// The directory is looked for each time, and made where it is missing: who works in the workspace
    /// can take it away, or put a link in its place.
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
        let Some(found) = found? else {
            // Nobody has written yet, and nothing may be made: there are no notes.
            return Ok(Arc::new(InMemoryStore::default()));
        };
        let path = found.path.clone();
        let opened = self.opened(found, read_only)?;
        let mut options = FileOptions::of_directory(Arc::clone(&opened.directory), path);
        options.read_only = read_only;
        let open = || FileStore::open(options);
        Ok(Arc::new(opened.store.get_or_try_init(open).await?.clone()))
    }
}

impl WorkspaceFiles {
    /// What was opened at this place before, unless another directory is there by now.
    fn opened(&self, found: Found, read_only: bool) -> Result<Arc<Opened>, StoreError> {
        let id = id(&found.directory)?;
        let place = (found.path, read_only);
        let mut all = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(before) = all.get(&place)
            && self::id(&before.directory)? == id
        {
            return Ok(Arc::clone(before));
        }
        let opened = Arc::new(Opened {
            directory: Arc::new(found.directory),
            store: OnceCell::new(),
        });
        all.insert(place, Arc::clone(&opened));
        Ok(opened)
    }
}

/// Tells a directory from all others that exist.
fn id(directory: &OwnedFd) -> Result<(i128, i128), StoreError> {
    let stat = fstat(directory).map_err(fault)?;
    // Their types differ by platform.
    Ok((stat.st_dev.into(), stat.st_ino.into()))
}

/// A directory, open, and its path without links.
struct Found {
    path: PathBuf,
    directory: OwnedFd,
}

/// Where the directory is. What is missing of it is made; `None` where it is missing and nothing may
/// be made. Each segment is opened from the one before it, so that no link that somebody puts there
/// meanwhile is followed.
fn find(root: &Path, directory: &str, read_only: bool) -> Result<Option<Found>, StoreError> {
    let root = at_root(root)?;
    let mut at = Found {
        path: root.path.clone(),
        directory: root.directory.try_clone().map_err(|e| of_kind(e.kind()))?,
    };
    for segment in directory.split('/').filter(|segment| !segment.is_empty()) {
        let next = match openat(&at.directory, segment, DIRECTORY, Mode::empty()) {
            Err(Errno::NOENT) if read_only => return Ok(None),
            Err(Errno::NOENT) => made(&at.directory, segment),
            next => next,
        };
        match next {
            Ok(next) => {
                at.directory = next;
                at.path.push(segment);
            }
            Err(Errno::NOTDIR | Errno::LOOP | Errno::MLINK) => {
                at = linked(&root, &at.path.join(segment))?;
            }
            Err(errno) => return Err(fault(errno)),
        }
    }
    Ok(Some(at))
}

/// The root may be reached over links: who configured it chose them.
fn at_root(root: &Path) -> Result<Found, StoreError> {
    let path = root.canonicalize().map_err(|error| match error.kind() {
        ErrorKind::NotFound => StoreError::Unavailable(
            "the root of its workspace isn't there; make it, or mount what it is on".to_owned(),
        ),
        kind => of_kind(kind),
    })?;
    let directory = open(&path, DIRECTORY, Mode::empty()).map_err(fault)?;
    Ok(Found { path, directory })
}

/// Makes a directory; another may be faster.
fn made(at: &OwnedFd, segment: &str) -> Result<OwnedFd, Errno> {
    match mkdirat(at, segment, Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => openat(at, segment, DIRECTORY, Mode::empty()),
        Err(errno) => Err(errno),
    }
}

/// What a link leads to, opened from the root on, or the fault of what is no directory.
fn linked(root: &Found, link: &Path) -> Result<Found, StoreError> {
    let path = link.canonicalize().map_err(|error| match error.kind() {
        ErrorKind::NotFound => {
            StoreError::Unusable("a link on the path of its directory leads nowhere".to_owned())
        }
        kind => of_kind(kind),
    })?;
    let inside = path.strip_prefix(&root.path).map_err(|_| {
        StoreError::Unusable("a link leads its directory out of the workspace".to_owned())
    })?;
    let mut at = openat(&root.directory, ".", DIRECTORY, Mode::empty()).map_err(fault)?;
    for segment in inside {
        at = openat(&at, segment, DIRECTORY, Mode::empty()).map_err(|errno| match errno {
            // Just now there was none.
            Errno::NOENT | Errno::LOOP | Errno::MLINK => StoreError::Unavailable(
                "somebody is changing the links on the path of its directory".to_owned(),
            ),
            errno => fault(errno),
        })?;
    }
    Ok(Found {
        path,
        directory: at,
    })
}

fn fault(errno: Errno) -> StoreError {
    of_kind(std::io::Error::from(errno).kind())
}

fn of_kind(kind: ErrorKind) -> StoreError {
    if let Some(denial) = Denial::of_error(kind) {
        return StoreError::Denied(denial);
    }
    match kind {
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
    async fn a_directory_that_was_taken_away_is_made_again() {
        let root = tempfile::tempdir().expect("a directory");
        let workspace = workspace(root.path());
        let files = WorkspaceFiles::default();
        for directory in ["notes", "kept/notes"] {
            for _ in 0..2 {
                let store = files.open(&workspace, directory).await.expect("a store");
                write(store.as_ref(), "x").await;
                let made = root.path().join(directory);
                assert!(made.join("acme/main/MEMORY.md").is_file());
                std::fs::remove_dir_all(made).expect("it was made");
            }
        }
    }

    #[tokio::test]
    async fn a_store_that_is_open_touches_nothing_that_a_link_in_its_place_leads_to() {
        let root = tempfile::tempdir().expect("a directory");
        let outside = tempfile::tempdir().expect("a directory");
        let files = WorkspaceFiles::default();
        let store = files.open(&workspace(root.path()), "notes").await;
        let store = store.expect("a store");

        // After the look at the path, and before the files are touched.
        std::fs::rename(root.path().join("notes"), root.path().join("away")).expect("rename");
        std::os::unix::fs::symlink(outside.path(), root.path().join("notes")).expect("a link");
        let scope = Scope::parse("acme/main").expect("a scope");
        let request = WriteRequest::new("x", &Expected::Any);
        let refused = store.write(&scope, &NoteName::main(), &request, None).await;

        assert!(refused.is_err(), "{refused:?}");
        let made = std::fs::read_dir(outside.path()).expect("it").count();
        assert_eq!(made, 0);
    }

    #[tokio::test]
    async fn a_link_inside_the_workspace_is_another_name_for_its_directory() {
        let root = tempfile::tempdir().expect("a directory");
        let root = root.path();
        std::fs::create_dir_all(root.join("a/b")).expect("directories");
        std::os::unix::fs::symlink("a/b", root.join("c")).expect("a link");
        std::os::unix::fs::symlink("nowhere", root.join("d")).expect("a link");
        std::fs::write(root.join("e"), "").expect("a file");
        let files = WorkspaceFiles::default();
        let store = files.open(&workspace(root), "c/notes").await;
        write(store.expect("a store").as_ref(), "x").await;
        assert!(root.join("a/b/notes/acme/main/MEMORY.md").is_file());
        for (directory, told) in [
            ("d/notes", "leads nowhere"),
            ("e/notes", "a file has the name"),
        ] {
            let refused = files.open(&workspace(root), directory).await;
            let Err(StoreError::Unusable(reason)) = refused else {
                panic!("{refused:?}");
            };
            assert!(reason.contains(told), "{reason}");
        }
        assert!(!root.join("nowhere").exists());
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
