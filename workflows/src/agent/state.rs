//! State of an agent run.

use notekeeper_contract::{Argument, ChatMessage, ChatToolDefinition, Delivery, FailureType};
use serde::{Deserialize, Serialize};
use temporalio_workflow::WorkflowContextView;

use super::{
    AgentFailure, AgentInput, ApplicationTool, answered::Answered, transcript::Transcript,
};
use crate::{Memory, Session};

/// A workflow type that is an agent: it holds an [`Agent`] and gives it out.
/// [`agent_workflow!`](crate::agent_workflow) implements it.
pub trait AgentHost: 'static {
    /// The agent's state.
    fn agent(&self) -> &Agent;
    /// The agent's state, to change it.
    fn agent_mut(&mut self) -> &mut Agent;
}

/// State of an agent run.
pub struct Agent {
    pub(super) setup: Result<Setup, Option<AgentFailure>>,
    pub(super) transcript: Transcript,
    pub(super) answered: Answered,
    pub(super) turns: u64,
    pub(super) skipped_snapshots: u64,
    pub(super) queue: Queue,
    pub(super) closing: bool,
    /// No new message is taken: the run continues as new once the accepted ones are served.
    pub(super) continuing: bool,
}

/// What a run is set up with; it doesn't change.
#[derive(Clone)]
pub(super) struct Setup {
    pub(super) session: Session,
    pub(super) memories: Vec<Memory>,
    pub(super) instructions: String,
    pub(super) tools: Vec<ApplicationTool>,
    pub(super) definitions: Vec<ChatToolDefinition>,
    pub(super) input: AgentInput,
}

/// Messages wait for their turn in the order of their arrival.
#[derive(Debug, Default)]
pub(super) struct Queue {
    next: u64,
    serving: u64,
}

impl Queue {
    pub(super) fn take_ticket(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    pub(super) fn is_up(&self, ticket: u64) -> bool {
        self.serving == ticket
    }

    pub(super) fn done(&mut self) {
        self.serving += 1;
    }

    fn waiting(&self) -> u64 {
        self.next - self.serving
    }
}

/// What the query `state` answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentState {
    /// Messages answered, in all runs.
    pub turns: u64,
    /// Messages taken and not yet answered.
    pub waiting: u64,
    /// Messages in the transcript.
    pub messages: usize,
    /// Size of the transcript, in bytes of its JSON.
    pub transcript_bytes: usize,
    /// Most it may have.
    pub transcript_bytes_max: usize,
    /// Model requests of this run.
    pub steps: u64,
    /// Snapshot loads skipped because the store failed, in all runs.
    pub skipped_snapshots: u64,
    /// Hash of the scopes that the run addresses; empty where the input was refused.
    pub scope_hash: String,
    /// Whether the conversation was asked to close.
    pub closing: bool,
}

impl Agent {
    /// Sets an agent up from a workflow's input. What is wrong with the input is kept, and ends
    /// the run with a typed failure.
    pub fn new(
        _view: &WorkflowContextView,
        input: Argument<AgentInput>,
        resolve: fn(&AgentInput) -> String,
    ) -> Self {
        let mut agent = Self {
            setup: Err(None),
            transcript: Transcript::default(),
            answered: Answered::default(),
            turns: 0,
            skipped_snapshots: 0,
            queue: Queue::default(),
            closing: false,
            continuing: false,
        };
        agent.setup = set_up(input, resolve).map_err(Some);
        let resumed = agent
            .setup
            .as_mut()
            .ok()
            .and_then(|setup| setup.input.resumed.take());
        if let Some(resumed) = resumed {
            agent.transcript = Transcript::resume(resumed.transcript);
            agent.answered = Answered::resume(resumed.answered);
            agent.turns = resumed.turns;
            agent.skipped_snapshots = resumed.skipped_snapshots;
            agent.closing = resumed.closing;
        }
        agent
    }

    /// Asks the conversation to close once the messages taken are answered.
    pub fn close(&mut self) {
        self.closing = true;
    }

