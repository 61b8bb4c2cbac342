//! Snapshot texts.

use async_trait::async_trait;
use notekeeper_domain::Scope;
use sqlx::PgConnection;

use super::{
    attempts::{Repeatable, attempted},
    fault::Fault,
    store::PostgresStore,
};
use crate::{
    SnapshotStore, StoreError,
    values::{check_content, check_digest},
};

const KEEP_SNAPSHOT: &str = include_str!("sql/keep_snapshot.sql");
const READ_SNAPSHOT: &str = include_str!("sql/read_snapshot.sql");

#[async_trait]
impl SnapshotStore for PostgresStore {
    async fn keep_snapshot(
        &self,
        scope: &Scope,
        digest: &str,
        text: &str,
    ) -> Result<(), StoreError> {
        check_digest("digest", digest)?;
        check_content("text", text)?;
        attempted!(self, Repeatable::Always, |connection| keep(
            connection, scope, digest, text
        ))
    }

    async fn snapshot(&self, scope: &Scope, digest: &str) -> Result<Option<String>, StoreError> {
        check_digest("digest", digest)?;
        attempted!(self, Repeatable::Always, |connection| read(
            connection, scope, digest
        ))
    }
}

async fn keep(
    connection: &mut PgConnection,
    scope: &Scope,
    digest: &str,
    text: &str,
) -> Result<(), Fault> {
    sqlx::query(KEEP_SNAPSHOT)
        .bind(scope.as_str())
        .bind(digest)
        .bind(text)
        .execute(connection)
        .await?;
    Ok(())
}

async fn read(
    connection: &mut PgConnection,
    scope: &Scope,
    digest: &str,
) -> Result<Option<String>, Fault> {
    let text = sqlx::query_scalar(READ_SNAPSHOT)
        .bind(scope.as_str())
        .bind(digest)
        .fetch_optional(connection)
        .await?;
    Ok(text)
}
