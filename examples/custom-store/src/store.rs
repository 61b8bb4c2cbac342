//! The store: the methods that Notekeeper asks for.

use std::{
    fs::File,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, RwLock},
};

use async_trait::async_trait;
use notekeeper_domain::{NoteName, Operation, Scope, char_prefix};
use notekeeper_store::{
    Expected, MutationError, Names, NotePart, NoteStore, Receipt, ReceiptStatus, Store, StoreError,
    WriteRequest, check_content, check_operation,
};

use crate::{
    file,
    shelf::{Change, Shelf},
};

/// Notes in one JSON file, of one process at a time. Clones share it.
#[derive(Debug, Clone)]
pub struct ShelfStore(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    /// What is on the disk, for readers, who never wait for it.
    shelf: RwLock<Arc<Shelf>>,
    /// Held by the one change that is being written.
    writing: Mutex<()>,
    _lock: File,
}

impl ShelfStore {
    /// Opens the file, which is made by the first change where it is missing. Reads and locks it at
    /// once, on the calling thread.
    ///
    /// # Errors
    ///
    /// [`StoreError::InvalidValue`] where the path is empty; [`StoreError::Unusable`] where the file
    /// is another process's or another program's, or can't be read.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        // A bare name has no directory to sync, and a program may change its own.
        let path = std::path::absolute(path).map_err(|_| StoreError::InvalidValue {
            field: "path",
            reason: "it is empty; name a file".to_owned(),
        })?;
        let lock = file::lock(&path)?;
        let shelf = file::load(&path)?;
        Ok(Self(Arc::new(Inner {
            path,
            shelf: RwLock::new(Arc::new(shelf)),
            writing: Mutex::new(()),
            _lock: lock,
        })))
    }

    /// Makes a change on a thread where waiting for a disk holds up nobody. It comes to its end there
    /// also where its caller gives up: then the receipt answers the repetition.
    async fn change(&self, change: Change) -> Result<Receipt, MutationError> {
        change.operation.as_ref().map_or(Ok(()), check_operation)?;
        let inner = Arc::clone(&self.0);
        tokio::task::spawn_blocking(move || inner.change(change))
            .await
            .map_err(|_| StoreError::Unexpected("a change panicked".to_owned()))?
    }
}

impl Inner {
    fn shelf(&self) -> Arc<Shelf> {
        Arc::clone(&self.shelf.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn put(&self, shelf: Shelf) {
        *self.shelf.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(shelf);
    }

    fn change(&self, change: Change) -> Result<Receipt, MutationError> {
        let _one_at_a_time = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut next = Shelf::clone(&self.shelf());
        // Refused: nothing was changed but the copy.
        let receipt = next.change(change)?;
        if receipt.replayed {
            return Ok(receipt);
        }
        if let Err(error) = file::save(&self.path, &next) {
            // The new file may be in its place all the same. What is told from now on is what is there.
            if let Ok(found) = file::load(&self.path) {
                self.put(found);
            }
            return Err(error.into());
        }
        self.put(next);
        Ok(receipt)
    }
}

#[async_trait]
impl NoteStore for ShelfStore {
    fn kind(&self) -> &'static str {
        "shelf"
    }

    async fn read(
        &self,
        scope: &Scope,
        name: &NoteName,
        chars_max: usize,
    ) -> Result<Option<NotePart>, StoreError> {
        let shelf = self.0.shelf();
        Ok(shelf.note(scope, name).map(|(own, note)| {
            let (content, truncated) = char_prefix(&note.content, chars_max);
            NotePart {
                // Where the note stands, not where it was looked for: sources compare the two.
                scope: own.to_owned(),
                content: content.to_owned(),
                truncated,
                version: note.version(),
                operation_id: note.operation_id.clone(),
                metadata: None,
            }
        }))
    }

    async fn write(
        &self,
        scope: &Scope,
        name: &NoteName,
        request: &WriteRequest<'_>,
        operation: Option<&Operation>,
    ) -> Result<Receipt, MutationError> {
        check_content("content", request.content)?;
        self.change(Change {
            scope: scope.clone(),
            name: name.clone(),
            expected: request.expected.clone(),
            operation: operation.cloned(),
            content: Some(request.content.to_owned()),
            status_if_absent: request.receipt_status(false),
            status_if_present: request.receipt_status(true),
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
        self.change(Change {
            scope: scope.clone(),
            name: name.clone(),
            expected: expected.clone(),
            operation: operation.cloned(),
            content: None,
            status_if_absent: ReceiptStatus::NotFound,
            status_if_present: ReceiptStatus::Deleted,
        })
        .await
    }

    async fn receipt(
        &self,
        scope: &Scope,
        operation: &Operation,
    ) -> Result<Option<Receipt>, MutationError> {
        check_operation(operation)?;
        self.0.shelf().receipt(scope, operation)
    }

    async fn names(&self, scope: &Scope, names_max: usize) -> Result<Names, StoreError> {
        let shelf = self.0.shelf();
        let Some(within) = shelf.compartment(scope) else {
            return Ok(Names::default());
        };
        // A name that somebody put into the file and that no operation accepts takes nobody's place.
        let mut valid = within
            .notes
            .keys()
            .filter_map(|name| NoteName::parse(name).ok());
        let names = valid.by_ref().take(names_max).collect();
        Ok(Names {
            names,
            more: valid.next().is_some(),
        })
    }
}

/// It keeps no texts of snapshots, so blocks come inline.
impl Store for ShelfStore {}
