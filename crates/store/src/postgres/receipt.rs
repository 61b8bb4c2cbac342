//! Receipts as the database holds them.

use notekeeper_domain::Operation;
use sqlx::{PgConnection, Row, postgres::PgRow};

use super::fault::Fault;
use crate::kept_receipt::{KeptReceipt, Outcome};

const FIND_RECEIPT: &str = include_str!("sql/find_receipt.sql");

/// The answer of an operation's receipt, where there is one.
pub(super) async fn find_receipt(
    connection: &mut PgConnection,
    scope: &str,
    operation: &Operation,
) -> Result<Option<Outcome>, Fault> {
    let row = sqlx::query(FIND_RECEIPT)
        .bind(scope)
        .bind(operation.id.as_str())
        .fetch_optional(connection)
        .await?;
    row.map(|row| answer(&row, operation))
        .transpose()
        .map(Option::flatten)
}

/// The answer of a receipt in a row that may have none.
pub(super) fn answer(row: &PgRow, operation: &Operation) -> Result<Option<Outcome>, Fault> {
    let Some(fingerprint) = row.try_get("fingerprint")? else {
        return Ok(None);
    };
    let kept = KeptReceipt {
        fingerprint,
        status: row.try_get("status")?,
        version: row.try_get("receipt_version")?,
        existed: row.try_get("existed")?,
    };
    kept.answer(operation).map(Some).map_err(Fault::Lasting)
}
