//! Notes, as [`NoteStore`] says.

use std::sync::Arc;

use async_trait::async_trait;
use notekeeper_domain::{
    MainNote, MainPart, NoteName, Notebook, Operation, OperationId, Refusal, Scan, Scope,
    SearchAnswer, SearchLimits, SearchQuery, Version, WriteMetadata, char_prefix, char_suffix,
};

use super::InMemoryStore;
use crate::{
    EditRequest, Expected, ListedNote, Listing, MutationError, Names, NotePart, NoteStore,
    NotebookBounds, Receipt, ReceiptStatus, StoreError, WriteRequest,
    scoring::score,
    values::{check_content, check_edit, check_operation},
};

#[derive(Debug)]
pub(super) struct Note {
    /// Shared with searches, which go on after the lock was given back.
    content: Arc<str>,
    version: Version,
    operation_id: Option<OperationId>,
    metadata: Option<WriteMetadata>,
}

impl InMemoryStore {
    /// The first notes of a scope by name, all at one moment, and whether there are more.
    fn first_notes(&self, scope: &Scope, notes_max: usize) -> (Vec<(NoteName, Arc<str>)>, bool) {
        let state = self.lock();
        let Some(in_scope) = state.scopes.get(scope) else {
            return (Vec::new(), false);
        };
        let notes = in_scope.notes.iter().take(notes_max);
        let notes = notes.map(|(name, note)| (name.clone(), Arc::clone(&note.content)));
        (notes.collect(), in_scope.notes.len() > notes_max)
    }

    /// A mutation: receipt, expectation, change, receipt. `change` gives the new text (`None`:
    /// no note) from the current one. The kind is what the journal calls it.
    fn mutate(
        &self,
        scope: &Scope,
        (kind, name): (&str, &NoteName),
        expected: &Expected,
        operation: Option<&Operation>,
        metadata: Option<&WriteMetadata>,
        change: impl FnOnce(Option<&str>) -> Result<(Option<String>, ReceiptStatus), Refusal>,
    ) -> Result<Receipt, MutationError> {
        if let Some(operation) = operation {
            check_operation(operation)?;
        }
        let state = &mut *self.lock();
        let in_scope = state.scopes.entry(scope.clone()).or_default();
        if let Some(receipt) = in_scope.receipts.answer(operation)? {
            return Ok(receipt);
        }
        let current = in_scope.notes.get(name);
        if !expected.is_met_by(current.map(|note| &note.version)) {
            return Err(MutationError::VersionConflict);
        }
        let existed = current.is_some();
        let (text, status) = change(current.map(|note| &*note.content))?;
        // An edit can make a text that neither the note nor the edit was.
        text.as_deref()
            .map_or(Ok(()), |text| check_content("content", text))?;
        let version = text.is_some().then(|| {
            state.last_version += 1;
            Version::new(state.last_version.to_string())
        });
        let receipt = Receipt {
            status,
            version: version.clone(),
            chars: text.as_deref().map(|text| text.chars().count()),
            existed,
            replayed: false,
        };
        match text.zip(version) {
            Some((content, version)) => {
                let operation_id = operation.map(|o| o.id.clone());
                in_scope.notes.insert(
                    name.clone(),
                    Note {
                        content: content.into(),
                        version,
                        operation_id,
                        metadata: metadata.cloned(),
                    },
                );
            }
            None => drop(in_scope.notes.remove(name)),
        }
        let receipts = &mut in_scope.receipts;
        receipts.keep_change(operation, kind, (scope, name), &receipt);
        Ok(receipt)
    }
}

