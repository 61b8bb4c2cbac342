//! What goes into the workflow and comes out of it, as JSON.

use notekeeper_contract::ChatMessage;
use notekeeper_domain::HistoryPolicy;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{AgentGrounding, AgentSource, ResumedConversation};
use crate::{Grounded, InjectionErrors, MemorySettings};

/// Input of an agent workflow.
///
/// `{}` is a valid input: the empty namespace, one memory with all defaults, the worker's default
/// model. An unknown key is refused, so that a misspelt setting is noticed, except in what a run
/// hands over to the next: there it may come from a newer worker. Without `resumed` the JSON has
/// at most [`INPUT_BYTES_MAX`](crate::INPUT_BYTES_MAX) bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentInput {
    /// The tenant, for [`AgentWorkflow`](crate::AgentWorkflow), whose resolver answers with it.
    pub namespace: String,
    /// Which of the worker's workspaces the run is in; none where it is missing. A memory whose
    /// store keeps its files in the run's workspace can't do without.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// Anything that another workflow type's resolver needs.
    pub attributes: Value,
    /// The memories; one with all defaults where none are given.
    pub memories: Vec<MemorySettings>,
    /// Which conversation it is, and where its transcript is kept.
    #[serde(skip_serializing_if = "ConversationPlace::is_default")]
    pub conversation: ConversationPlace,
    /// What of the transcript is sent to the model, by policies that are applied in their order; all of it
    /// where there are none. They need a store that keeps transcripts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<HistoryPolicy>,
    /// What a summary does that can't be made, because the model is away or refuses: with `ignore`, the
    /// default, the message is answered without a new summary, which is asked for again some messages
    /// later; with `raise` the message fails, and so does each one after it until a summary can be made.
    #[serde(skip_serializing_if = "is_ignore")]
    pub summary_errors: InjectionErrors,
    /// Whether the model has the tools `remember`, `recall` and `forget`, on the facts of the
    /// conversation's scope. They have the prefix of the first memory.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub fact_tools: bool,
    /// The source whose items stand in the instructions, found for the first message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grounding: Option<AgentGrounding>,
    /// Sources that the model may search, each with a tool of its own; at most 32.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<AgentSource>,
    /// Instructions of the application; the memories' guidance follows them, and what grounds the
    /// conversation.
    pub instructions: String,
    /// Which of the worker's models answers.
    pub model: String,
    /// Longest single attempt of a model request, in milliseconds.
    pub model_start_to_close_ms: u64,
    /// Longest time of a model request with all retries, in milliseconds. A summary that may be left out
    /// is waited for no longer than for a single attempt.
    pub model_schedule_to_close_ms: u64,
    /// Further tools: activities of the application.
    pub tools: Vec<ApplicationTool>,
    /// Most model requests for one message, 1 to 1,000; a message that needs more fails.
    pub max_requests_per_message: u32,
    /// Events of history after which the run continues as new, besides Temporal's own suggestion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub continue_as_new_events: Option<u32>,
    /// What the run before this one hands over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resumed: Option<Resumed>,
}

impl Default for AgentInput {
    fn default() -> Self {
        Self {
            namespace: String::new(),
            workspace: None,
            attributes: Value::Null,
            memories: vec![MemorySettings::default()],
            conversation: ConversationPlace::default(),
            history: Vec::new(),
            summary_errors: InjectionErrors::Ignore,
            fact_tools: false,
            grounding: None,
            sources: Vec::new(),
            instructions: String::new(),
            model: "default".to_owned(),
            model_start_to_close_ms: 2 * 60_000,
            model_schedule_to_close_ms: 10 * 60_000,
            tools: Vec::new(),
            max_requests_per_message: 50,
            continue_as_new_events: None,
            resumed: None,
        }
    }
}

/// Which conversation a run holds. Its scope is that of the first memory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConversationPlace {
    /// Id inside the scope: 1 to 200 bytes without control characters. Where it is missing it is the
    /// workflow id, or `sha256-` and that id's SHA-256 where that doesn't fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Which of the worker's stores keeps transcript and facts; that of the first memory where it is
    /// missing. Where that one keeps none the run carries its transcript itself, unless anything here,
    /// `history` or `fact_tools` asks for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub store: Option<String>,
}

