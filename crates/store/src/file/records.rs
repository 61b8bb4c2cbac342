//! What the journal says and is told, statement by statement.

use notekeeper_domain::{NoteName, Operation, Scope, Version};
use sqlx::{Connection as _, Row as _, SqliteConnection, sqlite::SqliteRow};

use super::{
    fault::Fault,
    journal::Journal,
    text::{Stamp, State},
};
use crate::{MutationError, Receipt, ReceiptStatus, values::RECEIPTS_PER_SCOPE_MAX};

const READ_RECORD: &str = include_str!("sql/read_record.sql");
const FIND_RECEIPT: &str = include_str!("sql/find_receipt.sql");
const PREPARE: &str = include_str!("sql/prepare.sql");
const LIST_PREPARED: &str = include_str!("sql/list_prepared.sql");
const DROP_PREPARED: &str = include_str!("sql/drop_prepared.sql");
const KEEP_RECEIPT: &str = include_str!("sql/keep_receipt.sql");
const KEEP_RECEIPT_OF_ABSENCE: &str = include_str!("sql/keep_receipt_of_absence.sql");
const PRUNE_RECEIPTS: &str = include_str!("sql/prune_receipts.sql");
const KEEP_RECORD: &str = include_str!("sql/keep_record.sql");
const DROP_RECORD: &str = include_str!("sql/drop_record.sql");
const KEEP_SNAPSHOT: &str = include_str!("sql/keep_snapshot.sql");
const READ_SNAPSHOT: &str = include_str!("sql/read_snapshot.sql");

/// What is known of a note.
#[derive(Debug)]
pub(super) struct Known {
    record: Option<Record>,
    /// Whether something is about to be done to it.
    pub(super) in_progress: bool,
}

/// A note as the last write of this store left it.
#[derive(Debug)]
struct Record {
    version: String,
    operation_id: Option<String>,
    state: State,
}

impl Known {
    /// Where nothing is known.
    pub(super) const NOTHING: Self = Self {
        record: None,
        in_progress: false,
    };

    /// Version and operation of a text, where it is still what this store wrote.
    pub(super) fn of(&self, state: &State) -> Option<(Version, Option<String>)> {
        let record = self
            .record
            .as_ref()
            .filter(|record| record.state == *state)?;
        Some((
            Version::new(record.version.clone()),
            record.operation_id.clone(),
        ))
    }

    /// The version of a text, whoever wrote it.
    pub(super) fn version(&self, state: &State) -> (Version, Option<String>) {
        self.of(state).unwrap_or_else(|| (state.version(), None))
    }
}

/// A receipt that was looked for.
#[derive(Debug)]
pub(super) struct Looked {
    pub(super) receipt: Option<Result<Receipt, MutationError>>,
    /// Whether the operation is in progress, or was when its process died.
    pub(super) in_progress: bool,
}

/// What is about to be done.
#[derive(Debug)]
pub(super) struct Plan<'a> {
    pub(super) scope: &'a Scope,
    pub(super) name: &'a NoteName,
    pub(super) operation: Option<&'a Operation>,
    pub(super) kind: &'static str,
    pub(super) status: ReceiptStatus,
    pub(super) version: Option<&'a str>,
    pub(super) path: &'a str,
    pub(super) entry: &'a str,
    /// Inode and digest of the file that is going to be the note.
    pub(super) next: Option<(i64, &'a [u8])>,
    pub(super) current: Option<&'a State>,
}

/// What was about to be done when its process died.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) id: i64,
    pub(super) scope: String,
    pub(super) version: Option<String>,
    pub(super) operation_id: Option<String>,
    pub(super) path: String,
    pub(super) entry: String,
    pub(super) next: Option<(i64, Vec<u8>)>,
    pub(super) current: Option<(i64, Vec<u8>)>,
}

