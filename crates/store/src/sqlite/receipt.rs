//! Receipts as the database holds them.

use notekeeper_domain::{Operation, Scope};
use sqlx::{Row as _, SqliteConnection, sqlite::SqliteRow};

use super::fault::Fault;
use crate::kept_receipt::{KeptReceipt, OfReceipt, Outcome};

const FIND_RECEIPT: &str = include_str!("sql/find_receipt.sql");

/// The answer of an operation's receipt; `None` where it has none, and where there is no operation.
pub(super) async fn find_receipt<T: OfReceipt>(
    connection: &mut SqliteConnection,
    scope: &Scope,
    operation: Option<&Operation>,
) -> Result<Option<Outcome<T>>, Fault> {
    let Some(operation) = operation else {
        return Ok(None);
    };
    let row = sqlx::query(FIND_RECEIPT)
        .bind(scope.as_str())
        .bind(operation.id.as_str())
        .fetch_optional(connection)
        .await?;
    let Some(row) = row else { return Ok(None) };
    let first: Option<i64> = row.try_get("first")?;
    let range = first.zip(row.try_get("next")?);
    answer_with(&row, range, operation)
}

/// The answer of a receipt, in a row of something else that may have none.
pub(super) fn answer<T: OfReceipt>(
    row: &SqliteRow,
    operation: &Operation,
) -> Result<Option<Outcome<T>>, Fault> {
    answer_with(row, None, operation)
}

fn answer_with<T: OfReceipt>(
    row: &SqliteRow,
    range: Option<(i64, i64)>,
    operation: &Operation,
) -> Result<Option<Outcome<T>>, Fault> {
    let Some(fingerprint) = row.try_get("fingerprint")? else {
        return Ok(None);
    };
    let kept = KeptReceipt {
        fingerprint,
        status: row.try_get("status")?,
        version: row.try_get("receipt_version")?,
        existed: row.try_get("existed")?,
        range,
    };
    kept.answer(operation).map(Some).map_err(Fault::Lasting)
}
