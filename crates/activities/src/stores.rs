//! The stores of a worker: by name, and where they keep files by workspace as well.

use std::{fmt::Debug, path::PathBuf, sync::Arc};

use async_trait::async_trait;
use notekeeper_contract::{FailureType, MemoryDescription};
use notekeeper_store::{Store, StoreError};

use crate::{Failure, named::Named};

/// Kind of a store that keeps files, as descriptions and telemetry name it.
const FILE: &str = "file";

/// The stores of a worker, by name, and its workspaces.
#[derive(Debug, Clone)]
pub struct Stores {
    stores: Named<Kept>,
    workspaces: Named<Workspace>,
}

/// A named root under which runs keep files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    /// Where it is, on the machines that serve it.
    pub root: PathBuf,
    /// Whether nothing may be changed there.
    pub read_only: bool,
    /// Task queue of the activities that touch its files; `None` where any worker will do.
    pub task_queue: Option<String>,
    /// Whether this worker may touch its files: it serves the task queue, or there is none.
    pub is_served: bool,
}

/// A store that keeps its notes as files in workspaces: one store in each.
#[derive(Debug)]
pub struct FileStores {
    directory: String,
    own_workspace: Option<String>,
    opener: Arc<dyn OpenFiles>,
}

/// Opens what keeps files in a workspace.
#[async_trait]
pub trait OpenFiles: Send + Sync + Debug {
    /// The store in `directory`, seen from the root of the workspace; empty for the root itself. It is
    /// asked for with every operation, so what was opened before should be kept.
    ///
    /// # Errors
    ///
    /// What stands in the way. None says the path.
    async fn open(
        &self,
        workspace: &Workspace,
        directory: &str,
    ) -> Result<Arc<dyn Store>, StoreError>;
}

#[derive(Debug)]
enum Kept {
    /// One store for all runs.
    Store(Arc<dyn Store>),
    /// One store in each workspace.
    Files(FileStores),
}

impl FileStores {
    /// A store whose files are in `directory` of a workspace, relative and inside its root: of
    /// `own_workspace`, or of the run's where there is none.
    pub fn new(directory: &str, own_workspace: Option<String>, opener: Arc<dyn OpenFiles>) -> Self {
        Self {
            directory: seen_from_root(directory),
            own_workspace,
            opener,
        }
    }
}

impl Stores {
    /// Stores under their names. Of two with one name the later counts.
    pub fn new(stores: impl IntoIterator<Item = (String, Arc<dyn Store>)>) -> Self {
        Self::with_workspaces(stores, [], [])
    }

    /// Stores under their names, those that keep files in workspaces apart, and the workspaces. Of
    /// two with one name the later counts, of two stores one that keeps files.
    pub fn with_workspaces(
        stores: impl IntoIterator<Item = (String, Arc<dyn Store>)>,
        files: impl IntoIterator<Item = (String, FileStores)>,
        workspaces: impl IntoIterator<Item = (String, Workspace)>,
    ) -> Self {
        let stores = stores
            .into_iter()
            .map(|(name, store)| (name, Arc::new(Kept::Store(store))));
        let files = files
            .into_iter()
            .map(|(name, files)| (name, Arc::new(Kept::Files(files))));
        let workspaces = workspaces
            .into_iter()
            .map(|(name, workspace)| (name, Arc::new(workspace)));
        Self {
            stores: Named::new(stores.chain(files)),
            workspaces: Named::new(workspaces),
        }
    }

