//! Warnings of what stays as it is for long: each is said once, not at every operation.

use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
};

/// What was said already of the directory of a store.
#[derive(Debug, Default)]
pub(super) struct Warnings {
    said: Mutex<BTreeSet<(What, usize)>>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Skipped,
    Unsettled,
    Journal,
}

impl Warnings {
    /// Of so many files of one directory that are no notes, or can't be read.
    pub(super) fn of_skipped(&self, skipped: usize) {
        if skipped > 0 && self.is_new(What::Skipped, skipped) {
            tracing::warn!(
                skipped,
                "a file store holds what is no note: names that no operation accepts, files that \
                 are no text, are too large or can't be read, or what is no file"
            );
        }
    }

    /// Of so many operations that can't be seen to the end.
    pub(super) fn of_unsettled(&self, unsettled: usize) {
        if unsettled > 0 && self.is_new(What::Unsettled, unsettled) {
            tracing::warn!(
                unsettled,
                "what a process began in a file store can't be seen to the end, because files or \
                 directories can't be read; until they can, nothing is changed in these directories"
            );
        }
    }

    /// Of a journal that nothing can be read from, where it may not be set aside.
    pub(super) fn of_journal(&self) {
        if self.is_new(What::Journal, 1) {
            tracing::warn!("the journal of a read-only file store can't be read");
        }
    }

    fn is_new(&self, what: What, count: usize) -> bool {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.insert((what, count))
    }
}
