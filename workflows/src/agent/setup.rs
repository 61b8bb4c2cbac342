//! From a workflow's input to memories, tools and instructions.

use std::collections::BTreeSet;

use notekeeper_contract::{Argument, ChatToolDefinition, Delivery, FailureType, MemoryDescription};
use notekeeper_domain::{ConversationId, check_policies, snapshot_digest};
use temporalio_workflow::WorkflowContext;

use super::{
    AgentFailure, AgentInput, ApplicationTool, FILE_READER,
    sources::{check_sources, open_sources},
};
use crate::{
    ActivityQueue, CallFailure, Conversation, ConversationSettings, Grounder, Memory,
    MemorySettings, Session, SourceTool,
    settings::{check_name, check_timeout},
    spec::unknown_setting,
};

/// A namespace resolver: from a workflow's input, and the settings of one of its memories, to the
/// namespace of that memory, or why there is none.
pub type Resolver = fn(&AgentInput, &MemorySettings) -> Result<String, String>;

/// Largest input of an agent workflow, in bytes of its JSON, without what an earlier run handed
/// over. Instructions and tools stand in every model request, and the next run's input has all of
/// it: beside a full transcript (512 KiB) it stays far below Temporal's 2 MiB payload limit.
pub const INPUT_BYTES_MAX: usize = 256 * 1024;

/// Most model requests that one message may be allowed.
const REQUESTS_MAX: u32 = 1_000;

/// Fewest events at which a run continues as new: it has to get through a message first, or it
/// would never get on.
const CONTINUE_AS_NEW_EVENTS_MIN: u32 = 100;

/// What a run is set up with; it doesn't change.
pub(super) struct Setup {
    pub(super) session: Session,
    pub(super) memories: Vec<Memory>,
    /// Where the input states each of them first: one that it states twice is one.
    pub(super) places: Vec<usize>,
    /// The conversation, for a store that keeps it.
    pub(super) conversation: Conversation,
    /// What grounds the conversation, where something does.
    pub(super) grounder: Option<Grounder>,
    /// Sources that the model may search.
    pub(super) source_tools: Vec<SourceTool>,
    /// The application's instructions, then each memory's guidance.
    pub(super) instructions: String,
    /// What the next run starts from, beside what is handed over to it.
    pub(super) input: AgentInput,
}

impl Setup {
    /// Sets a run up.
    ///
    /// # Errors
    ///
    /// What is wrong with the input, with the type that the run ends with.
    pub(super) fn new(
        input: Argument<AgentInput>,
        workflow_id: &str,
        resolve: Resolver,
    ) -> Result<Self, AgentFailure> {
        let input = checked(input).map_err(|what| {
            AgentFailure::new(
                FailureType::InvalidArgument,
                format!("workflow input: {what}"),
            )
        })?;
        let session = match &input.workspace {
            None => Session::new(),
            Some(name) => Session::in_workspace(name),
        };
        let reads_files = |tool: &&ApplicationTool| tool.kind.as_deref() == Some(FILE_READER);
        let file_reader = input.tools.iter().find(reads_files);
        let (mut memories, mut places) = (Vec::<Memory>::new(), Vec::new());
        for (place, given) in input.memories.iter().enumerate() {
            let mut settings = given.clone();
            settings.delivery.get_or_insert(Delivery::Reference);
            let memory = session.open(settings, &input, |input| resolve(input, given))?;
            if !memories.iter().any(|known| known.is_same(&memory)) {
                memory.set_file_reader(file_reader.map(|tool| tool.name.as_str()));
                memories.push(memory);
                places.push(place);
            }
        }
        let conversation = open_conversation(&session, &input, workflow_id, &memories)?;
        let sources = open_sources(&session, &input, first(&memories)?, resolve)?;
        check_scope(&input, &session)?;
        let facts = input.fact_tools.then_some(&conversation);
        check_tool_names(&memories, facts, &sources.tools, &input.tools)?;
        Ok(Self {
            session,
            conversation,
            grounder: sources.grounder,
            source_tools: sources.tools,
            instructions: instructions(&input.instructions, &memories),
            memories,
            places,
            input,
        })
    }

    /// The task queue of model requests: that of the memories' settings, whose workers can resolve
    /// their blocks. `None` is the workflow's own.
    pub(super) fn model_queue(&self) -> Option<String> {
        self.input.memories.first()?.activities.queue.task_queue()
    }

