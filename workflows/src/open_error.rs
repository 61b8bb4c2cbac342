//! What stands in the way of memories, conversations and sources that are opened.

use notekeeper_contract::FailureType;
use notekeeper_domain::InvalidScope;
use temporalio_common_wasm::error::ApplicationFailure;
use temporalio_workflow::WorkflowTermination;

/// Why a memory, a conversation or a source can't be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// Namespace and agent name make no scope.
    #[error("memory, conversation or source can't be opened: {0}")]
    Scope(#[from] InvalidScope),
    /// The namespace resolver failed.
    #[error("memory, conversation or source can't be opened: the namespace resolver failed: {0}")]
    Resolver(String),
    /// A setting is out of bounds.
    #[error("memory settings: {0}")]
    Settings(String),
    /// A setting of a conversation is out of bounds.
    #[error("conversation settings: {0}")]
    Conversation(String),
    /// A setting of a source is out of bounds.
    #[error("source settings: {0}")]
    Source(String),
    /// The source was opened before on the same scope with other settings.
    #[error(
        "the source `{source_name}` is opened twice on one scope, and differs in `{setting}`; give both \
         the same settings"
    )]
    SameSource {
        /// Its name.
        source_name: String,
        /// The first setting that differs, such as `k` or `activities.queue`.
        setting: String,
    },
    /// The conversation was opened before with other settings.
    #[error(
        "a conversation is opened twice, and differs in `{setting}`; give both the same settings"
    )]
    SameConversation {
        /// The first setting that differs, such as `prefix` or `activities.queue`.
        setting: String,
    },
    /// Two conversations on different facts have the same tool names.
    #[error("two conversations both have the tool `{tool}`; give each its own `prefix`")]
    SameFactTools {
        /// The first name that both have.
        tool: String,
    },
    /// Another memory of the session has this id and is not the same.
    #[error(
        "two memories have the id `{id}` and differ in `{setting}`; give one of them another `id`, \
         or both the same settings"
    )]
    Disagreement {
        /// The id.
        id: String,
        /// The first setting that differs, such as `max_tokens` or `activities.queue`.
        setting: String,
    },
    /// Another memory of the session has the same scope of the same store.
    #[error(
        "the memories `{first}` and `{second}` share one scope of one store; give each its own \
         `agent_name` or `namespace`"
    )]
    SameScope {
        /// Id of the memory that was opened before.
        first: String,
        /// Id of this one.
        second: String,
    },
    /// Another memory of the session has the same tool names.
    #[error(
        "the memories `{first}` and `{second}` both have the tool `{tool}`; give each its own `prefix`"
    )]
    SameTools {
        /// Id of the memory that was opened before.
        first: String,
        /// Id of this one.
        second: String,
        /// The first name that both have.
        tool: String,
    },
}

impl OpenError {
    /// Type of the failure that a run ends with.
    pub fn failure_type(&self) -> FailureType {
        match self {
            Self::Scope(_) | Self::Resolver(_) => FailureType::InvalidScope,
            Self::Settings(_)
            | Self::Conversation(_)
            | Self::Source(_)
            | Self::SameSource { .. }
            | Self::SameConversation { .. }
            | Self::SameFactTools { .. }
            | Self::Disagreement { .. }
            | Self::SameScope { .. }
            | Self::SameTools { .. } => FailureType::InvalidArgument,
        }
    }
}

impl From<OpenError> for ApplicationFailure {
    fn from(error: OpenError) -> Self {
        let type_name = error.failure_type().as_str().to_owned();
        Self::builder(error)
            .type_name(type_name)
            .non_retryable(true)
            .build()
    }
}

impl From<OpenError> for WorkflowTermination {
    /// Fails the run: what can't be opened now can't be opened by a retry of the task either.
    fn from(error: OpenError) -> Self {
        ApplicationFailure::from(error).into()
    }
}
