//! The transcripts of a store: messages of conversations, in order.

use std::{collections::BTreeSet, ops::Range};

use async_trait::async_trait;
use notekeeper_domain::{ConversationId, Operation, Scope, StoredMessage};

use crate::{MutationError, StoreError};

/// Transcripts of conversations.
///
/// # Positions
///
/// Each message has a position in its conversation: the number of messages ever added before it.
/// Positions are dense, follow the order in which additions took effect, and never come back, not
/// even after the conversation was cleared. The messages that are there are one range, from
/// [`TranscriptBounds::first`] up to and without [`TranscriptBounds::next`]. A conversation that
/// nothing was ever added to has the bounds 0 and 0.
///
/// # Mutations
///
/// They do as those of notes do ([`NoteStore`](crate::NoteStore)): refuse what no store takes
/// ([`check_operation`](crate::check_operation), [`check_messages`](crate::check_messages)), look for
/// the operation's receipt, and change the transcript and keep the receipt in one step. Receipts of one
/// scope share one space of ids, those of notes and facts included: an id that another kind of mutation
/// used is an [`OperationConflict`](MutationError::OperationConflict), whatever its fingerprint, and
/// [`NoteStore::receipt`](crate::NoteStore::receipt) says the same of one that was used here.
#[async_trait]
pub trait TranscriptStore: Send + Sync {
    /// Adds messages at the end, side by side and in their order, 1 to
    /// [`MESSAGES_ADDED_MAX`](notekeeper_domain::MESSAGES_ADDED_MAX) of them.
    async fn add_messages(
        &self,
        scope: &Scope,
        conversation: &ConversationId,
        messages: &[StoredMessage],
        operation: Option<&Operation>,
    ) -> Result<MessagesAdded, MutationError>;

    /// Removes all messages whose addition had ended when this began, up to one position. Those of
    /// additions that are under way meanwhile go with them or stay, as additions that come later do: the
    /// answer says where it ended. What is added later stays, also where the same operation is
    /// repeated. A conversation that nothing was added to isn't made by it.
    async fn clear_messages(
        &self,
        scope: &Scope,
        conversation: &ConversationId,
        operation: Option<&Operation>,
    ) -> Result<MessagesCleared, MutationError>;

    /// The messages of a selection, ascending, as many from its beginning as have at most
    /// `bytes_max` bytes of JSON together; always at least one where the selection has any. They and
    /// the bounds are of one moment.
    async fn messages(
        &self,
        scope: &Scope,
        conversation: &ConversationId,
        selection: MessageSelection,
        bytes_max: usize,
    ) -> Result<TranscriptPart, StoreError>;

    /// The first `conversations_max` conversations of the scope after the one with the id `after`,
    /// ascending by code point of their ids; those that were cleared among them.
    async fn conversations(
        &self,
        scope: &Scope,
        after: Option<&ConversationId>,
        conversations_max: usize,
    ) -> Result<Conversations, StoreError>;
}

/// Which messages of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageSelection {
    /// All that are there.
    All,
    /// The newest ones, at most so many.
    Newest(u64),
    /// Those that are there of the positions from the first up to and without the second.
    Range(u64, u64),
}

impl MessageSelection {
    /// The positions that it selects of those that are there. An empty range ends where the
    /// selection does, as near to that as there are positions.
    pub fn within(self, bounds: TranscriptBounds) -> Range<u64> {
        let TranscriptBounds { first, next } = bounds;
        let (from, to) = match self {
            Self::All => (first, next),
            Self::Newest(messages) => (next.saturating_sub(messages), next),
            Self::Range(from, to) => (from, to),
        };
        let to = to.clamp(first, next);
        from.clamp(first, to)..to
    }
}

/// What adding messages came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessagesAdded {
    /// Position of the first of them.
    pub first: u64,
    /// Position after the last of them.
    pub next: u64,
    /// Whether this answer comes from the receipt of an earlier call.
    pub replayed: bool,
}

/// What clearing a conversation came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessagesCleared {
    /// Position of the first message that was there.
    pub first: u64,
    /// Position after the last one that was removed, and of the next that is added.
    pub next: u64,
    /// Whether this answer comes from the receipt of an earlier call.
    pub replayed: bool,
}

/// Which positions of a conversation hold messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TranscriptBounds {
    /// Position of the first message that is there.
    pub first: u64,
    /// Position of the next message that is added.
    pub next: u64,
}

/// A part of a transcript.
#[derive(Debug, Clone, PartialEq)]
pub struct TranscriptPart {
    /// The messages, ascending.
    pub messages: Vec<StoredMessage>,
    /// Path forms of the scopes that the rows of these messages belong to, as the store has them: who asks
    /// compares them. None where there is no message.
    pub scopes: BTreeSet<String>,
    /// Position of the first of them; where there is none, of the end of the selection within the
    /// bounds.
    pub first: u64,
    /// The bounds of the whole transcript.
    pub bounds: TranscriptBounds,
    /// Whether the selection has more messages, after these.
    pub more: bool,
}

/// Conversations of a scope.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Conversations {
    /// The conversations, ascending by id.
    pub conversations: Vec<ListedConversation>,
    /// Whether there are more.
    pub more: bool,
}

/// A conversation in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedConversation {
    /// Path form of the scope that the row belongs to, as the store has it: who asks compares it.
    pub scope: String,
    /// Its id.
    pub id: ConversationId,
    /// Where its messages are.
    pub bounds: TranscriptBounds,
    /// When a message was added or the conversation was cleared last, such as
    /// `2026-01-31T12:00:00Z`; `None` where the store keeps no times.
    pub updated_at: Option<String>,
}
