//! Edits and whole writes: compare-and-swap that never gives up.
//!
//! One statement looks up the receipt and the note, one writes note and receipt if the note is
//! still as it was read. Where another write came between and the caller doesn't insist on a
//! version, the change is made again from the new text in a transaction that locks the note
//! first, so it can't be overtaken a second time. Locks are always taken in one order, note
//! before receipt, so operations can't wait for each other in a circle.

use notekeeper_domain::{NoteName, Operation, Scope, Version, WriteMetadata};
use sqlx::{Connection, PgConnection, Row};

use super::{
    fault::Fault,
    receipt::{answer, find_receipt, settle_taken},
};
use crate::{
    Expected, MutationError, Receipt, StoreError,
    change::{Change, NewText},
    counts::{bounded, token},
    kept_receipt::Outcome,
};

const LOOK_UP: &str = include_str!("sql/look_up.sql");
const CREATE_NOTE: &str = include_str!("sql/create_note.sql");
const UPDATE_NOTE: &str = include_str!("sql/update_note.sql");
const LOCK_NOTE: &str = include_str!("sql/lock_note.sql");

/// The level is named because a caller's own pool may default to another.
pub(super) const BEGIN: &str = "begin isolation level read committed";

/// The version of a placeholder, which only the transaction that made it ever sees.
const PLACEHOLDER_VERSION: i64 = 0;

/// A mutation that leaves a note with text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Put<'a> {
    pub(super) scope: &'a Scope,
    pub(super) name: &'a NoteName,
    pub(super) change: Change<'a>,
    pub(super) expected: &'a Expected,
    pub(super) operation: Option<&'a Operation>,
    /// What replaces the metadata of the version before, which may be nothing.
    pub(super) metadata: Option<&'a WriteMetadata>,
}

/// A note as it was read.
#[derive(Debug)]
struct Current {
    version: i64,
    /// As much of the text as the change needs.
    content: String,
}

