//! The one way in which a note is changed.
//!
//! With the directory to itself, a mutation looks for its receipt and reads the note, writes the new
//! text beside it, writes down in the journal what it is about to do, puts the text in the note's
//! place, and writes the receipt. Until the file is replaced nothing happened; from then on all of
//! it did.

use notekeeper_domain::{Edit, NoteName, Operation, Scope, Version, WriteStatus};
use sha2::{Digest as _, Sha256};

use super::{
    fault::Fault,
    place::{Missing, Place},
    points::{self, reach},
    records::{After, Known, Plan},
    recovery::recover,
    replace::{Next, Replaced, delete},
    store::Work,
    text::{self, State, Text, new_version},
};
use crate::{
    Expected, MutationError, Receipt, ReceiptStatus, StoreError, WriteRequest, change::Change,
    kept_receipt::Outcome,
};

/// Most looks at a note that other programs keep changing.
const LOOKS_MAX: usize = 16;

/// Why nothing is changed beside what can't be seen to the end.
const UNSETTLED: &str = "what a process began in the note's directory can't be seen to the end now; \
                         give this user the right to read the files there";

/// A mutation, with all that it needs: it is carried out elsewhere.
#[derive(Debug)]
pub(super) struct Mutation {
    pub(super) scope: Scope,
    pub(super) name: NoteName,
    pub(super) expected: Expected,
    pub(super) operation: Option<Operation>,
    pub(super) what: What,
}

/// What becomes of the note.
#[derive(Debug)]
pub(super) enum What {
    Edit {
        edit: Edit,
        note_chars_max: usize,
    },
    Whole {
        content: String,
        status: Option<WriteStatus>,
    },
    Deletion,
}

/// A note, as it was looked at.
#[derive(Debug)]
struct Current {
    place: Place,
    /// `None`: there is no note.
    text: Option<Text>,
}

impl Current {
    fn state(&self) -> Option<&State> {
        self.text.as_ref().map(|text| &text.state)
    }
}

impl Mutation {
    /// Makes the change, or says why not.
    pub(super) fn run(&self, work: &Work<'_>) -> Result<Outcome, Fault> {
        if let Some(outcome) = self.answered(work)? {
            return Ok(outcome);
        }
        if work.is_read_only() {
            return Ok(Err(MutationError::ReadOnly));
        }
        for _ in 0..LOOKS_MAX {
            if let Some(outcome) = self.attempt(work)? {
                return Ok(outcome);
            }
        }
        Err(Fault::unavailable(
            "another program keeps changing the note",
        ))
    }

    /// The answer of the operation's receipt.
    fn answered(&self, work: &Work<'_>) -> Result<Option<Outcome>, Fault> {
        let (Some(operation), Some(journal)) = (&self.operation, work.readable_journal()) else {
            return Ok(None);
        };
        let looked = work.wait(journal.receipt(&self.scope, operation))?;
        if looked.receipt.is_none() && looked.in_progress && work.is_alone() {
            return Err(Fault::unavailable(UNSETTLED));
        }
        Ok(looked.receipt)
    }

    /// `None` where another program changed the note in the meantime.
    fn attempt(&self, work: &Work<'_>) -> Result<Option<Outcome>, Fault> {
        let current = self.look(work)?;
        let version = match &current {
            Some(Current {
                place,
                text: Some(text),
            }) => {
                let known: Known = work.wait(work.journal()?.record(&place.path))?;
                Some(known.version(&text.state).0)
            }
            _ => None,
        };
        if !self.expected.is_met_by(version.as_ref()) {
            return Ok(Some(Err(MutationError::VersionConflict)));
        }
        match &self.what {
            What::Deletion => self.delete(work, current.as_ref()),
            What::Edit {
                edit,
                note_chars_max,
            } => {
                let change = Change::Edit {
                    edit,
                    note_chars_max: *note_chars_max,
                };
                self.change(work, current.as_ref(), &change)
            }
            What::Whole { content, status } => {
                let mut request = WriteRequest::new(content, &self.expected);
                request.status = *status;
                self.change(work, current.as_ref(), &Change::Whole(&request))
            }
        }
    }

    fn look(&self, work: &Work<'_>) -> Result<Option<Current>, Fault> {
        let place = work.walk().note(&self.scope, &self.name, Missing::Leave)?;
        let Some(place) = place else { return Ok(None) };
        let text = text::read(&place.directory, &place.name, self.chars_needed())?;
        Ok(Some(Current { place, text }))
    }

    fn chars_needed(&self) -> usize {
        match &self.what {
            What::Edit { note_chars_max, .. } => note_chars_max.saturating_add(1),
            What::Whole { .. } | What::Deletion => 0,
        }
    }

