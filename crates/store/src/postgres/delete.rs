//! Deletions.

use notekeeper_domain::{NoteName, Operation, Scope};
use sqlx::{PgConnection, Row};

use super::{
    fault::Fault,
    receipt::{find_receipt, settle_taken},
};
use crate::{
    Expected, MutationError, Receipt, ReceiptStatus, counts::version_of, kept_receipt::Outcome,
};

const DELETE_ANY: &str = include_str!("sql/delete_any.sql");
const DELETE_VERSION: &str = include_str!("sql/delete_version.sql");
const RECORD_ABSENCE: &str = include_str!("sql/record_absence.sql");

/// A mutation that leaves no note.
#[derive(Debug, Clone, Copy)]
pub(super) struct Deletion<'a> {
    pub(super) scope: &'a Scope,
    pub(super) name: &'a NoteName,
    pub(super) expected: &'a Expected,
    pub(super) operation: Option<&'a Operation>,
}

impl Deletion<'_> {
    /// Two round trips; one where the receipt answers. Nothing that comes between makes it more:
    /// a deletion doesn't depend on the text, and where a version is expected, a note that left
    /// that version never comes back to it.
    pub(super) async fn run(&self, connection: &mut PgConnection) -> Result<Outcome, Fault> {
        if let Some(outcome) = find_receipt(connection, self.scope, self.operation).await? {
            return Ok(outcome);
        }
        match self.delete(connection).await {
            Ok(Some(existed)) => Ok(Ok(Receipt {
                status: ReceiptStatus::of_deletion(existed),
                version: None,
                chars: None,
                existed,
                replayed: false,
            })),
            // Another call of this operation may be what came between.
            Ok(None) => {
                let found = find_receipt(connection, self.scope, self.operation).await?;
                Ok(found.unwrap_or(Err(MutationError::VersionConflict)))
            }
            Err(Fault::ReceiptTaken) => settle_taken(connection, self.scope, self.operation).await,
            Err(fault) => Err(fault),
        }
    }

    /// Whether the note existed; `None` where it isn't what the caller expects.
    async fn delete(&self, connection: &mut PgConnection) -> Result<Option<bool>, Fault> {
        let (statement, version) = match self.expected {
            Expected::Any => (DELETE_ANY, None),
            Expected::Absent => (RECORD_ABSENCE, None),
            Expected::Version(token) => match version_of(token) {
                Some(version) => (DELETE_VERSION, Some(version)),
                None => return Ok(None),
            },
        };
        let mut query = sqlx::query(statement)
            .bind(self.scope.as_str())
            .bind(self.operation.map(|operation| operation.id.as_str()))
            .bind(self.name.as_str())
            .bind(
                self.operation
                    .map(|operation| operation.fingerprint.as_str()),
            );
        if let Some(version) = version {
            query = query.bind(version);
        }
        let row = query.fetch_optional(connection).await?;
        row.map(|row| Ok(row.try_get("existed")?)).transpose()
    }
}
