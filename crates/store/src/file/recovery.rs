//! Finishing, or undoing, what a process was about to do when it died.

use super::{
    fault::Fault,
    place::Place,
    records::{After, Prepared},
    replace::{next_inode, sweep},
    store::Work,
    text::{self, State},
};
use crate::StoreError;

/// Sees to the end of all that was prepared. Who prepared it is gone: he had the lock, and this
/// work has it now.
pub(super) fn recover(work: &Work<'_>) -> Result<(), Fault> {
    for prepared in work.wait(work.journal()?.list_prepared())? {
        settle(work, &prepared)?;
    }
    Ok(())
}

/// What has a path now.
#[derive(Debug)]
enum Now {
    Nothing,
    Text(State),
    /// Another program's, and no note.
    Other,
}

fn settle(work: &Work<'_>, prepared: &Prepared) -> Result<(), Fault> {
    let journal = work.journal()?;
    let place = reachable(work.walk().entry(&prepared.entry))?;
    let now = place.as_ref().map_or(Ok(Now::Nothing), now)?;
    let (done, after) = match &prepared.next {
        Some((inode, sha256)) => written(place.as_ref(), &now, prepared, (*inode, sha256))?,
        None => (deleted(&now, prepared), After::Unknown),
    };
    if let Some(place) = &place {
        sweep(place)?;
    }
    if done {
        work.wait(journal.finish(&prepared.scope, prepared.id, &prepared.entry, after))
    } else {
        work.wait(journal.drop_prepared(prepared.id))
    }
}

/// Whether the new text got into the note's place, and what the note is now.
fn written<'n>(
    place: Option<&Place>,
    now: &'n Now,
    prepared: &'n Prepared,
    next: (i64, &[u8]),
) -> Result<(bool, After<'n>), Fault> {
    let (inode, sha256) = next;
    // Still where it was written.
    if place.map_or(Ok(None), next_inode)? == Some(inode) {
        return Ok((false, After::Unknown));
    }
    Ok(match now {
        Now::Text(state) if state.stamp.inode == inode && state.sha256 == sha256 => {
            let version = prepared.version.as_deref().unwrap_or_default();
            (
                true,
                After::At(version, prepared.operation_id.as_deref(), state),
            )
        }
        now => (!is_as_before(now, prepared), After::Unknown),
    })
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
        (Now::Text(state), Some((inode, sha256))) => {
            state.stamp.inode == *inode && state.sha256 == *sha256
        }
        _ => false,
    }
}

fn now(place: &Place) -> Result<Now, Fault> {
    match text::read(place, 0) {
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
