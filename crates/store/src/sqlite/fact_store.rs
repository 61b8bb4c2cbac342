//! The facts of the store.

use async_trait::async_trait;
use notekeeper_domain::{Fact, FactKey, Operation, RecallQuery, RecalledFact, Scope};

use super::{
    attempts::attempted,
    fact_change::{Forget, Remember, Target},
    fault::Fault,
    json_array::json_array,
    recall::recall,
    store::SqliteStore,
};
use crate::{
    FactForgotten, FactKept, FactStore, Facts, ListedFact, MutationError, StoreError,
    counts::limit,
    kept_facts::{FactRow, FactsOfRows, IndexedFact},
    values::check_operation,
};

const READ_FACTS: &str = include_str!("sql/read_facts.sql");
const LIST_FACTS: &str = include_str!("sql/list_facts.sql");

#[async_trait]
impl FactStore for SqliteStore {
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
        // Also for a repetition, which needs none of it: making terms of the longest fact takes
        // milliseconds, and once the receipt is looked up, all other writers wait for this one.
        let fact = &IndexedFact::new(fact);
        self.mutate(&Remember { target, fact }).await?
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
        self.mutate(&Forget(target)).await?
    }

    async fn recall(
        &self,
        scope: &Scope,
        query: &RecallQuery,
        limit: usize,
    ) -> Result<Vec<RecalledFact>, StoreError> {
        attempted(self, |_| recall(self, scope, query, limit)).await
    }

    async fn fact(&self, scope: &Scope, key: &FactKey) -> Result<Option<ListedFact>, StoreError> {
        attempted(self, |_| fact(self, scope, key)).await
    }

    async fn facts(
        &self,
        scope: &Scope,
        after: Option<&FactKey>,
        facts_max: usize,
    ) -> Result<Facts, StoreError> {
        attempted(self, |_| facts(self, scope, after, facts_max)).await
    }
}

async fn fact(
    store: &SqliteStore,
    scope: &Scope,
    key: &FactKey,
) -> Result<Option<ListedFact>, Fault> {
    let row: Option<FactRow> = sqlx::query_as(READ_FACTS)
        .bind(scope.as_str())
        .bind(json_array([key.as_str()].into_iter()))
        .fetch_optional(&mut *store.reader().await?)
        .await?;
    Ok(row.and_then(ListedFact::of_row))
}

async fn facts(
    store: &SqliteStore,
    scope: &Scope,
    after: Option<&FactKey>,
    facts_max: usize,
) -> Result<Facts, Fault> {
    let mut connection = store.reader().await?;
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
