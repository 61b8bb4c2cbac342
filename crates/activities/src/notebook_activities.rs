//! The notebook's operations as activities.

#![expect(
    missing_docs,
    reason = "the macro makes a public constant of each activity and drops its documentation"
)]

use std::sync::Arc;

use notekeeper_contract::{
    AddMessagesInput, AddMessagesOutput, Argument, ClearMessagesInput, ClearMessagesOutput,
    DeleteMemoryInput, DeletedMemory, DescribeMemoryInput, DescribeMemoryOutput, ForgetInput,
    Forgotten, GetMessagesInput, GetMessagesOutput, ListConversationsInput,
    ListConversationsOutput, ListFactsInput, ListFactsOutput, ListMemoryInput, ListedMemory,
    LoadSnapshotInput, LoadSnapshotOutput, MemoryContent, MemoryMatches, Outcome, QuerySourceInput,
    QuerySourceOutput, ReadMemoryInput, RecallInput, RecallOutput, RememberInput, Remembered,
    SearchMemoryInput, WriteMemoryInput, WriteSourceInput, WriteSourceOutput, WrittenMemory,
};
use temporalio_macros::activities;
use temporalio_sdk::activities::{ActivityContext, ActivityError};

use crate::{Caller, Failure, Notebook, model_activities::alive};

/// The activities of the notebook: `load_snapshot`, `write_memory`, `read_memory`,
/// `delete_memory`, `search_memory`, `list_memory`, `describe_memory`; of transcripts and facts
/// `get_messages`, `add_messages`, `clear_messages`, `list_conversations`, `remember`, `recall`,
/// `forget`, `list_facts`; of sources `query_source`, `write_source`.
#[derive(Debug, Clone)]
pub struct NotebookActivities {
    notebook: Notebook,
}

impl NotebookActivities {
    /// Activities over this notebook.
    pub fn new(notebook: Notebook) -> Self {
        Self { notebook }
    }
}

#[activities]
impl NotebookActivities {
    /// The memory blocks for the next model request.
    #[activity(definition = notekeeper_contract::LoadSnapshot)]
    pub async fn load_snapshot(
        self: Arc<Self>,
        context: ActivityContext,
        input: Argument<LoadSnapshotInput>,
    ) -> Result<LoadSnapshotOutput, ActivityError> {
        let run = async { self.notebook.load_snapshot(input.decoded()?).await };
        finish(&context, run.await)
    }

    /// Appends to a note, or replaces one passage.
    #[activity(definition = notekeeper_contract::WriteMemory)]
    pub async fn write_memory(
        self: Arc<Self>,
        context: ActivityContext,
        input: Argument<WriteMemoryInput>,
    ) -> Result<Outcome<WrittenMemory>, ActivityError> {
        let caller = Caller::from(context.info());
        let run = async { self.notebook.write(input.decoded()?, &caller).await };
        finish(&context, run.await)
    }

    /// The first characters of a note.
    #[activity(definition = notekeeper_contract::ReadMemory)]
    pub async fn read_memory(
        self: Arc<Self>,
        context: ActivityContext,
        input: Argument<ReadMemoryInput>,
    ) -> Result<Outcome<MemoryContent>, ActivityError> {
        let run = async { self.notebook.read(input.decoded()?).await };
        finish(&context, run.await)
    }

    /// Deletes a note other than the main one.
    #[activity(definition = notekeeper_contract::DeleteMemory)]
    pub async fn delete_memory(
        self: Arc<Self>,
        context: ActivityContext,
        input: Argument<DeleteMemoryInput>,
    ) -> Result<Outcome<DeletedMemory>, ActivityError> {
        let caller = Caller::from(context.info());
        let run = async { self.notebook.delete(input.decoded()?, &caller).await };
        finish(&context, run.await)
    }

    /// Literal search over the notes of a scope.
    #[activity(definition = notekeeper_contract::SearchMemory)]
    pub async fn search_memory(
        self: Arc<Self>,
        context: ActivityContext,
        input: Argument<SearchMemoryInput>,
    ) -> Result<Outcome<MemoryMatches>, ActivityError> {
        let run = async { self.notebook.search(input.decoded()?).await };
        finish(&context, run.await)
    }

    /// The notes of a scope, without their text.
    #[activity(definition = notekeeper_contract::ListMemory)]
    pub async fn list_memory(
        self: Arc<Self>,
        context: ActivityContext,
        input: Argument<ListMemoryInput>,
    ) -> Result<ListedMemory, ActivityError> {
        let run = async { self.notebook.list(input.decoded()?).await };
        finish(&context, run.await)
    }

    /// What there is to know of a run's memories.
    #[activity(definition = notekeeper_contract::DescribeMemory)]
    pub async fn describe_memory(
        self: Arc<Self>,
        context: ActivityContext,
        input: Argument<DescribeMemoryInput>,
    ) -> Result<DescribeMemoryOutput, ActivityError> {
        let run = || self.notebook.describe(&input.decoded()?);
        finish(&context, run())
    }

