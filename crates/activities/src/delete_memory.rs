//! `delete_memory`: delete a note other than the main one.

use std::sync::Arc;

use notekeeper_contract::{DeleteMemoryInput, DeletedMemory, Outcome};
use notekeeper_domain::{Fingerprint, NoteName, Operation, Refusal, Scope};
use notekeeper_store::{Expected, Receipt, Store};
use tracing::{Instrument as _, field::Empty};

use crate::{
    Caller, Failure, Notebook, StoreAt, bounds,
    change::change,
    failure::{Stop, settle},
    fault,
    notebook::operation_id,
    span::{operation_span, record_mutation},
};

impl Notebook {
    /// Deletes a note. The main note is protected; an absent one is `not_found`, which is done,
    /// not refused.
    ///
    /// # Errors
    ///
    /// As [`Notebook::write`].
    pub async fn delete(
        &self,
        input: DeleteMemoryInput,
        caller: &Caller,
    ) -> Result<Outcome<DeletedMemory>, Failure> {
        settle(self.try_delete(input, caller).await)
    }

    async fn try_delete(
        &self,
        input: DeleteMemoryInput,
        caller: &Caller,
    ) -> Result<DeletedMemory, Stop> {
        let store = self.stores.get(&input.store, input.workspace.as_deref())?;
        let expected = bounds::expected(input.expected_version.as_deref())?;
        let name = NoteName::from_tool(&input.file)?;
        if name.is_main() {
            return Err(Refusal::Protected.into());
        }
        let scope = input.scope.resolve()?;
        let operation = Operation {
            id: operation_id(input.operation.as_ref(), caller)?,
            fingerprint: Fingerprint::of_delete(&scope, &name),
        };

        let span = operation_span!("memory.delete", self, store, scope, memory.replayed = Empty);
        let result = commit(&store, &scope, &name, &expected, &operation)
            .instrument(span.clone())
            .await;
        let done = result
            .as_ref()
            .map_or("error", |receipt| receipt.status.code());
        record_mutation(&span, &result, done);
        let receipt = result?;
        Ok(DeletedMemory {
            file: name.as_str().to_owned(),
            version: None,
            replayed: receipt.replayed,
            status: receipt.status.code().to_owned(),
        })
    }
}

async fn commit(
    store: &StoreAt<'_>,
    scope: &Scope,
    name: &NoteName,
    expected: &Expected,
    operation: &Operation,
) -> Result<Receipt, Stop> {
    let delete =
        async |store: Arc<dyn Store>| store.delete(scope, name, expected, Some(operation)).await;
    let receipt = change(store, scope, name, operation, delete).await?;
    fault::reach(fault::DELETE_AFTER_COMMIT)?;
    Ok(receipt)
}
