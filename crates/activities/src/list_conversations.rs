//! `list_conversations`: the conversations of a scope.

use notekeeper_contract::{
    ListConversationsInput, ListConversationsOutput, ListedConversation, RESULT_BYTES_MAX,
};
use notekeeper_domain::{CONVERSATION_ID_BYTES_MAX, LISTED_MAX};
use tracing::{Instrument as _, field::Empty};

use crate::{
    Failure, Notebook,
    span::{operation_span, record_count, record_stop},
    transcripts::{check_keeps_transcripts, conversation_id, listed_limit, transcripts},
};

/// Most bytes of a conversation in a list: its id, each byte of which may be escaped, and the rest.
const ENTRY_BYTES_MAX: usize = 2 * CONVERSATION_ID_BYTES_MAX + 256;

// A list never has to be cut.
const _: () = assert!(LISTED_MAX * ENTRY_BYTES_MAX + 256 < RESULT_BYTES_MAX);

impl Notebook {
    /// Lists conversations by id, those that were cleared among them.
    ///
    /// # Errors
    ///
    /// As [`Notebook::get_messages`].
    pub async fn list_conversations(
        &self,
        input: ListConversationsInput,
    ) -> Result<ListConversationsOutput, Failure> {
        let at = self.stores.get(&input.store, input.workspace.as_deref())?;
        check_keeps_transcripts(&at)?;
        let limit = listed_limit(input.limit)?;
        let after = input.after.as_deref();
        let after = after.map(|id| conversation_id("after", id)).transpose()?;
        let scope = input.scope.resolve()?;

        let span = operation_span!(
            "memory.list_conversations",
            self,
            at,
            scope,
            memory.conversations = Empty,
            memory.truncated = Empty,
        );
        let list = async {
            let store = at.open().await?;
            let transcripts = transcripts(&at, store.as_ref())?;
            Ok(transcripts
                .conversations(&scope, after.as_ref(), limit)
                .await?)
        };
        let listed = list
            .instrument(span.clone())
            .await
            .inspect_err(|failure: &Failure| record_stop(&span, failure.kind.as_str()))?;
        span.record("memory.outcome", "ok");
        record_count(&span, "memory.conversations", listed.conversations.len());
        span.record("memory.truncated", listed.more);
        let conversations = listed.conversations.into_iter();
        Ok(ListConversationsOutput {
            conversations: conversations
                .map(|listed| ListedConversation {
                    conversation: listed.id.as_str().to_owned(),
                    first: listed.bounds.first,
                    next: listed.bounds.next,
                    updated_at: listed.updated_at,
                })
                .collect(),
            more: listed.more,
        })
    }
}
