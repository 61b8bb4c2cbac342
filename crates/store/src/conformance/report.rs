//! What a store does without.

use std::fmt;

use crate::Store;

/// What a store may do without.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Capability {
    /// Edits of one note that come at once all take effect, however many there are. A store that
    /// leaves [`edit`](crate::NoteStore::edit) as it is gives some of them up, with a refusal that
    /// the model can answer.
    EveryEdit,
    /// Metadata of writes ([`keeps_metadata`](crate::NoteStore::keeps_metadata)). A memory that
    /// records some can't use the store.
    Metadata,
    /// The end of a main note that is longer than what is read of it
    /// ([`tails`](crate::NoteStore::tails)). Snapshots show its beginning instead, and say so.
    Tails,
    /// Texts of snapshots ([`Store::snapshots`]). Blocks are delivered inline instead.
    Snapshots,
    /// Messages of conversations ([`Store::transcripts`]). Workflows carry them themselves.
    Transcripts,
    /// Facts and recall ([`Store::facts`]). A memory that is to have them can't use the store.
    Facts,
    /// Vectors ([`Store::vectors`]). Sources that find by likeness of meaning can't use the store.
    Vectors,
    /// Which operations changed notes ([`Store::journal`]). A source of them can't use the store.
    Journal,
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::EveryEdit => "edits that never give up",
            Self::Metadata => "metadata of writes",
            Self::Tails => "ends of over-long notes",
            Self::Snapshots => "texts of snapshots",
            Self::Transcripts => "transcripts",
            Self::Facts => "facts",
            Self::Vectors => "vectors",
            Self::Journal => "a journal",
        })
    }
}

/// What the suite found a store to do without. All else it does as every store must.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Kind of the store.
    pub kind: &'static str,
    /// What it does without, in the order of [`Capability`]; what the suite says about that was
    /// left out.
    pub left_out: Vec<Capability>,
}

impl Report {
    /// Of what the store says of itself.
    pub(super) fn of<S: Store>(store: &S) -> Self {
        let mut report = Self {
            kind: store.kind(),
            left_out: Vec::new(),
        };
        if !store.keeps_metadata() {
            report.leaves_out(Capability::Metadata);
        }
        if store.snapshots().is_none() {
            report.leaves_out(Capability::Snapshots);
        }
        if store.transcripts().is_none() {
            report.leaves_out(Capability::Transcripts);
        }
        if store.facts().is_none() {
            report.leaves_out(Capability::Facts);
        }
        if store.vectors().is_none() {
            report.leaves_out(Capability::Vectors);
        }
        if store.journal().is_none() {
            report.leaves_out(Capability::Journal);
        }
        report
    }

    pub(super) fn leaves_out(&mut self, capability: Capability) {
        self.left_out.push(capability);
        self.left_out.sort_unstable();
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` does what every store must; ", self.kind)?;
        if self.left_out.is_empty() {
            return f.write_str("nothing was left out");
        }
        let names: Vec<String> = self.left_out.iter().map(ToString::to_string).collect();
        write!(f, "left out: {}", names.join(", "))
    }
}
