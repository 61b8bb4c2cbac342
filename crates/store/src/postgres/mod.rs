//! Notes, transcripts, facts and vectors in PostgreSQL.
//!
//! Single statements are transactions of their own; only a contended change of a note or fact opens
//! one. A scope is a range of each index, so what one tenant costs doesn't depend on how many there
//! are.

mod attempts;
mod chunks;
mod delete;
mod examine;
mod extension;
mod fact_change;
mod fact_store;
mod fault;
mod journal;
mod lease;
mod messages;
mod migrate;
mod migration_locks;
mod note_index;
mod note_store;
mod options;
mod put;
mod recall;
mod receipt;
mod search;
mod snapshots;
mod spare;
mod store;
mod transcript_store;
mod vector_store;

pub use migrate::MigrationReport;
pub use options::PostgresOptions;
pub use store::PostgresStore;