    /// Whether memories, facts and sources are asked by local activities: all of them are, or none.
    pub(super) fn calls_are_local(&self) -> bool {
        let first = self.input.memories.first();
        first.is_some_and(|it| it.activities.queue == ActivityQueue::Local)
    }

    /// Asks how the memories are kept, and whether the conversation is. The block of one whose activities
    /// go to a task queue of its workspace comes inline: no worker on the queue of model requests need
    /// have its files.
    pub(super) async fn describe<W>(&self, ctx: &WorkflowContext<W>) -> Result<bool, CallFailure> {
        self.session.describe(ctx, &self.memories).await?;
        let elsewhere = |memory: &&Memory| {
            memory
                .own_queue()
                .is_some_and(|own| Some(own) != self.model_queue())
        };
        self.memories
            .iter()
            .filter(elsewhere)
            .for_each(Memory::deliver_inline);
        let store = &self.conversation.settings().store;
        let beside = |memory: &&Memory| memory.settings().store == *store;
        let described = match self.memories.iter().find(beside) {
            Some(memory) => memory.description(),
            None => self.conversation.description(ctx).await?,
        };
        let kept = described.unwrap_or_default();
        match asks_for_more(&self.input, &kept) {
            Some((field, lacks)) => Err(CallFailure::new(
                FailureType::Unsupported,
                format!(
                    "the input has `{field}`, and the store of the conversation keeps no {lacks}; \
                     name one that does with `conversation.store`, or leave `{field}` out"
                ),
            )),
            None => Ok(kept.keeps_transcripts),
        }
    }

    /// What the model may call in the request that is next.
    pub(super) fn definitions(&self) -> Vec<ChatToolDefinition> {
        let own = self.input.tools.iter().map(|tool| ChatToolDefinition {
            name: tool.name.clone(),
            description: tool.description.clone(),
            parameters: tool.parameters.clone(),
        });
        let of_memories = self.memories.iter().flat_map(Memory::tools);
        let of_facts = self.facts().map(Conversation::tools).unwrap_or_default();
        let of_sources = self.source_tools.iter().map(SourceTool::definition);
        of_memories
            .chain(of_facts)
            .chain(of_sources)
            .chain(own)
            .collect()
    }

    /// Whether there are policies, which look at outlines of messages.
    pub(super) fn looks_at_outlines(&self) -> bool {
        !self.input.history.is_empty()
    }

    /// The conversation whose facts the model has tools for; `None` where it has none.
    pub(super) fn facts(&self) -> Option<&Conversation> {
        self.input.fact_tools.then_some(&self.conversation)
    }
}

fn first(memories: &[Memory]) -> Result<&Memory, AgentFailure> {
    memories
        .first()
        .ok_or_else(|| AgentFailure::new(FailureType::InvalidArgument, "there is no memory"))
}

/// The conversation of the input, in the scope of the first memory.
///
/// One that the input says nothing of follows from the first memory and the workflow id, which are
/// fixed: only what the input says goes into the hash, so that runs from before there were
/// conversations have the hash that they had.
fn open_conversation(
    session: &Session,
    input: &AgentInput,
    workflow_id: &str,
    memories: &[Memory],
) -> Result<Conversation, AgentFailure> {
    let first = first(memories)?;
    let place = &input.conversation;
    // A replay may not know the workflow id, so a run that continues another has it from there.
    let resumed = input.resumed.as_ref();
    let resumed = resumed.and_then(|resumed| resumed.conversation.as_ref());
    let id = place.id.clone().or_else(|| resumed.map(|it| it.id.clone()));
    let memory = first.settings();
    let settings = ConversationSettings {
        id: id.unwrap_or_else(|| conversation_id(workflow_id)),
        store: place.store.clone().unwrap_or_else(|| memory.store.clone()),
        namespace: None,
        agent_name: memory.agent_name.clone(),
        prefix: memory.prefix.clone(),
        activities: memory.activities.clone(),
        ..ConversationSettings::default()
    };
    let namespace = |_: &AgentInput| first.scope().namespace().to_owned();
    let conversation = match place.id.is_some() || place.store.is_some() {
        true => session.converse(settings, input, namespace),
        false => session.converse_unhashed(settings, input, namespace),
    };
    Ok(conversation?)
}

