//! The part of a stored transcript that a model request names.

use notekeeper_contract::{ConversationRange, ConversationSummary, FailureType};
use notekeeper_domain::{ConversationId, Message, REQUEST_MESSAGES_MAX, Scope};
use notekeeper_store::MessageSelection;

use crate::{
    Failure, ModelRequests, StoreAt,
    kept_text::{check_digest, kept_text, missing},
    transcripts::{LAST_POSITION, check_keeps_transcripts, conversation_id, transcripts},
};

/// Most bytes of their JSON: some two million tokens. A worker holds them for as long as the model
/// takes, with each of the requests in its hands.
const BYTES_MAX: usize = 8 * 1024 * 1024;

/// What is read of them at once.
const READ_BYTES: usize = 2 * 1024 * 1024;

/// A range of a transcript, with what it says.
pub(crate) struct StoredRange {
    /// The text of the summary of what came before.
    pub(crate) summary: Option<String>,
    /// The messages that are there, as models read them.
    pub(crate) messages: Vec<Message>,
    /// Position of the oldest message that is there of the whole transcript.
    pub(crate) oldest: u64,
}

/// A range, checked.
struct Place<'a> {
    at: StoreAt<'a>,
    scope: Scope,
    conversation: ConversationId,
    from: u64,
    to: u64,
}

impl ModelRequests {
    /// Fetches what a range names. Messages of it that were cleared are not there; a store that is away
    /// is a failure that is tried again, because a request without its conversation is another one.
    pub(crate) async fn stored_range(
        &self,
        range: &ConversationRange,
    ) -> Result<StoredRange, Failure> {
        let place = self.place(range)?;
        let (messages, oldest) = place.messages().await?;
        // The messages that a summary stands for are before the range. Where none is there any more, the
        // conversation was cleared after the summary was made.
        let stands_for_something = oldest < range.from;
        let summary = match &range.summary {
            Some(summary) if stands_for_something => Some(place.summary(summary).await?),
            _ => None,
        };
        Ok(StoredRange {
            summary,
            messages,
            oldest,
        })
    }

    fn place(&self, range: &ConversationRange) -> Result<Place<'_>, Failure> {
        let at = self.stores.get(&range.store, range.workspace.as_deref())?;
        check_keeps_transcripts(&at)?;
        let conversation = conversation_id("conversation.conversation", &range.conversation)?;
        if range.from > range.to {
            return Err(Failure::invalid(
                "`conversation.from` is after `conversation.to`; give the positions of the first \
                 message and after the last",
            ));
        }
        if let Some(ConversationSummary::Reference { digest }) = &range.summary {
            check_digest(
                "conversation.summary.digest",
                digest,
                "`summarize_messages`",
            )?;
        }
        Ok(Place {
            at,
            scope: range.scope.resolve()?,
            conversation,
            from: range.from,
            to: range.to,
        })
    }
}

impl Place<'_> {
    async fn messages(&self) -> Result<(Vec<Message>, u64), Failure> {
        let store = self.at.open().await?;
        let transcripts = transcripts(&self.at, store.as_ref())?;
        let (mut messages, mut count, mut bytes) = (Vec::new(), 0, 0);
        let mut from = self.from.min(LAST_POSITION);
        loop {
            let rest = MessageSelection::Range(from, self.to.min(LAST_POSITION));
            let part = transcripts
                .messages(&self.scope, &self.conversation, rest, READ_BYTES)
                .await?;
            if part.bounds.next < self.to {
                return Err(self.ends_before(part.bounds.next));
            }
            from = part.first;
            for message in part.messages {
                from += 1;
                count += 1;
                bytes += message.as_json().len();
                if count > REQUEST_MESSAGES_MAX || bytes > BYTES_MAX {
                    return Err(too_large());
                }
                messages.extend(message.to_messages());
            }
            if !part.more {
                return Ok((messages, part.bounds.first));
            }
        }
    }

    async fn summary(&self, summary: &ConversationSummary) -> Result<String, Failure> {
        let digest = match summary {
            ConversationSummary::Inline { text } => return Ok(text.clone()),
            ConversationSummary::Reference { digest } => digest,
        };
        kept_text(&self.at, &self.scope, digest)
            .await?
            .map_err(|why| missing("the summary in `conversation`", why, "send its text"))
    }

    /// Positions never go back, so this is another database, or one that lost something.
    fn ends_before(&self, next: u64) -> Failure {
        Failure::invalid(format!(
            "`conversation.to` is {}, and the conversation ends at {next}; take the positions from \
             `get_messages`",
            self.to
        ))
    }
}

fn too_large() -> Failure {
    Failure::new(
        FailureType::TooLarge,
        format!(
            "`conversation` names more than {REQUEST_MESSAGES_MAX} messages, or {BYTES_MAX} bytes of them; \
             name fewer, with a history policy that sends the latest messages or a summary of the \
             others"
        ),
    )
}
