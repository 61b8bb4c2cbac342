//! `list_memory`: the notes of a scope, without their text.

use notekeeper_contract::{ListMemoryInput, ListedMemory, MemoryFile, RESULT_BYTES_MAX};
use notekeeper_domain::WriteMetadata;
use notekeeper_store::Listing;
use tracing::{Instrument as _, field::Empty};

use crate::{
    Failure, Notebook, bounds,
    encoded::encoded_bytes,
    span::{operation_span, record_count, record_stop},
};

impl Notebook {
    /// Lists the notes of a scope, ascending by name. What wouldn't fit into a result is left out
    /// from the end, and the answer says so.
    ///
    /// # Errors
    ///
    /// As [`Notebook::write`].
    pub async fn list(&self, input: ListMemoryInput) -> Result<ListedMemory, Failure> {
        let store = self.stores.get(&input.store, input.workspace.as_deref())?;
        let files_max = bounds::at_least_one("max_files", input.max_files)?;
        let scope = input.scope.resolve()?;

        let span = operation_span!(
            "memory.list",
            self,
            store,
            scope,
            memory.files = Empty,
            memory.truncated = Empty,
        );
        let list = async { store.open().await?.list(&scope, files_max).await };
        let listing = list
            .instrument(span.clone())
            .await
            .map_err(Failure::from)
            .inspect_err(|failure| record_stop(&span, failure.kind.as_str()))?;
        let listed = within_result(to_wire(listing, input.include_write_metadata));
        span.record("memory.outcome", "ok");
        record_count(&span, "memory.files", listed.files.len());
        span.record("memory.truncated", listed.truncated);
        Ok(listed)
    }
}

fn to_wire(listing: Listing, with_metadata: bool) -> ListedMemory {
    let files = listing.notes.into_iter().map(|note| MemoryFile {
        file: note.name.as_str().to_owned(),
        version: note.version.as_str().to_owned(),
        chars: note.chars,
        updated_at: note.updated_at,
        write_metadata: note
            .metadata
            .filter(|_| with_metadata)
            .map(WriteMetadata::into_entries),
    });
    ListedMemory {
        files: files.collect(),
        truncated: listing.more,
    }
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
