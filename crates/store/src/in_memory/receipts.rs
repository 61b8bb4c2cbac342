//! Receipts of a scope: what its newest operations came to, of whatever kind they were.

use std::{
    collections::{HashMap, VecDeque},
    time::{SystemTime, UNIX_EPOCH},
};

use notekeeper_domain::{Fingerprint, NoteName, Operation, OperationId, Scope};

use crate::{
    ChunksKept, FactForgotten, FactKept, JournalEntry, MessagesAdded, MessagesCleared,
    MutationError, Receipt, time::utc, values::RECEIPTS_PER_SCOPE_MAX,
};

#[derive(Debug, Default)]
pub(super) struct Receipts {
    kept: HashMap<OperationId, (Fingerprint, Outcome)>,
    /// Ids of the receipts, oldest first.
    order: VecDeque<OperationId>,
    /// What those say that changed notes, oldest first.
    changes: VecDeque<JournalEntry>,
}

/// What an operation came to.
#[derive(Debug, Clone)]
pub(super) enum Outcome {
    Note(Receipt),
    Added(MessagesAdded),
    Cleared(MessagesCleared),
    Remembered(FactKept),
    Forgotten(FactForgotten),
    Kept(ChunksKept),
}

/// What one kind of operation comes to.
pub(super) trait OutcomeOfKind: Sized {
    /// The answer to a repetition; `None` where the outcome is another kind's.
    fn replayed(outcome: &Outcome) -> Option<Self>;

    fn to_outcome(&self) -> Outcome;
}

impl Receipts {
    /// The answer to an operation that took effect already; `None` where it didn't, and where there
    /// is no operation.
    pub(super) fn answer<T: OutcomeOfKind>(
        &self,
        operation: Option<&Operation>,
    ) -> Result<Option<T>, MutationError> {
        let Some(operation) = operation else {
            return Ok(None);
        };
        match self.kept.get(&operation.id) {
            None => Ok(None),
            Some((fingerprint, outcome)) if *fingerprint == operation.fingerprint => {
                let answer = T::replayed(outcome);
                answer.map(Some).ok_or(MutationError::OperationConflict)
            }
            Some(_) => Err(MutationError::OperationConflict),
        }
    }

    pub(super) fn keep<T: OutcomeOfKind>(&mut self, operation: Option<&Operation>, made: &T) {
        let Some(operation) = operation else {
            return;
        };
        let kept = (operation.fingerprint.clone(), made.to_outcome());
        self.kept.insert(operation.id.clone(), kept);
        self.order.push_back(operation.id.clone());
        if self.order.len() > usize::from(RECEIPTS_PER_SCOPE_MAX)
            && let Some(oldest) = self.order.pop_front()
        {
            self.kept.remove(&oldest);
            let change = self.changes.front();
            if change.is_some_and(|change| change.operation_id == oldest.as_str()) {
                self.changes.pop_front();
            }
        }
    }

    /// Keeps what a change of a note came to; `kind` is what its receipts are called in databases.
    pub(super) fn keep_change(
        &mut self,
        operation: Option<&Operation>,
        kind: &str,
        (scope, note): (&Scope, &NoteName),
        made: &Receipt,
    ) {
        self.keep(operation, made);
        let Some(operation) = operation else {
            return;
        };
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
        let seconds = since_1970.map_or(0, |since| since.as_secs());
        self.changes.push_back(JournalEntry {
            scope: scope.as_str().to_owned(),
            operation_id: operation.id.as_str().to_owned(),
            kind: kind.to_owned(),
            note: note.as_str().to_owned(),
            status: made.status,
            version: made.version.clone(),
            at: utc(i64::try_from(seconds).unwrap_or(i64::MAX)),
        });
    }

    /// What operations did to notes, the newest first.
    pub(super) fn newest_changes(&self) -> impl Iterator<Item = &JournalEntry> {
        self.changes.iter().rev()
    }
}

impl OutcomeOfKind for Receipt {
    fn replayed(outcome: &Outcome) -> Option<Self> {
        match outcome {
            Outcome::Note(receipt) => Some(Self {
                chars: None,
                replayed: true,
                ..receipt.clone()
            }),
            _ => None,
        }
    }

    fn to_outcome(&self) -> Outcome {
        Outcome::Note(self.clone())
    }
}

/// An outcome that a repetition is told as it is, but for being one.
macro_rules! outcome_of_kind {
    ($($kind:ident is $outcome:ty),*) => {$(
        impl OutcomeOfKind for $outcome {
            fn replayed(outcome: &Outcome) -> Option<Self> {
                match outcome {
                    Outcome::$kind(made) => {
                        let mut again = *made;
                        again.replayed = true;
                        Some(again)
                    }
                    _ => None,
                }
            }

            fn to_outcome(&self) -> Outcome {
                Outcome::$kind(*self)
            }
        }
    )*};
}

outcome_of_kind! {
    Added is MessagesAdded,
    Cleared is MessagesCleared,
    Remembered is FactKept,
    Forgotten is FactForgotten,
    Kept is ChunksKept
}
