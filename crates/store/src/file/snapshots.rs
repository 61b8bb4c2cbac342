//! Snapshot texts.

use async_trait::async_trait;
use notekeeper_domain::Scope;

use super::store::FileStore;
use crate::{
    SnapshotStore, StoreError,
    values::{check_content, check_digest},
};

#[async_trait]
impl SnapshotStore for FileStore {
    async fn keep_snapshot(
        &self,
        scope: &Scope,
        digest: &str,
        text: &str,
    ) -> Result<(), StoreError> {
        check_digest("digest", digest)?;
        check_content("text", text)?;
        let (scope, digest, text) = (scope.clone(), digest.to_owned(), text.to_owned());
        self.run_alone(move |work| work.wait(work.journal()?.keep_snapshot(&scope, &digest, &text)))
            .await
    }

    async fn snapshot(&self, scope: &Scope, digest: &str) -> Result<Option<String>, StoreError> {
        check_digest("digest", digest)?;
        let (scope, digest) = (scope.clone(), digest.to_owned());
        self.run(move |work| match work.readable_journal() {
            Some(journal) => work.wait(journal.snapshot(&scope, &digest)),
            None => Ok(None),
        })
        .await
    }
}
