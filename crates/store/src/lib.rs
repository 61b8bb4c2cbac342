//! Where notes live.
//!
//! Every method of a store is one atomic operation: no transaction leaves it. Every mutation by a
//! tool carries an operation and leaves a receipt with the whole result, so that a repetition is
//! answered and not applied again. Nothing here knows that Temporal exists.
//!
//! ```
//! use notekeeper_domain::{Edit, Fingerprint, NoteName, Operation, OperationId, Scope};
//! use notekeeper_store::{EditRequest, Expected, InMemoryStore, NoteStore};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let store = InMemoryStore::default();
//! let scope = Scope::resolve("acme/support", "main")?;
//! let name = NoteName::main();
//! let edit = Edit::new("The customer prefers e-mail.".to_owned(), None)?;
//! let request = EditRequest { edit: &edit, note_chars_max: 65_536, expected: Expected::Any };
//! let operation = Operation {
//!     id: OperationId::parse("run-7/step-3/call-1")?,
//!     fingerprint: Fingerprint::of_write(&scope, &name, "The customer prefers e-mail.", None),
//! };
//! let first = store.edit(&scope, &name, &request, &operation).await?;
//! let again = store.edit(&scope, &name, &request, &operation).await?;
//! assert!(!first.replayed && again.replayed);
//! assert_eq!(first.version, again.version);
//! let note = store.read(&scope, &name, 65_536).await?.expect("it was just made");
//! assert_eq!(note.content, "The customer prefers e-mail.\n");
//! # Ok(())
//! # }
//! ```

mod change;
mod counts;
mod error;
mod in_memory;
mod kept_receipt;
mod notes;
mod postgres;
mod snapshots;
mod sqlite;
mod values;

#[cfg(feature = "conformance")]
pub mod conformance;

pub use error::{MutationError, StoreError};
pub use in_memory::InMemoryStore;
pub use notes::{
    EditRequest, Expected, ListedNote, Listing, Names, NoteIndex, NotePart, NoteStore,
    NotebookBounds, Receipt, ReceiptStatus,
};
pub use postgres::{MigrationReport, PostgresOptions, PostgresStore};
pub use snapshots::SnapshotStore;
pub use sqlite::{SqliteOptions, SqliteStore};
pub use values::{CONTENT_BYTES_MAX, DIGEST_BYTES_MAX};

/// All that a notebook needs of its store.
pub trait Store: NoteStore + NoteIndex + SnapshotStore {}

impl<S: NoteStore + NoteIndex + SnapshotStore> Store for S {}
