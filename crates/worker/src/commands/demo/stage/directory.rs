//! Where the demonstration's files are.

use std::{
    fs::DirBuilder,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
};

use anyhow::Context as _;

/// A directory that goes with the demonstration, unless it is kept.
pub(super) struct Directory {
    path: PathBuf,
    kept: bool,
}

impl Directory {
    pub(super) fn make(unique: &str) -> anyhow::Result<Self> {
        let path = std::env::temp_dir().join(format!("notekeeper-demo-{unique}"));
        // Notes are copied into it, and everybody of this machine looks into the directory above.
        DirBuilder::new()
            .mode(0o700)
            .create(&path)
            .with_context(|| format!("can't make `{}`", path.display()))?;
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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn it_is_this_user_s_alone_and_goes_with_the_demonstration() {
        let directory = Directory::make(&crate::random::name()).expect("a directory");
        let path = directory.path().to_owned();
        let mode = path.metadata().expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        drop(directory);
        assert!(!path.exists());
    }
}
