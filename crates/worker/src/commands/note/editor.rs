//! The user's editor, on a file of its own.

use std::{
    fs::{File, Permissions},
    io::Write as _,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, bail};
use tempfile::TempDir;

use notekeeper_store::CONTENT_BYTES_MAX;

use crate::commands::given_text;

/// A text in a file, in a directory that only its user can look into.
pub(super) struct Draft {
    directory: TempDir,
    path: PathBuf,
}

impl Draft {
    /// Writes the text into a file of this name.
    pub(super) fn new(name: &str, text: &str) -> anyhow::Result<Self> {
        let directory = tempfile::Builder::new()
            .prefix("notekeeper-")
            .permissions(Permissions::from_mode(0o700))
            .tempdir()
            .context("can't make a directory for the draft")?;
        let path = directory.path().join(name);
        let mut file =
            File::create_new(&path).with_context(|| format!("can't make `{}`", path.display()))?;
        file.write_all(text.as_bytes())
            .with_context(|| format!("can't write `{}`", path.display()))?;
        Ok(Self { directory, path })
    }

    /// Lets the user edit it, and reads what came of it.
    pub(super) fn edited(&self, editor: &str) -> anyhow::Result<String> {
        // As other tools do: the setting is a piece of shell, with options perhaps.
        let status = Command::new("sh")
            .args(["-c", &format!("{editor} \"$@\""), editor])
            .arg(&self.path)
            .status()
            .with_context(|| format!("can't start the editor `{editor}`"))?;
        if !status.success() {
            bail!("the editor `{editor}` failed ({status})");
        }
        let file = File::open(&self.path)
            .with_context(|| format!("can't open `{}`", self.path.display()))?;
        given_text::read(file, CONTENT_BYTES_MAX, "note")
            .with_context(|| format!("can't use `{}`", self.path.display()))
    }

    /// Keeps the file, and says where it is.
    pub(super) fn keep(self) -> PathBuf {
        let Self { directory, path } = self;
        // Only forgets that it was to be removed.
        let _: PathBuf = directory.keep();
        path
    }

    /// Whether the file holds something else than this text, or can't be read to know.
    pub(super) fn differs_from(&self, text: &str) -> bool {
        std::fs::read(&self.path).map_or(Path::exists(&self.path), |now| now != text.as_bytes())
    }
}

/// The editor that the user wants.
pub(super) fn chosen() -> anyhow::Result<String> {
    ["VISUAL", "EDITOR"]
        .into_iter()
        .filter_map(|name| std::env::var(name).ok())
        .find(|editor| !editor.trim().is_empty())
        .context("no editor is set; set VISUAL or EDITOR, such as EDITOR=nano")
}
