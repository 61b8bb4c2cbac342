//! The sources of an agent: what grounds a conversation, and what the model may search.

use notekeeper_domain::{GROUNDING_TOKENS_DEFAULT, Where};
use serde::{Deserialize, Serialize};

use super::{AgentFailure, AgentInput, setup::Resolver};
use crate::{
    ActivitySettings, Grounder, Grounding, GroundingFormat, InjectionErrors, Memory,
    MemorySettings, OpenError, Recall, RecallSettings, RecallTool, Session, SourceTool,
};

/// Most sources of one agent.
const SOURCES_MAX: usize = 32;

/// A source that the model may search, with a tool of its own.
///
/// It is asked in the scope of the first memory, unless `namespace` or `agent_name` say otherwise. Where
/// `namespace` does, the workflow's resolver answers for it as for a memory whose id is the source's name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentSource {
    /// Name of one of the worker's sources: 1 to 100 ASCII letters, digits, `_`, `-` and `.`.
    pub source: String,
    /// Name of the tool: 1 to 64 ASCII letters, digits, `_` and `-`. Where it is missing it is
    /// `hybrid_search` for the source `hybrid`, and `search_` with the name of any other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// What the tool does, for the model; ours where it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Most items of an answer, 1 to 100; 5 where it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub k: Option<usize>,
    /// What the metadata of the items must be. The model neither sees nor changes it.
    #[serde(default, rename = "where", skip_serializing_if = "Where::is_empty")]
    pub condition: Where,
    /// Most that an answer may have, in tokens of four characters, 1 to 16,000.
    #[serde(default = "max_tokens")]
    pub max_tokens: usize,
    /// What a search does that fails for good.
    #[serde(default, skip_serializing_if = "SearchErrors::is_default")]
    pub errors: SearchErrors,
    /// The tenant, where it isn't that of the first memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Storage segment inside the namespace, where it isn't that of the first memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_name: Option<String>,
}

/// What a search of the model does that fails for good.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SearchErrors {
    /// The model is told so by the tool's result, and goes on without. The source is waited for at most
    /// 30 seconds. What is wrong with the call itself, such as a source that the worker doesn't have, fails the
    /// message all the same.
    #[default]
    Tell,
    /// The message fails, as with any other tool, after `schedule_to_close_ms` of the first memory's
    /// `activities`.
    Fail,
}

impl SearchErrors {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// The source whose items stand in the instructions.
///
/// Where `sources` has one of the same name, that one is meant: its scope as far as none stands here, and `k`
/// and `where` of the first one with that scope as far as none stand here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentGrounding {
    /// Name of one of the worker's sources: 1 to 100 ASCII letters, digits, `_`, `-` and `.`.
    pub source: String,
    /// Most items, 1 to 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub k: Option<usize>,
    /// What the metadata of the items must be.
    #[serde(default, rename = "where", skip_serializing_if = "Option::is_none")]
    pub condition: Option<Where>,
    /// How each item is written: a text with `{source}`, `{content}`, `{id}`, `{score}` and
    /// `{metadata.KEY}`. `[{source}] {content}` where it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// The line over the items, at most 1,000 characters; none where it is empty, and
    /// `Relevant context:` where it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    /// Most that the text may have, header included, in tokens of four characters, 1 to 16,000.
    #[serde(default = "max_tokens")]
    pub max_tokens: usize,
    /// Whether the source is asked anew with each message. What stands before the conversation then
    /// changes with each, so that a provider's cache of it is of no use.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reground_every_turn: bool,
    /// What a source does that can't be asked: with `ignore`, the default, the message is answered
    /// without, which its reply says; with `raise` the message fails.
    #[serde(default)]
    pub errors: InjectionErrors,
    /// The tenant, where it isn't that of the first memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Storage segment inside the namespace, where it isn't that of the first memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_name: Option<String>,
}

fn max_tokens() -> usize {
    GROUNDING_TOKENS_DEFAULT
}

/// What the query `state` says of what grounds the conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroundingState {
    /// Name of the source.
    pub source: String,
    /// Whether the source has answered in full; before that, the next message asks it.
    pub grounded: bool,
    /// How many items stand in the instructions.
    pub items: usize,
    /// How many were found and left out for their size.
    pub left_out: usize,
    /// Names of sources of a composition that weren't ready in time, or failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unheard: Vec<String>,
    /// Messages, in all runs, for which the source couldn't be asked.
    pub skipped: u64,
}

/// The sources of a run, opened.
pub(super) struct OpenedSources {
    pub(super) grounder: Option<Grounder>,
    pub(super) tools: Vec<SourceTool>,
}

/// Which scope a source is asked in.
struct Place<'i> {
    source: &'i str,
    namespace: Option<&'i String>,
    agent_name: Option<&'i String>,
}

