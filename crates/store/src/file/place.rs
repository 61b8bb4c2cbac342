//! From scopes and names to directories and files, without ever leaving the root.
//!
//! No path is handed to the system as a whole: each segment is opened from the directory before
//! it, and no link is followed by the system. What a link says is walked in the same way, as long as
//! it stays under the root.

use std::{
    collections::VecDeque,
    ffi::CString,
    os::fd::OwnedFd,
    path::{Component, Path},
};

use notekeeper_domain::{NoteName, Scope};
use rustix::{
    fs::{AtFlags, Dir, FileType, Mode, OFlags, mkdirat, openat, readlinkat, statat},
    io::Errno,
};

use super::{
    fault::Fault,
    names::is_reserved,
    root::{DIRECTORY, Root},
};
use crate::{OddNote, OddScope};

/// Most links on the way to one note.
const LINKS_MAX: usize = 40;

/// Where a note is, or would be.
#[derive(Debug)]
pub(super) struct Place {
    /// The directory that holds it.
    pub(super) directory: OwnedFd,
    /// Its name there. It is no link.
    pub(super) name: String,
    /// Path from the root, without links: the key of what the journal knows of it.
    pub(super) path: String,
}

impl Place {
    /// Path of the directory that holds it, without links: of the scope that the file is kept in, which
    /// a link to it needn't be in.
    pub(super) fn scope(&self) -> &str {
        let directory = self.path.strip_suffix(&*self.name).unwrap_or_default();
        directory.strip_suffix('/').unwrap_or(directory)
    }
}

/// What to do about directories that are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    /// There is no such note then.
    Leave,
    /// They are made.
    Make,
}

/// Which links are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Links {
    All,
    /// Not the one at the end of the way, which is meant itself.
    OnTheWay,
    /// None: what is behind one isn't there.
    None,
}

/// A walk from the root.
pub(super) struct Walk<'r> {
    pub(super) root: &'r Root,
    /// Path of the root, for links that spell it out.
    pub(super) path: &'r Path,
    /// Whether the file system takes `a` and `A` for one name.
    pub(super) folds_case: bool,
}

/// Directories that were entered, below the root.
type Entered = Vec<(OwnedFd, String)>;

impl Walk<'_> {
    /// The directory of a scope; `None` where there is none. A link on the way counts as none:
    /// linked directories are left out wherever many notes are looked at.
    pub(super) fn scope(&self, scope: &Scope) -> Result<Option<OwnedFd>, Fault> {
        check_scope(scope)?;
        // A name that nothing has ends the walk in the directory itself.
        let way = format!("{}/.", scope.as_str());
        let place = self.walk(&way, Missing::Leave, Links::None)?;
        Ok(place.map(|place| place.directory))
    }

    /// Path of the directory of a scope, with `/` at its end and without links; `None` where there is
    /// none.
    pub(super) fn scope_path(&self, scope: &Scope) -> Result<Option<String>, Fault> {
        let way = format!("{}/.", scope.as_str());
        let place = self.walk(&way, Missing::Leave, Links::All)?;
        Ok(place.map(|place| place.path))
    }

    /// Where a note is; `None` where one of its directories is missing, or is none.
    pub(super) fn note(
        &self,
        scope: &Scope,
        name: &NoteName,
        missing: Missing,
    ) -> Result<Option<Place>, Fault> {
        check_scope(scope)?;
        if is_reserved(name.as_str()) {
            return Err(OddNote::Reserved.into());
        }
        self.walk(&scope.key(name), missing, Links::All)
    }

    /// What has a path: the file itself, or the link.
    pub(super) fn entry(&self, path: &str) -> Result<Option<Place>, Fault> {
        self.walk(path, Missing::Leave, Links::OnTheWay)
    }

    fn walk(&self, path: &str, missing: Missing, follow: Links) -> Result<Option<Place>, Fault> {
        let mut ahead: VecDeque<String> = path.split('/').map(str::to_owned).collect();
        let mut entered: Entered = Vec::new();
        let mut links = 0;
        while let Some(segment) = ahead.pop_front() {
            let last = ahead.is_empty();
            if segment == "." && last {
                let directory = self.reopened(&entered)?;
                let path = joined(&entered, "");
                return Ok(Some(Place {
                    directory,
                    name: segment,
                    path,
                }));
            }
            if segment == "." || segment.is_empty() {
                continue;
            }
            if segment == ".." {
                if entered.pop().is_none() {
                    return Err(OddNote::LeadsOut.into());
                }
                if last {
                    ahead.push_front(".".to_owned());
                }
                continue;
            }
            let here = entered.last().map_or(&self.root.directory, |(fd, _)| fd);
            self.check_spelling(here, &segment, last)?;
            let step = if last && follow == Links::OnTheWay {
                Step::File
            } else if last {
                enter_file(here, &segment)?
            } else {
                enter_directory(here, &segment, missing)?
            };
            match step {
                Step::Nowhere => return Ok(None),
                Step::Directory(directory) => entered.push((directory, segment)),
                Step::File => {
                    let path = joined(&entered, &segment);
                    let directory = self.reopened(&entered)?;
                    return Ok(Some(Place {
                        directory,
                        name: segment,
                        path,
                    }));
                }
                Step::Link(_) if follow == Links::None => return Ok(None),
                Step::Link(target) => {
                    links += 1;
                    if links > LINKS_MAX {
                        return Err(OddNote::LeadsOut.into());
                    }
                    self.follow(&target, &mut entered, &mut ahead)?;
                }
            }
        }
        Ok(None)
    }

    /// The directory that was entered last, for a longer life than the walk's.
    fn reopened(&self, entered: &Entered) -> Result<OwnedFd, Fault> {
        let directory = entered.last().map_or(&self.root.directory, |(fd, _)| fd);
        Ok(rustix::io::fcntl_dupfd_cloexec(directory, 0)?)
    }

    /// Puts what a link says before what is left of the way.
    fn follow(
        &self,
        target: &Path,
        entered: &mut Entered,
        ahead: &mut VecDeque<String>,
    ) -> Result<(), Fault> {
        let inside = if target.is_absolute() {
            let root = std::fs::canonicalize(self.path)?;
            let inside = target
                .strip_prefix(&root)
                .or_else(|_| target.strip_prefix(self.path));
            entered.clear();
            inside.map_err(|_| OddNote::LeadsOut)?
        } else {
            target
        };
        for component in inside.components().rev() {
            let segment = match component {
                Component::Normal(segment) => segment.to_str().ok_or(OddNote::LeadsOut)?,
                Component::ParentDir => "..",
                _ => continue,
            };
            ahead.push_front(segment.to_owned());
        }
        if ahead.is_empty() {
            ahead.push_front(".".to_owned());
        }
        Ok(())
    }

    /// Refuses a name that differs from one in the directory by its case alone, where the file
    /// system would take the one for the other.
    fn check_spelling(&self, directory: &OwnedFd, segment: &str, last: bool) -> Result<(), Fault> {
        if !self.folds_case {
            return Ok(());
        }
        for entry in Dir::read_from(directory)? {
            let entry = entry?;
            let other = entry.file_name().to_bytes();
            if other != segment.as_bytes() && other.eq_ignore_ascii_case(segment.as_bytes()) {
                return Err(if last {
                    OddNote::OtherCase.into()
                } else {
                    OddScope::OtherCase.into()
                });
            }
        }
        Ok(())
    }
}

