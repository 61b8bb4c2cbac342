//! The journal of the store.

use async_trait::async_trait;
use notekeeper_domain::Scope;
use sqlx::PgConnection;

use super::{
    attempts::{Repeatable, attempted},
    fault::Fault,
    store::PostgresStore,
};
use crate::{JournalEntry, JournalStore, StoreError, counts, kept_journal::entries_of};

const NEWEST_CHANGES: &str = include_str!("sql/newest_changes.sql");

#[async_trait]
impl JournalStore for PostgresStore {
    async fn newest_changes(
        &self,
        scope: &Scope,
        limit: usize,
    ) -> Result<Vec<JournalEntry>, StoreError> {
        attempted!(self, Repeatable::Always, |connection| newest_changes(
            connection, scope, limit
        ))
    }
}

async fn newest_changes(
    connection: &mut PgConnection,
    scope: &Scope,
    limit: usize,
) -> Result<Vec<JournalEntry>, Fault> {
    let rows = sqlx::query_as(NEWEST_CHANGES)
        .bind(scope.as_str())
        .bind(counts::limit(limit))
        .fetch_all(connection)
        .await?;
    Ok(entries_of(rows))
}
