//! The transcripts of the store.

use async_trait::async_trait;
use notekeeper_domain::{ConversationId, Operation, Scope, StoredMessage};

use super::{
    attempts::{Repeatable, attempted},
    messages::{Target, conversations, messages},
    receipt::repeatable,
    store::PostgresStore,
};
use crate::{
    Conversations, MessageSelection, MessagesAdded, MessagesCleared, MutationError, StoreError,
    TranscriptPart, TranscriptStore,
    values::{check_messages, check_operation},
};

#[async_trait]
impl TranscriptStore for PostgresStore {
    async fn add_messages(
        &self,
        scope: &Scope,
        conversation: &ConversationId,
        messages: &[StoredMessage],
        operation: Option<&Operation>,
    ) -> Result<MessagesAdded, MutationError> {
        operation.map_or(Ok(()), check_operation)?;
        check_messages(messages)?;
        let target = Target {
            scope,
            conversation,
            operation,
        };
        attempted!(self, repeatable(operation), |connection| target
            .add(connection, messages))?
    }

    async fn clear_messages(
        &self,
        scope: &Scope,
        conversation: &ConversationId,
        operation: Option<&Operation>,
    ) -> Result<MessagesCleared, MutationError> {
        operation.map_or(Ok(()), check_operation)?;
        let target = Target {
            scope,
            conversation,
            operation,
        };
        attempted!(self, repeatable(operation), |connection| target
            .clear(connection))?
    }

    async fn messages(
        &self,
        scope: &Scope,
        conversation: &ConversationId,
        selection: MessageSelection,
        bytes_max: usize,
    ) -> Result<TranscriptPart, StoreError> {
        attempted!(self, Repeatable::Always, |connection| messages(
            connection,
            scope,
            conversation,
            selection,
            bytes_max
        ))
    }

    async fn conversations(
        &self,
        scope: &Scope,
        after: Option<&ConversationId>,
        conversations_max: usize,
    ) -> Result<Conversations, StoreError> {
        attempted!(self, Repeatable::Always, |connection| conversations(
            connection,
            scope,
            after,
            conversations_max
        ))
    }
}
