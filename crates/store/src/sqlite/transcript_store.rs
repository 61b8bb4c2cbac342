//! The transcripts of the store.

use async_trait::async_trait;
use notekeeper_domain::{ConversationId, Operation, Scope, StoredMessage};

use super::{
    attempts::attempted,
    messages::{Add, Clear, Target, conversations, messages},
    store::SqliteStore,
};
use crate::{
    Conversations, MessageSelection, MessagesAdded, MessagesCleared, MutationError, StoreError,
    TranscriptPart, TranscriptStore,
    values::{check_messages, check_operation},
};

#[async_trait]
impl TranscriptStore for SqliteStore {
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
        self.mutate(&Add { target, messages }).await?
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
        self.mutate(&Clear(target)).await?
    }

    async fn messages(
        &self,
        scope: &Scope,
        conversation: &ConversationId,
        selection: MessageSelection,
        bytes_max: usize,
    ) -> Result<TranscriptPart, StoreError> {
        attempted(self, |_| {
            messages(self, scope, conversation, selection, bytes_max)
        })
        .await
    }

    async fn conversations(
        &self,
        scope: &Scope,
        after: Option<&ConversationId>,
        conversations_max: usize,
    ) -> Result<Conversations, StoreError> {
        attempted(self, |_| {
            conversations(self, scope, after, conversations_max)
        })
        .await
    }
}
