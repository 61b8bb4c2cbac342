//! Receipts as the database holds them.

use notekeeper_domain::Operation;
use sqlx::{PgConnection, Row, postgres::PgRow};

use super::fault::Fault;
use crate::{MutationError, Receipt, ReceiptStatus, StoreError, counts::token};

const FIND_RECEIPT: &str = include_str!("sql/find_receipt.sql");

/// How a mutation ended, apart from faults of the database.
pub(super) type Outcome = Result<Receipt, MutationError>;

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
    let Some(fingerprint) = row.try_get::<Option<&str>, _>("fingerprint")? else {
        return Ok(None);
    };
    if fingerprint != operation.fingerprint.as_str() {
        return Ok(Some(Err(MutationError::OperationConflict)));
    }
    let status: &str = row.try_get("status")?;
    let status = ReceiptStatus::from_code(status).ok_or_else(|| {
        Fault::Lasting(StoreError::Unexpected(
            "a receipt has an unknown status".to_owned(),
        ))
    })?;
    let version: Option<i64> = row.try_get("receipt_version")?;
    let existed: bool = row.try_get("existed")?;
    Ok(Some(Ok(Receipt {
        status,
        version: version.map(token),
        existed,
        replayed: true,
    })))
}
