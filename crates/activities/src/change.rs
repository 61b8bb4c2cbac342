//! Changes of a note, where the place in which it is kept may refuse them.

use std::{future::Future, sync::Arc};

use notekeeper_domain::{NoteName, Operation, Refusal, Scope};
use notekeeper_store::{Denial, MutationError, Receipt, Store, StoreError};

use crate::{StoreAt, failure::Stop};

/// Changes a note, unless the workspace is read-only: then an operation that took effect before is
/// answered, and any other is refused.
///
/// What the place refuses is told to the model and names the note alone; whether the place can't be
/// reached is for Temporal to try again.
pub(crate) async fn change<F>(
    at: &StoreAt<'_>,
    scope: &Scope,
    name: &NoteName,
    operation: &Operation,
    mutate: impl FnOnce(Arc<dyn Store>) -> F,
) -> Result<Receipt, Stop>
where
    F: Future<Output = Result<Receipt, MutationError>>,
{
    let changed = async {
        let store = at.open().await?;
        if at.is_read_only() {
            let answered = store.receipt(scope, operation).await?;
            return answered.ok_or_else(|| read_only(name).into());
        }
        mutate(store).await
    };
    changed.await.map_err(|error| match error {
        MutationError::ReadOnly
        | MutationError::Store(StoreError::Denied(Denial::ReadOnlyFileSystem)) => {
            read_only(name).into()
        }
        MutationError::Store(StoreError::Denied(denial)) => {
            // The call succeeds, so nothing else tells whoever can make room or give a permission.
            tracing::warn!("a store of files refuses changes: {denial}");
            Refusal::WorkspaceRefused {
                file: name.as_str().to_owned(),
            }
            .into()
        }
        error => error.into(),
    })
}

fn read_only(name: &NoteName) -> Refusal {
    Refusal::ReadOnly {
        file: name.as_str().to_owned(),
    }
}
