//! Deletions.

use notekeeper_domain::{NoteName, Operation, Scope};
use sqlx::{Row as _, SqliteConnection, sqlite::SqliteRow};

use super::{fault::Fault, mutation::Mutation, receipt::find_receipt};
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

impl Mutation for Deletion<'_> {
    type Done = Receipt;
    type Refused = MutationError;

    async fn run(&self, connection: &mut SqliteConnection) -> Result<Outcome, Fault> {
        if let Some(outcome) = find_receipt(connection, self.scope, self.operation).await? {
            return Ok(outcome);
        }
        let Some(existed) = self.delete(connection).await? else {
            return Ok(Err(MutationError::VersionConflict));
        };
        Ok(Ok(Receipt {
            status: ReceiptStatus::of_deletion(existed),
            version: None,
            chars: None,
            existed,
            replayed: false,
        }))
    }
}

impl Deletion<'_> {
    /// Whether the note existed; `None` where it isn't what the caller expects.
    async fn delete(&self, connection: &mut SqliteConnection) -> Result<Option<bool>, Fault> {
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
        // To the end of the last statement: only one of them gives a row.
        let rows: Vec<SqliteRow> = query.fetch_all(connection).await?;
        let row = rows.first();
        row.map(|row| Ok(row.try_get("existed")?)).transpose()
    }
}
