//! What a chat is told on the command line.

use clap::Args;
use notekeeper_domain::{AGENT_NAME_DEFAULT, HistoryPolicy};
use notekeeper_workflows::AgentInput;

use crate::arguments::TemporalArgs;

use super::kept::Place;

/// Exchanges of an earlier conversation that are shown when it goes on, where nothing is said.
const EXCHANGES_SHOWN: usize = 3;

/// Whose notes an agent keeps, where nothing is said.
const NAMESPACE_DEFAULT: &str = "chat";

/// Which of the worker's models answers, where nothing is said.
const MODEL_DEFAULT: &str = "default";

#[derive(Debug, Args)]
#[command(after_help = "\
Each line is a message; a pasted text with several lines is one. Where standard input is no \
terminal, each of its lines is a message, the answers go to standard output, and the exit code is 0 \
if every line was sent, answered and kept, 1 if one wasn't, or not in time.

Examples:
  notekeeper chat
  notekeeper chat travel --namespace customers/ada --instructions 'Be brief.'
  notekeeper chat travel --namespace customers/ada --facts --history window:40 --last 10
  printf 'I like green tea; remember that.\\n' | notekeeper chat")]
pub(crate) struct ChatArgs {
    /// Id of the conversation, which is a workflow: begun if there is none, or else continued; where the
    /// workflow has ended, with the messages that its store keeps.
    #[arg(default_value = "chat", value_name = "CONVERSATION")]
    pub(super) conversation: String,

    /// Begin anew where the conversation was closed, and remove the messages that are kept of it. On a
    /// terminal it is asked whether that is meant.
    #[arg(long)]
    pub(super) new: bool,

    /// Show so many exchanges of a conversation that goes on; 0 for none.
    #[arg(long, value_name = "EXCHANGES", default_value_t = EXCHANGES_SHOWN)]
    pub(super) last: usize,

    /// Whose notes the agent keeps: the namespace, of segments with `/` between [default: chat]. It counts
    /// when the conversation's workflow begins, as do the next six; one that goes on keeps its own.
    #[arg(id = "memory_namespace", long = "namespace", value_name = "NAMESPACE")]
    pub(super) namespace: Option<String>,

    /// Agent whose notes they are, inside the namespace [default: main].
    #[arg(long, value_name = "NAME")]
    pub(super) agent_name: Option<String>,

    /// Which of the worker's models answers [default: default].
    #[arg(long, value_name = "NAME")]
    pub(super) model: Option<String>,

    /// What the agent should know and do beside remembering.
    #[arg(long, value_name = "TEXT")]
    pub(super) instructions: Option<String>,

    /// Under which id the store keeps the messages, inside the namespace, where it isn't the
    /// conversation's own.
    #[arg(id = "kept_as", long = "conversation", value_name = "ID")]
    pub(super) kept_as: Option<String>,

    /// Give the model tools that remember, recall and forget facts.
    #[arg(long)]
    pub(super) facts: bool,

    /// What of the conversation is sent to the model: `window:N` for the latest messages, `tokens:N`
    /// for as many as fit, or a JSON file with a list of policies [default: all of it].
    #[arg(long, value_name = "POLICY")]
    pub(super) history: Option<String>,

    /// Task queue of the activities [default: notekeeper].
    #[arg(long, env = "NOTEKEEPER_TASK_QUEUE", value_name = "NAME")]
    pub(super) task_queue: Option<String>,

    /// Task queue of the workflows [default: notekeeper-workflows].
    #[arg(long, env = "NOTEKEEPER_WORKFLOW_TASK_QUEUE", value_name = "NAME")]
    pub(super) workflow_task_queue: Option<String>,

    /// Longest wait for one answer, in seconds; 0 for none [default: 900, and none at a terminal].
    ///
    /// A message that has no answer by then ends the chat with 1; it is kept if it was taken.
    #[arg(long, value_name = "SECONDS")]
    pub(super) timeout: Option<u32>,

