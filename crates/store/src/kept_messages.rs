//! Parts of transcripts as rows of a database hold them.

use std::collections::BTreeSet;

use notekeeper_domain::{ConversationId, StoredMessage};

use crate::{
    Conversations, ListedConversation, MessageSelection, StoreError, TranscriptBounds,
    TranscriptPart,
    counts::{kept_position, position_of},
    kept_list::ListOfRows,
};

/// A selection as statements take it: the first position, the one after the last, and the most
/// messages.
pub(crate) fn limits(selection: MessageSelection) -> (i64, i64, i64) {
    match selection {
        MessageSelection::All => (0, i64::MAX, i64::MAX),
        MessageSelection::Newest(messages) => (0, i64::MAX, kept_position(messages)),
        MessageSelection::Range(from, to) => (kept_position(from), kept_position(to), i64::MAX),
    }
}

/// A part of a transcript while its rows come.
#[derive(Debug)]
pub(crate) struct PartOfRows {
    selection: MessageSelection,
    bytes_max: usize,
    bytes: usize,
    messages: Vec<StoredMessage>,
    scopes: BTreeSet<String>,
}

impl PartOfRows {
    pub(crate) fn new(selection: MessageSelection, bytes_max: usize) -> Self {
        Self {
            selection,
            bytes_max,
            bytes: 0,
            messages: Vec::new(),
            scopes: BTreeSet::new(),
        }
    }

    /// Takes the next message, with the scope of its row; `false` where it has no room.
    pub(crate) fn take(&mut self, scope: &str, json: &str) -> Result<bool, StoreError> {
        self.bytes = self.bytes.saturating_add(json.len());
        if self.bytes > self.bytes_max && !self.messages.is_empty() {
            return Ok(false);
        }
        let message = StoredMessage::from_json(json)
            .map_err(|_| StoreError::Unexpected("a message is not as it was added".to_owned()))?;
        self.messages.push(message);
        if !self.scopes.contains(scope) {
            self.scopes.insert(scope.to_owned());
        }
        Ok(true)
    }

    /// The part, by what its rows say of the whole.
    pub(crate) fn finish(self, (first, next): (i64, i64)) -> TranscriptPart {
        let bounds = bounds(first, next);
        let selected = self.selection.within(bounds);
        let end = selected.start + self.messages.len() as u64;
        TranscriptPart {
            messages: self.messages,
            scopes: self.scopes,
            first: selected.start,
            bounds,
            more: end < selected.end,
        }
    }
}

fn bounds(first: i64, next: i64) -> TranscriptBounds {
    TranscriptBounds {
        first: position_of(first),
        next: position_of(next),
    }
}

/// A row of a list of conversations, as databases have it: scope, id, first and next position, time.
pub(crate) type ConversationRow = (String, String, i64, i64, String);

/// A list of conversations while its rows come.
pub(crate) type ConversationsOfRows = ListOfRows<ConversationRow, ListedConversation>;

impl ConversationsOfRows {
    /// The first `conversations_max` conversations after an id.
    pub(crate) fn of_conversations(
        after: Option<&ConversationId>,
        conversations_max: usize,
    ) -> Self {
        let after = after.map(ConversationId::as_str);
        Self::new(after, conversations_max, |row| {
            let (scope, id, first, next, updated_at) = row;
            let listed = ConversationId::parse(&id).map(|id| ListedConversation {
                scope,
                id,
                bounds: bounds(first, next),
                updated_at: Some(updated_at),
            });
            (id, listed.ok())
        })
    }
}

impl From<ConversationsOfRows> for Conversations {
    fn from(list: ConversationsOfRows) -> Self {
        let (conversations, more, skipped) = list.finish();
        if skipped > 0 {
            tracing::warn!(
                skipped,
                "the store holds conversations that no operation accepts"
            );
        }
        Self {
            conversations,
            more,
        }
    }
}