/// What a segment turned out to be.
enum Step {
    /// Nothing, or no directory where one is needed.
    Nowhere,
    Directory(OwnedFd),
    /// The end of the way: anything but a link, or nothing yet.
    File,
    Link(std::path::PathBuf),
}

fn enter_file(directory: &OwnedFd, name: &str) -> Result<Step, Fault> {
    match statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink => {
            link(directory, name)
        }
        Ok(_) | Err(Errno::NOENT) => Ok(Step::File),
        Err(errno) => Err(errno.into()),
    }
}

fn enter_directory(parent: &OwnedFd, name: &str, missing: Missing) -> Result<Step, Fault> {
    match openat(parent, name, DIRECTORY | OFlags::NOFOLLOW, Mode::empty()) {
        Ok(directory) => Ok(Step::Directory(directory)),
        Err(Errno::NOENT) if missing == Missing::Make => {
            match mkdirat(parent, name, Mode::RWXU | Mode::RWXG | Mode::RWXO) {
                Ok(()) => sync_directory(parent)?,
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
            enter_directory(parent, name, Missing::Leave)
        }
        Err(Errno::NOENT) => Ok(Step::Nowhere),
        // A link, or no directory; which of them says the system when it is asked for the link.
        Err(Errno::NOTDIR | Errno::LOOP | Errno::MLINK) => {
            match readlinkat(parent, name, Vec::new()) {
                Ok(target) => led(target),
                Err(Errno::INVAL) if missing == Missing::Make => Err(OddScope::InTheWay.into()),
                // No link, or gone since.
                Err(Errno::INVAL | Errno::NOENT) => Ok(Step::Nowhere),
                Err(errno) => Err(errno.into()),
            }
        }
        Err(errno) => Err(errno.into()),
    }
}

fn link(directory: &OwnedFd, name: &str) -> Result<Step, Fault> {
    led(readlinkat(directory, name, Vec::new())?)
}

fn led(target: CString) -> Result<Step, Fault> {
    let target = target.into_string().map_err(|_| OddNote::LeadsOut)?;
    Ok(Step::Link(target.into()))
}

/// What was done in a directory is on the disk when this returns, where the file system can.
pub(super) fn sync_directory(directory: &OwnedFd) -> Result<(), Fault> {
    match rustix::fs::fsync(directory) {
        Ok(()) | Err(Errno::INVAL | Errno::NOTSUP) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

fn check_scope(scope: &Scope) -> Result<(), Fault> {
    if scope.as_str().split('/').any(is_reserved) {
        return Err(OddScope::Reserved.into());
    }
    Ok(())
}

fn joined(entered: &Entered, name: &str) -> String {
    let mut path: Vec<&str> = entered
        .iter()
        .map(|(_, segment)| segment.as_str())
        .collect();
    path.push(name);
    path.join("/")
}