impl Put<'_> {
    /// Uncontended: two round trips; one where the receipt answers.
    pub(super) async fn run(&self, connection: &mut PgConnection) -> Result<Outcome, Fault> {
        let row = sqlx::query(LOOK_UP)
            .bind(self.scope.as_str())
            .bind(self.operation.map(|operation| operation.id.as_str()))
            .bind(self.name.as_str())
            .bind(self.change.chars_needed())
            .fetch_one(&mut *connection)
            .await?;
        if let Some(operation) = self.operation
            && let Some(outcome) = answer(&row, operation)?
        {
            return Ok(outcome);
        }
        let current = match row.try_get::<Option<i64>, _>("note_version")? {
            Some(version) => Some(Current {
                version,
                content: row.try_get("content")?,
            }),
            None => None,
        };
        let version = current.as_ref().map(|current| token(current.version));
        if !self.expected.is_met_by(version.as_ref()) {
            return Ok(Err(MutationError::VersionConflict));
        }
        let new = match self.apply(current.as_ref()) {
            Ok(new) => new,
            Err(error) => return Ok(Err(error)),
        };
        match self
            .write(
                &mut *connection,
                &new,
                current.map(|current| current.version),
            )
            .await
        {
            Ok(Some(receipt)) => Ok(Ok(receipt)),
            Ok(None) if *self.expected == Expected::Any => self.run_locked(connection).await,
            Ok(None) => self.settle_overtaken(connection).await,
            Err(Fault::ReceiptTaken) => settle_taken(connection, self.scope, self.operation).await,
            Err(fault) => Err(fault),
        }
    }

    /// Contended: five round trips, the first of which waits until the note is this call's.
    async fn run_locked(&self, connection: &mut PgConnection) -> Result<Outcome, Fault> {
        let mut transaction = connection.begin_with(BEGIN).await?;
        let row = sqlx::query(LOCK_NOTE)
            .bind(self.scope.as_str())
            .bind(self.name.as_str())
            .bind(self.change.chars_needed())
            .fetch_one(&mut *transaction)
            .await?;
        // In a statement of its own: only one that begins after the lock was had sees what the
        // operation's other call committed while this one waited.
        if let Some(outcome) = find_receipt(&mut transaction, self.scope, self.operation).await? {
            transaction.rollback().await?;
            return Ok(outcome);
        }
        let version = row.try_get("note_version")?;
        let current = if version == PLACEHOLDER_VERSION {
            None
        } else {
            Some(Current {
                version,
                content: row.try_get("content")?,
            })
        };
        let new = match self.apply(current.as_ref()) {
            Ok(new) => new,
            Err(error) => {
                transaction.rollback().await?;
                return Ok(Err(error));
            }
        };
        match self.update(&mut transaction, &new, version).await {
            Ok(Some(receipt)) => {
                transaction.commit().await?;
                Ok(Ok(receipt))
            }
            Ok(None) => Err(Fault::Lasting(StoreError::Unexpected(
                "a locked note changed".to_owned(),
            ))),
            Err(Fault::ReceiptTaken) => {
                transaction.rollback().await?;
                settle_taken(connection, self.scope, self.operation).await
            }
            Err(fault) => Err(fault),
        }
    }

    /// The answer where the note left the version that the caller insists on: the operation's
    /// receipt, if its other call was what came between, or else the conflict.
    async fn settle_overtaken(&self, connection: &mut PgConnection) -> Result<Outcome, Fault> {
        let found = find_receipt(connection, self.scope, self.operation).await?;
        Ok(found.unwrap_or(Err(MutationError::VersionConflict)))
    }

    fn apply(&self, current: Option<&Current>) -> Result<NewText, MutationError> {
        self.change
            .apply(current.map(|current| current.content.as_str()))
    }

    /// Writes if the note is still at `version`; `None` where it isn't.
    async fn write(
        &self,
        connection: &mut PgConnection,
        new: &NewText,
        version: Option<i64>,
    ) -> Result<Option<Receipt>, Fault> {
        match version {
            Some(version) => self.update(connection, new, version).await,
            None => self.create(connection, new).await,
        }
    }

    async fn create(
        &self,
        connection: &mut PgConnection,
        new: &NewText,
    ) -> Result<Option<Receipt>, Fault> {
        let written = self
            .bind_text(CREATE_NOTE, new)
            .fetch_optional(connection)
            .await?;
        written.map(|row| receipt(&row, new, false)).transpose()
    }

    async fn update(
        &self,
        connection: &mut PgConnection,
        new: &NewText,
        version: i64,
    ) -> Result<Option<Receipt>, Fault> {
        let existed = version != PLACEHOLDER_VERSION;
        let written = self
            .bind_text(UPDATE_NOTE, new)
            .bind(version)
            .bind(existed)
            .fetch_optional(connection)
            .await?;
        written.map(|row| receipt(&row, new, existed)).transpose()
    }

    /// The values that both writing statements take, in their order.
    fn bind_text<'q>(
        &'q self,
        statement: &'static str,
        new: &'q NewText,
    ) -> sqlx::query::Query<'q, sqlx::Postgres, sqlx::postgres::PgArguments> {
        sqlx::query(statement)
            .bind(self.scope.as_str())
            .bind(self.operation.map(|operation| operation.id.as_str()))
            .bind(self.name.as_str())
            .bind(&new.text)
            .bind(folded(&new.text))
            .bind(bounded(new.chars))
            .bind(
                self.operation
                    .map(|operation| operation.fingerprint.as_str()),
            )
            .bind(self.change.kind())
            .bind(new.status.code())
            .bind(self.metadata.map(WriteMetadata::to_json))
    }
}

fn receipt(row: &sqlx::postgres::PgRow, new: &NewText, existed: bool) -> Result<Receipt, Fault> {
    let version: Version = token(row.try_get("version")?);
    Ok(Receipt {
        status: new.status,
        version: Some(version),
        chars: Some(new.chars),
        existed,
        replayed: false,
    })
}

/// The text in lower case, where that isn't what the database's `lower` under collation "C"
/// makes of it.
fn folded(text: &str) -> Option<String> {
    if text.is_ascii() {
        return None;
    }
    let folded = text.to_lowercase();
    (folded != text.to_ascii_lowercase()).then_some(folded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_ascii_lowering_gets_right_is_not_stored_twice() {
        for text in ["", "Plain ASCII", "straße", "日本語 Text", "été"] {
            assert_eq!(folded(text), None, "{text}");
        }
    }

    #[test]
    fn text_with_other_capitals_is_stored_in_lower_case() {
        assert_eq!(folded("ÉTÉ İ"), Some("ÉTÉ İ".to_lowercase()));
        // The Kelvin sign, whose lower case is an ASCII letter.
        assert_eq!(folded("\u{212a}"), Some("k".to_owned()));
    }
}