    /// The messages of a conversation.
    #[activity(definition = notekeeper_contract::GetMessages)]
    pub async fn get_messages(
        self: Arc<Self>,
        context: ActivityContext,
        input: Argument<GetMessagesInput>,
    ) -> Result<GetMessagesOutput, ActivityError> {
        let run = async { self.notebook.get_messages(input.decoded()?).await };
        finish(&context, run.await)
    }

    /// Adds messages at the end of a conversation.
    #[activity(definition = notekeeper_contract::AddMessages)]
    pub async fn add_messages(
        self: Arc<Self>,
        context: ActivityContext,
        input: Argument<AddMessagesInput>,
    ) -> Result<AddMessagesOutput, ActivityError> {
        let caller = Caller::from(context.info());
        let run = async { self.notebook.add_messages(input.decoded()?, &caller).await };
        finish(&context, run.await)
    }

    /// Removes all messages of a conversation.
    #[activity(definition = notekeeper_contract::ClearMessages)]
    pub async fn clear_messages(
        self: Arc<Self>,
        context: ActivityContext,
        input: Argument<ClearMessagesInput>,
    ) -> Result<ClearMessagesOutput, ActivityError> {
        let caller = Caller::from(context.info());
        let run = async {
            self.notebook
                .clear_messages(input.decoded()?, &caller)
                .await
        };
        finish(&context, run.await)
    }

    /// The conversations of a scope.
    #[activity(definition = notekeeper_contract::ListConversations)]
    pub async fn list_conversations(
        self: Arc<Self>,
        context: ActivityContext,
        input: Argument<ListConversationsInput>,
    ) -> Result<ListConversationsOutput, ActivityError> {
        let run = async { self.notebook.list_conversations(input.decoded()?).await };
        finish(&context, run.await)
    }

    /// The facts of a scope, by key.
    #[activity(definition = notekeeper_contract::ListFacts)]
    pub async fn list_facts(
        self: Arc<Self>,
        context: ActivityContext,
        input: Argument<ListFactsInput>,
    ) -> Result<ListFactsOutput, ActivityError> {
        let run = async { self.notebook.list_facts(input.decoded()?).await };
        finish(&context, run.await)
    }

    /// Keeps a fact.
    #[activity(definition = notekeeper_contract::Remember)]
    pub async fn remember(
        self: Arc<Self>,
        context: ActivityContext,
        input: Argument<RememberInput>,
    ) -> Result<Outcome<Remembered>, ActivityError> {
        let caller = Caller::from(context.info());
        let run = async { self.notebook.remember(input.decoded()?, &caller).await };
        finish(&context, run.await)
    }

    /// Free-text search over the facts of a scope.
    #[activity(definition = notekeeper_contract::Recall)]
    pub async fn recall(
        self: Arc<Self>,
        context: ActivityContext,
        input: Argument<RecallInput>,
    ) -> Result<RecallOutput, ActivityError> {
        let run = async { self.notebook.recall(input.decoded()?).await };
        finish(&context, run.await)
    }

    /// Removes a fact.
    #[activity(definition = notekeeper_contract::Forget)]
    pub async fn forget(
        self: Arc<Self>,
        context: ActivityContext,
        input: Argument<ForgetInput>,
    ) -> Result<Outcome<Forgotten>, ActivityError> {
        let caller = Caller::from(context.info());
        let run = async { self.notebook.forget(input.decoded()?, &caller).await };
        finish(&context, run.await)
    }

    /// Items that a source finds relevant.
    #[activity(definition = notekeeper_contract::QuerySource)]
    pub async fn query_source(
        self: Arc<Self>,
        context: ActivityContext,
        input: Argument<QuerySourceInput>,
    ) -> Result<QuerySourceOutput, ActivityError> {
        // A condition under a misspelt name would be none.
        let run = async { self.notebook.query_source(input.decoded_whole()?).await };
        let result = alive(&context, run).await?;
        finish(&context, result)
    }

    /// Items for a source to keep.
    #[activity(definition = notekeeper_contract::WriteSource)]
    pub async fn write_source(
        self: Arc<Self>,
        context: ActivityContext,
        input: Argument<WriteSourceInput>,
    ) -> Result<WriteSourceOutput, ActivityError> {
        let caller = Caller::from(context.info());
        let run = async { self.notebook.write_source(input.decoded()?, &caller).await };
        let result = alive(&context, run).await?;
        finish(&context, result)
    }
}

/// Reports a failure once, where it leaves for Temporal.
pub(crate) fn finish<T>(
    context: &ActivityContext,
    result: Result<T, Failure>,
) -> Result<T, ActivityError> {
    result.map_err(|failure| {
        failure.log(&context.info().activity_type, context.info().attempt);
        failure.into()
    })
}
