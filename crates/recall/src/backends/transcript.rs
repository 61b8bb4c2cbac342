//! The source over the transcripts of a store.

mod best;

use std::{cmp::Reverse, ops::Range, sync::Arc};

use async_trait::async_trait;
use notekeeper_domain::{ConversationId, Item, LISTED_MAX, RecordIds};
use notekeeper_store::{ListedConversation, MessageSelection, Store, TranscriptStore};

use self::best::Best;
use super::{kept_items::lacks, own_rows};
use crate::{
    Answer, OpenStores, Source, SourceCall, SourceError, SourceQuery, WriteOperation, Written,
};

/// Conversations of a scope that are looked through where none is named.
const CONVERSATIONS_MAX: usize = 20;

/// Conversations of a scope that are listed to see which are the newest.
const LISTED_IN_ALL_MAX: usize = 10 * LISTED_MAX;

/// Newest messages of a conversation that are looked through.
const MESSAGES_MAX: u64 = 1_000;

/// Fewest messages that are asked for at once, and most.
const STEP_MIN: u64 = 32;
const STEP_MAX: u64 = 512;

/// About how much a query looks through in all, in bytes of JSON.
const BYTES_MAX: usize = 8 * 1024 * 1024;

/// Most messages that are read at a time, in bytes of JSON.
const PAGE_BYTES: usize = 1024 * 1024;

/// A source over what was said: in one conversation, or in the 20 of the scope that something was added
/// to last, of the first 10,000 by id; of those that were in one second the first by id count as newer. Of
/// each the newest 1,000 messages are looked through, the newest conversation first, until it were about
/// 8 MiB. It can't be written to.
///
/// A message's score is which part of the query's different [terms](text_terms) it has, 0 to 1; folded, so
/// that case and accents make no difference. One without any isn't found; of two that have as many the newer comes
/// first. A query without words finds the newest messages, unranked. The item is what the message says,
/// of a longer one the first [`ITEM_CHARS_MAX`](notekeeper_domain::ITEM_CHARS_MAX) characters, with
/// `message:STORE/CONVERSATION#POSITION` as id, `conversation`, `position` and `role` as metadata, and
/// `truncated` where it isn't all.
#[derive(Debug)]
pub struct TranscriptSource {
    name: String,
    stores: Arc<dyn OpenStores>,
    store: String,
    ids: RecordIds,
    conversation: Option<ConversationId>,
}

impl TranscriptSource {
    /// A source over the transcripts of the store with this name: over one conversation, or over those of
    /// the call's scope.
    pub fn new(
        name: impl Into<String>,
        stores: Arc<dyn OpenStores>,
        store: impl Into<String>,
        conversation: Option<ConversationId>,
    ) -> Self {
        let store = store.into();
        Self {
            name: name.into(),
            stores,
            ids: RecordIds::of_messages(&store),
            store,
            conversation,
        }
    }

    /// Which conversations are looked through, the newest first.
    async fn conversations(
        &self,
        transcripts: &dyn TranscriptStore,
        call: &SourceCall<'_>,
    ) -> Result<Chosen, SourceError> {
        if let Some(one) = &self.conversation {
            return Ok(Chosen {
                ids: vec![one.clone()],
                ..Chosen::default()
            });
        }
        let mut chosen = Chosen::default();
        let mut newest: Vec<ListedConversation> = Vec::new();
        let mut after: Option<ConversationId> = None;
        let mut listed = 0;
        loop {
            let page = transcripts
                .conversations(call.scope, after.as_ref(), LISTED_MAX)
                .await?;
            let listed_scopes = page.conversations.iter().map(|listed| &*listed.scope);
            own_rows(&self.name, call, listed_scopes)?;
            after = page.conversations.last().map(|listed| listed.id.clone());
            listed += page.conversations.len();
            newest.extend(page.conversations);
            newest.sort_by_key(|listed| Reverse(listed.updated_at.clone()));
            // One that was cleared has nothing to find.
            chosen.leaves_older |= newest
                .drain(CONVERSATIONS_MAX.min(newest.len())..)
                .any(|listed| listed.bounds.first < listed.bounds.next);
            if !page.more || after.is_none() || listed >= LISTED_IN_ALL_MAX {
                chosen.leaves_unlisted = page.more;
                chosen.ids = newest.into_iter().map(|listed| listed.id).collect();
                return Ok(chosen);
            }
        }
    }
}

