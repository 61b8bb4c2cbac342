//! The directory of a store, and the lock that one mutation at a time has on it.

use std::{
    os::fd::OwnedFd,
    path::Path,
    time::{Duration, Instant},
};

use rustix::{
    fs::{AtFlags, FlockOperation, Mode, OFlags, flock, open},
    io::Errno,
};

use super::fault::Fault;
use crate::{StoreError, lock_pause::lock_pause};

/// How directories are opened.
pub(super) const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);

/// Tells one file or directory from another, for as long as both exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileId {
    device: i128,
    inode: i128,
}

impl FileId {
    /// Of a name in a directory; `None` where there is none. A link is what it is, not what it
    /// leads to.
    pub(super) fn of(directory: &OwnedFd, name: &str) -> Result<Option<Self>, Errno> {
        match rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(Self::of_stat(&stat))),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(errno),
        }
    }

    /// Of what a path leads to, over links.
    pub(super) fn at(path: &Path) -> Result<Option<Self>, Errno> {
        match rustix::fs::stat(path) {
            Ok(stat) => Ok(Some(Self::of_stat(&stat))),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(errno) => Err(errno),
        }
    }

    fn of_stat(stat: &rustix::fs::Stat) -> Self {
        Self {
            // Their types differ by platform.
            device: stat.st_dev.into(),
            inode: stat.st_ino.into(),
        }
    }
}

/// The directory, open.
#[derive(Debug)]
pub(super) struct Root {
    pub(super) directory: OwnedFd,
    pub(super) id: FileId,
}

impl Root {
    /// Opens the directory. The path may lead through links: who configured it chose them.
    pub(super) fn open(path: &Path) -> Result<Self, Fault> {
        let directory = open(path, DIRECTORY, Mode::empty()).map_err(|errno| match errno {
            Errno::NOENT => {
                Fault::unavailable("its directory isn't there; make it, or mount what it is on")
            }
            Errno::NOTDIR => Fault::Lasting(StoreError::Unusable(
                "what its `directory` names is no directory".to_owned(),
            )),
            errno => errno.into(),
        })?;
        let id = FileId::of_stat(&rustix::fs::fstat(&directory)?);
        Ok(Self { directory, id })
    }

    /// The directory that the caller opened. The path has to lead there, because SQLite goes by it:
    /// whoever can write beside the directory could have put a link in its place.
    pub(super) fn opened(directory: &OwnedFd, path: &Path) -> Result<Self, Fault> {
        let id = FileId::of_stat(&rustix::fs::fstat(directory)?);
        let named = match open(path, DIRECTORY | OFlags::NOFOLLOW, Mode::empty()) {
            Ok(named) => Some(FileId::of_stat(&rustix::fs::fstat(&named)?)),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::MLINK) => None,
            Err(errno) => return Err(errno.into()),
        };
        if named != Some(id) {
            return Err(Fault::unavailable(
                "its directory isn't the one that was opened any more",
            ));
        }
        let directory = rustix::io::fcntl_dupfd_cloexec(directory, 0)?;
        Ok(Self { directory, id })
    }

    /// Makes the directory where it is missing, for this user alone.
    pub(super) fn make_where_missing(path: &Path) -> Result<(), Fault> {
        match rustix::fs::mkdir(path, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            Err(Errno::NOENT) => Err(Fault::unavailable(
                "its directory can't be made, because the one above it isn't there; make that, or \
                 mount what it is on",
            )),
            // What is there already needs no permission to make it.
            Err(_) if path.is_dir() => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Takes the lock. It is the kernel's, on the directory itself: it ends with the process that
    /// has it, however that ends, and leaves nothing behind.
    pub(super) fn lock(&self, patience: Duration) -> Result<Lock, Fault> {
        let deadline = Instant::now() + patience;
        // A descriptor of its own: locks belong to the open directory, not to the process.
        let directory = rustix::fs::openat(&self.directory, ".", DIRECTORY, Mode::empty())?;
        loop {
            match flock(&directory, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Lock { _held: directory }),
                Err(Errno::WOULDBLOCK | Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
            if Instant::now() >= deadline {
                return Err(Fault::unavailable(
                    "another process keeps changing its notes; nothing was changed",
                ));
            }
            std::thread::sleep(lock_pause());
        }
    }
}

/// The right to change the directory, until it is dropped.
#[derive(Debug)]
pub(super) struct Lock {
    _held: OwnedFd,
}
