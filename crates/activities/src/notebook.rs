//! The notebook: the memory operations of the contract over the configured stores, on notes, on
//! transcripts and on facts, and over the configured sources.

use std::sync::Arc;

use notekeeper_contract::OperationRef;
use notekeeper_domain::{InvalidOperation, OperationId, Scope};

use crate::{
    Caller, MetadataResolver, ScopeHashKey, Sources, Stores, named::Resolvers,
    scope_hash::scope_hash,
};

/// Runs the memory operations of the contract. Activities, the command line and tests use it; it
/// needs no Temporal.
///
/// Each operation is a method named as what it does: `write`, `read`, `delete`, `search`, `list`,
/// `load_snapshot`; of transcripts `get_messages`, `add_messages`, `clear_messages`; of facts
/// `remember`, `recall`, `forget`; of sources `query_source`, `write_source`. Two more are for people alone and no activities: `read_whole` and
/// `replace_whole`.
#[derive(Debug, Clone)]
pub struct Notebook {
    pub(crate) stores: Stores,
    pub(crate) sources: Sources,
    pub(crate) resolvers: Resolvers,
    scope_hash_key: Option<ScopeHashKey>,
    pub(crate) upkeep: bool,
}

impl Notebook {
    /// A notebook over these stores.
    pub fn new(stores: Stores) -> Self {
        Self {
            stores,
            sources: Sources::default(),
            resolvers: Resolvers::default(),
            scope_hash_key: None,
            upkeep: true,
        }
    }

    /// The same notebook, whose queries of sources change nothing: what makes later ones find more, such as
    /// embeddings, is left to others.
    #[must_use]
    pub fn without_upkeep(mut self) -> Self {
        self.upkeep = false;
        self
    }

    /// The same notebook, whose spans call scopes by hashes with this key. `None`: by the unkeyed
    /// ones.
    #[must_use]
    pub fn with_scope_hash_key(mut self, key: Option<ScopeHashKey>) -> Self {
        self.scope_hash_key = key;
        self
    }

    /// What spans call a scope.
    pub(crate) fn scope_hash(&self, scope: &Scope) -> String {
        scope_hash(self.scope_hash_key.as_ref(), scope)
    }

    /// The same notebook with these sources in place of those that it has; a new one has none.
    #[must_use]
    pub fn with_sources(mut self, sources: Sources) -> Self {
        self.sources = sources;
        self
    }

    /// Adds a resolver of write metadata under the name that writes call it by. Of two with one name
    /// the later counts.
    #[must_use]
    pub fn with_metadata_resolver(
        mut self,
        name: impl Into<String>,
        resolver: Arc<dyn MetadataResolver>,
    ) -> Self {
        self.resolvers.add(name.into(), resolver);
        self
    }
}

/// The id of a mutation: the caller's own, or one that follows from where the call comes from.
pub(crate) fn operation_id(
    operation: Option<&OperationRef>,
    caller: &Caller,
) -> Result<OperationId, InvalidOperation> {
    match operation {
        Some(operation) => OperationId::parse(&operation.id),
        None => Ok(caller.operation_id()),
    }
}