/// Conversations that are looked through, and whether there are others.
#[derive(Default)]
struct Chosen {
    ids: Vec<ConversationId>,
    /// Whether there are older ones with messages.
    leaves_older: bool,
    /// Whether there are some that nobody knows how old they are.
    leaves_unlisted: bool,
}

fn transcripts(store: &dyn Store) -> Result<&dyn TranscriptStore, SourceError> {
    store
        .transcripts()
        .ok_or_else(|| lacks(store, "keeps no transcripts", "name another store"))
}

/// Offers the newest messages of a conversation, from step to step backwards, so that where there are too
/// many the older ones are left out. Steps are small where messages are large.
async fn look_through(
    transcripts: &dyn TranscriptStore,
    conversation: (usize, &ConversationId),
    call: &SourceCall<'_>,
    best: &mut Best<'_>,
) -> Result<(), SourceError> {
    let mut step = STEP_MIN;
    let mut selection = MessageSelection::Newest(step);
    let mut left = MESSAGES_MAX;
    loop {
        let before = best.bytes;
        let seen = look_at(transcripts, conversation, call, selection, best).await?;
        let (seen, oldest) = seen;
        left = left.saturating_sub(seen.end - seen.start);
        if seen.is_empty() || left == 0 || best.is_enough() {
            best.leaves_older |= seen.start > oldest;
            return Ok(());
        }
        if best.bytes - before < PAGE_BYTES / 4 {
            step = (2 * step).min(STEP_MAX);
        }
        let from = seen.start.saturating_sub(step.min(left));
        selection = MessageSelection::Range(from, seen.start);
    }
}

/// Offers the messages of a selection, page by page, and says which there were, and which is the oldest of all
/// that there are.
async fn look_at(
    transcripts: &dyn TranscriptStore,
    conversation: (usize, &ConversationId),
    call: &SourceCall<'_>,
    mut selection: MessageSelection,
    best: &mut Best<'_>,
) -> Result<(Range<u64>, u64), SourceError> {
    let mut seen: Option<Range<u64>> = None;
    loop {
        let part = transcripts
            .messages(call.scope, conversation.1, selection, PAGE_BYTES)
            .await?;
        let scopes = part.scopes.iter().map(String::as_str);
        // Messages that say of no scope that they are its own are nobody's.
        let unsaid = (part.scopes.is_empty() && !part.messages.is_empty()).then_some("");
        own_rows(best.source, call, scopes.chain(unsaid))?;
        let mut next = part.first;
        for message in &part.messages {
            best.offer(conversation, next, message);
            next += 1;
            if best.is_due() {
                tokio::task::yield_now().await;
            }
        }
        let start = seen.map_or(part.first, |seen| seen.start);
        let end = match selection {
            MessageSelection::Range(_, end) => end,
            _ => part.bounds.next,
        };
        // A store that says that there are more and has none to give is not asked for ever.
        if !part.more || part.messages.is_empty() || best.bytes >= 2 * BYTES_MAX {
            best.leaves_older |= part.more;
            return Ok((start..next, part.bounds.first));
        }
        seen = Some(start..next);
        selection = MessageSelection::Range(next, end);
    }
}

#[async_trait]
impl Source for TranscriptSource {
    fn name(&self) -> &str {
        &self.name
    }

    async fn query(
        &self,
        query: &SourceQuery,
        call: &SourceCall<'_>,
    ) -> Result<Answer, SourceError> {
        if query.limit == 0 {
            return Ok(Answer::default());
        }
        let store = self.stores.open(&self.store, call).await?;
        let transcripts = transcripts(&*store)?;
        let mut best = Best::new(&self.name, &self.ids, query);
        let chosen = self.conversations(transcripts, call).await?;
        best.leaves_older = chosen.leaves_older;
        for (place, conversation) in chosen.ids.iter().enumerate() {
            look_through(transcripts, (place, conversation), call, &mut best).await?;
            if best.is_enough() {
                best.leaves_older |= place + 1 < chosen.ids.len();
                break;
            }
        }
        Ok(best.answer(chosen.leaves_unlisted))
    }

    async fn write(
        &self,
        items: &[Item],
        _operation: &WriteOperation,
        _call: &SourceCall<'_>,
    ) -> Result<Written, SourceError> {
        Ok(Written::nothing_of(items, &self.name))
    }

    fn accepts_writes(&self) -> bool {
        false
    }
}
