//! The journal, as [`JournalStore`] says.

use async_trait::async_trait;
use notekeeper_domain::Scope;

use super::InMemoryStore;
use crate::{JournalEntry, JournalStore, StoreError};

#[async_trait]
impl JournalStore for InMemoryStore {
    async fn newest_changes(
        &self,
        scope: &Scope,
        limit: usize,
    ) -> Result<Vec<JournalEntry>, StoreError> {
        let state = self.lock();
        let in_scope = state.scopes.get(scope);
        let changes = in_scope
            .into_iter()
            .flat_map(|in_scope| in_scope.receipts.newest_changes());
        Ok(changes.take(limit).cloned().collect())
    }
}
