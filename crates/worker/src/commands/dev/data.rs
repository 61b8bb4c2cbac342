//! The directory that keeps everything between two starts.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io::{Read as _, Write as _},
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};

/// What the file begins with, of every SQLite database that isn't empty.
const SQLITE_MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// What to do about a directory that can't be used.
const REMEDY: &str = "give another directory with --data (NOTEKEEPER_DATA)";

/// The data directory, held against a second `notekeeper dev`.
pub(super) struct DataDirectory {
    path: PathBuf,
    /// Locked as long as it is open. The kernel gives the lock back however this process ends.
    _lock: File,
}

impl DataDirectory {
    /// Makes the directory where there is none, and takes it.
    pub(super) fn open(path: &Path) -> anyhow::Result<Self> {
        let path = std::path::absolute(path).context("can't find the current directory")?;
        make(&path)?;
        let lock = lock(&path)?;
        let directory = Self { path, _lock: lock };
        // Of the notes' file the store says more itself.
        check_database(&directory.temporal())?;
        Ok(directory)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The store's database.
    pub(super) fn notes(&self) -> PathBuf {
        self.path.join("notes.sqlite")
    }

    /// The Temporal server's database.
    pub(super) fn temporal(&self) -> PathBuf {
        self.path.join("temporal.sqlite")
    }
}

/// Makes the directory, with a file that keeps it out of version control.
fn make(path: &Path) -> anyhow::Result<()> {
    let shown = path.display();
    if path.exists() && !path.is_dir() {
        bail!("the data directory `{shown}` is no directory; {REMEDY}");
    }
    // Notes and conversations are this user's alone.
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .with_context(|| format!("can't make the data directory `{shown}`; {REMEDY}"))?;
    let entries = fs::read_dir(path)
        .with_context(|| format!("can't read the data directory `{shown}`; {REMEDY}"))?;
    // A directory that held something before is somebody's, and so is what git sees of it.
    if entries.count() == 0 {
        fs::write(path.join(".gitignore"), "*\n")
            .with_context(|| format!("can't write in the data directory `{shown}`; {REMEDY}"))?;
    }
    Ok(())
}

/// Takes the directory, or says who has it.
fn lock(path: &Path) -> anyhow::Result<File> {
    let shown = path.display();
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path.join("lock"))
        .with_context(|| format!("can't write in the data directory `{shown}`; {REMEDY}"))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut holder = String::new();
            // Empty where it was taken a moment ago.
            let _ = file.read_to_string(&mut holder);
            let process = match holder.trim() {
                "" => String::new(),
                id => format!(" (process {id})"),
            };
            bail!(
                "the data directory `{shown}` is in use by another `notekeeper dev`{process}; stop \
                 that one, or {REMEDY}"
            );
        }
        Err(TryLockError::Error(error)) => {
            return Err(error)
                .with_context(|| format!("can't lock the data directory `{shown}`; {REMEDY}"));
        }
    }
    file.set_len(0)
        .and_then(|()| writeln!(file, "{}", std::process::id()))
        .with_context(|| format!("can't write in the data directory `{shown}`"))?;
    Ok(file)
}

/// Fails where the file is there and can't be a database of ours.
fn check_database(file: &Path) -> anyhow::Result<()> {
    let shown = file.display();
    let opened = OpenOptions::new().read(true).write(true).open(file);
    let opened = match opened {
        Ok(opened) => opened,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => {
            return Err(error).with_context(|| {
                format!("can't read and write the database `{shown}`; correct that, or {REMEDY}")
            });
        }
    };
    let mut begin = Vec::new();
    let magic = u64::try_from(SQLITE_MAGIC.len()).unwrap_or(u64::MAX);
    opened
        .take(magic)
        .read_to_end(&mut begin)
        .with_context(|| format!("can't read the database `{shown}`; {REMEDY}"))?;
    if !begin.is_empty() && begin != SQLITE_MAGIC {
        bail!("`{shown}` isn't an SQLite database; move it away, or {REMEDY}");
    }
    Ok(())
}
