//! Transcripts, as [`TranscriptStore`] says.

use std::ops::Bound;

use async_trait::async_trait;
use notekeeper_domain::{ConversationId, Operation, Scope, StoredMessage};

use super::InMemoryStore;
use crate::{
    Conversations, ListedConversation, MessageSelection, MessagesAdded, MessagesCleared,
    MutationError, StoreError, TranscriptBounds, TranscriptPart, TranscriptStore,
    values::{check_messages, check_operation},
};

/// What was added to a conversation.
#[derive(Debug, Default)]
pub(super) struct Transcript {
    /// Position of the first message that is there.
    first: u64,
    /// Those that are there.
    messages: Vec<StoredMessage>,
}

impl Transcript {
    fn bounds(&self) -> TranscriptBounds {
        TranscriptBounds {
            first: self.first,
            next: self.first + self.messages.len() as u64,
        }
    }

    /// A part, of the scope that this is kept under.
    fn part(&self, scope: &Scope, selection: MessageSelection, bytes_max: usize) -> TranscriptPart {
        let bounds = self.bounds();
        let positions = selection.within(bounds);
        let index = |position: u64| usize::try_from(position - self.first).unwrap_or(usize::MAX);
        let selected = &self.messages[index(positions.start)..index(positions.end)];
        let mut bytes = 0_usize;
        let fitting = selected.iter().take_while(|message| {
            bytes = bytes.saturating_add(message.as_json().len());
            bytes <= bytes_max
        });
        let count = fitting.count().max(1).min(selected.len());
        TranscriptPart {
            messages: selected[..count].to_vec(),
            scopes: (count > 0)
                .then(|| scope.as_str().to_owned())
                .into_iter()
                .collect(),
            first: positions.start,
            bounds,
            more: count < selected.len(),
        }
    }
}

#[async_trait]
impl TranscriptStore for InMemoryStore {
    async fn add_messages(
        &self,
        scope: &Scope,
        conversation: &ConversationId,
        messages: &[StoredMessage],
        operation: Option<&Operation>,
    ) -> Result<MessagesAdded, MutationError> {
        operation.map_or(Ok(()), check_operation)?;
        check_messages(messages)?;
        let mut state = self.lock();
        let in_scope = state.scopes.entry(scope.clone()).or_default();
        if let Some(answer) = in_scope.receipts.answer(operation)? {
            return Ok(answer);
        }
        let transcript = in_scope.transcripts.entry(conversation.clone());
        let transcript = transcript.or_default();
        let first = transcript.bounds().next;
        transcript.messages.extend_from_slice(messages);
        let added = MessagesAdded {
            first,
            next: transcript.bounds().next,
            replayed: false,
        };
        in_scope.receipts.keep(operation, &added);
        Ok(added)
    }

    async fn clear_messages(
        &self,
        scope: &Scope,
        conversation: &ConversationId,
        operation: Option<&Operation>,
    ) -> Result<MessagesCleared, MutationError> {
        operation.map_or(Ok(()), check_operation)?;
        let mut state = self.lock();
        let in_scope = state.scopes.entry(scope.clone()).or_default();
        if let Some(answer) = in_scope.receipts.answer(operation)? {
            return Ok(answer);
        }
        let mut bounds = TranscriptBounds::default();
        if let Some(transcript) = in_scope.transcripts.get_mut(conversation) {
            bounds = transcript.bounds();
            transcript.messages.clear();
            transcript.first = bounds.next;
        }
        let cleared = MessagesCleared {
            first: bounds.first,
            next: bounds.next,
            replayed: false,
        };
        in_scope.receipts.keep(operation, &cleared);
        Ok(cleared)
    }

    async fn messages(
        &self,
        scope: &Scope,
        conversation: &ConversationId,
        selection: MessageSelection,
        bytes_max: usize,
    ) -> Result<TranscriptPart, StoreError> {
        let state = self.lock();
        let kept = state
            .kept(scope)
            .and_then(|(own, in_scope)| Some((own, in_scope.transcripts.get(conversation)?)));
        Ok(match kept {
            Some((own, transcript)) => transcript.part(own, selection, bytes_max),
            None => Transcript::default().part(scope, selection, bytes_max),
        })
    }

    async fn conversations(
        &self,
        scope: &Scope,
        after: Option<&ConversationId>,
        conversations_max: usize,
    ) -> Result<Conversations, StoreError> {
        let state = self.lock();
        let Some((own, in_scope)) = state.kept(scope) else {
            return Ok(Conversations::default());
        };
        let after = after.map_or(Bound::Unbounded, Bound::Excluded);
        let mut listed = in_scope.transcripts.range((after, Bound::Unbounded));
        let first = listed.by_ref().take(conversations_max);
        let first = first.map(|(id, transcript)| ListedConversation {
            scope: own.as_str().to_owned(),
            id: id.clone(),
            bounds: transcript.bounds(),
            updated_at: None,
        });
        Ok(Conversations {
            conversations: first.collect(),
            more: listed.next().is_some(),
        })
    }
}
