//! Notekeeper in workflow code.
//!
//! A [`Session`] belongs to one workflow run. It opens [`Memory`] handles, each on one scope of
//! one store; the handles load snapshots and run the model's memory tools as activities. It opens
//! [`Conversation`] handles, each on one transcript and the facts of its scope, and [`Recall`] handles,
//! each on a source that can be searched. All of it is deterministic: nothing here reads a clock, a store or the network, and a replay
//! schedules the same activities under the same ids.
//!
//! [`AgentWorkflow`] is a whole conversation on top of it, ready to register on a worker.

mod activity_call;
mod activity_error;
mod agent;
mod conversation;
mod memory;
mod namespace;
mod open_error;
mod recall;
mod session;
mod settings;
mod spec;
mod stated_twice;
mod step;
mod tool_call;

pub use notekeeper_contract as contract;
pub use notekeeper_domain as domain;

pub use activity_error::CallFailure;
pub use agent::{
    Agent, AgentFailure, AgentGrounding, AgentHost, AgentInput, AgentOutput, AgentSource,
    AgentState, AgentWorkflow, ApplicationTool, ConversationPlace, ConversationState, Exchange,
    FILE_READER, GroundingState, INPUT_BYTES_MAX, KnownReply, MemorySkip, Reply, Resolver, Resumed,
    ResumedConversation, SearchErrors, SendMessage, SkippedSummary, Summary, TRANSCRIPT_BYTES_MAX,
    agent_interceptor, conversation_id, is_continuing,
};
pub use conversation::{Conversation, ConversationSettings};
pub use memory::{Memory, Snapshot};
pub use namespace::IntoNamespace;
pub use open_error::OpenError;
pub use recall::{
    Found, Grounded, Grounder, Grounding, GroundingFormat, Kept, Recall, RecallSettings,
    RecallTool, SourceTool,
};
pub use session::Session;
pub use settings::{
    ActivityQueue, ActivitySettings, DEFAULT_MEMORY_ID, InjectionErrors, MemorySettings,
};
pub use spec::InvalidSpec;
pub use step::{Step, StepCall};
pub use tool_call::ToolResult;

/// What the expansion of [`agent_workflow!`] names.
#[doc(hidden)]
pub mod __private {
    pub use notekeeper_contract::{Argument, ChatMessage};
    pub use temporalio_workflow::{
        SyncWorkflowContext, WorkflowContext, WorkflowContextView, WorkflowResult,
    };

    pub use crate::agent::{admit, continue_with, run, send_message};
}

/// Compiles the code of the README.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;

/// Compiles the code of the page on grounding.
#[cfg(doctest)]
#[doc = include_str!("../../docs/grounding.md")]
struct GroundingPage;
