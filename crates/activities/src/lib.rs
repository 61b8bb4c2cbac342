//! The contract carried out over stores and models.
//!
//! [`Notebook`] and [`ModelRequests`] do the work and know nothing of Temporal's server;
//! [`NotebookActivities`] and [`ModelActivities`] are what a worker registers. What may be retried
//! is decided in one place, `failure.rs`.

mod failure;

mod bounds;
mod caller;
mod change;
mod cursor;
mod encoded;
#[cfg(feature = "fault-points")]
pub mod fault;
#[cfg(not(feature = "fault-points"))]
mod fault;
mod kept_text;
mod metadata;
mod named;
mod notebook;
mod scope_hash;
mod source_call;
mod span;
mod stored_range;
mod stores;
mod transcripts;

mod add_messages;
mod call_model;
mod clear_messages;
mod delete_memory;
mod describe_memory;
mod forget;
mod get_messages;
mod list_conversations;
mod list_facts;
mod list_memory;
mod load_snapshot;
mod query_source;
mod read_memory;
mod recall;
mod remember;
mod replace_whole;
mod search_memory;
mod summarize_messages;
mod write_memory;
mod write_source;

mod model_activities;
mod notebook_activities;

pub use call_model::ModelRequests;
pub use caller::Caller;
pub use failure::Failure;
pub use metadata::{MetadataResolver, ResolverError, WriteCall};
pub use model_activities::ModelActivities;
pub use named::{Models, Sources};
pub use notebook::Notebook;
pub use notebook_activities::NotebookActivities;
pub use replace_whole::{ExpectedNote, ReplaceWhole};
pub use scope_hash::{ScopeHashKey, WeakScopeHashKey};
pub use stores::{FileStores, OpenFiles, StoreAt, Stores, Workspace};
