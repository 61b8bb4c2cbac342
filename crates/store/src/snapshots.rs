//! Snapshot texts, kept by content, so that histories need only carry digests.

use async_trait::async_trait;
use notekeeper_domain::Scope;

use crate::StoreError;

/// Texts of snapshots under (scope, digest).
#[async_trait]
pub trait SnapshotStore: Send + Sync {
    /// Keeps a text. Keeping it again changes nothing.
    async fn keep_snapshot(
        &self,
        scope: &Scope,
        digest: &str,
        text: &str,
    ) -> Result<(), StoreError>;

    /// The text under a digest.
    async fn snapshot(&self, scope: &Scope, digest: &str) -> Result<Option<String>, StoreError>;
}
