//! The notes of the store.

use async_trait::async_trait;
use notekeeper_domain::{
    NoteName, Notebook, Operation, Scope, SearchAnswer, SearchLimits, SearchQuery,
};

use super::{
    fault::Fault,
    listing,
    mutation::{Mutation, What, settled},
    reading,
    store::{FileStore, Work},
};
use crate::{
    EditRequest, Expected, Listing, MutationError, Names, NotePart, NoteStore, NotebookBounds,
    Receipt, SnapshotStore, Store, StoreError, WriteRequest,
    kept_receipt::Outcome,
    values::{check_content, check_edit, check_operation},
};

#[async_trait]
impl NoteStore for FileStore {
    fn kind(&self) -> &'static str {
        "file"
    }

    async fn read(
        &self,
        scope: &Scope,
        name: &NoteName,
        chars_max: usize,
    ) -> Result<Option<NotePart>, StoreError> {
        let (scope, name) = (scope.clone(), name.clone());
        let seen = self.run(move |work| reading::read(work, &scope, &name, chars_max));
        Ok(seen.await?.map(|seen| seen.part))
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
        self.mutate(Mutation {
            scope: scope.clone(),
            name: name.clone(),
            expected: request.expected.clone(),
            operation: Some(operation.clone()),
            what: What::Edit {
                edit: request.edit.clone(),
                note_chars_max: request.note_chars_max,
            },
        })
        .await
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
        self.mutate(Mutation {
            scope: scope.clone(),
            name: name.clone(),
            expected: request.expected.clone(),
            operation: operation.cloned(),
            what: What::Whole {
                content: request.content.to_owned(),
                status: request.status,
            },
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
        self.mutate(Mutation {
            scope: scope.clone(),
            name: name.clone(),
            expected: expected.clone(),
            operation: operation.cloned(),
            what: What::Deletion,
        })
        .await
    }

    async fn receipt(
        &self,
        scope: &Scope,
        operation: &Operation,
    ) -> Result<Option<Receipt>, MutationError> {
        check_operation(operation)?;
        let (scope, operation) = (scope.clone(), operation.clone());
        let found = self.run(move |work| receipt(work, &scope, &operation));
        found.await?.transpose()
    }

    async fn names(&self, scope: &Scope, names_max: usize) -> Result<Names, StoreError> {
        let scope = scope.clone();
        self.run(move |work| listing::names(work, &scope, names_max, |_| true))
            .await
    }

    async fn list(&self, scope: &Scope, notes_max: usize) -> Result<Listing, StoreError> {
        let scope = scope.clone();
        self.run(move |work| listing::list(work, &scope, notes_max))
            .await
    }

    async fn notebook(
        &self,
        scope: &Scope,
        bounds: NotebookBounds,
    ) -> Result<Notebook, StoreError> {
        let scope = scope.clone();
        self.run(move |work| listing::notebook(work, &scope, bounds))
            .await
    }

    async fn search(
        &self,
        scope: &Scope,
        query: &SearchQuery,
        limits: &SearchLimits,
    ) -> Result<SearchAnswer, StoreError> {
        let (scope, query, limits) = (scope.clone(), query.clone(), *limits);
        self.run(move |work| listing::search(work, &scope, &query, &limits))
            .await
    }
}

impl FileStore {
    async fn mutate(&self, mutation: Mutation) -> Outcome {
        if self.is_read_only() {
            return settled(self.run(move |work| mutation.run(work)).await);
        }
        settled(self.run_alone(move |work| mutation.run(work)).await)
    }
}

fn receipt(
    work: &Work<'_>,
    scope: &Scope,
    operation: &Operation,
) -> Result<Option<Outcome>, Fault> {
    let Some(journal) = work.readable_journal() else {
        return Ok(None);
    };
    let looked = work.wait(journal.receipt(scope, operation))?;
    // Whoever was at it died before it wrote the receipt, or is about to write it.
    if looked.receipt.is_none() && looked.in_progress && !work.is_read_only() {
        return Err(Fault::InProgress);
    }
    Ok(looked.receipt)
}

impl Store for FileStore {
    fn snapshots(&self) -> Option<&dyn SnapshotStore> {
        // Texts could be read where nothing may be kept, but which of them are there?
        (!self.is_read_only()).then_some(self)
    }
}
