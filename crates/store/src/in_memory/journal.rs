//! The journal, as [`JournalStore`] says.

use async_trait::async_trait;
use notekeeper_domain::Scope;

use super::InMemoryStore;
use crate::{Changes, JournalStore, StoreError};

#[async_trait]
impl JournalStore for InMemoryStore {
    async fn newest_changes(&self, scope: &Scope, limit: usize) -> Result<Changes, StoreError> {
        let state = self.lock();
        let in_scope = state.scopes.get(scope);
        let mut changes = in_scope
            .into_iter()
            .flat_map(|in_scope| in_scope.receipts.newest_changes());
        Ok(Changes {
            changes: changes.by_ref().take(limit).cloned().collect(),
            more: changes.next().is_some(),
        })
    }
}
