//! Which directory, and how it is used.

use std::{os::fd::OwnedFd, path::PathBuf, sync::Arc, time::Duration};

/// Which directory holds the notes, and how it is used.
#[derive(Debug, Clone)]
pub struct FileOptions {
    /// The directory. Notes are at `{root}/{scope}/{name}`. Where it is missing it is made, for
    /// this user alone; the directory above it must exist, on a local disk.
    pub root: PathBuf,
    /// The directory itself, where the caller opened and checked it. Notes are then looked for from
    /// here alone, and `root` has to lead to the same directory for as long as the store is used:
    /// where it doesn't, because a link or another directory has its place, operations are
    /// [`Unavailable`](crate::StoreError::Unavailable). It is never made.
    pub directory: Option<Arc<OwnedFd>>,
    /// Whether the store only reads: mutations are refused, and nothing in the directory is
    /// changed or made.
    pub read_only: bool,
    /// Longest wait for other operations and processes that change notes of this directory. An
    /// operation that waited this long is [`Unavailable`](crate::StoreError::Unavailable).
    pub busy_timeout: Duration,
    /// What tests say of the file system instead of having it probed.
    pub(super) folds_case: Option<bool>,
}

impl FileOptions {
    /// Options with defaults: writable, 5 s for others to finish.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            directory: None,
            read_only: false,
            busy_timeout: Duration::from_secs(5),
            folds_case: None,
        }
    }

    /// Options with defaults for a directory that is open. `root` is its path, without links.
    pub fn of_directory(directory: impl Into<Arc<OwnedFd>>, root: impl Into<PathBuf>) -> Self {
        Self {
            directory: Some(directory.into()),
            ..Self::new(root)
        }
    }
}
