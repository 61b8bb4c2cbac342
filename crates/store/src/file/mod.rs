//! Notes as Markdown files under a directory, which a person can open and edit.
//!
//! The files are the notes; the journal beside them knows what files can't say. A mutation has the
//! directory to itself, by a lock of the kernel that no dead process holds. It writes down what it
//! is about to do before it touches a file, so who comes after a death can tell how far it got.
//! Reads take no lock. They tell the version of a text from the journal where this store wrote it,
//! and from the file itself where another program did.

mod fault;
mod journal;
mod listing;
mod mutation;
mod names;
mod note_store;
mod options;
mod place;
mod points;
mod reading;
mod records;
mod recovery;
mod replace;
mod root;
mod snapshots;
mod store;
mod text;
mod warnings;

#[cfg(test)]
mod tests;

pub use options::FileOptions;
#[cfg(feature = "fault-points")]
pub use points::{POINTS, arm};
pub use store::FileStore;
