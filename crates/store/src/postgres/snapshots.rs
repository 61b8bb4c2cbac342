//! Snapshot texts.

use async_trait::async_trait;
use notekeeper_domain::Scope;

use super::{
    attempts::{Attempts, Repeatable},
    fault::Fault,
    store::PostgresStore,
};
use crate::{
    SnapshotStore, StoreError,
    values::{check_content, check_digest},
};

const KEEP_SNAPSHOT: &str = include_str!("sql/keep_snapshot.sql");
const READ_SNAPSHOT: &str = include_str!("sql/read_snapshot.sql");

impl PostgresStore {
    async fn try_keep(
        &self,
        attempts: &Attempts<'_>,
        scope: &Scope,
        digest: &str,
        text: &str,
    ) -> Result<(), Fault> {
        let mut connection = attempts.connection().await?;
        sqlx::query(KEEP_SNAPSHOT)
            .bind(scope.as_str())
            .bind(digest)
            .bind(text)
            .execute(&mut *connection)
            .await?;
        Ok(())
    }

    async fn try_snapshot(
        &self,
        attempts: &Attempts<'_>,
        scope: &Scope,
        digest: &str,
    ) -> Result<Option<String>, Fault> {
        let mut connection = attempts.connection().await?;
        let text = sqlx::query_scalar(READ_SNAPSHOT)
            .bind(scope.as_str())
            .bind(digest)
            .fetch_optional(&mut *connection)
            .await?;
        Ok(text)
    }
}

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
        let mut attempts = Attempts::new(self, Repeatable::Always);
        loop {
            match self.try_keep(&attempts, scope, digest, text).await {
                Ok(()) => return Ok(()),
                Err(fault) => attempts.pause_after(fault).await?,
            }
        }
    }

    async fn snapshot(&self, scope: &Scope, digest: &str) -> Result<Option<String>, StoreError> {
        check_digest("digest", digest)?;
        let mut attempts = Attempts::new(self, Repeatable::Always);
        loop {
            match self.try_snapshot(&attempts, scope, digest).await {
                Ok(text) => return Ok(text),
                Err(fault) => attempts.pause_after(fault).await?,
            }
        }
    }
}
