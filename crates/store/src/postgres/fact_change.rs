//! Changes of facts: compare-and-swap, as for notes, because terms must change with their fact.
//!
//! A statement sees the terms of a fact as they were when it began. So it changes them only where
//! the fact still has the number that was read before: then they are all there. Where another change
//! came between, this one is made again in a transaction that locks the fact first. The fact comes
//! before the receipt, as a note does.

use std::sync::OnceLock;

use notekeeper_domain::{Fact, FactKey, Operation, Scope};
use sqlx::{
    Connection as _, PgConnection, Postgres, Row as _, postgres::PgArguments, query::Query,
};

use super::{
    fault::Fault,
    put::BEGIN,
    receipt::{answer, find_receipt, settle_taken},
};
use crate::{
    FactForgotten, FactKept, StoreError,
    kept_facts::IndexedFact,
    kept_receipt::{OfReceipt, Outcome},
};

const LOOK_UP_FACT: &str = include_str!("sql/look_up_fact.sql");
const CREATE_FACT: &str = include_str!("sql/create_fact.sql");
const UPDATE_FACT: &str = include_str!("sql/update_fact.sql");
const LOCK_FACT: &str = include_str!("sql/lock_fact.sql");
const DELETE_FACT: &str = include_str!("sql/delete_fact.sql");
const RECORD_NO_FACT: &str = include_str!("sql/record_no_fact.sql");

/// The number of a placeholder, which only the transaction that made it ever sees.
const PLACEHOLDER_NUMBER: i64 = 0;

/// A fact, and the operation that changes it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Target<'a> {
    pub(super) scope: &'a Scope,
    pub(super) key: &'a FactKey,
    pub(super) operation: Option<&'a Operation>,
}

/// What is done to a fact.
pub(super) trait Change: Sync {
    /// What it comes to.
    type Done: OfReceipt;

    /// What it comes to, by whether there was a fact.
    fn done(existed: bool) -> Self::Done;

    /// Does it and writes the receipt, if the fact still has the number; `None`: if there still is
    /// no fact. Whether it did.
    fn write(
        &self,
        target: Target<'_>,
        connection: &mut PgConnection,
        number: Option<i64>,
    ) -> impl Future<Output = Result<bool, Fault>> + Send;
}

impl<'a> Target<'a> {
    /// Uncontended: two round trips; one where the receipt answers.
    pub(super) async fn change<C: Change>(
        self,
        connection: &mut PgConnection,
        change: &C,
    ) -> Result<Outcome<C::Done>, Fault> {
        let row = sqlx::query(LOOK_UP_FACT)
            .bind(self.scope.as_str())
            .bind(self.operation.map(|operation| operation.id.as_str()))
            .bind(self.key.as_str())
            .fetch_one(&mut *connection)
            .await?;
        if let Some(operation) = self.operation
            && let Some(outcome) = answer(&row, operation)?
        {
            return Ok(outcome);
        }
        let number: Option<i64> = row.try_get("order_number")?;
        match change.write(self, connection, number).await {
            Ok(true) => Ok(Ok(C::done(number.is_some()))),
            Ok(false) => self.change_locked(connection, change).await,
            Err(Fault::ReceiptTaken) => settle_taken(connection, self.scope, self.operation).await,
            Err(fault) => Err(fault),
        }
    }

    /// Contended: five round trips, the first of which waits until the fact is this call's.
    async fn change_locked<C: Change>(
        self,
        connection: &mut PgConnection,
        change: &C,
    ) -> Result<Outcome<C::Done>, Fault> {
        let mut transaction = connection.begin_with(BEGIN).await?;
        let number: i64 = sqlx::query_scalar(LOCK_FACT)
            .bind(self.scope.as_str())
            .bind(self.key.as_str())
            .fetch_one(&mut *transaction)
            .await?;
        // In a statement of its own: only one that begins after the lock was had sees what the
        // operation's other call committed while this one waited.
        if let Some(outcome) = find_receipt(&mut transaction, self.scope, self.operation).await? {
            transaction.rollback().await?;
            return Ok(outcome);
        }
        match change.write(self, &mut transaction, Some(number)).await {
            Ok(true) => {
                transaction.commit().await?;
                Ok(Ok(C::done(number != PLACEHOLDER_NUMBER)))
            }
            Ok(false) => Err(Fault::Lasting(StoreError::Unexpected(
                "a locked fact changed".to_owned(),
            ))),
            Err(Fault::ReceiptTaken) => {
                transaction.rollback().await?;
                settle_taken(connection, self.scope, self.operation).await
            }
            Err(fault) => Err(fault),
        }
    }

    /// The values that all writing statements take first, in their order.
    fn bind(self, statement: &'static str) -> Query<'a, Postgres, PgArguments> {
        sqlx::query(statement)
            .bind(self.scope.as_str())
            .bind(self.operation.map(|operation| operation.id.as_str()))
            .bind(self.key.as_str())
    }

    fn fingerprint(self) -> Option<&'a str> {
        let operation = self.operation?;
        Some(operation.fingerprint.as_str())
    }
}

/// Keeps a fact.
#[derive(Debug)]
pub(super) struct Remember<'a> {
    fact: &'a Fact,
    /// Made when it is written first: not where the receipt answers.
    indexed: OnceLock<IndexedFact<'a>>,
}

impl<'a> Remember<'a> {
    pub(super) fn new(fact: &'a Fact) -> Self {
        Self {
            fact,
            indexed: OnceLock::new(),
        }
    }
}

impl Change for Remember<'_> {
    type Done = FactKept;

    fn done(existed: bool) -> FactKept {
        FactKept {
            existed,
            replayed: false,
        }
    }

    async fn write(
        &self,
        target: Target<'_>,
        connection: &mut PgConnection,
        number: Option<i64>,
    ) -> Result<bool, Fault> {
        let statement = match number {
            Some(_) => UPDATE_FACT,
            None => CREATE_FACT,
        };
        let indexed = self.indexed.get_or_init(|| IndexedFact::new(self.fact));
        let mut query = target
            .bind(statement)
            .bind(self.fact.value())
            .bind(&indexed.folded)
            .bind(&indexed.terms)
            .bind(target.fingerprint());
        if let Some(number) = number {
            query = query.bind(number).bind(number != PLACEHOLDER_NUMBER);
        }
        Ok(query.fetch_optional(connection).await?.is_some())
    }
}

/// Takes a fact away.
#[derive(Debug, Clone, Copy)]
pub(super) struct Forget;

impl Change for Forget {
    type Done = FactForgotten;

    fn done(existed: bool) -> FactForgotten {
        FactForgotten {
            existed,
            replayed: false,
        }
    }

    async fn write(
        &self,
        target: Target<'_>,
        connection: &mut PgConnection,
        number: Option<i64>,
    ) -> Result<bool, Fault> {
        if let Some(number) = number {
            let query = target.bind(DELETE_FACT).bind(target.fingerprint());
            let query = query.bind(number).bind(number != PLACEHOLDER_NUMBER);
            return Ok(query.fetch_optional(connection).await?.is_some());
        }
        // One that comes meanwhile comes later.
        if target.operation.is_some() {
            let query = target.bind(RECORD_NO_FACT).bind(target.fingerprint());
            query.execute(connection).await?;
        }
        Ok(true)
    }
}