    /// The store with this name, in a run's workspace. Nothing is opened yet.
    ///
    /// # Errors
    ///
    /// An `InvalidArgument` that lists the names of the configured stores; or one that says that the
    /// store needs a workspace and the run has none, or names none that there is. `Unavailable` where
    /// the activities of the workspace go to another queue: while its setting changes, a worker with
    /// the old one may take the next attempt.
    pub fn get(&self, store: &str, workspace: Option<&str>) -> Result<StoreAt<'_>, Failure> {
        let at = self.find(store, workspace)?;
        match &at.files {
            Some(files) if !files.workspace.is_served => Err(Failure::new(
                FailureType::Unavailable,
                format!(
                    "`store` keeps its files in a workspace whose activities go to task queue `{}`, \
                     which this worker doesn't serve; call them there",
                    files.workspace.task_queue.as_deref().unwrap_or_default()
                ),
            )),
            _ => Ok(at),
        }
    }

    /// What there is to know of the store with this name in a run's workspace.
    ///
    /// # Errors
    ///
    /// As [`Stores::get`]; a workspace that another worker serves is none.
    pub fn describe(
        &self,
        store: &str,
        workspace: Option<&str>,
    ) -> Result<MemoryDescription, Failure> {
        let at = self.find(store, workspace)?;
        if let Some(name) = workspace {
            self.workspace(name)?;
        }
        let kind = at.kind().to_owned();
        Ok(match &at.files {
            None => MemoryDescription {
                kind,
                keeps_metadata: at.keeps_metadata(),
                keeps_transcripts: at.keeps_transcripts(),
                keeps_facts: Some(at.keeps_facts()),
                ..MemoryDescription::default()
            },
            Some(files) => MemoryDescription {
                kind,
                read_only: files.workspace.read_only,
                keeps_metadata: at.keeps_metadata(),
                keeps_transcripts: at.keeps_transcripts(),
                keeps_facts: Some(at.keeps_facts()),
                task_queue: files.workspace.task_queue.clone(),
                directory: match files.stores.own_workspace {
                    None => Some(files.stores.directory.clone()),
                    Some(_) => None,
                },
            },
        })
    }

    fn find(&self, store: &str, workspace: Option<&str>) -> Result<StoreAt<'_>, Failure> {
        let kept = self.stores.get(store, "store")?.as_ref();
        let files = match kept {
            Kept::Store(_) => None,
            Kept::Files(stores) => {
                let name = stores.own_workspace.as_deref().or(workspace);
                let name = name.ok_or_else(|| {
                    Failure::invalid(
                        "`workspace` is missing, and `store` keeps its files in the run's \
                         workspace; give the run one of those that the worker has",
                    )
                })?;
                Some(FilesAt {
                    stores,
                    workspace: self.workspace(name)?,
                })
            }
        };
        Ok(StoreAt { kept, files })
    }

    /// The workspace with this name. The failure lists no others: they may be named for customers, and
    /// it stands in the history of one of them.
    fn workspace(&self, name: &str) -> Result<&Workspace, Failure> {
        let workspace = self.workspaces.find(name).ok_or_else(|| {
            Failure::invalid(
                "`workspace` names no configured workspace; `notekeeper config check` lists those \
                 of a worker",
            )
        })?;
        Ok(workspace.as_ref())
    }
}

/// A directory without what says nothing: `./notes/` is `notes`, and `.` the root itself.
fn seen_from_root(directory: &str) -> String {
    let parts: Vec<_> = directory
        .split('/')
        .filter(|part| !matches!(*part, "" | "."))
        .collect();
    parts.join("/")
}

/// A store for one call.
#[derive(Debug)]
pub struct StoreAt<'a> {
    kept: &'a Kept,
    files: Option<FilesAt<'a>>,
}

#[derive(Debug)]
struct FilesAt<'a> {
    stores: &'a FileStores,
    workspace: &'a Workspace,
}

impl StoreAt<'_> {
    /// Kind of the store, as descriptions and telemetry name it.
    pub fn kind(&self) -> &'static str {
        match self.kept {
            Kept::Store(store) => store.kind(),
            Kept::Files(_) => FILE,
        }
    }

    /// Whether the store keeps metadata of writes. Files don't: none could change together with the
    /// text in one step.
    pub fn keeps_metadata(&self) -> bool {
        match self.kept {
            Kept::Store(store) => store.keeps_metadata(),
            Kept::Files(_) => false,
        }
    }

    /// Whether the store keeps transcripts. Those of files don't.
    pub fn keeps_transcripts(&self) -> bool {
        match self.kept {
            Kept::Store(store) => store.transcripts().is_some(),
            Kept::Files(_) => false,
        }
    }

    /// Whether the store keeps facts. Those of files don't.
    pub fn keeps_facts(&self) -> bool {
        match self.kept {
            Kept::Store(store) => store.facts().is_some(),
            Kept::Files(_) => false,
        }
    }

    /// Whether nothing may be changed there.
    pub fn is_read_only(&self) -> bool {
        self.files
            .as_ref()
            .is_some_and(|files| files.workspace.read_only)
    }

    /// The store, opened now where no call did so before.
    ///
    /// # Errors
    ///
    /// What stands in the way.
    pub async fn open(&self) -> Result<Arc<dyn Store>, StoreError> {
        match (self.kept, &self.files) {
            (Kept::Store(store), _) => Ok(Arc::clone(store)),
            (Kept::Files(stores), Some(files)) => {
                stores.opener.open(files.workspace, &stores.directory).await
            }
            (Kept::Files(_), None) => Err(StoreError::Unexpected(
                "a store of files without a workspace".to_owned(),
            )),
        }
    }
}
