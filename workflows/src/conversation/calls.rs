//! What a conversation's handle does: one activity each.

use std::future::Future;

use notekeeper_contract::{
    AddMessages, AddMessagesInput, AddMessagesOutput, ClearMessages, ClearMessagesInput,
    ClearMessagesOutput, DescribeMemory, DescribeMemoryInput, FailureType, Forget, ForgetInput,
    Forgotten, GetMessages, GetMessagesInput, GetMessagesOutput, ListFacts, ListFactsInput,
    ListFactsOutput, MemoryDescription, MemoryPlace, MessageForm, OperationRef, Outcome, Recall,
    RecallForm, RecallInput, RecallOutput, Remember, RememberInput, Remembered,
};
use serde::Serialize;
use serde_json::Value;
use temporalio_workflow::WorkflowContext;

use super::Conversation;
use crate::{
    CallFailure,
    activity_call::{CallOptions, call},
};

impl Conversation {
    /// The messages, oldest first, each as it was added: all, or at most `limit`, the most recent ones.
    ///
    /// What one result can't carry comes with further activities, one after the other.
    ///
    /// # Errors
    ///
    /// The activity's failure: `Unsupported` where the store keeps no transcripts; `InvalidArgument` where
    /// somebody cleared the conversation meanwhile.
    pub fn messages<'c, W>(
        &'c self,
        ctx: &'c WorkflowContext<W>,
        limit: Option<u64>,
    ) -> impl Future<Output = Result<Vec<Value>, CallFailure>> + 'c {
        let request = self.selection(MessageForm::Whole, None, limit);
        let first = call(ctx, GetMessages, request.clone(), self.options());
        async move {
            let mut page = first.await?;
            let mut messages = std::mem::take(&mut page.messages);
            while page.cursor.is_some() {
                page = self.page(ctx, request.clone(), page.cursor).await?;
                messages.append(&mut page.messages);
            }
            Ok(messages)
        }
    }

    /// Adds messages at the end, side by side and in their order: JSON objects with a `role`, such as
    /// [`ChatMessage`](notekeeper_contract::ChatMessage), or in the form of a model's API. No messages change
    /// nothing; the answer tells where the conversation ends.
    ///
    /// # Errors
    ///
    /// The activity's failure: `InvalidArgument` for what is no message, and for more than 1,000;
    /// `TooLarge`, also for messages that have more than 1.5 MiB together as JSON, in which case
    /// nothing is scheduled; `Unsupported` where the store keeps no transcripts.
    pub fn add<'c, W>(
        &'c self,
        ctx: &'c WorkflowContext<W>,
        messages: impl IntoIterator<Item = impl Serialize>,
    ) -> impl Future<Output = Result<AddMessagesOutput, CallFailure>> + 'c {
        let values: Result<Vec<Value>, _> =
            messages.into_iter().map(serde_json::to_value).collect();
        let scheduled = values.map(|values| {
            let operation = self.new_operation(ctx, "add_messages");
            self.add_as(ctx, values, operation)
        });
        async move {
            match scheduled {
                Ok(scheduled) => scheduled.await,
                Err(_) => Err(CallFailure::new(
                    FailureType::InvalidArgument,
                    "a message is not JSON",
                )),
            }
        }
    }

    /// Removes all messages that are there. What is added later stays, also where this runs again.
    ///
    /// # Errors
    ///
    /// The activity's failure.
    pub fn clear<'c, W>(
        &'c self,
        ctx: &'c WorkflowContext<W>,
    ) -> impl Future<Output = Result<ClearMessagesOutput, CallFailure>> + 'c {
        let input = ClearMessagesInput {
            store: self.store(),
            workspace: self.workspace(),
            scope: self.scope_ref(),
            conversation: self.id().as_str().to_owned(),
            operation: Some(self.new_operation(ctx, "clear_messages")),
        };
        call(ctx, ClearMessages, input, self.options())
    }

    /// Keeps a fact of the scope, in place of the one that has its key. A key or value that can't be
    /// kept is a refused result.
    ///
    /// # Errors
    ///
    /// The activity's failure: `Unsupported` where the store keeps no facts; `TooLarge` for what no payload
    /// holds.
    pub fn remember<'c, W>(
        &'c self,
        ctx: &'c WorkflowContext<W>,
        key: impl Into<String>,
        value: impl Into<String>,
    ) -> impl Future<Output = Result<Outcome<Remembered>, CallFailure>> + 'c {
        let operation = self.new_operation(ctx, "remember");
        let input = self.remember_input(key.into(), value.into(), operation);
        call(ctx, Remember, input, self.options())
    }

    /// The values of the scope's facts that match a query, best first: at most `limit`, 1 to 1,000, and no
    /// more than one result carries, which [`Conversation::recall_facts`] tells. Nothing in the query is
    /// syntax; an empty one finds the facts that were remembered last.
    ///
    /// # Errors
    ///
    /// The activity's failure.
    pub fn recall<'c, W>(
        &'c self,
        ctx: &'c WorkflowContext<W>,
        query: impl Into<String>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<String>, CallFailure>> + 'c {
        let recalled = self.recalled(ctx, query.into(), limit, RecallForm::Values);
        async move { Ok(recalled.await?.values) }
    }

    /// As [`Conversation::recall`], with keys, scores and ages in `facts`; `truncated` where one result
    /// can't carry all that were found.
    ///
    /// # Errors
    ///
    /// The activity's failure.
    pub fn recall_facts<'c, W>(
        &'c self,
        ctx: &'c WorkflowContext<W>,
        query: impl Into<String>,
        limit: usize,
    ) -> impl Future<Output = Result<RecallOutput, CallFailure>> + 'c {
        self.recalled(ctx, query.into(), limit, RecallForm::Facts)
    }

    /// The scope's facts by key, compared by code point: at most `limit`, 1 to 1,000, of those after the key
    /// `after`, or of all. Where the answer says that there are `more`, the last key in it gives the others.
    ///
    /// # Errors
    ///
    /// The activity's failure: `InvalidArgument` for an `after` that no fact can have as its key.
    pub fn facts<'c, W>(
        &'c self,
        ctx: &'c WorkflowContext<W>,
        after: Option<&str>,
        limit: usize,
    ) -> impl Future<Output = Result<ListFactsOutput, CallFailure>> + use<'c, W> {
        let input = ListFactsInput {
            store: self.store(),
            workspace: self.workspace(),
            scope: self.scope_ref(),
            key: None,
            after: after.map(str::to_owned),
            limit,
        };
        call(ctx, ListFacts, input, self.options())
    }

    /// Removes the fact of a key; where there is none it succeeds as well.
    ///
    /// # Errors
    ///
    /// The activity's failure.
    pub fn forget<'c, W>(
        &'c self,
        ctx: &'c WorkflowContext<W>,
        key: impl Into<String>,
    ) -> impl Future<Output = Result<Outcome<Forgotten>, CallFailure>> + 'c {
        let operation = self.new_operation(ctx, "forget");
        let input = self.forget_input(key.into(), operation);
        call(ctx, Forget, input, self.options())
    }

    /// Asks the worker what the conversation's store keeps.
    pub(crate) async fn description<W>(
        &self,
        ctx: &WorkflowContext<W>,
    ) -> Result<Option<MemoryDescription>, CallFailure> {
        let place = MemoryPlace {
            store: self.store(),
            workspace: self.workspace(),
        };
        let input = DescribeMemoryInput {
            memories: vec![place],
        };
        let described = call(ctx, DescribeMemory, input, self.options()).await;
        // It is the one place that was asked for, and no memory of the input's.
        let described = described.map_err(|failure| failure.said_of("conversation"))?;
        Ok(described.memories.into_iter().next())
    }

    /// Adds messages under an operation that the caller knows.
    pub(crate) fn add_as<'c, W>(
        &'c self,
        ctx: &'c WorkflowContext<W>,
        messages: Vec<Value>,
        operation: OperationRef,
    ) -> impl Future<Output = Result<AddMessagesOutput, CallFailure>> + use<'c, W> {
        self.add_by(ctx, messages, operation, self.options())
    }

    /// As [`Self::add_as`], though the run be cancelled, and for `within_ms` at most.
    pub(crate) fn add_shielded<'c, W>(
        &'c self,
        ctx: &'c WorkflowContext<W>,
        messages: Vec<Value>,
        operation: OperationRef,
        within_ms: u64,
    ) -> impl Future<Output = Result<AddMessagesOutput, CallFailure>> + use<'c, W> {
        let options = self.options_within(within_ms).shielded();
        self.add_by(ctx, messages, operation, options)
    }

    fn add_by<'c, W>(
        &'c self,
        ctx: &'c WorkflowContext<W>,
        messages: Vec<Value>,
        operation: OperationRef,
        options: CallOptions,
    ) -> impl Future<Output = Result<AddMessagesOutput, CallFailure>> + use<'c, W> {
        let input = AddMessagesInput {
            store: self.store(),
            workspace: self.workspace(),
            scope: self.scope_ref(),
            conversation: self.id().as_str().to_owned(),
            messages,
            operation: Some(operation),
        };
        call(ctx, AddMessages, input, options)
    }

    /// The positions of the transcript, and the outlines of its newest messages, at most `limit`, none
    /// before `from`.
    pub(crate) async fn outlines<W>(
        &self,
        ctx: &WorkflowContext<W>,
        from: Option<u64>,
        limit: Option<u64>,
    ) -> Result<GetMessagesOutput, CallFailure> {
        match self.all_outlines(ctx, from, limit).await {
            // Somebody cleared the conversation between two answers: what there is now is asked for, once.
            Err((failure, true))
                if failure.failure_type() == Some(FailureType::InvalidArgument) =>
            {
                let again = self.all_outlines(ctx, from, limit).await;
                again.map_err(|(failure, _)| failure)
            }
            result => result.map_err(|(failure, _)| failure),
        }
    }

    /// A failure comes with whether there was an answer before it.
    async fn all_outlines<W>(
        &self,
        ctx: &WorkflowContext<W>,
        from: Option<u64>,
        limit: Option<u64>,
    ) -> Result<GetMessagesOutput, (CallFailure, bool)> {
        let request = self.selection(MessageForm::Outline, from, limit);
        let first = self.page(ctx, request.clone(), None).await;
        let mut all = first.map_err(|failure| (failure, false))?;
        while all.cursor.is_some() {
            let page = self.page(ctx, request.clone(), all.cursor).await;
            let page = page.map_err(|failure| (failure, true))?;
            all.outlines.extend(page.outlines);
            all.cursor = page.cursor;
        }
        Ok(all)
    }

    async fn page<W>(
        &self,
        ctx: &WorkflowContext<W>,
        request: GetMessagesInput,
        cursor: Option<String>,
    ) -> Result<GetMessagesOutput, CallFailure> {
        let request = GetMessagesInput { cursor, ..request };
        call(ctx, GetMessages, request, self.options()).await
    }

    fn selection(
        &self,
        form: MessageForm,
        from: Option<u64>,
        limit: Option<u64>,
    ) -> GetMessagesInput {
        GetMessagesInput {
            store: self.store(),
            workspace: self.workspace(),
            scope: self.scope_ref(),
            conversation: self.id().as_str().to_owned(),
            limit,
            cursor: None,
            from,
            form,
        }
    }

    fn recalled<'c, W>(
        &'c self,
        ctx: &'c WorkflowContext<W>,
        query: String,
        limit: usize,
        form: RecallForm,
    ) -> impl Future<Output = Result<RecallOutput, CallFailure>> + use<'c, W> {
        let input = self.recall_input(query, limit, form);
        call(ctx, Recall, input, self.options())
    }

    pub(super) fn remember_input(
        &self,
        key: String,
        value: String,
        operation: OperationRef,
    ) -> RememberInput {
        RememberInput {
            store: self.store(),
            workspace: self.workspace(),
            scope: self.scope_ref(),
            key,
            value,
            operation: Some(operation),
        }
    }

    pub(super) fn recall_input(
        &self,
        query: String,
        limit: usize,
        form: RecallForm,
    ) -> RecallInput {
        RecallInput {
            store: self.store(),
            workspace: self.workspace(),
            scope: self.scope_ref(),
            query,
            limit,
            form,
        }
    }

    pub(super) fn forget_input(&self, key: String, operation: OperationRef) -> ForgetInput {
        ForgetInput {
            store: self.store(),
            workspace: self.workspace(),
            scope: self.scope_ref(),
            key,
            operation: Some(operation),
        }
    }
}
