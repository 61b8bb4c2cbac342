//! `list_memory`: the notes of a scope, without their text.

use futures::{StreamExt as _, TryStreamExt as _, stream};
use notekeeper_contract::{ListMemoryInput, ListedMemory, MemoryFile, RESULT_BYTES_MAX};
use notekeeper_domain::{NoteName, Scope};
use notekeeper_store::{Store, StoreError};
use tracing::{Instrument as _, field::Empty};

use crate::{
    Failure, Notebook, bounds,
    encoded::encoded_bytes,
    span::{operation_span, record_stop},
};

/// Notes that are looked at together: enough to hide the way to a database, few enough to leave
/// its connections to others.
const LOOKS_AT_A_TIME: usize = 4;

impl Notebook {
    /// Lists the notes of a scope, ascending by name. What wouldn't fit into a result is left out
    /// from the end, and the answer says so.
    ///
    /// # Errors
    ///
    /// As [`Notebook::write`].
    pub async fn list(&self, input: ListMemoryInput) -> Result<ListedMemory, Failure> {
        let store = self.stores.get(&input.store)?;
        let files_max = bounds::at_least_one("max_files", input.max_files)?;
        let scope = input.scope.resolve()?;

        let span = operation_span!(
            "memory.list",
            store,
            scope,
            memory.files = Empty,
            memory.truncated = Empty,
        );
        let listed = listed(store.as_ref(), &scope, files_max)
            .instrument(span.clone())
            .await
            .map_err(Failure::from)
            .inspect_err(|failure| record_stop(&span, failure.kind.as_str()))?;
        let listed = within_result(listed);
        span.record("memory.outcome", "ok");
        span.record("memory.files", listed.files.len());
        span.record("memory.truncated", listed.truncated);
        Ok(listed)
    }
}

async fn listed(
    store: &dyn Store,
    scope: &Scope,
    files_max: usize,
) -> Result<ListedMemory, StoreError> {
    let names = store.names(scope, files_max).await?;
    let looks = names.names.into_iter().map(|name| look(store, scope, name));
    let files: Vec<Option<MemoryFile>> = stream::iter(looks)
        .buffered(LOOKS_AT_A_TIME)
        .try_collect()
        .await?;
    Ok(ListedMemory {
        // One that was deleted since its name was read is no note any more.
        files: files.into_iter().flatten().collect(),
        truncated: names.more,
    })
}

async fn look(
    store: &dyn Store,
    scope: &Scope,
    name: NoteName,
) -> Result<Option<MemoryFile>, StoreError> {
    let whole = store
        .read(scope, &name, bounds::any_number(usize::MAX))
        .await?;
    Ok(whole.map(|note| MemoryFile {
        file: name.as_str().to_owned(),
        version: note.version.as_str().to_owned(),
        chars: note.content.chars().count(),
    }))
}

/// Leaves out notes from the end until the whole result fits.
fn within_result(mut listed: ListedMemory) -> ListedMemory {
    let mut bytes = encoded_bytes(&listed);
    while bytes > RESULT_BYTES_MAX
        && let Some(last) = listed.files.pop()
    {
        // One more for the comma; `true` is shorter than `false`.
        bytes -= encoded_bytes(&last) + 1;
        listed.truncated = true;
    }
    listed
}
