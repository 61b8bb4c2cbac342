//! `write_memory`: append to a note, or replace one passage.

use std::sync::Arc;

use notekeeper_contract::{Outcome, WriteMemoryInput, WrittenMemory};
use notekeeper_domain::{Edit, Fingerprint, NoteName, Operation, Scope};
use notekeeper_store::{EditRequest, Receipt, Store, StoreError};
use tracing::{Instrument as _, field::Empty};

use crate::{
    Caller, Failure, Notebook, StoreAt, WriteCall, bounds,
    change::change,
    failure::{Stop, settle},
    fault,
    metadata::Resolved,
    notebook::operation_id,
    span::{operation_span, record_mutation},
};

impl Notebook {
    /// Appends to a note, or replaces one passage of it.
    ///
    /// Checked in this order: the settings of the call, the name, the content, the scope and the
    /// operation; then the store looks for the receipt, for what the caller expects, and at the
    /// note itself. A resolver of metadata is asked where there is no receipt.
    ///
    /// # Errors
    ///
    /// A [`Failure`] for what the model can't correct; what it can correct is a refusal.
    pub async fn write(
        &self,
        input: WriteMemoryInput,
        caller: &Caller,
    ) -> Result<Outcome<WrittenMemory>, Failure> {
        settle(self.try_write(input, caller).await)
    }

    async fn try_write(
        &self,
        input: WriteMemoryInput,
        caller: &Caller,
    ) -> Result<WrittenMemory, Stop> {
        let store = self.stores.get(&input.store, input.workspace.as_deref())?;
        let note_chars_max = bounds::at_least_one("max_memory_size", input.max_memory_size)?;
        let expected = bounds::expected(input.expected_version.as_deref())?;
        let source = self.metadata_source(input.write_metadata, &store)?;
        let name = NoteName::from_tool(&input.file)?;
        let edit = Edit::new(input.content, input.old_text)?;
        let scope = input.scope.resolve()?;
        let operation = Operation {
            id: operation_id(input.operation.as_ref(), caller)?,
            fingerprint: fingerprint(&scope, &name, &edit),
        };
        let call = WriteCall {
            store: &input.store,
            scope: &scope,
            note: &name,
            operation: &operation.id,
            caller,
        };

        let span = operation_span!(
            "memory.write",
            self,
            store,
            scope,
            memory.chars = Empty,
            memory.replayed = Empty,
        );
        let write = async {
            let metadata = match source.resolved(&store, &call, &operation).await? {
                Resolved::Repetition(receipt) => return Ok(receipt),
                Resolved::Metadata(metadata) => metadata,
            };
            let request = EditRequest {
                edit: &edit,
                note_chars_max,
                expected,
                metadata: metadata.as_ref(),
            };
            commit(&store, &scope, &name, &request, &operation).await
        };
        let result = write.instrument(span.clone()).await;
        record_mutation(&span, &result, "ok");
        written(&name, result?)
    }
}

async fn commit(
    store: &StoreAt<'_>,
    scope: &Scope,
    name: &NoteName,
    request: &EditRequest<'_>,
    operation: &Operation,
) -> Result<Receipt, Stop> {
    fault::reach(fault::WRITE_BEFORE_COMMIT)?;
    let edit = async |store: Arc<dyn Store>| store.edit(scope, name, request, operation).await;
    let receipt = change(store, scope, name, operation, edit).await?;
    fault::reach(fault::WRITE_AFTER_COMMIT)?;
    Ok(receipt)
}

fn fingerprint(scope: &Scope, name: &NoteName, edit: &Edit) -> Fingerprint {
    let (content, old_text) = match edit {
        Edit::Append { content } => (content, None),
        Edit::Replace { old_text, content } => (content, Some(old_text.as_str())),
    };
    Fingerprint::of_write(scope, name, content, old_text)
}

pub(crate) fn written(name: &NoteName, receipt: Receipt) -> Result<WrittenMemory, Stop> {
    let version = receipt.version.ok_or_else(|| {
        StoreError::Unexpected("the receipt of a write has no version".to_owned())
    })?;
    Ok(WrittenMemory {
        file: name.as_str().to_owned(),
        version: version.as_str().to_owned(),
        replayed: receipt.replayed,
        status: receipt.status.code().to_owned(),
    })
}
