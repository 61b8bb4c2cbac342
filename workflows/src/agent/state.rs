//! State of an agent run.

use std::rc::Rc;

use notekeeper_contract::{Argument, ChatMessage};
use serde::{Deserialize, Serialize};
use temporalio_workflow::WorkflowContextView;

use super::{
    AgentFailure, AgentInput,
    answered::Answered,
    setup::{Resolver, Setup},
    transcript::Transcript,
};
use crate::Session;

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
    /// Or why the input can't be used.
    pub(super) setup: Result<Rc<Setup>, AgentFailure>,
    pub(super) transcript: Transcript,
    pub(super) answered: Answered,
    pub(super) turns: u64,
    pub(super) skipped_snapshots: u64,
    pub(super) queue: Queue,
    /// Whether it is known how the memories are kept.
    pub(super) described: bool,
    /// Whether the run has asked for that, and messages may be served.
    pub(super) started: bool,
    pub(super) closing: bool,
    /// No new message is taken: the run continues as new once those taken have their answers.
    pub(super) continuing: bool,
    /// What model requests have put into this run's history, in bytes of their JSON.
    pub(super) recorded_bytes: usize,
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
        resolve: Resolver,
    ) -> Self {
        let mut setup = Setup::new(input, resolve);
        let resumed = setup
            .as_mut()
            .ok()
            .and_then(|setup| setup.input.resumed.take());
        let mut agent = Self {
            setup: setup.map(Rc::new),
            transcript: Transcript::default(),
            answered: Answered::default(),
            turns: 0,
            skipped_snapshots: 0,
            queue: Queue::default(),
            described: false,
            started: false,
            closing: false,
            continuing: false,
            recorded_bytes: 0,
        };
        if let Some(resumed) = resumed {
            agent.transcript = Transcript::resume(agent.without_blocks(resumed.transcript));
            agent.answered = Answered::resume(resumed.answered);
            agent.turns = resumed.turns;
            agent.skipped_snapshots = resumed.skipped_snapshots;
        }
        agent
    }

    /// A conversation without the blocks that an earlier run left in it of this run's memories, whether
    /// they are shown now or not. Blocks of other memories stay.
    fn without_blocks(&self, mut messages: Vec<ChatMessage>) -> Vec<ChatMessage> {
        let memories = self.setup.iter().flat_map(|setup| &setup.memories);
        let hashes: Vec<String> = memories.map(|memory| memory.scope().hash()).collect();
        let hashes: Vec<&str> = hashes.iter().map(String::as_str).collect();
        for message in &mut messages {
            message.remove_memories(&hashes);
        }
        messages
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
