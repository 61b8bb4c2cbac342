//! A long-running conversation: `AgentWorkflow` and what it is made of.
//!
//! [`agent_workflow!`] declares a workflow type over the parts here; [`AgentWorkflow`] is the one
//! whose namespace stands in its input.

mod agent_workflow;
mod answered;
mod failure;
mod input;
mod macros;
mod run;
mod setup;
mod state;
mod tools;
mod transcript;
mod turn;
mod update_ids;

pub use agent_workflow::AgentWorkflow;
pub use failure::AgentFailure;
pub use input::{
    AgentInput, AgentOutput, ApplicationTool, FILE_READER, MemorySkip, Reply, Resumed, SendMessage,
};
pub use run::{admit, continue_with, is_continuing, run, send_message};
pub use setup::{INPUT_BYTES_MAX, Resolver};
pub use state::{Agent, AgentHost, AgentState};
pub use transcript::TRANSCRIPT_BYTES_MAX;
pub use update_ids::agent_interceptor;