/// What the journal says of the note after it was changed.
#[derive(Debug, Clone, Copy)]
pub(super) enum After<'a> {
    /// It is at this version.
    At(&'a str, Option<&'a str>, &'a State),
    /// It is gone, or another program's by now.
    Unknown,
}

impl Journal {
    pub(super) async fn record(&self, path: &str) -> Result<Known, Fault> {
        let row = sqlx::query(READ_RECORD)
            .bind(path)
            .fetch_one(&mut *self.connection().await?)
            .await?;
        let version: Option<String> = row.try_get("version")?;
        let record = version.map(|version| {
            Ok::<_, Fault>(Record {
                version,
                operation_id: row.try_get("operation_id")?,
                state: State {
                    sha256: row.try_get("sha256")?,
                    stamp: Stamp {
                        inode: row.try_get("inode")?,
                        bytes: row.try_get("bytes")?,
                        modified: row.try_get("modified")?,
                        changed: row.try_get("changed")?,
                    },
                },
            })
        });
        Ok(Known {
            record: record.transpose()?,
            in_progress: row.try_get("in_progress")?,
        })
    }

    pub(super) async fn receipt(
        &self,
        scope: &Scope,
        operation: &Operation,
    ) -> Result<Looked, Fault> {
        let row = sqlx::query(FIND_RECEIPT)
            .bind(scope.as_str())
            .bind(operation.id.as_str())
            .fetch_one(&mut *self.connection().await?)
            .await?;
        Ok(Looked {
            receipt: answer(&row, operation)?,
            in_progress: row.try_get("in_progress")?,
        })
    }

    pub(super) async fn prepare(&self, plan: &Plan<'_>) -> Result<i64, Fault> {
        // Executed to its end, with the commit: the file is touched on the strength of this row.
        let written = sqlx::query(PREPARE)
            .bind(plan.scope.as_str())
            .bind(plan.name.as_str())
            .bind(plan.operation.map(|operation| operation.id.as_str()))
            .bind(
                plan.operation
                    .map(|operation| operation.fingerprint.as_str()),
            )
            .bind(plan.kind)
            .bind(plan.status.code())
            .bind(plan.version)
            .bind(plan.current.is_some())
            .bind(plan.path)
            .bind(plan.entry)
            .bind(plan.next.map(|(inode, _)| inode))
            .bind(plan.next.map(|(_, sha256)| sha256))
            .bind(plan.current.map(|state| state.stamp.inode))
            .bind(plan.current.map(|state| state.sha256.as_slice()))
            .execute(&mut *self.connection().await?)
            .await?;
        Ok(written.last_insert_rowid())
    }

    pub(super) async fn list_prepared(&self) -> Result<Vec<Prepared>, Fault> {
        let rows = sqlx::query(LIST_PREPARED)
            .fetch_all(&mut *self.connection().await?)
            .await?;
        rows.iter().map(prepared).collect()
    }

    /// Nothing was done.
    pub(super) async fn drop_prepared(&self, id: i64) -> Result<(), Fault> {
        sqlx::query(DROP_PREPARED)
            .bind(id)
            .execute(&mut *self.connection().await?)
            .await?;
        Ok(())
    }

    /// It was done: writes receipt and record, and takes the plan away, all of it or nothing.
    pub(super) async fn finish(
        &self,
        scope: &str,
        id: i64,
        entry: &str,
        after: After<'_>,
    ) -> Result<(), Fault> {
        let mut connection = self.connection().await?;
        let mut transaction = connection.begin_with("begin immediate").await?;
        sqlx::query(KEEP_RECEIPT)
            .bind(id)
            .execute(&mut *transaction)
            .await?;
        let dropped = sqlx::query(DROP_PREPARED)
            .bind(id)
            .execute(&mut *transaction)
            .await?;
        if dropped.rows_affected() != 1 {
            // Then there is no receipt either, and nobody may be told that it was done.
            return Err(Fault::unexpected("what was prepared is gone"));
        }
        match after {
            After::At(version, operation_id, state) => {
                sqlx::query(KEEP_RECORD)
                    .bind(entry)
                    .bind(version)
                    .bind(operation_id)
                    .bind(&state.sha256)
                    .bind(state.stamp.inode)
                    .bind(state.stamp.bytes)
                    .bind(state.stamp.modified)
                    .bind(state.stamp.changed)
                    .execute(&mut *transaction)
                    .await?;
            }
            After::Unknown => {
                sqlx::query(DROP_RECORD)
                    .bind(entry)
                    .execute(&mut *transaction)
                    .await?;
            }
        }
        prune(&mut transaction, scope).await?;
        transaction.commit().await?;
        Ok(())
    }

