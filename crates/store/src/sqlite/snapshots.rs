//! Snapshot texts.

use std::convert::Infallible;

use async_trait::async_trait;
use notekeeper_domain::Scope;
use sqlx::SqliteConnection;

use super::{attempts::attempted, fault::Fault, mutation::Mutation, store::SqliteStore};
use crate::{
    SnapshotStore, StoreError,
    values::{check_content, check_digest},
};

const KEEP_SNAPSHOT: &str = include_str!("sql/keep_snapshot.sql");
const READ_SNAPSHOT: &str = include_str!("sql/read_snapshot.sql");

/// A text to keep.
struct Keep<'a> {
    scope: &'a Scope,
    digest: &'a str,
    text: &'a str,
}

#[async_trait]
impl SnapshotStore for SqliteStore {
    async fn keep_snapshot(
        &self,
        scope: &Scope,
        digest: &str,
        text: &str,
    ) -> Result<(), StoreError> {
        check_digest("digest", digest)?;
        check_content("text", text)?;
        let keep = Keep {
            scope,
            digest,
            text,
        };
        let Ok(()) = self.mutate(&keep).await?;
        Ok(())
    }

    async fn snapshot(&self, scope: &Scope, digest: &str) -> Result<Option<String>, StoreError> {
        check_digest("digest", digest)?;
        attempted(self, |_| read(self, scope, digest)).await
    }
}

impl Mutation for Keep<'_> {
    type Done = ();
    type Refused = Infallible;

    async fn run(
        &self,
        connection: &mut SqliteConnection,
    ) -> Result<Result<(), Infallible>, Fault> {
        sqlx::query(KEEP_SNAPSHOT)
            .bind(self.scope.as_str())
            .bind(self.digest)
            .bind(self.text)
            .execute(connection)
            .await?;
        Ok(Ok(()))
    }
}

async fn read(store: &SqliteStore, scope: &Scope, digest: &str) -> Result<Option<String>, Fault> {
    let text = sqlx::query_scalar(READ_SNAPSHOT)
        .bind(scope.as_str())
        .bind(digest)
        .fetch_optional(&mut *store.reader().await?)
        .await?;
    Ok(text)
}
