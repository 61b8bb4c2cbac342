//! `clear_messages`: a conversation without its messages.

use notekeeper_contract::{ClearMessagesInput, ClearMessagesOutput};
use notekeeper_domain::{ConversationId, Fingerprint, Operation, Scope};
use notekeeper_store::MessagesCleared;
use tracing::{Instrument as _, field::Empty};

use crate::{
    Caller, Failure, Notebook, StoreAt, fault,
    notebook::operation_id,
    span::{operation_span, record_done, record_stop},
    transcripts::{check_keeps_transcripts, conversation_id, transcripts},
};

impl Notebook {
    /// Removes all messages of a conversation. Facts stay, and the next message goes on where the
    /// last one was. A repetition removes nothing that was added since.
    ///
    /// # Errors
    ///
    /// As [`Notebook::add_messages`].
    pub async fn clear_messages(
        &self,
        input: ClearMessagesInput,
        caller: &Caller,
    ) -> Result<ClearMessagesOutput, Failure> {
        let at = self.stores.get(&input.store, input.workspace.as_deref())?;
        check_keeps_transcripts(&at)?;
        let conversation = conversation_id("conversation", &input.conversation)?;
        let scope = input.scope.resolve()?;
        let operation = Operation {
            id: operation_id(input.operation.as_ref(), caller)?,
            fingerprint: Fingerprint::of_cleared_messages(&conversation),
        };

        let span = operation_span!(
            "memory.clear_messages",
            self,
            at,
            scope,
            memory.messages = Empty,
            memory.replayed = Empty,
        );
        let cleared = commit(&at, &scope, &conversation, &operation)
            .instrument(span.clone())
            .await
            .inspect_err(|failure| record_stop(&span, failure.kind.as_str()))?;
        let count = cleared.next - cleared.first;
        record_done(&span, cleared.replayed, "ok");
        span.record("memory.messages", i64::try_from(count).unwrap_or(i64::MAX));
        Ok(ClearMessagesOutput {
            cleared: count,
            next: cleared.next,
            replayed: cleared.replayed,
        })
    }
}

async fn commit(
    at: &StoreAt<'_>,
    scope: &Scope,
    conversation: &ConversationId,
    operation: &Operation,
) -> Result<MessagesCleared, Failure> {
    fault::reach(fault::CLEAR_MESSAGES_BEFORE_COMMIT)?;
    let store = at.open().await?;
    let cleared = transcripts(at, store.as_ref())?
        .clear_messages(scope, conversation, Some(operation))
        .await?;
    fault::reach(fault::CLEAR_MESSAGES_AFTER_COMMIT)?;
    Ok(cleared)
}
