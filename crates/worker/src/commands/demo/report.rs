//! The table that the demonstration ends with.

use std::fmt;

use super::{
    TENANTS,
    stage::{Gone, Replayed},
    tally::Tally,
};

/// What the demonstration shows.
#[derive(Debug, Default)]
pub(super) struct Report {
    tallies: Vec<Tally>,
    pub(super) replayed: Option<Replayed>,
}

impl Report {
    pub(super) fn add(&mut self, tally: Tally) {
        self.tallies.push(tally);
    }

    /// Whether everything is as it should be.
    pub(super) fn holds(&self) -> bool {
        self.faults().is_empty()
    }

    /// What is not as it should be.
    fn faults(&self) -> Vec<&'static str> {
        let all = self.all();
        let mut faults = Vec::new();
        let mut expect = |holds: bool, fault: &'static str| {
            if !holds {
                faults.push(fault);
            }
        };
        expect(
            self.tallies.len() == TENANTS.len(),
            "a conversation is missing",
        );
        expect(
            all.repeated > 0,
            "no operation was repeated, though a worker was killed",
        );
        expect(
            all.from_receipt > 0,
            "no repetition was answered from a receipt",
        );
        expect(
            all.applied == all.operations,
            "operations asked for and receipts differ",
        );
        expect(
            self.tallies.iter().all(|tally| tally.notes_as_planned),
            "the notes are not what each operation applied once makes of them",
        );
        expect(
            self.tallies.iter().all(|tally| tally.facts_as_planned),
            "the facts are not what the model was told to remember",
        );
        expect(
            self.tallies.iter().all(|tally| tally.transcript_as_planned),
            "a transcript hasn't each message once",
        );
        expect(
            all.history_bytes < all.inlined_bytes,
            "references save nothing",
        );
        expect(
            self.replayed.is_some_and(|replayed| replayed.all),
            "a history did not replay",
        );
        faults
    }

    fn all(&self) -> Tally {
        self.tallies.iter().fold(
            Tally {
                notes_as_planned: true,
                facts_as_planned: true,
                transcript_as_planned: true,
                ..Tally::default()
            },
            |a, b| Tally {
                messages: a.messages + b.messages,
                model_requests: a.model_requests + b.model_requests,
                operations: a.operations + b.operations,
                repeated: a.repeated + b.repeated,
                from_receipt: a.from_receipt + b.from_receipt,
                applied: a.applied + b.applied,
                notes_before: a.notes_before + b.notes_before,
                notes_after: a.notes_after + b.notes_after,
                notes_as_planned: a.notes_as_planned && b.notes_as_planned,
                facts: a.facts + b.facts,
                facts_as_planned: a.facts_as_planned && b.facts_as_planned,
                transcript_messages: a.transcript_messages + b.transcript_messages,
                transcript_as_planned: a.transcript_as_planned && b.transcript_as_planned,
                history_bytes: a.history_bytes + b.history_bytes,
                inlined_bytes: a.inlined_bytes + b.inlined_bytes,
            },
        )
    }
}

/// A row of the table: its name, and its number of a tally.
type Row = (&'static str, fn(&Tally) -> usize);

const ROWS: [Row; 12] = [
    ("messages answered", |t| t.messages),
    ("model requests", |t| t.model_requests),
    ("operations on notes", |t| t.operations),
    ("  repeated after the kill", |t| t.repeated),
    ("  answered from a receipt", |t| t.from_receipt),
    ("  applied, each once", |t| t.applied),
    ("notes before", |t| t.notes_before),
    ("notes after", |t| t.notes_after),
    ("facts", |t| t.facts),
    ("messages in the transcript", |t| t.transcript_messages),
    ("history bytes", |t| t.history_bytes),
    ("  with all of it inlined", |t| t.inlined_bytes),
];

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.all();
        write!(f, "\n{:<28}", "")?;
        for name in TENANTS.iter().chain(&["all"]) {
            write!(f, "{name:>10}")?;
        }
        writeln!(f)?;
        for (name, number) in ROWS {
            write!(f, "{name:<28}")?;
            for tally in self.tallies.iter().chain([&all]) {
                write!(f, "{:>10}", number(tally))?;
            }
            writeln!(f)?;
        }
        writeln!(f)?;
        let database = match self.replayed.map(|replayed| replayed.database) {
            Some(Gone::MovedAway) => "the database's file moved away and the server stopped",
            Some(Gone::Stopped) => "the database stopped",
            Some(Gone::NotOurs) | None => {
                "no database known to it (it isn't ours to stop, so it went on)"
            }
        };
        let replays = self.replayed.is_some_and(|replayed| replayed.all);
        let verdict = if replays {
            "same commands, zero store calls"
        } else {
            "refused"
        };
        writeln!(
            f,
            "Replay of the {} histories with {database}: {verdict}.",
            self.tallies.len()
        )?;
        let faults = self.faults();
        if faults.is_empty() {
            writeln!(
                f,
                "A worker died after a commit, and every operation took effect once."
            )?;
        }
        for fault in faults {
            writeln!(f, "NOT AS IT SHOULD BE: {fault}.")?;
        }
        Ok(())
    }
}
