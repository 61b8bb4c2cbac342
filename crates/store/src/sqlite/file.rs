//! The file itself, before SQLite opens it.

use std::{
    fs::OpenOptions,
    io::{Error, ErrorKind},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
    sync::{Mutex, PoisonError},
};

use crate::StoreError;

/// One store of a process makes a file at a time. Closing a file takes away all locks that the
/// process has on it: another store that found it here must not have opened it yet.
static MAKING: Mutex<()> = Mutex::new(());

/// Makes an empty file for this user alone where there is none, and says what is wrong with what
/// SQLite couldn't open. A file that exists isn't opened.
pub(super) fn make_where_missing(path: &Path) -> Result<(), StoreError> {
    let _alone = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => Ok(()),
        Ok(metadata) if metadata.is_dir() => Err(unusable(
            path,
            "is a directory; name a file in it, such as `notekeeper.db`",
        )),
        Ok(_) => Err(unusable(path, "is neither a file nor a directory")),
        Err(error) if error.kind() == ErrorKind::NotFound => make(path),
        Err(error) => Err(of_io(path, &error)),
    }
}

fn make(path: &Path) -> Result<(), StoreError> {
    let made = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path);
    match made {
        Ok(_) => Ok(()),
        // Another process was faster.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(of_io(path, &error)),
    }
}

fn of_io(path: &Path, error: &Error) -> StoreError {
    let directory = path.parent().unwrap_or(path).display();
    let what = match error.kind() {
        ErrorKind::NotFound => format!("can't be made: create the directory `{directory}` first"),
        ErrorKind::NotADirectory => format!("can't be made: `{directory}` is no directory"),
        ErrorKind::PermissionDenied => format!(
            "can't be made or reached: give this user write permission in `{directory}`, or name \
             a file elsewhere"
        ),
        ErrorKind::ReadOnlyFilesystem => {
            "can't be made on a read-only file system; name a file elsewhere".to_owned()
        }
        ErrorKind::StorageFull => "can't be made: the disk is full".to_owned(),
        kind => format!("can't be made or reached: {kind}"),
    };
    unusable(path, &what)
}

/// What is wrong with the file.
pub(super) fn unusable(path: &Path, what: &str) -> StoreError {
    StoreError::Unusable(format!("`{}` {what}", path.display()))
}