/// Opens the sources of the input.
pub(super) fn open_sources(
    session: &Session,
    input: &AgentInput,
    first: &Memory,
    resolve: Resolver,
) -> Result<OpenedSources, AgentFailure> {
    let open = |place: Place<'_>| open_source(session, input, first, resolve, &place);
    let mut tools = Vec::new();
    for (index, given) in input.sources.iter().enumerate() {
        let at = |error| in_field(error, &format!("sources[{index}]"));
        let recall = open(Place {
            source: &given.source,
            namespace: given.namespace.as_ref(),
            agent_name: given.agent_name.as_ref(),
        });
        let tool = RecallTool {
            name: given.tool.clone(),
            description: given.description.clone(),
            k: given.k,
            condition: Some(given.condition.clone()),
            max_tokens: given.max_tokens,
        };
        tools.push(recall.and_then(|recall| recall.tool(tool)).map_err(at)?);
    }
    let Some(given) = &input.grounding else {
        return Ok(OpenedSources {
            grounder: None,
            tools,
        });
    };
    let same = given.definition(&input.sources);
    let at = |error| in_field(error, "grounding");
    let recall = open(Place {
        source: &given.source,
        namespace: given
            .namespace
            .as_ref()
            .or(same.and_then(|it| it.namespace.as_ref())),
        agent_name: given
            .agent_name
            .as_ref()
            .or(same.and_then(|it| it.agent_name.as_ref())),
    })
    .map_err(at)?;
    // Conditions of one tenant's items say nothing of another's.
    let mut stated = tools.iter().zip(&input.sources);
    let same = stated.find(|(tool, _)| tool.recall().is_same(&recall));
    let grounding = given.grounding(same.map(|(_, same)| same));
    let grounding = grounding.map_err(OpenError::Source);
    let grounder = grounding.and_then(|grounding| recall.as_grounder(grounding));
    Ok(OpenedSources {
        grounder: Some(grounder.map_err(at)?),
        tools,
    })
}

impl AgentGrounding {
    /// The tool's definition of the same source, where there is one that this could mean.
    fn definition<'i>(&self, sources: &'i [AgentSource]) -> Option<&'i AgentSource> {
        sources.iter().find(|it| it.source == self.source)
    }

    fn grounding(&self, same: Option<&AgentSource>) -> Result<Grounding, String> {
        let format = match &self.format {
            None => GroundingFormat::default(),
            Some(format) => {
                GroundingFormat::template(format).map_err(|error| format!("`format` {error}"))?
            }
        };
        let defaults = Grounding::default();
        Ok(Grounding {
            k: self.k.or(same.and_then(|it| it.k)),
            condition: self
                .condition
                .clone()
                .or(same.map(|it| it.condition.clone())),
            format,
            header: self.header.clone().unwrap_or(defaults.header),
            max_tokens: self.max_tokens,
            reground_every_turn: self.reground_every_turn,
        })
    }
}

/// Opens a source in the namespace of the first memory, or in one that the resolver answers with where the
/// input names one. Another agent name alone stays inside of the first memory's namespace.
fn open_source(
    session: &Session,
    input: &AgentInput,
    first: &Memory,
    resolve: Resolver,
    place: &Place<'_>,
) -> Result<Recall, OpenError> {
    let agent_name = place.agent_name.unwrap_or(&first.settings().agent_name);
    let settings = RecallSettings {
        source: place.source.to_owned(),
        namespace: place.namespace.cloned(),
        agent_name: agent_name.clone(),
        activities: activities(first),
        ..RecallSettings::default()
    };
    let as_memory = MemorySettings {
        id: place.source.to_owned(),
        namespace: place.namespace.cloned(),
        agent_name: agent_name.clone(),
        ..MemorySettings::default()
    };
    session.recall(settings, input, |input| match place.namespace {
        Some(_) => resolve(input, &as_memory),
        None => Ok(first.scope().namespace().to_owned()),
    })
}

/// Sources are asked where the first memory is.
fn activities(first: &Memory) -> ActivitySettings {
    first.settings().activities.clone()
}

/// The error with the field of the input that it is about.
fn in_field(error: OpenError, field: &str) -> AgentFailure {
    match error {
        OpenError::Source(what) => AgentFailure::new(
            OpenError::Source(String::new()).failure_type(),
            format!("workflow input: `{field}`: {what}"),
        ),
        other => other.into(),
    }
}

/// Says what is wrong with how many sources there are, if anything is.
pub(super) fn check_sources(input: &AgentInput) -> Result<(), String> {
    match input.sources.len() <= SOURCES_MAX {
        true => Ok(()),
        false => Err(format!("`sources` has more than {SOURCES_MAX} entries")),
    }
}

#[cfg(test)]
mod tests;
