//! The best messages of those that a query looks at.

use std::{cmp::Ordering, collections::BTreeSet};

use notekeeper_domain::{
    ConversationId, Item, Message, RecordIds, StoredMessage, is_blank, text_terms,
};
use serde_json::json;

use super::{
    super::kept_items::{cut, metadata},
    BYTES_MAX,
};
use crate::{Answer, SourceQuery};

/// Messages that are looked at before other tasks get their turn, in bytes of JSON.
const SHARE_BYTES: usize = 64 * 1024;

/// The best of the messages that were seen so far.
pub(super) struct Best<'q> {
    pub(super) source: &'q str,
    ids: &'q RecordIds,
    query: &'q SourceQuery,
    /// What is looked for.
    words: BTreeSet<String>,
    /// Best first.
    found: Vec<(Rank, Item)>,
    /// How much was looked at, in bytes of JSON.
    pub(super) bytes: usize,
    /// The same, since others had their turn.
    share: usize,
    /// Whether messages were left out that are older than those.
    pub(super) leaves_older: bool,
}

/// Where a message stands among others.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Rank {
    score: f64,
    /// Place of its conversation, the newest first.
    conversation: usize,
    position: u64,
}

impl Rank {
    fn is_before(&self, other: &Self) -> bool {
        let by_age = || {
            let conversation = self.conversation.cmp(&other.conversation);
            conversation.then(other.position.cmp(&self.position))
        };
        let by_score = other.score.partial_cmp(&self.score);
        by_score.unwrap_or(Ordering::Equal).then_with(by_age) == Ordering::Less
    }
}

impl<'q> Best<'q> {
    pub(super) fn new(source: &'q str, ids: &'q RecordIds, query: &'q SourceQuery) -> Self {
        Self {
            source,
            ids,
            query,
            words: text_terms(&query.text).into_iter().collect(),
            found: Vec::new(),
            bytes: 0,
            share: 0,
            leaves_older: false,
        }
    }

    pub(super) fn offer(
        &mut self,
        conversation: (usize, &ConversationId),
        position: u64,
        message: &StoredMessage,
    ) {
        self.bytes += message.as_json().len();
        self.share += message.as_json().len();
        let text = said(message);
        let is_ranked = !self.words.is_empty();
        let score = if is_ranked { self.shared(&text) } else { 0.0 };
        if is_blank(&text) || (is_ranked && score == 0.0) {
            return;
        }
        let (place, conversation) = conversation;
        let rank = Rank {
            score,
            conversation: place,
            position,
        };
        let (text, known) = cut(
            &text,
            metadata([
                ("conversation", json!(conversation.as_str())),
                ("position", json!(position)),
                ("role", json!(message.role())),
            ]),
        );
        if !self.query.condition.matches(&known) {
            return;
        }
        let place = self
            .found
            .partition_point(|(other, _)| other.is_before(&rank));
        if place < self.query.limit {
            let item = Item::new(text, self.source)
                .with_id(self.ids.id(&format!("{conversation}#{position}")))
                .with_metadata(known);
            self.found.insert(place, (rank, item));
            self.found.truncate(self.query.limit);
        }
    }

    /// Which part of the words that are looked for a text has.
    #[expect(clippy::cast_precision_loss, reason = "no query has so many words")]
    fn shared(&self, text: &str) -> f64 {
        let has: BTreeSet<String> = text_terms(text).into_iter().collect();
        let shared = self.words.intersection(&has);
        shared.count() as f64 / self.words.len() as f64
    }

    /// Whether others are to have their turn.
    pub(super) fn is_due(&mut self) -> bool {
        let is_due = self.share > SHARE_BYTES;
        if is_due {
            self.share = 0;
        }
        is_due
    }

    pub(super) fn is_enough(&self) -> bool {
        self.bytes >= BYTES_MAX
    }

    /// The answer, by what else there is.
    pub(super) fn answer(self, leaves_unlisted: bool) -> Answer {
        // Unranked ones come newest first: where there are as many as are wanted, no older one would follow.
        let wants_older = !self.words.is_empty() || self.found.len() < self.query.limit;
        let is_part = leaves_unlisted || (self.leaves_older && wants_older);
        let source = self.source;
        Answer::of(self.items()).looked_in_part(source, is_part)
    }

    fn items(self) -> Vec<Item> {
        let is_ranked = !self.words.is_empty();
        let items = self.found.into_iter().map(|(rank, item)| match is_ranked {
            true => item.with_score(rank.score),
            false => item,
        });
        items.collect()
    }
}

/// What a message says, without calls of tools and what stands in for other messages.
fn said(message: &StoredMessage) -> String {
    let mut texts: Vec<String> = Vec::new();
    for message in message.to_messages() {
        match message {
            Message::System { text } | Message::Assistant { text, .. } => texts.push(text),
            Message::Tool { content, .. } => texts.push(content),
            Message::User { parts } => {
                texts.extend(parts.iter().map(|part| part.text().to_owned()));
            }
        }
    }
    texts.retain(|text| !is_blank(text));
    texts.join("\n")
}
