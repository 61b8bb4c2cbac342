//! `add_messages`: more messages at the end of a conversation.

use notekeeper_contract::{AddMessagesInput, AddMessagesOutput};
use notekeeper_domain::{
    ConversationId, Fingerprint, MESSAGES_ADDED_MAX, Operation, Scope, StoredMessage,
};
use notekeeper_store::{MessageSelection, MessagesAdded};
use tracing::{Instrument as _, field::Empty};

use crate::{
    Caller, Failure, Notebook, StoreAt, fault,
    notebook::operation_id,
    span::{operation_span, record_count, record_done, record_stop},
    transcripts::{check_keeps_transcripts, conversation_id, stored_messages, transcripts},
};

impl Notebook {
    /// Adds messages at the end of a conversation, side by side and in their order. No messages change
    /// nothing, and the answer says where the end is.
    ///
    /// # Errors
    ///
    /// A [`Failure`], after which nothing was added: `InvalidArgument` or `TooLarge` for a message
    /// that can't be kept, with its index; `Unsupported` for a store that keeps no transcripts;
    /// `OperationConflict`; and those of other operations.
    pub async fn add_messages(
        &self,
        input: AddMessagesInput,
        caller: &Caller,
    ) -> Result<AddMessagesOutput, Failure> {
        let at = self.stores.get(&input.store, input.workspace.as_deref())?;
        check_keeps_transcripts(&at)?;
        let conversation = conversation_id("conversation", &input.conversation)?;
        check_count(input.messages.len())?;
        let messages = stored_messages(input.messages)?;
        let scope = input.scope.resolve()?;
        let operation = Operation {
            id: operation_id(input.operation.as_ref(), caller)?,
            fingerprint: Fingerprint::of_added_messages(&conversation, &messages),
        };

        let span = operation_span!(
            "memory.add_messages",
            self,
            at,
            scope,
            memory.messages = Empty,
            memory.replayed = Empty,
        );
        let added = async {
            match messages.as_slice() {
                [] => end(&at, &scope, &conversation).await,
                messages => commit(&at, &scope, &conversation, messages, &operation).await,
            }
        };
        let added = added
            .instrument(span.clone())
            .await
            .inspect_err(|failure| record_stop(&span, failure.kind.as_str()))?;
        record_done(&span, added.replayed, "ok");
        record_count(&span, "memory.messages", messages.len());
        Ok(AddMessagesOutput {
            first: added.first,
            next: added.next,
            replayed: added.replayed,
        })
    }
}

fn check_count(count: usize) -> Result<(), Failure> {
    if count <= MESSAGES_ADDED_MAX {
        return Ok(());
    }
    Err(Failure::invalid(format!(
        "`messages` has {count} messages, {MESSAGES_ADDED_MAX} are allowed; add them in several calls"
    )))
}

async fn commit(
    at: &StoreAt<'_>,
    scope: &Scope,
    conversation: &ConversationId,
    messages: &[StoredMessage],
    operation: &Operation,
) -> Result<MessagesAdded, Failure> {
    fault::reach(fault::ADD_MESSAGES_BEFORE_COMMIT)?;
    let store = at.open().await?;
    let added = transcripts(at, store.as_ref())?
        .add_messages(scope, conversation, messages, Some(operation))
        .await?;
    fault::reach(fault::ADD_MESSAGES_AFTER_COMMIT)?;
    Ok(added)
}

/// What adding nothing comes to.
async fn end(
    at: &StoreAt<'_>,
    scope: &Scope,
    conversation: &ConversationId,
) -> Result<MessagesAdded, Failure> {
    let store = at.open().await?;
    let part = transcripts(at, store.as_ref())?
        .messages(scope, conversation, MessageSelection::Newest(0), 0)
        .await?;
    Ok(MessagesAdded {
        first: part.bounds.next,
        next: part.bounds.next,
        replayed: false,
    })
}
