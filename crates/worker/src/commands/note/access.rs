//! The two ways to the notes of a notebook, with the same questions and answers.

use std::{collections::BTreeMap, path::Path, time::Duration};

use notekeeper_activities::{Caller, ExpectedNote, Failure, Notebook, ReplaceWhole, Workspace};
use notekeeper_contract::{
    DeleteMemoryInput, DeletedMemory, ListMemoryInput, ListedMemory, MemoryContent, MemoryMatches,
    Outcome, ReadMemoryInput, SearchMemoryInput, WriteMemoryInput, WrittenMemory,
};

use crate::{
    config::{File, StoreConfig},
    connection::TemporalTarget,
    output::CodedError,
    wiring::{OpenStores, close_stores, open_stores},
};

use super::{NotebookArgs, Via, over_temporal::OverTemporal};

/// Longest wait for the connections of a store to close.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// A way to the notes.
pub(super) enum Access {
    /// The store itself.
    Store(Notebook, OpenStores),
    /// A worker's activities.
    Temporal(Box<OverTemporal>),
}

/// What is to be done with the notes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Something with notes that are there: no file is made for that.
    Use,
    /// Notes may be made, and the file that holds them.
    Make,
}

/// Opens a way to the notes, does the work, and closes it.
pub(super) async fn with_notes<T>(
    config: Option<&Path>,
    args: &NotebookArgs,
    purpose: Purpose,
    work: impl AsyncFnOnce(&Access) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let access = Access::open(config, args, purpose).await?;
    let result = work(&access).await;
    if let Access::Store(_, opened) = &access {
        close_stores(&opened.databases, &opened.files, CLOSE_TIMEOUT).await;
    }
    result
}

impl Access {
    /// Reads the settings, and connects where that is to be done first.
    async fn open(
        config: Option<&Path>,
        args: &NotebookArgs,
        purpose: Purpose,
    ) -> anyhow::Result<Self> {
        let file = File::read(config)?;
        match args.via {
            Via::Store => {
                let config = chosen(file.stores(&args.database)?, &args.store)?;
                // Whoever has the files before them needs no worker that serves them.
                let workspaces = file.workspaces(|_| true)?;
                check_there(args, &config, &workspaces, purpose)?;
                let configs = BTreeMap::from([(args.store.clone(), config)]);
                let opened = open_stores(&configs, &workspaces).await?;
                Ok(Self::Store(Notebook::new(opened.stores.clone()), opened))
            }
            Via::Temporal => {
                let target = TemporalTarget::resolve(&file.temporal(&args.temporal))?;
                Ok(Self::Temporal(Box::new(OverTemporal {
                    client: target.reach().await?,
                    task_queue: file.task_queue(args.queue.task_queue.as_deref()),
                    begin_within: Duration::from_secs(args.queue.timeout),
                })))
            }
        }
    }

    pub(super) async fn list(&self, input: ListMemoryInput) -> anyhow::Result<ListedMemory> {
        match self {
            Self::Store(notebook, _) => notebook.list(input).await.map_err(failed),
            Self::Temporal(remote) => remote.list(input).await,
        }
    }

    /// The whole note, as far as this way carries it.
    pub(super) async fn read(
        &self,
        input: ReadMemoryInput,
    ) -> anyhow::Result<Outcome<MemoryContent>> {
        match self {
            Self::Store(notebook, _) => notebook.read_whole(input).await.map_err(failed),
            Self::Temporal(remote) => remote.read(input).await,
        }
    }

    pub(super) async fn search(
        &self,
        input: SearchMemoryInput,
    ) -> anyhow::Result<Outcome<MemoryMatches>> {
        match self {
            Self::Store(notebook, _) => notebook.search(input).await.map_err(failed),
            Self::Temporal(remote) => remote.search(input).await,
        }
    }

    pub(super) async fn write(
        &self,
        input: WriteMemoryInput,
    ) -> anyhow::Result<Outcome<WrittenMemory>> {
        match self {
            Self::Store(notebook, _) => notebook.write(input, &nobody()).await.map_err(failed),
            Self::Temporal(remote) => remote.write(input).await,
        }
    }