#[async_trait]
impl NoteStore for InMemoryStore {
    fn kind(&self) -> &'static str {
        "in_memory"
    }

    async fn read(
        &self,
        scope: &Scope,
        name: &NoteName,
        chars_max: usize,
    ) -> Result<Option<NotePart>, StoreError> {
        let state = self.lock();
        let note = state
            .kept(scope)
            .and_then(|(own, in_scope)| Some((own, in_scope.notes.get(name)?)));
        Ok(note.map(|(own, note)| {
            let (content, truncated) = char_prefix(&note.content, chars_max);
            NotePart {
                scope: own.as_str().to_owned(),
                content: content.to_owned(),
                truncated,
                version: note.version.clone(),
                operation_id: note.operation_id.as_ref().map(|id| id.as_str().to_owned()),
                metadata: note.metadata.clone(),
            }
        }))
    }

    async fn edit(
        &self,
        scope: &Scope,
        name: &NoteName,
        request: &EditRequest<'_>,
        operation: &Operation,
    ) -> Result<Receipt, MutationError> {
        check_edit(request.edit)?;
        let (expected, metadata) = (&request.expected, request.metadata);
        self.mutate(
            scope,
            ("edit", name),
            expected,
            Some(operation),
            metadata,
            |current| {
                let applied = request.edit.apply(current, request.note_chars_max)?;
                Ok((Some(applied.text), applied.status.into()))
            },
        )
    }

    async fn write(
        &self,
        scope: &Scope,
        name: &NoteName,
        request: &WriteRequest<'_>,
        operation: Option<&Operation>,
    ) -> Result<Receipt, MutationError> {
        check_content("content", request.content)?;
        let metadata = request.metadata;
        self.mutate(
            scope,
            ("write", name),
            request.expected,
            operation,
            metadata,
            |current| {
                Ok((
                    Some(request.content.to_owned()),
                    request.receipt_status(current.is_some()),
                ))
            },
        )
    }

    async fn delete(
        &self,
        scope: &Scope,
        name: &NoteName,
        expected: &Expected,
        operation: Option<&Operation>,
    ) -> Result<Receipt, MutationError> {
        let deletion = ("delete", name);
        self.mutate(scope, deletion, expected, operation, None, |current| {
            Ok((None, ReceiptStatus::of_deletion(current.is_some())))
        })
    }

    async fn receipt(
        &self,
        scope: &Scope,
        operation: &Operation,
    ) -> Result<Option<Receipt>, MutationError> {
        check_operation(operation)?;
        self.lock().scopes.get(scope).map_or(Ok(None), |in_scope| {
            in_scope.receipts.answer(Some(operation))
        })
    }

    async fn names(&self, scope: &Scope, names_max: usize) -> Result<Names, StoreError> {
        let state = self.lock();
        let Some(in_scope) = state.scopes.get(scope) else {
            return Ok(Names::default());
        };
        Ok(Names {
            names: in_scope.notes.keys().take(names_max).cloned().collect(),
            more: in_scope.notes.len() > names_max,
        })
    }

    async fn list(&self, scope: &Scope, notes_max: usize) -> Result<Listing, StoreError> {
        let state = self.lock();
        let Some(in_scope) = state.scopes.get(scope) else {
            return Ok(Listing::default());
        };
        let notes = in_scope.notes.iter().take(notes_max);
        let notes = notes.map(|(name, note)| ListedNote {
            name: name.clone(),
            version: note.version.clone(),
            chars: note.content.chars().count(),
            updated_at: None,
            metadata: note.metadata.clone(),
        });
        Ok(Listing {
            notes: notes.collect(),
            more: in_scope.notes.len() > notes_max,
        })
    }

    async fn notebook(
        &self,
        scope: &Scope,
        bounds: NotebookBounds,
    ) -> Result<Notebook, StoreError> {
        let state = self.lock();
        let Some(in_scope) = state.scopes.get(scope) else {
            return Ok(Notebook::default());
        };
        let main = in_scope.notes.get(&NoteName::main()).map(|note| {
            let (content, cut) = char_suffix(&note.content, bounds.main_chars_max);
            let part = if cut { MainPart::Tail } else { MainPart::Whole };
            MainNote {
                content: content.to_owned(),
                part,
            }
        });
        let mut others = in_scope
            .notes
            .keys()
            .filter(|name| !name.is_main() && name.as_str().ends_with(".md"))
            .map(|name| name.as_str().to_owned());
        let names = others.by_ref().take(bounds.names_max).collect();
        Ok(Notebook {
            main,
            names,
            more_names: others.next().is_some(),
        })
    }

    async fn search(
        &self,
        scope: &Scope,
        query: &SearchQuery,
        limits: &SearchLimits,
    ) -> Result<SearchAnswer, StoreError> {
        let (notes, more) = self.first_notes(scope, limits.files_max);
        let mut scan = Scan::new(query, *limits);
        for (name, content) in &notes {
            score(&mut scan, name.as_str(), content).await;
        }
        Ok(scan.finish(notes.len(), more))
    }

    fn keeps_metadata(&self) -> bool {
        true
    }
}
