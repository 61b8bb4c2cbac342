//! State of an agent run.

use std::rc::Rc;

use notekeeper_contract::{Argument, ChatMessage};
use serde::{Deserialize, Serialize};
use temporalio_workflow::WorkflowContextView;

use super::{
    AgentFailure, AgentInput, GroundingState, KnownReply, Reply,
    answered::Answered,
    setup::{Resolver, Setup},
    stored::Stored,
    transcript::Transcript,
};
use crate::{Grounded, Grounder, Session};

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
    /// The messages of the exchange under way, and all where no store keeps the transcript.
    pub(super) transcript: Transcript,
    /// What is known of the transcript, where a store keeps it.
    pub(super) stored: Option<Stored>,
    pub(super) answered: Answered,
    pub(super) turns: u64,
    pub(super) skipped_snapshots: u64,
    pub(super) skipped_groundings: u64,
    pub(super) queue: Queue,
    /// Whether it is known how the memories and the transcript are kept.
    pub(super) described: bool,
    /// Whether the run has asked for that, and messages may be served.
    pub(super) started: bool,
    pub(super) closing: bool,
    /// No new message is taken: the run continues as new once those taken have their answers.
    pub(super) continuing: bool,
    /// What model requests, stored exchanges and searches of sources have put into this run's history, in
    /// bytes of their JSON. What else the run heard is counted by its session.
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
    /// Messages in the transcript, as far as the run knows.
    pub messages: usize,
    /// Size of what the run carries of the transcript, in bytes of its JSON: of the exchange under way,
    /// or of all where no store keeps it.
    pub transcript_bytes: usize,
    /// Most it may have.
    pub transcript_bytes_max: usize,
    /// Where the transcript is; missing where no store keeps it, and as long as nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<ConversationState>,
    /// Model requests of this run.
    pub steps: u64,
    /// Snapshot loads skipped because the store failed, in all runs.
    pub skipped_snapshots: u64,
    /// What grounds the conversation; missing where nothing does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grounding: Option<GroundingState>,
    /// Hash of the scopes that the run addresses; empty where the input was refused.
    pub scope_hash: String,
    /// Whether the conversation was asked to close.
    pub closing: bool,
}

/// What the query `state` says of a stored transcript.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConversationState {
    /// Id of the conversation in the scope of the first memory.
    pub id: String,
    /// Which of the worker's stores keeps it.
    pub store: String,
    /// Position of the first message that is sent to the model.
    pub from: u64,
    /// Position after the newest message that the run knows of.
    pub next: u64,
    /// Position before which a summary stands for the messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summarized_to: Option<u64>,
    /// Exchanges that couldn't be stored yet; they are tried again with the next message.
    pub unstored: usize,
}

