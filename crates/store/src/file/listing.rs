//! Many notes: names, lists, the view for snapshots, search.

use std::{collections::BinaryHeap, os::fd::OwnedFd};

use notekeeper_domain::{
    MainNote, MainPart, NoteName, Notebook, Scan, Scope, SearchAnswer, SearchLimits, SearchQuery,
};
use rustix::{
    fs::{AtFlags, Dir, FileType, statat},
    io::Errno,
};

use super::{
    fault::Fault,
    names::is_reserved,
    place::Missing,
    reading::read,
    store::Work,
    text::{self, seconds},
};
use crate::{Denial, ListedNote, Listing, Names, NotebookBounds, StoreError, time::utc};

/// The first names of a scope that `wanted` lets through.
pub(super) fn names(
    work: &Work<'_>,
    scope: &Scope,
    names_max: usize,
    wanted: impl Fn(&NoteName) -> bool,
) -> Result<Names, Fault> {
    let (names, skipped) = look(work, scope, names_max, wanted)?;
    work.warnings().of_skipped(skipped);
    Ok(names)
}

/// The first names, and how many entries of the directory are no notes.
fn look(
    work: &Work<'_>,
    scope: &Scope,
    names_max: usize,
    wanted: impl Fn(&NoteName) -> bool,
) -> Result<(Names, usize), Fault> {
    let Some(directory) = work.walk().scope(scope)? else {
        return Ok((Names::default(), 0));
    };
    // The smallest so far; the greatest of them is the next to go.
    let mut first: BinaryHeap<NoteName> = BinaryHeap::new();
    let (mut more, mut skipped) = (false, 0_usize);
    for entry in Dir::read_from(&directory)? {
        let entry = entry?;
        let Some(name) = entry.file_name().to_str().ok().filter(|name| !is_own(name)) else {
            skipped += usize::from(entry.file_name().to_str().is_err());
            continue;
        };
        match kind(work, scope, &directory, name, entry.file_type())? {
            Kind::Note => {}
            Kind::PassedOver => continue,
            Kind::Odd => {
                skipped += 1;
                continue;
            }
        }
        let Ok(name) = NoteName::parse(name) else {
            skipped += 1;
            continue;
        };
        if !wanted(&name) {
            continue;
        }
        first.push(name);
        if first.len() > names_max {
            first.pop();
            more = true;
        }
    }
    let names = Names {
        names: first.into_sorted_vec(),
        more,
    };
    Ok((names, skipped))
}

fn is_own(name: &str) -> bool {
    name == "." || name == ".." || is_reserved(name)
}

/// What has a name in the directory of a scope.
enum Kind {
    Note,
    /// A directory, a link to one or to nowhere, or what is gone since it was listed.
    PassedOver,
    Odd,
}

fn kind(
    work: &Work<'_>,
    scope: &Scope,
    directory: &OwnedFd,
    name: &str,
    listed: FileType,
) -> Result<Kind, Fault> {
    let found = match listed {
        FileType::Unknown => kind_of(statat(directory, name, AtFlags::SYMLINK_NOFOLLOW))?,
        listed => Some(listed),
    };
    Ok(match found {
        Some(FileType::RegularFile) => Kind::Note,
        Some(FileType::Directory) => Kind::PassedOver,
        Some(FileType::Symlink) => linked(work, scope, directory, name)?,
        Some(_) => Kind::Odd,
        // Gone since it was listed.
        None => Kind::PassedOver,
    })
}

/// A link counts as what it leads to, and one that leads nowhere isn't there. Out of the root it is
/// looked at, no more: reading it is refused.
fn linked(work: &Work<'_>, scope: &Scope, directory: &OwnedFd, name: &str) -> Result<Kind, Fault> {
    let Ok(note) = NoteName::parse(name) else {
        return Ok(Kind::Odd);
    };
    let found = match work.walk().note(scope, &note, Missing::Leave) {
        Ok(Some(place)) => kind_of(statat(
            &place.directory,
            &place.name,
            AtFlags::SYMLINK_NOFOLLOW,
        ))?,
        Ok(None) => None,
        Err(Fault::Lasting(StoreError::Denied(Denial::Permission))) => return Ok(Kind::Odd),
        Err(Fault::Lasting(StoreError::OddNote(_))) => {
            kind_of(statat(directory, name, AtFlags::empty())).unwrap_or_default()
        }
        Err(fault) => return Err(fault),
    };
    Ok(match found {
        Some(FileType::RegularFile) => Kind::Note,
        Some(FileType::Directory) | None => Kind::PassedOver,
        Some(_) => Kind::Odd,
    })
}

