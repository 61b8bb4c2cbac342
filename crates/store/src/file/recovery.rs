//! Finishing, or undoing, what a process was about to do when it died.

use std::os::fd::OwnedFd;

use super::{
    fault::Fault,
    names::NEXT,
    place::Place,
    records::{After, Prepared},
    replace::sweep,
    store::Work,
    text::{self, State},
};
use crate::StoreError;

/// Sees to the end of all that was prepared, and gives what it can't see to the end now. Who
/// prepared it is gone: he had the lock, and this work has it now.
///
/// A note that can't be looked at is its owner's trouble: nobody else's changes wait for it.
pub(super) fn recover(work: &Work<'_>) -> Result<Vec<Prepared>, Fault> {
    let mut unsettled = Vec::new();
    for prepared in work.wait(work.journal()?.list_prepared())? {
        let Some(found) = unless_barred(look(work, &prepared))? else {
            unsettled.push(prepared);
            continue;
        };
        settle(work, &prepared, &found)?;
    }
    Ok(unsettled)
}

/// What has a path now.
#[derive(Debug)]
enum Now {
    Nothing,
    Text(State),
    /// Another program's, and no note.
    Other,
}

/// What is where something was about to be done.
#[derive(Debug)]
struct Found {
    place: Option<Place>,
    now: Now,
    /// The text that is still beside the note.
    next: Now,
}

fn look(work: &Work<'_>, prepared: &Prepared) -> Result<Found, Fault> {
    let place = reachable(work.walk().entry(&prepared.entry))?;
    let Some(place) = place else {
        return Ok(Found {
            place: None,
            now: Now::Nothing,
            next: Now::Nothing,
        });
    };
    Ok(Found {
        now: now(&place.directory, &place.name)?,
        next: now(&place.directory, NEXT)?,
        place: Some(place),
    })
}

fn settle(work: &Work<'_>, prepared: &Prepared, found: &Found) -> Result<(), Fault> {
    let journal = work.journal()?;
    let (done, after) = match &prepared.next {
        Some((inode, sha256)) => written(found, prepared, (*inode, sha256)),
        None => (deleted(&found.now, prepared), After::Unknown),
    };
    if let Some(place) = &found.place {
        // What stays there is in nobody's way but the next writer's, who takes it away or is told.
        unless_barred(sweep(place))?;
    }
    if done {
        work.wait(journal.finish(&prepared.scope, prepared.id, &prepared.entry, after))
    } else {
        work.wait(journal.drop_prepared(prepared.id))
    }
}

/// Whether the new text got into the note's place, and what the note is now.
///
/// The texts decide. Inodes are others in a directory that was copied or restored; they only tell
/// apart what has the same text.
fn written<'n>(found: &'n Found, prepared: &'n Prepared, next: (i64, &[u8])) -> (bool, After<'n>) {
    let (inode, sha256) = next;
    // Still where it was written.
    if matches!(&found.next, Now::Text(state) if state.sha256 == sha256) {
        return (false, After::Unknown);
    }
    let Now::Text(state) = &found.now else {
        return (!is_as_before(&found.now, prepared), After::Unknown);
    };
    if state.sha256 != sha256 {
        return (!is_as_before(&found.now, prepared), After::Unknown);
    }
    if state.stamp.inode == inode {
        let version = prepared.version.as_deref().unwrap_or_default();
        let after = After::At(version, prepared.operation_id.as_deref(), state);
        return (true, after);
    }
    // The same text as before, in the same file.
    let untouched = is_as_before(&found.now, prepared)
        && matches!(prepared.current, Some((before, _)) if before == state.stamp.inode);
    (!untouched, After::Unknown)
}

/// Whether the note is gone. One that another program put there since is not the one that was
/// deleted.
fn deleted(now: &Now, prepared: &Prepared) -> bool {
    // A link that still stands there.
    let link = prepared.entry != prepared.path && !matches!(now, Now::Nothing);
    !link && !is_as_before(now, prepared)
}

fn is_as_before(now: &Now, prepared: &Prepared) -> bool {
    match (now, &prepared.current) {
        (Now::Nothing, None) => true,
        (Now::Text(state), Some((_, sha256))) => state.sha256 == *sha256,
        _ => false,
    }
}

fn now(directory: &OwnedFd, name: &str) -> Result<Now, Fault> {
    match text::read(directory, name, 0) {
        Ok(Some(text)) => Ok(Now::Text(text.state)),
        Ok(None) => Ok(Now::Nothing),
        Err(Fault::Lasting(StoreError::OddNote(_))) => Ok(Now::Other),
        Err(fault) => Err(fault),
    }
}

/// A place that nothing leads to any more holds nothing.
fn reachable(place: Result<Option<Place>, Fault>) -> Result<Option<Place>, Fault> {
    match place {
        Err(Fault::Lasting(StoreError::OddNote(_))) => Ok(None),
        place => place,
    }
}

/// `None` where the file system doesn't let this be done now. What the journal reports is no such
/// thing.
fn unless_barred<T>(looked: Result<T, Fault>) -> Result<Option<T>, Fault> {
    match looked {
        Ok(found) => Ok(Some(found)),
        Err(Fault::Lasting(_) | Fault::InProgress) => Ok(None),
        Err(fault) => Err(fault),
    }
}
