//! Search over the notes and facts of a scope: by words, by likeness of words, by vectors, and by all of
//! them.

mod corpus;
mod notes;
mod source;
mod upkeep;
mod vectors;

#[cfg(test)]
mod tests;

pub use notes::NotesSource;
pub use source::{HybridLeg, HybridSource};
pub(crate) use vectors::RESERVED;