/// The conversation id of a workflow whose input gives none: the workflow id, or `sha256-` and its
/// SHA-256 where it can't be one.
pub fn conversation_id(workflow_id: &str) -> String {
    match ConversationId::parse(workflow_id) {
        Ok(id) => id.as_str().to_owned(),
        Err(_) => format!("sha256-{}", snapshot_digest(workflow_id)),
    }
}

/// The field of the input that the store of the conversation can't fulfil, and what it lacks for it.
fn asks_for_more(
    input: &AgentInput,
    kept: &MemoryDescription,
) -> Option<(&'static str, &'static str)> {
    let (transcripts, facts) = (kept.keeps_transcripts, kept.keeps_facts());
    // A store may be named for the facts alone.
    let of_use = transcripts || (facts && input.fact_tools);
    let asked = [
        (
            "conversation.id",
            input.conversation.id.is_some(),
            transcripts,
            "transcripts",
        ),
        (
            "conversation.store",
            input.conversation.store.is_some(),
            of_use,
            "transcripts",
        ),
        (
            "history",
            !input.history.is_empty(),
            transcripts,
            "transcripts",
        ),
        ("fact_tools", input.fact_tools, facts, "facts"),
    ];
    asked
        .into_iter()
        .find(|(_, asks, fulfilled, _)| *asks && !fulfilled)
        .map(|(field, _, _, lacks)| (field, lacks))
}

/// The input, if it can be used; else what is wrong with it.
fn checked(input: Argument<AgentInput>) -> Result<AgentInput, String> {
    let unknown = input.unknown_key().map(unknown_setting);
    let input = input.decoded().map_err(|error| error.to_string())?;
    if input.resumed.is_none() {
        // What another run handed over may come from a newer worker, which knows more keys.
        unknown.map_or(Ok(()), Err)?;
        check_size(&input)?;
    }
    check_bounds(&input)?;
    check_conversation(&input)?;
    check_sources(&input)?;
    for (index, tool) in input.tools.iter().enumerate() {
        check_tool(tool).map_err(|what| format!("`tools[{index}]`: {what}"))?;
    }
    Ok(input)
}

fn check_size(input: &AgentInput) -> Result<(), String> {
    let bytes = serde_json::to_vec(input).map_or(usize::MAX, |json| json.len());
    if bytes <= INPUT_BYTES_MAX {
        return Ok(());
    }
    Err(format!(
        "it has {bytes} bytes, {INPUT_BYTES_MAX} are allowed; shorten instructions and tools"
    ))
}

fn check_bounds(input: &AgentInput) -> Result<(), String> {
    let Some(first) = input.memories.first() else {
        return Err(
            "`memories` needs at least one entry; leave it out for one with all defaults"
                .to_owned(),
        );
    };
    let one_queue = |memory: &MemorySettings| memory.activities.queue == first.activities.queue;
    if !input.memories.iter().all(one_queue) {
        return Err(
            "the memories name different task queues; model requests resolve the blocks of all, so \
             give `activities.queue` the same value in each"
                .to_owned(),
        );
    }
    if !(1..=REQUESTS_MAX).contains(&input.max_requests_per_message) {
        return Err(format!(
            "`max_requests_per_message` must be 1 to {REQUESTS_MAX}"
        ));
    }
    let events = input.continue_as_new_events;
    if events.is_some_and(|events| events < CONTINUE_AS_NEW_EVENTS_MIN) {
        return Err(format!(
            "`continue_as_new_events` must be at least {CONTINUE_AS_NEW_EVENTS_MIN}"
        ));
    }
    check_name("model", &input.model)?;
    check_timeout("model_start_to_close_ms", input.model_start_to_close_ms)?;
    check_timeout(
        "model_schedule_to_close_ms",
        input.model_schedule_to_close_ms,
    )
}

fn check_conversation(input: &AgentInput) -> Result<(), String> {
    if let Some(id) = &input.conversation.id {
        ConversationId::parse(id).map_err(|error| format!("`conversation.id`: {error}"))?;
    }
    if let Some(store) = &input.conversation.store {
        check_name("conversation.store", store)?;
    }
    check_policies(&input.history).map_err(|error| error.to_string())
}

