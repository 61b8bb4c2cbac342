//! The facts of a store: values under keys, and the search over them.

use async_trait::async_trait;
use notekeeper_domain::{Fact, FactKey, Operation, RecallQuery, RecalledFact, Scope};

use crate::{MutationError, StoreError};

/// Facts of scopes.
///
/// A fact belongs to its scope and to no conversation. Keys are compared as they are written.
///
/// Mutations do as those of notes do ([`NoteStore`](crate::NoteStore)): refuse what no store takes
/// ([`check_operation`](crate::check_operation)), look for the operation's receipt, and change the fact
/// and keep the receipt in one step. Receipts of one scope share one space of ids, those of notes and
/// transcripts included: an id that another kind of mutation used is an
/// [`OperationConflict`](MutationError::OperationConflict), whatever its fingerprint, and
/// [`NoteStore::receipt`](crate::NoteStore::receipt) says the same of one that was used here.
#[async_trait]
pub trait FactStore: Send + Sync {
    /// Keeps a fact, in place of the one that has its key. Whatever races, there is one of each key.
    async fn remember(
        &self,
        scope: &Scope,
        fact: &Fact,
        operation: Option<&Operation>,
    ) -> Result<FactKept, MutationError>;

    /// Removes the fact of a key. Where there is none it succeeds as well.
    async fn forget(
        &self,
        scope: &Scope,
        key: &FactKey,
        operation: Option<&Operation>,
    ) -> Result<FactForgotten, MutationError>;

    /// The facts that match a query, best first, by the rules of
    /// [`Recall`](notekeeper_domain::RecallQuery): at most `limit`.
    async fn recall(
        &self,
        scope: &Scope,
        query: &RecallQuery,
        limit: usize,
    ) -> Result<Vec<RecalledFact>, StoreError>;

    /// The fact of a key.
    async fn fact(&self, scope: &Scope, key: &FactKey) -> Result<Option<ListedFact>, StoreError>;

    /// The first `facts_max` facts of the scope after the one with the key `after`, ascending by code
    /// point of their keys.
    async fn facts(
        &self,
        scope: &Scope,
        after: Option<&FactKey>,
        facts_max: usize,
    ) -> Result<Facts, StoreError>;
}

/// What remembering a fact came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FactKept {
    /// Whether a fact of this key was there before.
    pub existed: bool,
    /// Whether this answer comes from the receipt of an earlier call.
    pub replayed: bool,
}

/// What forgetting a fact came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FactForgotten {
    /// Whether there was one.
    pub existed: bool,
    /// Whether this answer comes from the receipt of an earlier call.
    pub replayed: bool,
}

/// Facts of a scope.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// The facts, ascending by key.
    pub facts: Vec<ListedFact>,
    /// Whether there are more.
    pub more: bool,
}

/// A fact as the store keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedFact {
    /// Path form of the scope that the row belongs to, as the store has it: who asks compares it.
    pub scope: String,
    /// The fact.
    pub fact: Fact,
    /// Grows with each time that a fact of the store is remembered.
    pub order: i64,
    /// Seconds since it was remembered last.
    pub age_seconds: u64,
}
