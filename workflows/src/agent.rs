//! A long-running conversation: `AgentWorkflow` and what it is made of.
//!
//! [`agent_workflow!`] declares a workflow type over the parts here; [`AgentWorkflow`] is the one
//! whose namespace stands in its input.

mod agent_workflow;
mod answered;
mod exchange;
mod failure;
mod grounding;
mod growth;
mod history;
mod input;
mod keeping;
mod macros;
mod request;
mod run;
mod said;
mod setup;
mod sources;
mod state;
mod stored;
mod summary;
mod tools;
mod transcript;
mod turn;
mod update_ids;

pub use agent_workflow::AgentWorkflow;
pub use exchange::Exchange;
pub use failure::AgentFailure;
pub use input::{
    AgentInput, AgentOutput, ApplicationTool, ConversationPlace, FILE_READER, KnownReply,
    MemorySkip, Reply, Resumed, SendMessage,
};
pub use run::{admit, continue_with, is_continuing, run, send_message};
pub use setup::{INPUT_BYTES_MAX, Resolver, conversation_id};
pub use sources::{AgentGrounding, AgentSource, GroundingState, SearchErrors};
pub use state::{Agent, AgentHost, AgentState, ConversationState};
pub use stored::ResumedConversation;
pub use summary::{SkippedSummary, Summary};
pub use transcript::TRANSCRIPT_BYTES_MAX;
pub use update_ids::agent_interceptor;
