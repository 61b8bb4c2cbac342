//! Replacing the whole text of a note, as an editor does. No activity: models append, or replace a
//! passage that they name.

use std::sync::Arc;

use notekeeper_contract::{OperationRef, Outcome, ScopeRef, WrittenMemory};
use notekeeper_domain::{
    Fingerprint, NoteName, Operation, OperationId, Refusal, Scope, WriteMetadata, is_blank,
};
use notekeeper_store::{Expected, Receipt, Store, WriteRequest};
use tracing::{Instrument as _, field::Empty};

use crate::{
    Failure, Notebook, StoreAt, bounds,
    change::change,
    failure::{Stop, settle},
    metadata::check_kept,
    span::{operation_span, record_mutation},
    write_memory::written,
};

/// What to put in place of a note's text.
#[derive(Debug, Clone)]
pub struct ReplaceWhole {
    /// Name of the store.
    pub store: String,
    /// The workspace, for a store that keeps its files in the run's.
    pub workspace: Option<String>,
    /// Whose note.
    pub scope: ScopeRef,
    /// Name of the note; `.md` is added where it is missing.
    pub file: String,
    /// The whole new text, kept as it is. A blank one empties a note and makes none.
    pub content: String,
    /// What the note is expected to be.
    pub expected: ExpectedNote,
    /// Identity of this change.
    pub operation: OperationRef,
    /// Most characters of the new text; at least 1. The old one may be longer: this is the way to
    /// shorten a note that `write_memory` can't edit any more.
    pub max_memory_size: usize,
    /// What is recorded of the write beside the text; `None` for nothing.
    pub metadata: Option<WriteMetadata>,
}

/// What a note is expected to be before it is replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExpectedNote {
    /// Anything, or absent.
    Any,
    /// Absent.
    Absent,
    /// At this version.
    Version(String),
}

impl Notebook {
    /// Replaces the whole text of a note, or makes it.
    ///
    /// # Errors
    ///
    /// As [`Notebook::write`].
    pub async fn replace_whole(
        &self,
        input: ReplaceWhole,
    ) -> Result<Outcome<WrittenMemory>, Failure> {
        settle(self.try_replace(input).await)
    }

    async fn try_replace(&self, input: ReplaceWhole) -> Result<WrittenMemory, Stop> {
        let store = self.stores.get(&input.store, input.workspace.as_deref())?;
        let chars_max = bounds::at_least_one("max_memory_size", input.max_memory_size)?;
        let expected = match &input.expected {
            ExpectedNote::Any => Expected::Any,
            ExpectedNote::Absent => Expected::Absent,
            ExpectedNote::Version(version) => bounds::expected(Some(version))?,
        };
        if input.metadata.is_some() {
            check_kept(&store)?;
        }
        let name = NoteName::from_tool(&input.file)?;
        check_content(&input.content, chars_max)?;
        let scope = input.scope.resolve()?;
        let operation = Operation {
            id: OperationId::parse(&input.operation.id)?,
            fingerprint: Fingerprint::of_whole_write(&scope, &name, &input.content),
        };

        let span = operation_span!(
            "memory.replace",
            self,
            store,
            scope,
            memory.chars = Empty,
            memory.replayed = Empty,
        );
        let request = WriteRequest {
            metadata: input.metadata.as_ref(),
            ..WriteRequest::new(&input.content, &expected)
        };
        let result = commit(&store, &scope, &name, &request, &operation)
            .instrument(span.clone())
            .await;
        record_mutation(&span, &result, "ok");
        written(&name, result?)
    }
}

fn check_content(content: &str, chars_max: usize) -> Result<(), Refusal> {
    if content.contains('\0') {
        return Err(Refusal::Nul {
            argument: "content",
        });
    }
    let chars = content.chars().count();
    if chars > chars_max {
        return Err(Refusal::TooLarge { chars, chars_max });
    }
    Ok(())
}

async fn commit(
    store: &StoreAt<'_>,
    scope: &Scope,
    name: &NoteName,
    request: &WriteRequest<'_>,
    operation: &Operation,
) -> Result<Receipt, Stop> {
    let replace = async |store: Arc<dyn Store>| {
        if is_blank(request.content) && !matches!(request.expected, Expected::Version(_)) {
            let answered = store.receipt(scope, operation).await?;
            if answered.is_none() && store.read(scope, name, 1).await?.is_none() {
                return Err(Refusal::EmptyContent.into());
            }
        }
        store.write(scope, name, request, Some(operation)).await
    };
    change(store, scope, name, operation, replace).await
}
