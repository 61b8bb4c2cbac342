//! What is kept in the memory of one process: the specification of what a store does, in its
//! simplest code.

mod facts;
mod journal;
mod notes;
mod receipts;
mod snapshots;
mod transcripts;
mod vectors;

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use notekeeper_domain::{ConversationId, FactKey, NoteName, Scope};

use self::{
    facts::KeptFact, notes::Note, receipts::Receipts, transcripts::Transcript, vectors::KeptChunks,
};
use crate::{FactStore, JournalStore, SnapshotStore, Store, TranscriptStore, VectorStore};

/// A store that lives as long as its process.
///
/// It keeps the newest 1,024 receipts of each scope: an operation that is repeated later than
/// that is applied again.
#[derive(Debug, Default)]
pub struct InMemoryStore {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Counts up over the whole store, so that no version ever comes back.
    last_version: u64,
    /// Counts up over the whole store, so that of two facts it is known which is newer.
    last_order: i64,
    scopes: BTreeMap<Scope, ScopeState>,
}

#[derive(Debug, Default)]
struct ScopeState {
    notes: BTreeMap<NoteName, Note>,
    transcripts: BTreeMap<ConversationId, Transcript>,
    facts: BTreeMap<FactKey, KeptFact>,
    /// By collection.
    chunks: BTreeMap<String, KeptChunks>,
    receipts: Receipts,
    snapshots: BTreeMap<String, String>,
}

impl InMemoryStore {
    /// A panic of another caller can't leave a change half done, so a poisoned lock is as good as
    /// any.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// What is kept of a scope, with the scope that it is kept under.
    fn kept(&self, scope: &Scope) -> Option<(&Scope, &ScopeState)> {
        self.scopes.get_key_value(scope)
    }
}

impl Store for InMemoryStore {
    fn snapshots(&self) -> Option<&dyn SnapshotStore> {
        Some(self)
    }

    fn transcripts(&self) -> Option<&dyn TranscriptStore> {
        Some(self)
    }

    fn facts(&self) -> Option<&dyn FactStore> {
        Some(self)
    }

    fn vectors(&self) -> Option<&dyn VectorStore> {
        Some(self)
    }

    fn journal(&self) -> Option<&dyn JournalStore> {
        Some(self)
    }
}
