//! Short forms of what the cases say again and again.

use notekeeper_domain::{ConversationId, Operation, Scope, StoredMessage};

use crate::{
    Conversations, MessageSelection, MessagesAdded, MessagesCleared, MutationError,
    TranscriptBounds, TranscriptPart, TranscriptStore,
};

/// One conversation of a store. Each case has its own scope, so cases share a store and don't meet.
pub(in super::super) struct Conversation<'s> {
    pub(in super::super) store: &'s dyn TranscriptStore,
    pub(in super::super) scope: Scope,
    pub(in super::super) id: ConversationId,
}

impl<'s> Conversation<'s> {
    pub(in super::super) fn new(store: &'s dyn TranscriptStore, scope: &str, id: &str) -> Self {
        Self {
            store,
            scope: Scope::parse(scope).expect("suite uses valid scopes"),
            id: ConversationId::parse(id).expect("suite uses valid ids"),
        }
    }

    /// Another one of the same scope.
    pub(super) fn beside(&self, id: &str) -> Self {
        Self::new(self.store, self.scope.as_str(), id)
    }

    /// Adds without an operation.
    pub(super) async fn say(&self, texts: &[&str]) -> MessagesAdded {
        self.add(texts, None).await.expect("adding succeeds")
    }

    pub(in super::super) async fn add(
        &self,
        texts: &[&str],
        operation: Option<&Operation>,
    ) -> Result<MessagesAdded, MutationError> {
        let messages: Vec<_> = texts.iter().map(|text| message(text)).collect();
        self.add_messages(&messages, operation).await
    }

    pub(super) async fn add_messages(
        &self,
        messages: &[StoredMessage],
        operation: Option<&Operation>,
    ) -> Result<MessagesAdded, MutationError> {
        self.store
            .add_messages(&self.scope, &self.id, messages, operation)
            .await
    }

    pub(in super::super) async fn clear(
        &self,
        operation: Option<&Operation>,
    ) -> Result<MessagesCleared, MutationError> {
        self.store
            .clear_messages(&self.scope, &self.id, operation)
            .await
    }

    pub(super) async fn part(
        &self,
        selection: MessageSelection,
        bytes_max: usize,
    ) -> TranscriptPart {
        let part = self
            .store
            .messages(&self.scope, &self.id, selection, bytes_max)
            .await
            .expect("messages answers");
        let scopes: Vec<&str> = part.scopes.iter().map(String::as_str).collect();
        let own = (!part.messages.is_empty()).then_some(self.scope.as_str());
        assert_eq!(
            scopes,
            own.as_slice(),
            "messages say their scope, which is the caller's alone"
        );
        part
    }

    /// All of it, as one part.
    pub(super) async fn whole(&self) -> TranscriptPart {
        let part = self.part(MessageSelection::All, usize::MAX).await;
        assert!(!part.more, "all that there is has no more after it");
        assert_eq!(
            (part.first, part.first + part.messages.len() as u64),
            (part.bounds.first, part.bounds.next),
            "all that there is fills the bounds"
        );
        part
    }

    /// What the messages say that are there, of those that [`message`] made.
    pub(in super::super) async fn texts(&self) -> Vec<String> {
        said(&self.whole().await)
    }

    pub(super) async fn bounds(&self) -> (u64, u64) {
        let TranscriptBounds { first, next } = self.whole().await.bounds;
        (first, next)
    }

    pub(super) async fn listed(&self, after: Option<&str>, most: usize) -> Conversations {
        let after = after.map(|id| ConversationId::parse(id).expect("suite uses valid ids"));
        let listed = self
            .store
            .conversations(&self.scope, after.as_ref(), most)
            .await
            .expect("conversations answers");
        for listed in &listed.conversations {
            assert_eq!(
                listed.scope,
                self.scope.as_str(),
                "each conversation says its scope, which is the caller's alone"
            );
        }
        listed
    }
}

/// A message of a user. `text` needs no escapes in JSON.
pub(in super::super) fn message(text: &str) -> StoredMessage {
    stored(&format!(r#"{{"role":"user","content":"{text}"}}"#))
}

pub(super) fn stored(json: &str) -> StoredMessage {
    StoredMessage::from_json(json).expect("suite uses valid messages")
}

/// What the messages of a part say, of those that [`message`] made.
pub(super) fn said(part: &TranscriptPart) -> Vec<String> {
    let texts = part.messages.iter().map(|message| {
        let content = message.object().get("content");
        let content = content.and_then(|content| content.as_str());
        content.expect("what was added has a text").to_owned()
    });
    texts.collect()
}

pub(super) fn added(first: u64, next: u64) -> MessagesAdded {
    MessagesAdded {
        first,
        next,
        replayed: false,
    }
}

pub(super) fn cleared(first: u64, next: u64) -> MessagesCleared {
    MessagesCleared {
        first,
        next,
        replayed: false,
    }
}
