//! The facts of the store.

use async_trait::async_trait;
use notekeeper_domain::{Fact, FactKey, Operation, RecallQuery, RecalledFact, Scope};
use sqlx::PgConnection;

use super::{
    attempts::{Repeatable, attempted},
    fact_change::{Forget, Remember, Target},
    fault::Fault,
    recall::recall,
    receipt::repeatable,
    store::PostgresStore,
};
use crate::{
    FactForgotten, FactKept, FactStore, Facts, ListedFact, MutationError, StoreError,
    counts::limit,
    kept_facts::{FactRow, FactsOfRows},
    values::check_operation,
};

const READ_FACTS: &str = include_str!("sql/read_facts.sql");
const LIST_FACTS: &str = include_str!("sql/list_facts.sql");

#[async_trait]
impl FactStore for PostgresStore {
    async fn remember(
        &self,
        scope: &Scope,
        fact: &Fact,
        operation: Option<&Operation>,
    ) -> Result<FactKept, MutationError> {
        operation.map_or(Ok(()), check_operation)?;
        let target = Target {
            scope,
            key: &fact.key,
            operation,
        };
        let kept = Remember::new(fact);
        attempted!(self, repeatable(operation), |connection| target
            .change(connection, &kept))?
    }

    async fn forget(
        &self,
        scope: &Scope,
        key: &FactKey,
        operation: Option<&Operation>,
    ) -> Result<FactForgotten, MutationError> {
        operation.map_or(Ok(()), check_operation)?;
        let target = Target {
            scope,
            key,
            operation,
        };
        attempted!(self, repeatable(operation), |connection| target
            .change(connection, &Forget))?
    }

    async fn recall(
        &self,
        scope: &Scope,
        query: &RecallQuery,
        limit: usize,
    ) -> Result<Vec<RecalledFact>, StoreError> {
        attempted!(self, Repeatable::Always, |connection| recall(
            connection, scope, query, limit
        ))
    }

    async fn fact(&self, scope: &Scope, key: &FactKey) -> Result<Option<ListedFact>, StoreError> {
        attempted!(self, Repeatable::Always, |connection| fact(
            connection, scope, key
        ))
    }

    async fn facts(
        &self,
        scope: &Scope,
        after: Option<&FactKey>,
        facts_max: usize,
    ) -> Result<Facts, StoreError> {
        attempted!(self, Repeatable::Always, |connection| facts(
            connection, scope, after, facts_max
        ))
    }
}

async fn fact(
    connection: &mut PgConnection,
    scope: &Scope,
    key: &FactKey,
) -> Result<Option<ListedFact>, Fault> {
    let row: Option<FactRow> = sqlx::query_as(READ_FACTS)
        .bind(scope.as_str())
        .bind([key.as_str()])
        .fetch_optional(connection)
        .await?;
    Ok(row.and_then(ListedFact::of_row))
}

async fn facts(
    connection: &mut PgConnection,
    scope: &Scope,
    after: Option<&FactKey>,
    facts_max: usize,
) -> Result<Facts, Fault> {
    let mut list = FactsOfRows::of_facts(after, facts_max);
    while let Some((after, rows_max)) = list.wanted() {
        let rows = sqlx::query_as(LIST_FACTS)
            .bind(scope.as_str())
            .bind(after)
            .bind(limit(rows_max))
            .fetch_all(&mut *connection)
            .await?;
        list.take(rows);
    }
    Ok(list.into())
}
