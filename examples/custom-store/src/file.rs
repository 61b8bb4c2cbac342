//! The file: read as a whole, and replaced as a whole.

use std::{
    fs::File,
    io::{ErrorKind, Write as _},
    path::{Path, PathBuf},
};

use notekeeper_store::StoreError;

use crate::shelf::Shelf;

/// Reads the shelf; an empty one where there is no file yet.
pub(crate) fn load(path: &Path) -> Result<Shelf, StoreError> {
    match std::fs::read(path) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(|_| {
            StoreError::Unusable(format!("`{}` holds something else", path.display()))
        }),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Shelf::default()),
        Err(error) => Err(StoreError::Unusable(format!(
            "`{}` can't be read: {}",
            path.display(),
            error.kind()
        ))),
    }
}

/// Replaces the file. When this returns the new one is on the disk; a crash in the middle leaves the
/// old one, and a file with `.new` at the end of its name that the next change writes over.
pub(crate) fn save(path: &Path, shelf: &Shelf) -> Result<(), StoreError> {
    let replaced = || -> std::io::Result<()> {
        let new = beside(path, "new");
        let mut file = File::create(&new)?;
        file.write_all(&serde_json::to_vec(shelf)?)?;
        file.sync_all()?;
        std::fs::rename(&new, path)?;
        // The new name is in the directory, which has to be on the disk as well.
        File::open(path.parent().unwrap_or(path))?.sync_all()
    };
    replaced().map_err(|error| {
        StoreError::Unavailable(format!("the file can't be written: {}", error.kind()))
    })
}

/// Takes the file for this process, until the lock is dropped or the process ends.
pub(crate) fn lock(path: &Path) -> Result<File, StoreError> {
    let unusable = |what: &str| StoreError::Unusable(format!("`{}` {what}", path.display()));
    // A file of its own, because the other one is replaced by each change.
    let lock = File::create(beside(path, "lock"))
        .map_err(|error| unusable(&format!("can't be locked: {}", error.kind())))?;
    lock.try_lock()
        .map_err(|_| unusable("is used by another process; end that one first"))?;
    Ok(lock)
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(suffix);
    PathBuf::from(name)
}
