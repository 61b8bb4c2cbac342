//! The notes of the store.

use async_trait::async_trait;
use notekeeper_domain::{
    NoteName, Notebook, Operation, Scope, SearchAnswer, SearchLimits, SearchQuery,
};
use sqlx::{PgConnection, Row};

use super::{
    attempts::{Repeatable, attempted},
    delete::Deletion,
    fault::Fault,
    note_index::{list, names, notebook, texts},
    put::Put,
    receipt::{find_receipt, repeatable},
    search::search,
    store::PostgresStore,
};
use crate::{
    EditRequest, Expected, FactStore, JournalStore, Listing, MutationError, Names, NotePart,
    NoteStore, NoteTexts, NotebookBounds, Receipt, SnapshotStore, Store, StoreError, TextBounds,
    TranscriptStore, VectorStore, WriteRequest,
    change::Change,
    counts::{bounded, token},
    kept_metadata::kept_metadata,
    values::{check_content, check_edit, check_operation},
};

const READ_NOTE: &str = include_str!("sql/read_note.sql");

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
        attempted!(self, Repeatable::Always, |connection| read(
            connection, scope, name, chars_max
        ))
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
        let put = Put {
            scope,
            name,
            change: Change::Edit {
                edit: request.edit,
                note_chars_max: request.note_chars_max,
            },
            expected: &request.expected,
            operation: Some(operation),
            metadata: request.metadata,
        };
        attempted!(self, Repeatable::Always, |connection| put.run(connection))?
    }

    async fn write(
        &self,
        scope: &Scope,
        name: &NoteName,
        request: &WriteRequest<'_>,
        operation: Option<&Operation>,
    ) -> Result<Receipt, MutationError> {
        check_content("content", request.content)?;
        operation.map_or(Ok(()), check_operation)?;
        let put = Put {
            scope,
            name,
            change: Change::Whole(request),
            expected: request.expected,
            operation,
            metadata: request.metadata,
        };
        attempted!(self, repeatable(operation), |connection| put
            .run(connection))?
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
        attempted!(self, repeatable(operation), |connection| deletion
            .run(connection))?
    }

    async fn receipt(
        &self,
        scope: &Scope,
        operation: &Operation,
    ) -> Result<Option<Receipt>, MutationError> {
        check_operation(operation)?;
        let found = attempted!(self, Repeatable::Always, |connection| find_receipt(
            connection,
            scope,
            Some(operation)
        ))?;
        found.transpose()
    }

    async fn names(&self, scope: &Scope, names_max: usize) -> Result<Names, StoreError> {
        attempted!(self, Repeatable::Always, |connection| names(
            connection, scope, names_max
        ))
    }

    async fn list(&self, scope: &Scope, notes_max: usize) -> Result<Listing, StoreError> {
        attempted!(self, Repeatable::Always, |connection| list(
            connection, scope, notes_max
        ))
    }

    async fn notebook(
        &self,
        scope: &Scope,
        bounds: NotebookBounds,
    ) -> Result<Notebook, StoreError> {
        attempted!(self, Repeatable::Always, |connection| notebook(
            connection, scope, bounds
        ))
    }

    async fn search(
        &self,
        scope: &Scope,
        query: &SearchQuery,
        limits: &SearchLimits,
    ) -> Result<SearchAnswer, StoreError> {
        attempted!(self, Repeatable::Always, |connection| search(
            connection, scope, query, limits
        ))
    }

    async fn texts(
        &self,
        scope: &Scope,
        after: Option<&NoteName>,
        bounds: TextBounds,
    ) -> Result<NoteTexts, StoreError> {
        attempted!(self, Repeatable::Always, |connection| texts(
            connection, scope, after, bounds
        ))
    }

    fn keeps_metadata(&self) -> bool {
        true
    }
}

impl Store for PostgresStore {
    fn snapshots(&self) -> Option<&dyn SnapshotStore> {
        Some(self)
    }

    fn transcripts(&self) -> Option<&dyn TranscriptStore> {
        Some(self)
    }

    fn facts(&self) -> Option<&dyn FactStore> {
        Some(self)
    }

    fn vectors(&self) -> Option<&dyn VectorStore> {
        Some(self)
    }

    fn journal(&self) -> Option<&dyn JournalStore> {
        Some(self)
    }
}

async fn read(
    connection: &mut PgConnection,
    scope: &Scope,
    name: &NoteName,
    chars_max: usize,
) -> Result<Option<NotePart>, Fault> {
    let row = sqlx::query(READ_NOTE)
        .bind(scope.as_str())
        .bind(name.as_str())
        .bind(bounded(chars_max))
        .fetch_optional(connection)
        .await?;
    let Some(row) = row else { return Ok(None) };
    Ok(Some(NotePart {
        scope: row.try_get("scope")?,
        content: row.try_get("content")?,
        truncated: row.try_get("truncated")?,
        version: token(row.try_get("version")?),
        operation_id: row.try_get("operation_id")?,
        metadata: kept_metadata(row.try_get("write_metadata")?),
    }))
}
