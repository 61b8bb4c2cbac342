//! Receipts of a scope: what its newest operations came to, of whatever kind they were.

use std::collections::{HashMap, VecDeque};

use notekeeper_domain::{Fingerprint, Operation, OperationId};

use crate::{
    FactForgotten, FactKept, MessagesAdded, MessagesCleared, MutationError, Receipt,
    values::RECEIPTS_PER_SCOPE_MAX,
};

#[derive(Debug, Default)]
pub(super) struct Receipts {
    kept: HashMap<OperationId, (Fingerprint, Outcome)>,
    /// Ids of the receipts, oldest first.
    order: VecDeque<OperationId>,
}

/// What an operation came to.
#[derive(Debug, Clone)]
pub(super) enum Outcome {
    Note(Receipt),
    Added(MessagesAdded),
    Cleared(MessagesCleared),
    Remembered(FactKept),
    Forgotten(FactForgotten),
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
        }
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
                    Outcome::$kind(made) => Some(Self { replayed: true, ..*made }),
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
    Forgotten is FactForgotten
}
