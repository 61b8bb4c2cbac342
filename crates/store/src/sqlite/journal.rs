//! The journal of the store.

use async_trait::async_trait;
use notekeeper_domain::Scope;

use super::{attempts::attempted, fault::Fault, store::SqliteStore};
use crate::{Changes, JournalStore, StoreError, counts, kept_journal::changes_of};

const NEWEST_CHANGES: &str = include_str!("sql/newest_changes.sql");

#[async_trait]
impl JournalStore for SqliteStore {
    async fn newest_changes(&self, scope: &Scope, limit: usize) -> Result<Changes, StoreError> {
        attempted(self, |_| newest_changes(self, scope, limit)).await
    }
}

async fn newest_changes(
    store: &SqliteStore,
    scope: &Scope,
    limit: usize,
) -> Result<Changes, Fault> {
    let rows = sqlx::query_as(NEWEST_CHANGES)
        .bind(scope.as_str())
        .bind(counts::limit(limit.saturating_add(1)))
        .fetch_all(&mut *store.reader().await?)
        .await?;
    Ok(changes_of(rows, limit))
}
