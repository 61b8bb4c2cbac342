//! The one way in which anything is changed.

use std::time::Instant;

use sqlx::{Connection as _, SqliteConnection};

use super::{
    attempts::{attempted, wait_for_lock},
    fault::Fault,
    store::SqliteStore,
};
use crate::StoreError;

/// Takes the write lock.
pub(super) const LOCK_NOTE: &str = include_str!("sql/lock_note.sql");

/// A change, made in a transaction that has the write lock.
pub(super) trait Mutation: Sync {
    /// What it comes to.
    type Done: Send;

    /// Why it is refused.
    type Refused: Send;

    /// Makes the change. Where it is refused, or a fault ends it, all of it is undone.
    fn run(
        &self,
        connection: &mut SqliteConnection,
    ) -> impl Future<Output = Result<Result<Self::Done, Self::Refused>, Fault>> + Send;
}

impl SqliteStore {
    /// Makes a change; it is on the disk when this returns.
    pub(super) async fn mutate<M: Mutation>(
        &self,
        mutation: &M,
    ) -> Result<Result<M::Done, M::Refused>, StoreError> {
        attempted(self, |deadline| self.mutate_once(mutation, deadline)).await
    }

    async fn mutate_once<M: Mutation>(
        &self,
        mutation: &M,
        deadline: Instant,
    ) -> Result<Result<M::Done, M::Refused>, Fault> {
        let mut connection = self.writer().await?;
        // Those of this process who wait have one of them ask for the lock, in turn.
        let mut transaction = loop {
            match connection.begin_with(LOCK_NOTE).await {
                Ok(transaction) => break transaction,
                Err(error) => wait_for_lock(error.into(), deadline).await?,
            }
        };
        let outcome = mutation.run(&mut transaction).await?;
        match outcome {
            Ok(_) => transaction.commit().await?,
            Err(_) => transaction.rollback().await?,
        }
        Ok(outcome)
    }
}
