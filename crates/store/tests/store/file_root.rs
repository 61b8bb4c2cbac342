//! A directory of notes for each test.

use std::path::PathBuf;

use notekeeper_store::{FileOptions, FileStore};
use sqlx::{Connection as _, SqliteConnection, sqlite::SqliteConnectOptions};
use tempfile::TempDir;

use crate::{database::PATIENCE, database_file::directory};

/// The journal, in the root.
pub(crate) const JOURNAL: &str = ".memory-store.sqlite3";

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

    /// Writes to a note as another program would: in place.
    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("make");
        std::fs::write(path, text).expect("write");
    }

    /// The text of a file.
    pub(crate) fn text(&self, path: &str) -> String {
        std::fs::read_to_string(self.path(path)).expect("a text")
    }

    /// Everything under the root, with the journal's files left out.
    pub(crate) fn files(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut ahead = vec![self.options.root.clone()];
        while let Some(directory) = ahead.pop() {
            for entry in std::fs::read_dir(directory).expect("a directory") {
                let entry = entry.expect("an entry");
                if entry.file_type().expect("a type").is_dir() {
                    ahead.push(entry.path());
                }
                let path = entry.path();
                let path = path.strip_prefix(&self.options.root).expect("inside");
                found.push(path.to_str().expect("UTF-8").to_owned());
            }
        }
        found.retain(|path| !path.starts_with(JOURNAL));
        found.sort();
        found
    }

    /// A connection to the journal, for looking behind the store.
    pub(crate) async fn journal(&self) -> SqliteConnection {
        let options = SqliteConnectOptions::new().filename(self.path(JOURNAL));
        SqliteConnection::connect_with(&options)
            .await
            .expect("the journal can be opened")
    }

    /// How many mutations were prepared and not finished.
    pub(crate) async fn prepared(&self) -> i64 {
        sqlx::query_scalar("select count(*) from prepared")
            .fetch_one(&mut self.journal().await)
            .await
            .expect("count")
    }

    /// A store over it, as programs make it.
    pub(crate) async fn store(&self) -> FileStore {
        FileStore::open(self.options.clone()).await.expect("open")
    }
}
