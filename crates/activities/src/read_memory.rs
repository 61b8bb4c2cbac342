//! `read_memory`: the first characters of a note.

use notekeeper_contract::{MemoryContent, Outcome, RESULT_BYTES_MAX, ReadMemoryInput};
use notekeeper_domain::{NoteName, Refusal, WriteMetadata};
use notekeeper_store::StoreError;
use tracing::{Instrument as _, field::Empty};

use crate::{
    Failure, Notebook, bounds,
    encoded::{encoded_bytes, prefix_within},
    failure::{Stop, settle},
    span::{operation_span, record_count, record_stop},
};

impl Notebook {
    /// Reads the first characters of a note. What wouldn't fit into a result is cut as well, and
    /// the answer says so.
    ///
    /// # Errors
    ///
    /// As [`Notebook::write`].
    pub async fn read(&self, input: ReadMemoryInput) -> Result<Outcome<MemoryContent>, Failure> {
        settle(self.try_read(&input).await.map(within_result))
    }

    /// Reads as [`Notebook::read`] does, without the cut that makes a text fit into a result.
    ///
    /// # Errors
    ///
    /// As [`Notebook::write`].
    pub async fn read_whole(
        &self,
        input: ReadMemoryInput,
    ) -> Result<Outcome<MemoryContent>, Failure> {
        settle(self.try_read(&input).await)
    }

    async fn try_read(&self, input: &ReadMemoryInput) -> Result<MemoryContent, Stop> {
        let store = self.stores.get(&input.store, input.workspace.as_deref())?;
        let chars_max = bounds::at_least_one("max_memory_size", input.max_memory_size)?;
        let name = NoteName::from_tool(&input.file)?;
        let scope = input.scope.resolve()?;

        let span = operation_span!("memory.read", self, store, scope, memory.chars = Empty);
        let read = async {
            let part = async { store.open().await?.read(&scope, &name, chars_max).await };
            let part = part.await.map_err(|error| unreadable(error, &name))?;
            Ok(part.ok_or(Refusal::NotFound)?)
        };
        let part = read
            .instrument(span.clone())
            .await
            .inspect_err(|stop: &Stop| record_stop(&span, stop.code()))?;
        let content = MemoryContent {
            file: name.as_str().to_owned(),
            content: part.content,
            truncated: part.truncated,
            version: part.version.as_str().to_owned(),
            write_metadata: part
                .metadata
                .filter(|_| input.include_write_metadata)
                .map(WriteMetadata::into_entries),
        };
        span.record("memory.outcome", "ok");
        record_count(&span, "memory.chars", content.content.chars().count());
        Ok(content)
    }
}

/// A place that lets nobody read says which note it keeps from the model, and nothing else.
fn unreadable(error: StoreError, name: &NoteName) -> Stop {
    match error {
        StoreError::Denied(_) => Refusal::ReadRefused {
            what: name.as_str().to_owned(),
        }
        .into(),
        error => error.into(),
    }
}

/// Cuts the text so that the whole result fits. Control characters take six bytes each there.
fn within_result(mut whole: MemoryContent) -> MemoryContent {
    let bytes = encoded_bytes(&Outcome::Ok(&whole));
    if bytes > RESULT_BYTES_MAX {
        // The quotes around the text belong to it here, so they are given back.
        let frame_bytes = bytes - encoded_bytes(&whole.content) + 2;
        let end = prefix_within(&whole.content, RESULT_BYTES_MAX - frame_bytes).len();
        whole.content.truncate(end);
        whole.truncated = true;
    }
    whole
}