fn check_tool(tool: &ApplicationTool) -> Result<(), String> {
    check_name("name", &tool.name)?;
    check_name("activity", &tool.activity)?;
    if let Some(task_queue) = &tool.task_queue {
        check_name("task_queue", task_queue)?;
    }
    check_timeout("start_to_close_ms", tool.start_to_close_ms)?;
    check_timeout("schedule_to_close_ms", tool.schedule_to_close_ms)
}

/// A continued run addresses what the run before it did, or ends.
fn check_scope(input: &AgentInput, session: &Session) -> Result<(), AgentFailure> {
    match &input.resumed {
        Some(resumed) if resumed.scope_hash != session.scope_hash() => Err(AgentFailure::new(
            FailureType::ScopeChanged,
            "the memories, the conversation or the sources are others than in the run before (their \
             stores, names, namespaces, agent names or ids); a conversation can't move to another scope",
        )),
        _ => Ok(()),
    }
}

/// No tool has the name of another, nor of a memory's that may be hidden.
fn check_tool_names(
    memories: &[Memory],
    facts: Option<&Conversation>,
    sources: &[SourceTool],
    tools: &[ApplicationTool],
) -> Result<(), AgentFailure> {
    let of_sources = sources.iter().map(SourceTool::name);
    let of_application = tools.iter().map(|tool| tool.name.as_str());
    let mut known = BTreeSet::new();
    for name in of_sources.chain(of_application) {
        let is_owned = memories.iter().any(|memory| memory.owns_tool(name))
            || facts.is_some_and(|facts| facts.owns_tool(name));
        if is_owned || !known.insert(name) {
            return Err(AgentFailure::new(
                FailureType::InvalidArgument,
                format!("workflow input: two tools are named `{name}`"),
            ));
        }
    }
    Ok(())
}

fn instructions(own: &str, memories: &[Memory]) -> String {
    let guidance = memories.iter().filter_map(Memory::guidance);
    let parts: Vec<_> = std::iter::once(own)
        .filter(|own| !own.is_empty())
        .chain(guidance)
        .collect();
    parts.join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_store_of_the_conversation_lacks_is_told_by_the_field_that_asks_for_it() {
        let store = |keeps_transcripts, keeps_facts| MemoryDescription {
            keeps_transcripts,
            keeps_facts,
            ..MemoryDescription::default()
        };
        let neither = store(false, Some(false));
        let transcripts = store(true, Some(false));
        let facts = store(false, Some(true));
        // By workers from before there were stores with one of the two alone.
        let (old_both, old_neither) = (store(true, None), store(false, None));
        let asks = |change: fn(&mut AgentInput), kept| {
            let mut input = AgentInput::default();
            change(&mut input);
            asks_for_more(&input, kept)
        };
        for kept in [&neither, &transcripts, &facts, &old_both, &old_neither] {
            assert_eq!(asks(|_| (), kept), None, "{kept:?}");
        }

        let id = |input: &mut AgentInput| input.conversation.id = Some("one".to_owned());
        let named = |input: &mut AgentInput| input.conversation.store = Some("eu".to_owned());
        for (field, change) in [
            ("conversation.id", id as fn(&mut AgentInput)),
            ("conversation.store", named),
        ] {
            for kept in [&neither, &facts, &old_neither] {
                let lacks = Some((field, "transcripts"));
                assert_eq!(asks(change, kept), lacks, "{field}, {kept:?}");
            }
            for kept in [&transcripts, &old_both] {
                assert_eq!(asks(change, kept), None, "{field}, {kept:?}");
            }
        }

        let with_facts = |input: &mut AgentInput| input.fact_tools = true;
        for kept in [&neither, &transcripts, &old_neither] {
            assert_eq!(
                asks(with_facts, kept),
                Some(("fact_tools", "facts")),
                "{kept:?}"
            );
        }
        for kept in [&facts, &old_both] {
            assert_eq!(asks(with_facts, kept), None, "{kept:?}");
        }
        let for_facts = |input: &mut AgentInput| {
            input.fact_tools = true;
            input.conversation.store = Some("eu".to_owned());
        };
        assert_eq!(asks(for_facts, &facts), None);
        let lacks = Some(("conversation.store", "transcripts"));
        assert_eq!(asks(for_facts, &neither), lacks);
    }
}
