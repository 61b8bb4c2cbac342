//! Putting a text in the place of another as a whole, and taking a file away.

use std::{
    fs::{File, Permissions},
    io::Write as _,
    os::unix::fs::PermissionsExt as _,
};

use rustix::{
    fs::{AtFlags, Mode, OFlags, openat, renameat, unlinkat},
    io::Errno,
};

use super::{
    fault::Fault,
    names::NEXT,
    place::{Place, sync_directory},
    text::{Stamp, stamp},
};
use crate::OddNote;

/// A text beside the note that it is going to be, complete and on the disk.
#[derive(Debug)]
pub(super) struct Next<'p> {
    place: &'p Place,
    file: File,
    pub(super) stamp: Stamp,
}

/// How a replacement ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Replaced {
    Done,
    /// Another program was faster; nothing was changed.
    Overtaken,
}

impl<'p> Next<'p> {
    /// Writes the text. `mode`: permission bits of the note that it replaces, which it keeps.
    pub(super) fn write(place: &'p Place, text: &str, mode: Option<u32>) -> Result<Self, Fault> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let everyone = Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::WGRP | Mode::ROTH | Mode::WOTH;
        // Whoever left it is dead, or it would have the lock.
        sweep(place)?;
        let mut file = File::from(openat(&place.directory, NEXT, flags, everyone)?);
        let written = (|| {
            if let Some(mode) = mode {
                file.set_permissions(Permissions::from_mode(mode))?;
            }
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            Ok(Stamp::of(&file.metadata()?))
        })();
        match written {
            Ok(stamp) => Ok(Self { place, file, stamp }),
            Err(fault) => {
                // A full disk, for one. What it holds is in the way there.
                let _ = unlinkat(&place.directory, NEXT, AtFlags::empty());
                Err(fault)
            }
        }
    }

    /// Puts it in the place of the note, unless that isn't what was read any more.
    pub(super) fn publish(&self, read: Option<&Stamp>) -> Result<Replaced, Fault> {
        if stamp(self.place)?.as_ref() != read {
            return Ok(Replaced::Overtaken);
        }
        let renamed = match read {
            Some(_) => renameat(
                &self.place.directory,
                NEXT,
                &self.place.directory,
                &self.place.name,
            ),
            None => rename_to_nothing(self.place),
        };
        match renamed {
            Ok(()) => Ok(Replaced::Done),
            Err(Errno::EXIST) if stamp(self.place)?.is_some() => Ok(Replaced::Overtaken),
            // A directory has the name. What it is named after stays where it is.
            Err(Errno::EXIST | Errno::ISDIR | Errno::NOTEMPTY) => Err(OddNote::InTheWay.into()),
            Err(errno) => Err(errno.into()),
        }
    }

    /// What the file system says of it now that it is the note.
    pub(super) fn published(&self) -> Result<Stamp, Fault> {
        sync_directory(&self.place.directory)?;
        Ok(Stamp::of(&self.file.metadata()?))
    }

    /// Takes it away again.
    pub(super) fn abandon(&self) -> Result<(), Fault> {
        sweep(self.place)
    }
}

/// Takes away what a process left that died before it could put it in a note's place.
pub(super) fn sweep(place: &Place) -> Result<(), Fault> {
    match unlinkat(&place.directory, NEXT, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

/// Deletes the file, or the link, unless it isn't what was read any more.
pub(super) fn delete(place: &Place, entry: &Place, read: &Stamp) -> Result<Replaced, Fault> {
    if stamp(place)?.as_ref() != Some(read) {
        return Ok(Replaced::Overtaken);
    }
    match unlinkat(&entry.directory, &entry.name, AtFlags::empty()) {
        Ok(()) => {}
        Err(Errno::NOENT) => return Ok(Replaced::Overtaken),
        Err(errno) => return Err(errno.into()),
    }
    sync_directory(&entry.directory)?;
    Ok(Replaced::Done)
}

/// Gives the file its name where nothing has it, in one step where the file system knows how.
fn rename_to_nothing(place: &Place) -> Result<(), Errno> {
    #[cfg(any(
        target_os = "linux",
        target_os = "android",
        target_os = "macos",
        target_os = "ios"
    ))]
    {
        let renamed = rustix::fs::renameat_with(
            &place.directory,
            NEXT,
            &place.directory,
            &place.name,
            rustix::fs::RenameFlags::NOREPLACE,
        );
        if !matches!(renamed, Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP)) {
            return renamed;
        }
    }
    renameat(&place.directory, NEXT, &place.directory, &place.name)
}