    /// A deletion that found no note.
    pub(super) async fn keep_receipt_of_absence(
        &self,
        scope: &Scope,
        name: &NoteName,
        operation: &Operation,
    ) -> Result<(), Fault> {
        let mut connection = self.connection().await?;
        let mut transaction = connection.begin_with("begin immediate").await?;
        sqlx::query(KEEP_RECEIPT_OF_ABSENCE)
            .bind(scope.as_str())
            .bind(operation.id.as_str())
            .bind(operation.fingerprint.as_str())
            .bind(name.as_str())
            .execute(&mut *transaction)
            .await?;
        prune(&mut transaction, scope.as_str()).await?;
        transaction.commit().await?;
        Ok(())
    }

    pub(super) async fn keep_snapshot(
        &self,
        scope: &Scope,
        digest: &str,
        text: &str,
    ) -> Result<(), Fault> {
        sqlx::query(KEEP_SNAPSHOT)
            .bind(scope.as_str())
            .bind(digest)
            .bind(text)
            .execute(&mut *self.connection().await?)
            .await?;
        Ok(())
    }

    pub(super) async fn snapshot(
        &self,
        scope: &Scope,
        digest: &str,
    ) -> Result<Option<String>, Fault> {
        let text = sqlx::query_scalar(READ_SNAPSHOT)
            .bind(scope.as_str())
            .bind(digest)
            .fetch_optional(&mut *self.connection().await?)
            .await?;
        Ok(text)
    }
}

async fn prune(connection: &mut SqliteConnection, scope: &str) -> Result<(), Fault> {
    sqlx::query(PRUNE_RECEIPTS)
        .bind(scope)
        .bind(RECEIPTS_PER_SCOPE_MAX)
        .execute(connection)
        .await?;
    Ok(())
}

fn prepared(row: &SqliteRow) -> Result<Prepared, Fault> {
    let pair = |number: &str, digest: &str| {
        let number: Option<i64> = row.try_get(number)?;
        let digest: Option<Vec<u8>> = row.try_get(digest)?;
        Ok::<_, Fault>(number.zip(digest))
    };
    Ok(Prepared {
        id: row.try_get("id")?,
        scope: row.try_get("scope")?,
        version: row.try_get("version")?,
        operation_id: row.try_get("operation_id")?,
        path: row.try_get("path")?,
        entry: row.try_get("entry")?,
        next: pair("next_inode", "next_sha256")?,
        current: pair("inode", "sha256")?,
    })
}

/// The answer of a receipt in a row that may have none.
fn answer(
    row: &SqliteRow,
    operation: &Operation,
) -> Result<Option<Result<Receipt, MutationError>>, Fault> {
    let fingerprint: Option<&str> = row.try_get("fingerprint")?;
    let Some(fingerprint) = fingerprint else {
        return Ok(None);
    };
    if fingerprint != operation.fingerprint.as_str() {
        return Ok(Some(Err(MutationError::OperationConflict)));
    }
    let status = ReceiptStatus::from_code(row.try_get("status")?).ok_or(Fault::Corrupt)?;
    let version: Option<String> = row.try_get("version")?;
    Ok(Some(Ok(Receipt {
        status,
        version: version.map(Version::new),
        chars: None,
        existed: row.try_get("existed")?,
        replayed: true,
    })))
}
