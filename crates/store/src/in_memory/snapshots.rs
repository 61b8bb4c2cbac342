//! Texts of snapshots, as [`SnapshotStore`] says.

use async_trait::async_trait;
use notekeeper_domain::Scope;

use super::InMemoryStore;
use crate::{
    SnapshotStore, StoreError,
    values::{check_content, check_digest},
};

#[async_trait]
impl SnapshotStore for InMemoryStore {
    async fn keep_snapshot(
        &self,
        scope: &Scope,
        digest: &str,
        text: &str,
    ) -> Result<(), StoreError> {
        check_digest("digest", digest)?;
        check_content("text", text)?;
        let mut state = self.lock();
        let in_scope = state.scopes.entry(scope.clone()).or_default();
        in_scope
            .snapshots
            .entry(digest.to_owned())
            .or_insert_with(|| text.to_owned());
        Ok(())
    }

    async fn snapshot(&self, scope: &Scope, digest: &str) -> Result<Option<String>, StoreError> {
        check_digest("digest", digest)?;
        let state = self.lock();
        let in_scope = state.scopes.get(scope);
        Ok(in_scope.and_then(|in_scope| in_scope.snapshots.get(digest).cloned()))
    }
}