impl ConversationPlace {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

fn is_ignore(errors: &InjectionErrors) -> bool {
    *errors == InjectionErrors::Ignore
}

/// Kind of a tool that reads files of the run's workspace by their paths.
pub const FILE_READER: &str = "file_reader";

/// A tool that an activity of the application carries out. The activity gets
/// `{arguments, scope, workspace, operation}` and answers any JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ApplicationTool {
    /// Name, as the model sees it.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// JSON Schema of its arguments.
    pub parameters: Value,
    /// What kind of tool it is. With [`FILE_READER`] the tool reads files of the run's workspace,
    /// and `read_memory` of a memory whose files are there steps aside for it. Any other is only
    /// recorded, for workflow code that asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Activity type to schedule, 1 to 200 bytes.
    pub activity: String,
    /// Task queue of the activity; the workflow's own where it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_queue: Option<String>,
    /// Longest single attempt, in milliseconds.
    #[serde(default = "tool_start_to_close_ms")]
    pub start_to_close_ms: u64,
    /// Longest time with all retries, in milliseconds.
    #[serde(default = "tool_schedule_to_close_ms")]
    pub schedule_to_close_ms: u64,
}

fn tool_start_to_close_ms() -> u64 {
    60_000
}

fn tool_schedule_to_close_ms() -> u64 {
    5 * 60_000
}

/// What a run hands over when it continues as new. Snapshots are not among it: they are loaded
/// afresh.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Resumed {
    /// The scope hash of the run before; another one ends the run as `ScopeChanged`.
    pub scope_hash: String,
    /// The conversation so far, of a run that carries its transcript itself.
    #[serde(default)]
    pub transcript: Vec<ChatMessage>,
    /// What is known of the conversation, of a run whose transcript is stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<ResumedConversation>,
    /// Messages answered so far.
    pub turns: u64,
    /// Snapshot loads skipped so far.
    #[serde(default)]
    pub skipped_snapshots: u64,
    /// What grounds the conversation, where it was asked for and stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grounded: Option<Grounded>,
    /// Messages so far for which the grounding source couldn't be asked.
    #[serde(default, skip_serializing_if = "is_none_of_them")]
    pub skipped_groundings: u64,
    /// Latest replies by the id of their message, oldest first, at most 256 KiB of them.
    #[serde(default)]
    pub answered: Vec<(String, Reply)>,
}

/// Argument of the update `send_message`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SendMessage {
    /// What the user says; not empty, no NUL.
    pub text: String,
    /// Identity of the message: 1 to 200 bytes, no `/` at the start. One that is among the latest
    /// replies isn't asked again but answered with its reply. A run remembers all its replies and
    /// hands the newest 256 KiB of them over when it continues as new. Without an id the update's
    /// own counts, where the worker has [`agent_interceptor`](crate::agent_interceptor), and for
    /// one run where it doesn't.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// Result of the update `send_message`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    /// The model's answer.
    pub text: String,
    /// Model requests that it took.
    pub requests: u32,
    /// Requests that went out without a memory block because the store failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<MemorySkip>,
    /// Type of the failure because of which a summary that was due wasn't made, now or some messages ago.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary_skipped: Option<String>,
    /// Type of the failure because of which the source that grounds the conversation wasn't heard, so that
    /// the message was answered without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grounding_skipped: Option<String>,
    /// Names of sources of the composition that grounds the conversation that weren't ready in time, or failed:
    /// the message was answered by what the others found, and the next one asks again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub grounding_partial: Vec<String>,
    /// Whether the store didn't have any more what was said before, as after an erasure, so that the conversation
    /// begins anew with this message. The first reply after that says so.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub begun_anew: bool,
}

/// What the query `reply` answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownReply {
    /// The reply.
    pub reply: Reply,
    /// Whether it couldn't be stored yet. Its message failed as `Unavailable` then; sent again under its id it
    /// has this reply as soon as the store has taken it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unstored: bool,
}

/// A snapshot load that was skipped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemorySkip {
    /// Which model request of the message, from 1.
    pub request: u32,
    /// Which of the input's memories, from 0.
    pub memory: usize,
    /// Type of the store's failure.
    pub error_type: String,
}

/// Result of a closed conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentOutput {
    /// Messages answered, in all runs.
    pub turns: u64,
    /// Messages in the transcript, as far as the run knows.
    pub messages: usize,
    /// Exchanges that couldn't be stored until the end.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unstored: usize,
}

fn is_none_of_them(count: &u64) -> bool {
    *count == 0
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}
