//! What is done with transcripts, in both ways alike.

use notekeeper_activities::Notebook;
use notekeeper_contract::{
    AddMessages, AddMessagesInput, AddMessagesOutput, ClearMessages, ClearMessagesInput,
    ClearMessagesOutput, GetMessages, GetMessagesInput, GetMessagesOutput, ListConversations,
    ListConversationsInput, ListConversationsOutput, MessageForm,
};
use notekeeper_domain::LISTED_MAX;

use crate::commands::access::{Access, ScopeArgs, failed, nobody};

impl Access {
    pub(super) async fn messages(
        &self,
        input: GetMessagesInput,
    ) -> anyhow::Result<GetMessagesOutput> {
        match self {
            Self::Store(opened) => {
                let notebook = Notebook::new(opened.stores.clone());
                notebook.get_messages(input).await.map_err(failed)
            }
            Self::Temporal(remote) => remote.call(GetMessages, input).await,
        }
    }

    pub(super) async fn add_messages(
        &self,
        input: AddMessagesInput,
    ) -> anyhow::Result<AddMessagesOutput> {
        match self {
            Self::Store(opened) => {
                let notebook = Notebook::new(opened.stores.clone());
                let added = notebook.add_messages(input, &nobody()).await;
                added.map_err(failed)
            }
            Self::Temporal(remote) => remote.call(AddMessages, input).await,
        }
    }

    pub(super) async fn clear_messages(
        &self,
        input: ClearMessagesInput,
    ) -> anyhow::Result<ClearMessagesOutput> {
        match self {
            Self::Store(opened) => {
                let notebook = Notebook::new(opened.stores.clone());
                let cleared = notebook.clear_messages(input, &nobody()).await;
                cleared.map_err(failed)
            }
            Self::Temporal(remote) => remote.call(ClearMessages, input).await,
        }
    }

    async fn conversations(
        &self,
        input: ListConversationsInput,
    ) -> anyhow::Result<ListConversationsOutput> {
        match self {
            Self::Store(opened) => {
                let notebook = Notebook::new(opened.stores.clone());
                notebook.list_conversations(input).await.map_err(failed)
            }
            Self::Temporal(remote) => remote.call(ListConversations, input).await,
        }
    }

    /// As many conversations as are asked for, in as many answers as it takes.
    pub(super) async fn conversations_up_to(
        &self,
        mut input: ListConversationsInput,
    ) -> anyhow::Result<ListConversationsOutput> {
        let mut listed = ListConversationsOutput::default();
        let mut left = input.limit;
        loop {
            input.limit = left.min(LISTED_MAX);
            let answer = self.conversations(input.clone()).await?;
            left -= answer.conversations.len().min(left);
            listed.conversations.extend(answer.conversations);
            listed.more = answer.more;
            match listed.conversations.last() {
                Some(last) if answer.more && left > 0 => {
                    input.after = Some(last.conversation.clone());
                }
                _ => return Ok(listed),
            }
        }
    }
}

/// Asks for the messages of a conversation: at most the last so many, or all.
pub(super) fn asking(
    at: &ScopeArgs,
    conversation: &str,
    last: Option<u64>,
) -> anyhow::Result<GetMessagesInput> {
    Ok(GetMessagesInput {
        store: at.store.clone(),
        workspace: None,
        scope: at.scope()?,
        conversation: conversation.to_owned(),
        limit: last,
        cursor: None,
        from: None,
        form: MessageForm::Whole,
    })
}
