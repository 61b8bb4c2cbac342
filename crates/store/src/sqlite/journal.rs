//! The journal of the store.

use async_trait::async_trait;
use notekeeper_domain::Scope;

use super::{attempts::attempted, fault::Fault, store::SqliteStore};
use crate::{JournalEntry, JournalStore, StoreError, counts, kept_journal::entries_of};

const NEWEST_CHANGES: &str = include_str!("sql/newest_changes.sql");

#[async_trait]
impl JournalStore for SqliteStore {
    async fn newest_changes(
        &self,
        scope: &Scope,
        limit: usize,
    ) -> Result<Vec<JournalEntry>, StoreError> {
        attempted(self, |_| newest_changes(self, scope, limit)).await
    }
}

async fn newest_changes(
    store: &SqliteStore,
    scope: &Scope,
    limit: usize,
) -> Result<Vec<JournalEntry>, Fault> {
    let rows = sqlx::query_as(NEWEST_CHANGES)
        .bind(scope.as_str())
        .bind(counts::limit(limit))
        .fetch_all(&mut *store.reader().await?)
        .await?;
    Ok(entries_of(rows))
}