    #[command(flatten)]
    pub(super) temporal: TemporalArgs,
}

/// What is said of how a conversation begins. One that goes on keeps its own.
#[derive(Debug, Default)]
pub(super) struct Given {
    pub(super) namespace: Option<String>,
    pub(super) agent_name: Option<String>,
    pub(super) model: Option<String>,
    pub(super) instructions: Option<String>,
    /// Id of the conversation in its scope, where it isn't the workflow's.
    pub(super) conversation: Option<String>,
    pub(super) history: Option<Vec<HistoryPolicy>>,
    /// Whether the model keeps facts.
    pub(super) facts: bool,
}

impl Given {
    pub(super) fn namespace(&self) -> &str {
        self.namespace.as_deref().unwrap_or(NAMESPACE_DEFAULT)
    }

    pub(super) fn agent_name(&self) -> &str {
        self.agent_name.as_deref().unwrap_or(AGENT_NAME_DEFAULT)
    }

    pub(super) fn model(&self) -> &str {
        self.model.as_deref().unwrap_or(MODEL_DEFAULT)
    }

    /// Flags that say otherwise than how a conversation began, which keeps that. Where it can't be read,
    /// any flag may.
    pub(super) fn unheeded(&self, began: Option<(&AgentInput, &Place)>) -> Vec<&'static str> {
        fn differs<T: PartialEq + ?Sized>(given: Option<&T>, began: Option<&T>) -> bool {
            given.is_some() && given != began
        }
        let (input, place) = began.unzip();
        let scope = place.map(|place| &place.scope);
        let flags = [
            (
                "--namespace",
                differs(
                    self.namespace.as_deref(),
                    scope.map(|scope| scope.namespace.as_str()),
                ),
            ),
            (
                "--agent-name",
                differs(
                    self.agent_name.as_deref(),
                    scope.map(|scope| scope.agent_name.as_str()),
                ),
            ),
            (
                "--model",
                differs(
                    self.model.as_deref(),
                    input.map(|input| input.model.as_str()),
                ),
            ),
            (
                "--instructions",
                differs(
                    self.instructions.as_deref(),
                    input.map(|input| input.instructions.as_str()),
                ),
            ),
            (
                "--conversation",
                differs(
                    self.conversation.as_deref(),
                    place.map(|place| place.conversation.as_str()),
                ),
            ),
            (
                "--facts",
                self.facts && !input.is_some_and(|input| input.fact_tools),
            ),
            (
                "--history",
                differs(self.history.as_ref(), input.map(|input| &input.history)),
            ),
        ];
        let unheeded = flags.into_iter().filter(|(_, differs)| *differs);
        unheeded.map(|(flag, _)| flag).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_that_say_what_a_conversation_has_are_nothing_to_speak_of_and_others_are() {
        let input: AgentInput = serde_json::from_value(serde_json::json!({
            "namespace": "acme",
            "model": "small",
            "fact_tools": true,
        }))
        .expect("an input");
        let place = Place::of(&input, "travel", None);
        let began = Some((&input, &place));
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(Given::default().unheeded(began), [""; 0]);
        assert_eq!(Given::default().unheeded(None), [""; 0]);

        let same = || Given {
            namespace: text("acme"),
            agent_name: text("main"),
            model: text("small"),
            instructions: text(""),
            conversation: text("travel"),
            history: Some(Vec::new()),
            facts: true,
        };
        assert_eq!(same().unheeded(began), [""; 0]);
        assert_eq!(same().unheeded(None).len(), 7);

        let other = Given {
            namespace: text("other"),
            model: text("default"),
            ..same()
        };
        assert_eq!(other.unheeded(began), ["--namespace", "--model"]);
        let given = Given {
            facts: true,
            conversation: text("else"),
            ..Given::default()
        };
        let mut without = input.clone();
        without.fact_tools = false;
        assert_eq!(
            given.unheeded(Some((&without, &place))),
            ["--conversation", "--facts"]
        );
    }
}