fn kind_of(stat: Result<rustix::fs::Stat, Errno>) -> Result<Option<FileType>, Fault> {
    match stat {
        Ok(stat) => Ok(Some(FileType::from_raw_mode(stat.st_mode))),
        Err(Errno::NOENT | Errno::LOOP | Errno::NOTDIR) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

/// Whether it is the note that this user may not read, and not the journal.
fn is_barred(work: &Work<'_>, scope: &Scope, name: &NoteName) -> bool {
    let place = work.walk().note(scope, name, Missing::Leave);
    let opened = place.and_then(|place| place.map_or(Ok(None), |place| text::stamp(&place)));
    matches!(
        opened,
        Err(Fault::Lasting(StoreError::Denied(Denial::Permission)))
    )
}

/// Something else than a note doesn't keep the others from being seen.
fn unless_odd<T>(work: &Work<'_>, found: Result<Option<T>, Fault>) -> Result<Option<T>, Fault> {
    match found {
        Err(Fault::Lasting(StoreError::OddNote(_))) => Ok(None),
        // Another program keeps writing to it: this store's own changes are kept away by now.
        Err(Fault::InProgress) if work.is_alone() => Ok(None),
        found => found,
    }
}

/// The first notes of a scope, without their text.
pub(super) fn list(work: &Work<'_>, scope: &Scope, notes_max: usize) -> Result<Listing, Fault> {
    let (Names { names, more }, mut skipped) = look(work, scope, notes_max, |_| true)?;
    let mut notes = Vec::with_capacity(names.len());
    for name in names {
        let seen = match read(work, scope, &name, 0) {
            Err(Fault::Lasting(StoreError::Denied(_))) if is_barred(work, scope, &name) => None,
            seen => unless_odd(work, seen)?,
        };
        match seen {
            Some(seen) => notes.push(ListedNote {
                name,
                version: seen.part.version,
                chars: seen.chars,
                updated_at: Some(utc(seconds(&seen.stamp))),
                metadata: None,
            }),
            None => skipped += 1,
        }
    }
    work.warnings().of_skipped(skipped);
    Ok(Listing { notes, more })
}

/// What a snapshot is rendered from.
pub(super) fn notebook(
    work: &Work<'_>,
    scope: &Scope,
    bounds: NotebookBounds,
) -> Result<Notebook, Fault> {
    let main = work.walk().note(scope, &NoteName::main(), Missing::Leave)?;
    let main = main.map_or(Ok(None), |place| {
        text::read_tail(&place, bounds.main_chars_max)
    })?;
    let is_other = |name: &NoteName| !name.is_main() && name.as_str().ends_with(".md");
    let Names { names, more } = names(work, scope, bounds.names_max, is_other)?;
    Ok(Notebook {
        main: main.map(|(content, cut)| MainNote {
            content,
            part: if cut { MainPart::Tail } else { MainPart::Whole },
        }),
        names: names.iter().map(|name| name.as_str().to_owned()).collect(),
        more_names: more,
    })
}

/// Searches the first notes of a scope. One that is no text is examined and passed over; a link that
/// leads out isn't even that.
pub(super) fn search(
    work: &Work<'_>,
    scope: &Scope,
    query: &SearchQuery,
    limits: &SearchLimits,
) -> Result<SearchAnswer, Fault> {
    let (Names { names, more }, mut skipped) = look(work, scope, limits.files_max, |_| true)?;
    let mut scan = Scan::new(query, *limits);
    let (mut scanned, mut incomplete) = (0, more);
    for name in names {
        let place = match work.walk().note(scope, &name, Missing::Leave) {
            Ok(Some(place)) => place,
            Ok(None) => continue,
            Err(Fault::Lasting(
                StoreError::OddNote(_) | StoreError::Denied(Denial::Permission),
            )) => {
                skipped += 1;
                continue;
            }
            Err(fault) => return Err(fault),
        };
        scanned += 1;
        let head = match text::read_head(&place, limits.note_chars_max) {
            Err(Fault::Lasting(StoreError::Denied(Denial::Permission))) => None,
            head => unless_odd(work, head)?,
        };
        match head {
            Some((text, truncated)) => {
                incomplete |= truncated;
                scan.add(name.as_str(), &text);
            }
            None => skipped += 1,
        }
    }
    work.warnings().of_skipped(skipped);
    Ok(scan.finish(scanned, incomplete))
}