    /// The conversation so far.
    pub fn transcript(&self) -> Vec<ChatMessage> {
        self.transcript.messages().to_vec()
    }

    /// What there is to know of the run.
    pub fn state(&self) -> AgentState {
        let session = self.setup.as_ref().ok().map(|setup| &setup.session);
        AgentState {
            turns: self.turns,
            waiting: self.queue.waiting(),
            messages: self.transcript.messages().len(),
            transcript_bytes: self.transcript.bytes(),
            transcript_bytes_max: super::TRANSCRIPT_BYTES_MAX,
            steps: session.map_or(0, Session::steps),
            skipped_snapshots: self.skipped_snapshots,
            scope_hash: session.map(Session::scope_hash).unwrap_or_default(),
            closing: self.closing,
        }
    }
}

fn set_up(
    input: Argument<AgentInput>,
    resolve: fn(&AgentInput) -> String,
) -> Result<Setup, AgentFailure> {
    let input = input.decoded().map_err(|error| {
        AgentFailure::new(
            FailureType::InvalidArgument,
            format!("workflow input: {error}"),
        )
    })?;
    check_bounds(&input)?;
    let session = Session::new();
    let mut memories = Vec::with_capacity(input.memories.len());
    for settings in &input.memories {
        let mut settings = settings.clone();
        settings.delivery.get_or_insert(Delivery::Reference);
        memories.push(session.open(settings, &input, resolve)?);
    }
    let resumed_hash = input
        .resumed
        .as_ref()
        .map(|resumed| resumed.scope_hash.as_str());
    if resumed_hash.is_some_and(|hash| hash != session.scope_hash()) {
        return Err(AgentFailure::new(
            FailureType::ScopeChanged,
            "the namespace resolver answers differently than in the run before; \
             a conversation can't move to another scope",
        ));
    }
    let definitions = tool_definitions(&memories, &input.tools)?;
    Ok(Setup {
        session,
        instructions: instructions(&input.instructions, &memories),
        memories,
        tools: input.tools.clone(),
        definitions,
        input,
    })
}

fn check_bounds(input: &AgentInput) -> Result<(), AgentFailure> {
    let too_small = if input.memories.is_empty() {
        "`memories` needs at least one entry; leave it out for one with all defaults"
    } else if input.max_requests_per_message == 0 {
        "`max_requests_per_message` must be at least 1"
    } else if input.model_start_to_close_ms == 0 || input.model_schedule_to_close_ms == 0 {
        "the model's timeouts must be at least 1 ms"
    } else if input
        .tools
        .iter()
        .any(|t| t.start_to_close_ms == 0 || t.schedule_to_close_ms == 0)
    {
        "a tool's timeouts must be at least 1 ms"
    } else if input
        .continue_as_new_events
        .is_some_and(|events| events < 100)
    {
        // A run has to get through one message before it continues, or it would never get on.
        "`continue_as_new_events` must be at least 100"
    } else {
        return Ok(());
    };
    Err(AgentFailure::new(
        FailureType::InvalidArgument,
        format!("workflow input: {too_small}"),
    ))
}

fn tool_definitions(
    memories: &[Memory],
    tools: &[ApplicationTool],
) -> Result<Vec<ChatToolDefinition>, AgentFailure> {
    let mut definitions: Vec<_> = memories.iter().flat_map(Memory::tools).collect();
    for tool in tools {
        if definitions.iter().any(|known| known.name == tool.name) {
            return Err(AgentFailure::new(
                FailureType::InvalidArgument,
                format!("workflow input: two tools are named `{}`", tool.name),
            ));
        }
        definitions.push(ChatToolDefinition {
            name: tool.name.clone(),
            description: tool.description.clone(),
            parameters: tool.parameters.clone(),
        });
    }
    Ok(definitions)
}

/// The application's instructions, then each memory's guidance.
fn instructions(own: &str, memories: &[Memory]) -> String {
    let guidance = memories.iter().filter_map(Memory::guidance);
    let parts: Vec<_> = std::iter::once(own)
        .filter(|own| !own.is_empty())
        .chain(guidance)
        .collect();
    parts.join("\n\n")
}
