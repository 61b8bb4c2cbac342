//! The journal of the store.

use async_trait::async_trait;
use notekeeper_domain::Scope;
use sqlx::PgConnection;

use super::{
    attempts::{Repeatable, attempted},
    fault::Fault,
    store::PostgresStore,
};
use crate::{Changes, JournalStore, StoreError, counts, kept_journal::changes_of};

const NEWEST_CHANGES: &str = include_str!("sql/newest_changes.sql");

#[async_trait]
impl JournalStore for PostgresStore {
    async fn newest_changes(&self, scope: &Scope, limit: usize) -> Result<Changes, StoreError> {
        attempted!(self, Repeatable::Always, |connection| newest_changes(
            connection, scope, limit
        ))
    }
}

async fn newest_changes(
    connection: &mut PgConnection,
    scope: &Scope,
    limit: usize,
) -> Result<Changes, Fault> {
    let rows = sqlx::query_as(NEWEST_CHANGES)
        .bind(scope.as_str())
        .bind(counts::limit(limit.saturating_add(1)))
        .fetch_all(connection)
        .await?;
    Ok(changes_of(rows, limit))
}
