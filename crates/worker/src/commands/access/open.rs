//! The two ways to what a scope keeps, with the same questions and answers.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use notekeeper_activities::{Caller, Failure, Workspace};
use notekeeper_contract::FailureType;

use crate::{
    config::{File, StoreConfig},
    connection::TemporalTarget,
    output::CodedError,
    wiring::{OpenStores, close_stores, open_stores},
};

use super::{ScopeArgs, Via, over_temporal::OverTemporal};

/// Longest wait for the connections of a store to close.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// A way to what a scope keeps.
pub(crate) enum Access {
    /// The store itself.
    Store(OpenStores),
    /// A worker's activities.
    Temporal(Box<OverTemporal>),
}

/// Where a command looks, and what for.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    /// The store, and the way to it.
    pub(crate) args: &'a ScopeArgs,
    /// The workspace, for a store that keeps its files in the run's.
    pub(crate) workspace: Option<&'a str>,
    pub(crate) kept: Kept,
    pub(crate) purpose: Purpose,
}

/// What is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kept {
    /// Notes, which every store keeps.
    Notes,
    /// Transcripts and facts, which those of files don't keep.
    TranscriptsAndFacts,
}

/// What is to be done with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Something with what is there: no file is made for that. The command is the one that makes it.
    Use { maker: &'static str },
    /// Something may be made, and the file that holds it.
    Make,
}

impl<'a> Place<'a> {
    /// The transcripts and facts of a scope.
    pub(crate) fn of_transcripts_and_facts(args: &'a ScopeArgs, purpose: Purpose) -> Self {
        Self {
            args,
            workspace: None,
            kept: Kept::TranscriptsAndFacts,
            purpose,
        }
    }

    /// Opens the way, does the work, and closes it.
    pub(crate) async fn with_access<T>(
        self,
        config: Option<&Path>,
        work: impl AsyncFnOnce(&Access) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let access = self.open(config).await?;
        let result = work(&access).await;
        if let Access::Store(opened) = &access {
            close_stores(&opened.databases, &opened.files, CLOSE_TIMEOUT).await;
        }
        result
    }

    /// Reads the settings, and connects where that is to be done first.
    async fn open(self, config: Option<&Path>) -> anyhow::Result<Access> {
        let file = File::read(config)?;
        let args = self.args;
        match args.via {
            Via::Store => {
                let config = chosen(file.stores(&args.database)?, &args.store)?;
                // Whoever has the files before them needs no worker that serves them.
                let workspaces = file.workspaces(|_| true)?;
                self.check_keeps(&config)?;
                self.check_there(&config, &workspaces)?;
                let configs = BTreeMap::from([(args.store.clone(), config)]);
                Ok(Access::Store(open_stores(&configs, &workspaces).await?))
            }
            Via::Temporal => {
                let target = TemporalTarget::resolve(&file.temporal(&args.temporal))?;
                Ok(Access::Temporal(Box::new(OverTemporal {
                    client: target.reach().await?,
                    task_queue: file.task_queue(args.queue.task_queue.as_deref()),
                    begin_within: Duration::from_secs(args.queue.timeout),
                })))
            }
        }
    }

    /// Nothing has to be opened to know what a store of files can't do.
    fn check_keeps(&self, config: &StoreConfig) -> anyhow::Result<()> {
        if !config.keeps_transcripts() && self.kept == Kept::TranscriptsAndFacts {
            let name = &self.args.store;
            return Err(coded(
                FailureType::Unsupported.as_str(),
                format!(
                    "store `{name}` keeps notes as files, and neither transcripts nor facts; name \
                     one of the kind `sqlite` or `postgres` with --store"
                ),
            ));
        }
        Ok(())
    }

    /// A file that is named by mistake shouldn't be made by looking into it.
    fn check_there(
        &self,
        config: &StoreConfig,
        workspaces: &BTreeMap<String, Workspace>,
    ) -> anyhow::Result<()> {
        let Purpose::Use { maker } = self.purpose else {
            return self.where_files_are(config, workspaces).map(|_| ());
        };
        match self.where_files_are(config, workspaces)? {
            Some((what, path)) if !path.exists() => {
                let (name, path) = (&self.args.store, path.display());
                let message =
                    format!("store `{name}`: there is no {what} `{path}`; `{maker}` makes it");
                Err(coded(NO_STORE, message))
            }
            _ => Ok(()),
        }
    }

    /// The file or directory of a store, where it has one.
    fn where_files_are(
        &self,
        config: &StoreConfig,
        workspaces: &BTreeMap<String, Workspace>,
    ) -> anyhow::Result<Option<(&'static str, PathBuf)>> {
        Ok(match config {
            StoreConfig::Sqlite(options) => Some(("file", options.path.clone())),
            StoreConfig::File(options) => Some(("directory", options.root.clone())),
            StoreConfig::WorkspaceFiles(files) => {
                let workspace = files.workspace.as_deref().or(self.workspace);
                match workspace.and_then(|name| workspaces.get(name)) {
                    Some(workspace) => Some(("directory", workspace.root.join(&files.directory))),
                    None => return Err(self.no_workspace(workspaces)),
                }
            }
            StoreConfig::Postgres(_) | StoreConfig::InMemory => None,
        })
    }

    /// Whoever reads this has the configuration, so it may name what a worker's failures keep to
    /// themselves.
    fn no_workspace(&self, workspaces: &BTreeMap<String, Workspace>) -> anyhow::Error {
        let name = &self.args.store;
        let known: Vec<String> = workspaces.keys().map(|name| format!("`{name}`")).collect();
        let known = known.join(", ");
        let message = match self.workspace {
            None => format!(
                "store `{name}` keeps its files in a workspace; name it with `--workspace`, \
                 configured: {known}"
            ),
            Some(workspace) => {
                format!("there is no workspace `{workspace}`; configured: {known}")
            }
        };
        coded(NO_STORE, message)
    }
}

/// Of calls for a store that isn't configured, isn't there, or can't be seen from here.
const NO_STORE: &str = "NoStore";

pub(crate) fn coded(code: &str, message: String) -> anyhow::Error {
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

/// Every change brings an operation, so that no caller's identity is asked for.
pub(crate) fn nobody() -> Caller {
    Caller {
        temporal_namespace: String::new(),
        workflow_id: None,
        run_id: String::new(),
        activity_id: String::new(),
        activity_type: String::new(),
        is_local: true,
    }
}

/// A failure of an operation, with its type as the code.
pub(crate) fn failed(failure: Failure) -> anyhow::Error {
    anyhow::Error::new(CodedError {
        code: failure.kind.as_str().to_owned(),
        message: failure.message,
    })
}
