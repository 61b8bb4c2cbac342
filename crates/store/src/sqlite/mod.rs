//! Notes, transcripts, facts and vectors in one SQLite file, which several processes of one host can use at
//! the same time.
//!
//! Reads are single statements, on connections of their own, and wait for nobody. A mutation is a
//! transaction that takes the file's write lock before it reads: what it finds can't change until
//! it is done, so nothing has to be compared twice. Whoever waits for the lock asks again and
//! again within bounds.

mod attempts;
mod chunks;
mod delete;
mod examine;
mod fact_change;
mod fact_store;
mod fault;
mod file;
mod journal;
mod json_array;
mod messages;
mod migrate;
mod mutation;
mod note_index;
mod note_store;
mod options;
mod put;
mod recall;
mod receipt;
mod search;
mod snapshots;
mod store;
mod transcript_store;
mod vector_store;

pub(crate) use fault::{of_driver, result_code};
pub use options::SqliteOptions;
pub use store::SqliteStore;
