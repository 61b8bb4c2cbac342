//! Parts of transcripts as rows of a database hold them.

use std::collections::BTreeSet;

use notekeeper_domain::{ConversationId, StoredMessage};

use crate::{
    Conversations, ListedConversation, MessageSelection, StoreError, TranscriptBounds,
    TranscriptPart,
    counts::{kept_position, position_of},
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

impl Conversations {
    /// The first rows of a list that goes one further where there are more. Odd ids are passed over,
    /// as odd names of notes are.
    pub(crate) fn of_rows(mut rows: Vec<ConversationRow>, conversations_max: usize) -> Self {
        let more = rows.len() > conversations_max;
        rows.truncate(conversations_max);
        let listed = rows.len();
        let conversations: Vec<_> = rows
            .into_iter()
            .filter_map(|(scope, id, first, next, updated_at)| {
                Some(ListedConversation {
                    scope,
                    id: ConversationId::parse(&id).ok()?,
                    bounds: bounds(first, next),
                    updated_at: Some(updated_at),
                })
            })
            .collect();
        let skipped = listed - conversations.len();
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
