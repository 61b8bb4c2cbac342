//! Where notes live.
//!
//! Every method of a store is one atomic operation: no transaction leaves it. Every mutation by a
//! tool carries an operation and leaves a receipt with the whole result, so that a repetition is
//! answered and not applied again. Nothing here knows that Temporal exists.

mod error;
mod in_memory;
mod notes;
mod postgres;
mod snapshots;
mod values;

#[cfg(feature = "conformance")]
pub mod conformance;

pub use error::{MutationError, StoreError};
pub use in_memory::InMemoryStore;
pub use notes::{
    EditRequest, Expected, Names, NoteIndex, NotePart, NoteStore, NotebookBounds, Receipt,
    ReceiptStatus,
};
pub use postgres::{MigrationReport, PostgresOptions, PostgresStore};
pub use snapshots::SnapshotStore;
pub use values::{CONTENT_BYTES_MAX, DIGEST_BYTES_MAX};

/// All that a notebook needs of its store.
pub trait Store: NoteStore + NoteIndex + SnapshotStore {}

impl<S: NoteStore + NoteIndex + SnapshotStore> Store for S {}
