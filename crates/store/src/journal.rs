//! The journal of a store: which operations changed its notes.

use async_trait::async_trait;
use notekeeper_domain::{Scope, Version};

use crate::{ReceiptStatus, StoreError};

/// The receipts of a scope as a list.
#[async_trait]
pub trait JournalStore: Send + Sync {
    /// The newest `limit` operations that changed notes of the scope, the newest first. What had no
    /// operation isn't there, nor is what was pruned. Entries that a person made with a console and that
    /// say nothing are passed over: so there may be fewer although there are more after them.
    async fn newest_changes(&self, scope: &Scope, limit: usize) -> Result<Changes, StoreError>;
}

/// Changes of a scope's notes: the newest of all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// The newest first.
    pub changes: Vec<JournalEntry>,
    /// Whether there are older ones.
    pub more: bool,
}

/// A change of a note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalEntry {
    /// Path form of the scope that the row belongs to, as the store has it: who asks compares it.
    pub scope: String,
    /// Id of the operation.
    pub operation_id: String,
    /// `edit`, `write` or `delete`.
    pub kind: String,
    /// Name of the note.
    pub note: String,
    /// What the change came to.
    pub status: ReceiptStatus,
    /// The version that it made; `None` of a deletion.
    pub version: Option<Version>,
    /// When, in UTC and whole seconds, as `2026-11-30T04:05:06Z`.
    pub at: String,
}
