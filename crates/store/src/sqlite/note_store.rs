//! The notes of the store.

use async_trait::async_trait;
use notekeeper_domain::{
    NoteName, Notebook, Operation, Scope, SearchAnswer, SearchLimits, SearchQuery,
};
use sqlx::Row as _;

use super::{
    attempts::attempted,
    delete::Deletion,
    fault::Fault,
    note_index::{list, names, notebook, texts},
    put::Put,
    receipt::find_receipt,
    search::search,
    store::SqliteStore,
};
use crate::{
    EditRequest, Expected, FactStore, JournalStore, Listing, MutationError, Names, NotePart,
    NoteStore, NoteTexts, NotebookBounds, Receipt, SnapshotStore, Store, StoreError, TextBounds,
    TranscriptStore, VectorStore, WriteRequest,
    change::Change,
    counts::{bounded, token},
    kept_metadata::kept_metadata,
    kept_receipt::Outcome,
    values::{check_content, check_edit, check_operation},
};

const READ_NOTE: &str = include_str!("sql/read_note.sql");

#[async_trait]
impl NoteStore for SqliteStore {
    fn kind(&self) -> &'static str {
        "sqlite"
    }

    async fn read(
        &self,
        scope: &Scope,
        name: &NoteName,
        chars_max: usize,
    ) -> Result<Option<NotePart>, StoreError> {
        attempted(self, |_| read(self, scope, name, chars_max)).await
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
        self.mutate(&put).await?
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
        self.mutate(&put).await?
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
        self.mutate(&deletion).await?
    }

    async fn receipt(
        &self,
        scope: &Scope,
        operation: &Operation,
    ) -> Result<Option<Receipt>, MutationError> {
        check_operation(operation)?;
        let found = attempted(self, |_| receipt(self, scope, operation)).await?;
        found.transpose()
    }

    async fn names(&self, scope: &Scope, names_max: usize) -> Result<Names, StoreError> {
        attempted(self, |_| names(self, scope, names_max)).await
    }

    async fn list(&self, scope: &Scope, notes_max: usize) -> Result<Listing, StoreError> {
        attempted(self, |_| list(self, scope, notes_max)).await
    }

    async fn notebook(
        &self,
        scope: &Scope,
        bounds: NotebookBounds,
    ) -> Result<Notebook, StoreError> {
        attempted(self, |_| notebook(self, scope, bounds)).await
    }

    async fn search(
        &self,
        scope: &Scope,
        query: &SearchQuery,
        limits: &SearchLimits,
    ) -> Result<SearchAnswer, StoreError> {
        attempted(self, |_| search(self, scope, query, limits)).await
    }

    async fn texts(
        &self,
        scope: &Scope,
        after: Option<&NoteName>,
        bounds: TextBounds,
    ) -> Result<NoteTexts, StoreError> {
        attempted(self, |_| texts(self, scope, after, bounds)).await
    }

    fn keeps_metadata(&self) -> bool {
        true
    }
}

impl Store for SqliteStore {
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
    store: &SqliteStore,
    scope: &Scope,
    name: &NoteName,
    chars_max: usize,
) -> Result<Option<NotePart>, Fault> {
    let row = sqlx::query(READ_NOTE)
        .bind(scope.as_str())
        .bind(name.as_str())
        .bind(bounded(chars_max))
        .fetch_optional(&mut *store.reader().await?)
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

async fn receipt(
    store: &SqliteStore,
    scope: &Scope,
    operation: &Operation,
) -> Result<Option<Outcome>, Fault> {
    let mut connection = store.reader().await?;
    find_receipt(&mut connection, scope, Some(operation)).await
}
