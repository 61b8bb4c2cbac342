//! Where the demonstration's files are.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

/// A directory that goes with the demonstration, unless it is kept.
pub(super) struct Directory {
    path: PathBuf,
    kept: bool,
}

impl Directory {
    pub(super) fn make(unique: &str) -> anyhow::Result<Self> {
        let path = std::env::temp_dir().join(format!("notekeeper-demo-{unique}"));
        std::fs::create_dir(&path).with_context(|| format!("can't make `{}`", path.display()))?;
        Ok(Self { path, kept: false })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Leaves it where it is.
    pub(super) fn keep(mut self) {
        self.kept = true;
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        if self.kept {
            return;
        }
        if let Err(error) = std::fs::remove_dir_all(&self.path) {
            println!("{} is left: {error}", self.path.display());
        }
    }
}
