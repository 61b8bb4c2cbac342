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
//! let request = EditRequest { edit: &edit, note_chars_max: 65_536, expected: Expected::Any, metadata: None };
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
mod facts;
mod fallback;
mod file;
mod in_memory;
mod journal;
mod kept_chunks;
mod kept_facts;
mod kept_journal;
mod kept_list;
mod kept_messages;
mod kept_metadata;
mod kept_receipt;
mod kept_texts;
mod lock_pause;
mod nearness;
mod notes;
mod optimistic;
mod postgres;
mod receipt;
mod request;
mod scoring;
mod snapshots;
mod sqlite;
mod time;
mod transcripts;
mod values;
mod vectors;
mod view;

#[cfg(feature = "conformance")]
pub mod conformance;

/// Places where a test can make a process die that changes a file store.
#[cfg(feature = "fault-points")]
pub mod fault_points {
    pub use crate::file::{POINTS, arm};
}

pub use error::{Denial, MutationError, OddNote, OddScope, StoreError};
pub use facts::{FactForgotten, FactKept, FactStore, Facts, ListedFact};
pub use file::{FileOptions, FileStore};
pub use in_memory::InMemoryStore;
pub use journal::{Changes, JournalEntry, JournalStore};
pub use notes::{NoteStore, TailRead};
pub use postgres::{MigrationReport, PostgresOptions, PostgresStore};
pub use receipt::{Receipt, ReceiptStatus};
pub use request::{EditRequest, Expected, WriteRequest};
pub use snapshots::SnapshotStore;
pub use sqlite::{SqliteOptions, SqliteStore};
pub use transcripts::{
    Conversations, ListedConversation, MessageSelection, MessagesAdded, MessagesCleared,
    TranscriptBounds, TranscriptPart, TranscriptStore,
};
pub use values::{
    CONTENT_BYTES_MAX, DIGEST_BYTES_MAX, check_chunks, check_collection, check_content,
    check_embedding, check_messages, check_operation,
};
pub use vectors::{
    CHUNKS_KEPT_MAX, COLLECTION_BYTES_MAX, Chunk, ChunkMark, ChunksKept, EMBEDDING_DIMENSIONS_MAX,
    FoundChunk, MARK_BYTES_MAX, MODEL_BYTES_MAX, VectorCollection, VectorStore,
};
pub use view::{
    ListedNote, Listing, Names, NotePart, NoteText, NoteTexts, NotebookBounds, TextBounds,
};

/// All that a worker asks of a store.
pub trait Store: NoteStore {
    /// Where the store keeps the texts of snapshots; `None` where it doesn't, so that blocks can't
    /// be delivered by reference and come inline instead.
    fn snapshots(&self) -> Option<&dyn SnapshotStore> {
        None
    }

    /// Where the store keeps transcripts; `None` where it keeps none.
    fn transcripts(&self) -> Option<&dyn TranscriptStore> {
        None
    }

    /// Where the store keeps facts; `None` where it keeps none.
    fn facts(&self) -> Option<&dyn FactStore> {
        None
    }

    /// Where the store keeps vectors; `None` where it keeps none.
    fn vectors(&self) -> Option<&dyn VectorStore> {
        None
    }

    /// Where the store tells which operations changed notes; `None` where it can't.
    fn journal(&self) -> Option<&dyn JournalStore> {
        None
    }
}
