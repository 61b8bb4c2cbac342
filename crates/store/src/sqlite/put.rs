//! Edits and whole writes.

use notekeeper_domain::{NoteName, Operation, Scope, WriteMetadata};
use sqlx::{
    Row as _, Sqlite, SqliteConnection,
    query::Query,
    sqlite::{SqliteArguments, SqliteRow},
};

use super::{fault::Fault, mutation::Mutation, receipt::answer};
use crate::{
    Expected, MutationError, Receipt, StoreError,
    change::{Change, NewText},
    counts::{bounded, token},
    kept_receipt::Outcome,
};

const LOOK_UP: &str = include_str!("sql/look_up.sql");
const CREATE_NOTE: &str = include_str!("sql/create_note.sql");
const UPDATE_NOTE: &str = include_str!("sql/update_note.sql");

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

impl Mutation for Put<'_> {
    type Done = Receipt;
    type Refused = MutationError;

    /// What is looked up stays as it is until the end, because this call has the lock.
    async fn run(&self, connection: &mut SqliteConnection) -> Result<Outcome, Fault> {
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
        let version: Option<i64> = row.try_get("note_version")?;
        if !self.expected.is_met_by(version.map(token).as_ref()) {
            return Ok(Err(MutationError::VersionConflict));
        }
        match self.change.apply(row.try_get("content")?) {
            Ok(new) => self.write(connection, &new, version).await.map(Ok),
            Err(error) => Ok(Err(error)),
        }
    }
}

impl Put<'_> {
    /// Writes over the note at `version`; `None`: there is no note.
    async fn write(
        &self,
        connection: &mut SqliteConnection,
        new: &NewText,
        version: Option<i64>,
    ) -> Result<Receipt, Fault> {
        let statement = match version {
            Some(version) => self.bind_text(UPDATE_NOTE, new).bind(version),
            None => self.bind_text(CREATE_NOTE, new),
        };
        // To the end of the last statement: only one of them gives a row.
        let written: Vec<SqliteRow> = statement.fetch_all(connection).await?;
        let Some(row) = written.first() else {
            return Err(Fault::Lasting(StoreError::Unexpected(
                "a locked note changed".to_owned(),
            )));
        };
        Ok(Receipt {
            status: new.status,
            version: Some(token(row.try_get("version")?)),
            chars: Some(new.chars),
            existed: version.is_some(),
            replayed: false,
        })
    }

    /// The values that both writing statements take, in their order.
    fn bind_text<'q>(
        &'q self,
        statement: &'static str,
        new: &'q NewText,
    ) -> Query<'q, Sqlite, SqliteArguments> {
        sqlx::query(statement)
            .bind(self.scope.as_str())
            .bind(self.operation.map(|operation| operation.id.as_str()))
            .bind(self.name.as_str())
            .bind(&new.text)
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