    fn change(
        &self,
        work: &Work<'_>,
        current: Option<&Current>,
        change: &Change<'_>,
    ) -> Result<Option<Outcome>, Fault> {
        let text = current.and_then(|current| current.text.as_ref());
        let new = match change.apply(text.map(|text| text.prefix.as_str())) {
            Ok(new) => new,
            Err(error) => return Ok(Some(Err(error))),
        };
        let made;
        let place = match current {
            Some(current) => &current.place,
            None => {
                let place = work.walk().note(&self.scope, &self.name, Missing::Make)?;
                made = place.ok_or(crate::OddNote::InTheWay)?;
                &made
            }
        };
        check_settled(work, &place.path)?;
        let next = Next::write(place, &new.text, text.map(|text| text.mode))?;
        reach(points::WRITTEN);
        let sha256 = Sha256::digest(new.text.as_bytes()).to_vec();
        let version = new_version();
        let state = current.and_then(Current::state);
        let plan = Plan {
            scope: &self.scope,
            name: &self.name,
            operation: self.operation.as_ref(),
            kind: change.kind(),
            status: new.status,
            version: Some(&version),
            path: &place.path,
            entry: &place.path,
            next: Some((next.stamp.inode, &sha256)),
            current: state,
        };
        let done = self.carried_out(work, &plan, || {
            let replaced = next.publish(state.map(|state| &state.stamp))?;
            reach(points::REPLACED);
            Ok(match replaced {
                Replaced::Overtaken => None,
                Replaced::Done => Some(Some(State {
                    sha256: sha256.clone(),
                    stamp: next.published()?,
                })),
            })
        })?;
        if !done {
            next.abandon()?;
            return Ok(None);
        }
        Ok(Some(Ok(Receipt {
            chars: Some(new.chars),
            ..receipt(new.status, Some(version), state.is_some())
        })))
    }

    fn delete(&self, work: &Work<'_>, current: Option<&Current>) -> Result<Option<Outcome>, Fault> {
        let journal = work.journal()?;
        let Some((current, state)) = current.and_then(|c| Some((c, c.state()?))) else {
            if let Some(operation) = &self.operation {
                work.wait(journal.keep_receipt_of_absence(&self.scope, &self.name, operation))?;
            }
            return Ok(Some(Ok(receipt(ReceiptStatus::NotFound, None, false))));
        };
        // A link goes as itself, and what it leads to stays.
        let entry = work.walk().entry(&self.entry(work)?)?;
        let entry = entry.ok_or_else(|| Fault::unexpected("a note that was read has no name"))?;
        check_settled(work, &current.place.path)?;
        check_settled(work, &entry.path)?;
        let plan = Plan {
            scope: &self.scope,
            name: &self.name,
            operation: self.operation.as_ref(),
            kind: "delete",
            status: ReceiptStatus::Deleted,
            version: None,
            path: &current.place.path,
            entry: &entry.path,
            next: None,
            current: Some(state),
        };
        let done = self.carried_out(work, &plan, || {
            let replaced = delete(&current.place, &entry, &state.stamp)?;
            reach(points::REPLACED);
            Ok((replaced == Replaced::Done).then_some(None))
        })?;
        Ok(done.then(|| Ok(receipt(ReceiptStatus::Deleted, None, true))))
    }

    /// Path of what has the note's name.
    fn entry(&self, work: &Work<'_>) -> Result<String, Fault> {
        let scope = work.walk().scope_path(&self.scope)?;
        let scope = scope.ok_or_else(|| Fault::unexpected("a scope that was read is gone"))?;
        Ok(format!("{scope}{}", self.name.as_str()))
    }

    /// Carries a plan out: `act` gives the note as it is then, or nothing where another program was
    /// faster. Whether it was done.
    fn carried_out(
        &self,
        work: &Work<'_>,
        plan: &Plan<'_>,
        act: impl FnOnce() -> Result<Option<Option<State>>, Fault>,
    ) -> Result<bool, Fault> {
        let journal = work.journal()?;
        let id = work.wait(journal.prepare(plan))?;
        reach(points::PREPARED);
        let after = match act() {
            Ok(Some(after)) => after,
            Ok(None) => {
                work.wait(journal.drop_prepared(id))?;
                return Ok(false);
            }
            Err(fault) => {
                // As after a death: what was done shows in the files.
                // Where even that fails, whoever comes next tries again.
                let _ = recover(work);
                return Err(fault);
            }
        };
        let operation_id = plan.operation.map(|operation| operation.id.as_str());
        let after = match (&after, plan.version) {
            (Some(state), Some(version)) => After::At(version, operation_id, state),
            _ => After::Unknown,
        };
        work.wait(journal.finish(plan.scope.as_str(), id, plan.entry, after))?;
        reach(points::FINISHED);
        Ok(true)
    }
}

/// Keeps off a directory in which something was begun and can't be seen to the end now: what is left
/// there tells how far it got.
fn check_settled(work: &Work<'_>, path: &str) -> Result<(), Fault> {
    let here = directory_of(path);
    let is_here = |path: &String| directory_of(path) == here;
    let mut unsettled = work.unsettled().iter();
    if unsettled.any(|prepared| is_here(&prepared.entry) || is_here(&prepared.path)) {
        return Err(Fault::unavailable(UNSETTLED));
    }
    Ok(())
}

fn directory_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(directory, _)| directory)
}

fn receipt(status: ReceiptStatus, version: Option<String>, existed: bool) -> Receipt {
    Receipt {
        status,
        version: version.map(Version::new),
        chars: None,
        existed,
        replayed: false,
    }
}

/// What a mutation came to, for its caller.
pub(super) fn settled(outcome: Result<Outcome, StoreError>) -> Outcome {
    outcome.unwrap_or_else(|error| Err(error.into()))
}
