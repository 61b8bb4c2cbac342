//! What is done with transcripts, in both ways alike.

use notekeeper_contract::{
    AddMessages, AddMessagesInput, AddMessagesOutput, ClearMessages, ClearMessagesInput,
    ClearMessagesOutput, GetMessages, GetMessagesInput, GetMessagesOutput, ListConversations,
    ListConversationsInput, ListConversationsOutput, MessageForm,
};

use crate::commands::access::{Access, ScopeArgs, as_many_as_asked, nobody};

impl Access {
    pub(super) async fn messages(
        &self,
        input: GetMessagesInput,
    ) -> anyhow::Result<GetMessagesOutput> {
        self.carry_out(GetMessages, input, async |notebook, input| {
            notebook.get_messages(input).await
        })
        .await
    }

    pub(super) async fn add_messages(
        &self,
        input: AddMessagesInput,
    ) -> anyhow::Result<AddMessagesOutput> {
        self.carry_out(AddMessages, input, async |notebook, input| {
            notebook.add_messages(input, &nobody()).await
        })
        .await
    }

    pub(super) async fn clear_messages(
        &self,
        input: ClearMessagesInput,
    ) -> anyhow::Result<ClearMessagesOutput> {
        self.carry_out(ClearMessages, input, async |notebook, input| {
            notebook.clear_messages(input, &nobody()).await
        })
        .await
    }

    /// As many conversations as are asked for, in as many answers as it takes.
    pub(super) async fn conversations_up_to(
        &self,
        input: ListConversationsInput,
    ) -> anyhow::Result<ListConversationsOutput> {
        let ask = async |after, limit| {
            let input = ListConversationsInput {
                after,
                limit,
                ..input.clone()
            };
            let answer = self
                .carry_out(ListConversations, input, async |notebook, input| {
                    notebook.list_conversations(input).await
                })
                .await?;
            Ok((answer.conversations, answer.more))
        };
        let (after, limit) = (input.after.clone(), input.limit);
        let (conversations, more) =
            as_many_as_asked(after, limit, |listed| &listed.conversation, ask).await?;
        Ok(ListConversationsOutput {
            conversations,
            more,
        })
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