    pub(super) async fn replace_whole(
        &self,
        input: ReplaceWhole,
    ) -> anyhow::Result<Outcome<WrittenMemory>> {
        match self {
            Self::Store(notebook, _) => notebook.replace_whole(input).await.map_err(failed),
            Self::Temporal(remote) => remote.replace_whole(input).await,
        }
    }

    pub(super) async fn delete(
        &self,
        input: DeleteMemoryInput,
    ) -> anyhow::Result<Outcome<DeletedMemory>> {
        match self {
            Self::Store(notebook, _) => notebook.delete(input, &nobody()).await.map_err(failed),
            Self::Temporal(remote) => remote.delete(input).await,
        }
    }
}

/// Of calls for a store that isn't configured, isn't there, or can't be seen from here.
const NO_STORE: &str = "NoStore";

fn coded(code: &str, message: String) -> anyhow::Error {
    let code = code.to_owned();
    anyhow::Error::new(CodedError { code, message })
}

/// The store of this name, where this process can see what is in it.
fn chosen(mut stores: BTreeMap<String, StoreConfig>, name: &str) -> anyhow::Result<StoreConfig> {
    match stores.remove(name) {
        Some(StoreConfig::InMemory) => Err(coded(
            NO_STORE,
            format!(
                "store `{name}` lives in the memory of its worker, where no other process sees \
                 it; reach it with `--via temporal`"
            ),
        )),
        Some(config) => Ok(config),
        None => {
            let others: Vec<String> = stores.keys().map(|name| format!("`{name}`")).collect();
            let others = others.join(", ");
            Err(coded(
                NO_STORE,
                format!("there is no store `{name}`; configured: {others}"),
            ))
        }
    }
}

/// Whoever reads this has the configuration, so it may name what a worker's failures keep to
/// themselves.
fn no_workspace(args: &NotebookArgs, workspaces: &BTreeMap<String, Workspace>) -> anyhow::Error {
    let name = &args.store;
    let known: Vec<String> = workspaces.keys().map(|name| format!("`{name}`")).collect();
    let known = known.join(", ");
    let message = match &args.workspace {
        None => format!(
            "store `{name}` keeps its files in a workspace; name it with `--workspace`, \
             configured: {known}"
        ),
        Some(workspace) => format!("there is no workspace `{workspace}`; configured: {known}"),
    };
    coded(NO_STORE, message)
}

/// A file that is named by mistake shouldn't be made by looking into it.
fn check_there(
    args: &NotebookArgs,
    config: &StoreConfig,
    workspaces: &BTreeMap<String, Workspace>,
    purpose: Purpose,
) -> anyhow::Result<()> {
    let name = &args.store;
    let (what, path) = match config {
        StoreConfig::Sqlite(options) => ("file", options.path.clone()),
        StoreConfig::File(options) => ("directory", options.root.clone()),
        StoreConfig::WorkspaceFiles(files) => {
            let workspace = files.workspace.as_ref().or(args.workspace.as_ref());
            match workspace.and_then(|name| workspaces.get(name)) {
                Some(workspace) => ("directory", workspace.root.join(&files.directory)),
                None => return Err(no_workspace(args, workspaces)),
            }
        }
        StoreConfig::Postgres(_) | StoreConfig::InMemory => return Ok(()),
    };
    if purpose == Purpose::Use && !path.exists() {
        let path = path.display();
        return Err(coded(
            NO_STORE,
            format!(
                "store `{name}`: there is no {what} `{path}`; `notekeeper note write` makes it"
            ),
        ));
    }
    Ok(())
}

/// Every change brings an operation, so that no caller's identity is asked for.
fn nobody() -> Caller {
    Caller {
        temporal_namespace: String::new(),
        workflow_id: None,
        run_id: String::new(),
        activity_id: String::new(),
        activity_type: String::new(),
        is_local: true,
    }
}

fn failed(failure: Failure) -> anyhow::Error {
    anyhow::Error::new(CodedError {
        code: failure.kind.as_str().to_owned(),
        message: failure.message,
    })
}

/// What a note is expected to be, as the two ways take it.
pub(super) fn expected(version: Option<&str>) -> ExpectedNote {
    version.map_or(ExpectedNote::Any, |version| {
        ExpectedNote::Version(version.to_owned())
    })
}
