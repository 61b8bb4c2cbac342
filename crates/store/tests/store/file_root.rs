//! A directory of notes for each test.

use std::path::PathBuf;

use notekeeper_store::{FileOptions, FileStore};
use tempfile::TempDir;

use crate::{database::PATIENCE, database_file::directory};

/// A directory that goes with this value.
#[derive(Debug)]
pub(crate) struct FileRoot {
    directory: TempDir,
    pub(crate) options: FileOptions,
}

impl FileRoot {
    /// A place for notes; it isn't made yet.
    pub(crate) fn new() -> Self {
        let directory = directory();
        let mut options = FileOptions::new(directory.path().join("notes"));
        // A busy machine is no fault. Tests of time-outs set their own.
        options.busy_timeout = PATIENCE / 2;
        Self { directory, options }
    }

    /// A path beside the notes.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// A path among the notes.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.options.root.join(path)
    }

    /// A store over it, as programs make it.
    pub(crate) async fn store(&self) -> FileStore {
        FileStore::open(self.options.clone()).await.expect("open")
    }
}
