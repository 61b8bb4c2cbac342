//! Reading a note, with the version that it is at.

use notekeeper_domain::{NoteName, Scope};

use super::{
    fault::Fault,
    place::{Missing, Place},
    records::Known,
    store::Work,
    text::{self, Stamp, Text},
};
use crate::NotePart;

/// Most looks at a note that changes while it is looked at. After that the lock is taken.
const LOOKS_MAX: usize = 4;

/// A note as it was at one moment.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) part: NotePart,
    /// Characters of the whole.
    pub(super) chars: usize,
    pub(super) stamp: Stamp,
}

/// The first characters of a note.
pub(super) fn read(
    work: &Work<'_>,
    scope: &Scope,
    name: &NoteName,
    chars_max: usize,
) -> Result<Option<Seen>, Fault> {
    for _ in 0..LOOKS_MAX {
        let Some(place) = work.walk().note(scope, name, Missing::Leave)? else {
            return Ok(None);
        };
        let Some(text) = text::read(&place.directory, &place.name, chars_max)? else {
            return Ok(None);
        };
        let known = match work.readable_journal() {
            Some(journal) => work.wait(journal.record(&place.path))?,
            None => Known::NOTHING,
        };
        if is_certain(work, &place, &text, &known)? {
            return Ok(Some(seen(&place, text, &known)));
        }
        if known.in_progress {
            break;
        }
    }
    Err(Fault::InProgress)
}

/// Whether text and record belong together. Either this store wrote the text and nothing came after;
/// or another program did. The second shows when the file is still the one that was read *after* the
/// record was: whatever this store had done to it would be in the record then.
fn is_certain(work: &Work<'_>, place: &Place, text: &Text, known: &Known) -> Result<bool, Fault> {
    if known.of(&text.state).is_some() || work.is_alone() || work.is_read_only() {
        return Ok(true);
    }
    Ok(!known.in_progress && text::stamp(place)? == Some(text.state.stamp))
}

fn seen(place: &Place, text: Text, known: &Known) -> Seen {
    let (version, operation_id) = known.version(&text.state);
    Seen {
        chars: text.chars,
        stamp: text.state.stamp,
        part: NotePart {
            scope: place.scope().to_owned(),
            content: text.prefix,
            truncated: text.truncated,
            version,
            operation_id,
            // A file has no place for it that would change together with the text.
            metadata: None,
        },
    }
}
