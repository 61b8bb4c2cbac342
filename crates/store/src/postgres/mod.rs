//! Notes in PostgreSQL.
//!
//! Single statements are transactions of their own; only a contended edit opens one. A scope is
//! a range of each index, so what one tenant costs doesn't depend on how many there are.

mod attempts;
mod delete;
mod examine;
mod fault;
mod lease;
mod migrate;
mod note_index;
mod note_store;
mod options;
mod put;
mod receipt;
mod search;
mod snapshots;
mod spare;
mod store;

pub use migrate::MigrationReport;
pub use options::PostgresOptions;
pub use store::PostgresStore;
