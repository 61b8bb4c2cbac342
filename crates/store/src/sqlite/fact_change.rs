//! Changes of facts. What is looked up stays as it is until the end, because they have the lock.

use notekeeper_domain::{FactKey, Operation, Scope};
use sqlx::{Row as _, Sqlite, SqliteConnection, query::Query, sqlite::SqliteArguments};

use super::{fault::Fault, json_array::json_array, mutation::Mutation, receipt::answer};
use crate::{
    FactForgotten, FactKept, MutationError,
    kept_facts::IndexedFact,
    kept_receipt::{OfReceipt, Outcome},
};

const LOOK_UP_FACT: &str = include_str!("sql/look_up_fact.sql");
const CREATE_FACT: &str = include_str!("sql/create_fact.sql");
const UPDATE_FACT: &str = include_str!("sql/update_fact.sql");
const DELETE_FACT: &str = include_str!("sql/delete_fact.sql");
const RECORD_NO_FACT: &str = include_str!("sql/record_no_fact.sql");

/// A fact, and the operation that changes it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Target<'a> {
    pub(super) scope: &'a Scope,
    pub(super) key: &'a FactKey,
    pub(super) operation: Option<&'a Operation>,
}

/// What an operation finds.
enum Found<T> {
    /// What it came to before.
    Answer(Outcome<T>),
    /// Whether there is a fact.
    Fact(bool),
}

impl<'a> Target<'a> {
    async fn look_up<T: OfReceipt>(
        self,
        connection: &mut SqliteConnection,
    ) -> Result<Found<T>, Fault> {
        let row = sqlx::query(LOOK_UP_FACT)
            .bind(self.scope.as_str())
            .bind(self.operation.map(|operation| operation.id.as_str()))
            .bind(self.key.as_str())
            .fetch_one(connection)
            .await?;
        if let Some(operation) = self.operation
            && let Some(outcome) = answer(&row, operation)?
        {
            return Ok(Found::Answer(outcome));
        }
        let number: Option<i64> = row.try_get("order_number")?;
        Ok(Found::Fact(number.is_some()))
    }

    /// The values that all writing statements take first, in their order.
    fn bind(self, statement: &'static str) -> Query<'a, Sqlite, SqliteArguments> {
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
#[derive(Debug, Clone, Copy)]
pub(super) struct Remember<'a> {
    pub(super) target: Target<'a>,
    pub(super) fact: &'a IndexedFact<'a>,
}

impl Mutation for Remember<'_> {
    type Done = FactKept;
    type Refused = MutationError;

    async fn run(&self, connection: &mut SqliteConnection) -> Result<Outcome<FactKept>, Fault> {
        let existed = match self.target.look_up(connection).await? {
            Found::Answer(outcome) => return Ok(outcome),
            Found::Fact(existed) => existed,
        };
        let statement = if existed { UPDATE_FACT } else { CREATE_FACT };
        self.target
            .bind(statement)
            .bind(self.fact.fact.value())
            .bind(&self.fact.folded)
            .bind(json_array(self.fact.terms.iter().map(String::as_str)))
            .bind(self.target.fingerprint())
            .execute(connection)
            .await?;
        Ok(Ok(FactKept {
            existed,
            replayed: false,
        }))
    }
}

/// Takes a fact away.
#[derive(Debug, Clone, Copy)]
pub(super) struct Forget<'a>(pub(super) Target<'a>);

impl Mutation for Forget<'_> {
    type Done = FactForgotten;
    type Refused = MutationError;

    async fn run(
        &self,
        connection: &mut SqliteConnection,
    ) -> Result<Outcome<FactForgotten>, Fault> {
        let existed = match self.0.look_up(connection).await? {
            Found::Answer(outcome) => return Ok(outcome),
            Found::Fact(existed) => existed,
        };
        let statement = if existed { DELETE_FACT } else { RECORD_NO_FACT };
        if existed || self.0.operation.is_some() {
            let query = self.0.bind(statement).bind(self.0.fingerprint());
            query.execute(connection).await?;
        }
        Ok(Ok(FactForgotten {
            existed,
            replayed: false,
        }))
    }
}
