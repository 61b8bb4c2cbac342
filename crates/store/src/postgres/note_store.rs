//! Single notes.

use async_trait::async_trait;
use notekeeper_domain::{NoteName, Operation, Scope};
use sqlx::Row;

use super::{
    attempts::{Attempts, Repeatable},
    delete::Deletion,
    fault::Fault,
    put::{Change, Put, bounded},
    receipt::{Outcome, find_receipt, token},
    store::PostgresStore,
};
use crate::{
    EditRequest, Expected, MutationError, NotePart, NoteStore, Receipt, StoreError,
    values::{check_content, check_edit, check_operation},
};

const READ_NOTE: &str = include_str!("sql/read_note.sql");

impl PostgresStore {
    async fn put(&self, put: Put<'_>) -> Outcome {
        let mut attempts = Attempts::new(self, repeatable(put.operation));
        loop {
            let outcome = async {
                let mut connection = attempts.connection().await?;
                put.run(&mut connection).await
            };
            match outcome.await {
                Ok(outcome) => return outcome,
                Err(fault) => attempts.pause_after(fault).await?,
            }
        }
    }

    async fn try_read(
        &self,
        attempts: &Attempts<'_>,
        scope: &Scope,
        name: &NoteName,
        chars_max: usize,
    ) -> Result<Option<NotePart>, Fault> {
        let mut connection = attempts.connection().await?;
        let row = sqlx::query(READ_NOTE)
            .bind(scope.as_str())
            .bind(name.as_str())
            .bind(bounded(chars_max))
            .fetch_optional(&mut *connection)
            .await?;
        let Some(row) = row else { return Ok(None) };
        Ok(Some(NotePart {
            content: row.try_get("content")?,
            truncated: row.try_get("truncated")?,
            version: token(row.try_get("version")?),
            operation_id: row.try_get("operation_id")?,
        }))
    }
}

#[async_trait]
impl NoteStore for PostgresStore {
    fn kind(&self) -> &'static str {
        "postgres"
    }

    async fn read(
        &self,
        scope: &Scope,
        name: &NoteName,
        chars_max: usize,
    ) -> Result<Option<NotePart>, StoreError> {
        let mut attempts = Attempts::new(self, Repeatable::Always);
        loop {
            match self.try_read(&attempts, scope, name, chars_max).await {
                Ok(note) => return Ok(note),
                Err(fault) => attempts.pause_after(fault).await?,
            }
        }
    }

    async fn edit(
        &self,
        scope: &Scope,
        name: &NoteName,
        request: &EditRequest<'_>,
        operation: &Operation,
    ) -> Result<Receipt, MutationError> {
        check_edit(request.edit)?;
        check_operation(operation)?;
        self.put(Put {
            scope,
            name,
            change: Change::Edit {
                edit: request.edit,
                note_chars_max: request.note_chars_max,
            },
            expected: &request.expected,
            operation: Some(operation),
        })
        .await
    }

    async fn write(
        &self,
        scope: &Scope,
        name: &NoteName,
        content: &str,
        expected: &Expected,
        operation: Option<&Operation>,
    ) -> Result<Receipt, MutationError> {
        check_content("content", content)?;
        operation.map_or(Ok(()), check_operation)?;
        self.put(Put {
            scope,
            name,
            change: Change::Whole(content),
            expected,
            operation,
        })
        .await
    }

    async fn delete(
        &self,
        scope: &Scope,
        name: &NoteName,
        expected: &Expected,
        operation: Option<&Operation>,
    ) -> Result<Receipt, MutationError> {
        operation.map_or(Ok(()), check_operation)?;
        let deletion = Deletion {
            scope,
            name,
            expected,
            operation,
        };
        let mut attempts = Attempts::new(self, repeatable(operation));
        loop {
            let outcome = async {
                let mut connection = attempts.connection().await?;
                deletion.run(&mut connection).await
            };
            match outcome.await {
                Ok(outcome) => return outcome,
                Err(fault) => attempts.pause_after(fault).await?,
            }
        }
    }

    async fn receipt(
        &self,
        scope: &Scope,
        operation: &Operation,
    ) -> Result<Option<Receipt>, MutationError> {
        check_operation(operation)?;
        let mut attempts = Attempts::new(self, Repeatable::Always);
        loop {
            let found = async {
                let mut connection = attempts.connection().await?;
                find_receipt(&mut connection, scope.as_str(), operation).await
            };
            match found.await {
                Ok(found) => return found.transpose(),
                Err(fault) => attempts.pause_after(fault).await?,
            }
        }
    }
}

fn repeatable(operation: Option<&Operation>) -> Repeatable {
    match operation {
        Some(_) => Repeatable::Always,
        None => Repeatable::UnlessInDoubt,
    }
}