impl Agent {
    /// Sets an agent up from a workflow's input. What is wrong with the input is kept, and ends
    /// the run with a typed failure.
    pub fn new(view: &WorkflowContextView, input: Argument<AgentInput>, resolve: Resolver) -> Self {
        let mut setup = Setup::new(input, view.workflow_id(), resolve);
        let resumed = setup
            .as_mut()
            .ok()
            .and_then(|setup| setup.input.resumed.take());
        let mut agent = Self {
            setup: setup.map(Rc::new),
            transcript: Transcript::default(),
            stored: None,
            answered: Answered::default(),
            turns: 0,
            skipped_snapshots: 0,
            skipped_groundings: 0,
            queue: Queue::default(),
            described: false,
            started: false,
            closing: false,
            continuing: false,
            recorded_bytes: 0,
        };
        if let Some(resumed) = resumed {
            agent.transcript = Transcript::resume(agent.without_blocks(resumed.transcript));
            let outlined = agent
                .setup
                .as_ref()
                .is_ok_and(|setup| setup.looks_at_outlines());
            agent.stored = resumed
                .conversation
                .map(|resumed| Stored::resume(outlined, resumed));
            agent.answered = Answered::resume(resumed.answered);
            agent.turns = resumed.turns;
            agent.skipped_snapshots = resumed.skipped_snapshots;
            agent.skipped_groundings = resumed.skipped_groundings;
            if let Some(grounder) = agent.grounder() {
                grounder.resume(resumed.grounded);
            }
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

    /// A message is answered.
    pub(super) fn answered(&mut self, id: Option<String>, reply: Reply) {
        self.turns += 1;
        if let Some(id) = id {
            self.answered.keep(id, reply);
        }
    }

    /// Asks the conversation to close once the messages taken are answered.
    pub fn close(&mut self) {
        self.closing = true;
    }

    /// What the run holds of the conversation, word for word: all where no store keeps the transcript;
    /// otherwise the messages of this run's own turns, as far as the newest 64 KiB go, and those of the
    /// exchange under way. The store has all.
    pub fn transcript(&self) -> Vec<ChatMessage> {
        let said = self.stored.iter().flat_map(Stored::said);
        said.chain(self.transcript.messages()).cloned().collect()
    }

    /// What is known of the reply to the message with this id: also one that couldn't be stored yet, whose
    /// message failed for that.
    pub fn reply(&self, id: &str) -> Option<KnownReply> {
        let known = |reply: &Reply, unstored| KnownReply {
            reply: reply.clone(),
            unstored,
        };
        let stored = self.answered.get(id).map(|reply| known(reply, false));
        stored.or_else(|| {
            let reply = self.stored.as_ref()?.unstored_reply(id)?;
            Some(known(reply, true))
        })
    }

    /// Messages in the transcript, as far as the run knows.
    pub(super) fn messages(&self) -> usize {
        let stored = self.stored.as_ref().map_or(0, Stored::count);
        usize::try_from(stored)
            .unwrap_or(usize::MAX)
            .saturating_add(self.transcript.messages().len())
    }

    /// Counts what the run was told or answers, in bytes of its JSON.
    pub(super) fn count_heard(&self, bytes: usize) {
        if let Ok(setup) = &self.setup {
            setup.session.count_heard(bytes);
        }
    }

    pub(super) fn grounder(&self) -> Option<&Grounder> {
        self.setup.as_ref().ok()?.grounder.as_ref()
    }

    fn grounding(&self) -> Option<GroundingState> {
        let grounder = self.grounder()?;
        let held = grounder.held();
        let grounded = held.as_ref().is_some_and(Grounded::is_whole);
        let held = held.unwrap_or_default();
        Some(GroundingState {
            source: grounder.recall().settings().source.clone(),
            grounded,
            items: held.items,
            left_out: held.left_out,
            unheard: held.unheard,
            skipped: self.skipped_groundings,
        })
    }

    fn conversation(&self) -> Option<ConversationState> {
        let setup = self.setup.as_ref().ok()?;
        let stored = self.stored.as_ref()?;
        let settings = setup.conversation.settings();
        Some(ConversationState {
            id: settings.id.clone(),
            store: settings.store.clone(),
            from: stored.view().from,
            next: stored.next(),
            summarized_to: stored.view().summary.map(|summary| summary.through),
            unstored: stored.unstored_count(),
        })
    }

    /// What there is to know of the run.
    pub fn state(&self) -> AgentState {
        let session = self.setup.as_ref().ok().map(|setup| &setup.session);
        AgentState {
            turns: self.turns,
            waiting: self.queue.waiting(),
            messages: self.messages(),
            transcript_bytes: self.transcript.bytes(),
            transcript_bytes_max: super::TRANSCRIPT_BYTES_MAX,
            conversation: self.conversation(),
            steps: session.map_or(0, Session::steps),
            skipped_snapshots: self.skipped_snapshots,
            grounding: self.grounding(),
            scope_hash: session.map(Session::scope_hash).unwrap_or_default(),
            closing: self.closing,
        }
    }
}
