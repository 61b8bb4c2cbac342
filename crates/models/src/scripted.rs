//! A chat model that reads its answers from a file.

use std::path::Path;

use async_trait::async_trait;
use notekeeper_domain::{Message, ToolCall, UserPart};

use crate::{ChatModel, ChatRequest, ChatResponse, ModelError, ScriptError, script::Script};

/// Answer to a prompt that no turn matches, where the script sets none.
const FALLBACK: &str = "I have no answer to this in my script.";

/// A chat model that answers from a script: the same request gets the same answer, in this
/// process and in every other one.
///
/// # The script
///
/// ```json
/// {
///   "turns": [
///     {
///       "prompt": "Please remember that I take my tea green.",
///       "responses": [
///         {"tool_calls": [
///           {"id": "call_0", "name": "write_memory", "arguments": {"content": "- tea: green"}}
///         ]},
///         {"text": "Done: {{last_tool_result}}"}
///       ]
///     },
///     {
///       "prompt_contains": "weather",
///       "responses": [
///         {"failure": {"kind": "unavailable", "attempts": 2}, "text": "It is sunny."}
///       ]
///     }
///   ],
///   "fallback": "I don't know, but I see this: {{memory}}"
/// }
/// ```
///
/// A turn answers the latest text of the user: all of it (`prompt`) or a part of it
/// (`prompt_contains`). The first turn in the file that matches counts. Its first response answers
/// the first model request after that text, the second response the request that brings the
/// results of the first one's tool calls, and so on. A request beyond the last response is refused.
///
/// A response has `text`, `tool_calls`, or both. The `id` of a call may repeat and may be missing;
/// missing `arguments` are an empty object. A `failure` of kind `unavailable` (worth another
/// attempt) or `refused` (not) comes instead of the answer; with `attempts` only the first so many
/// attempts at the request fail, then the answer comes.
///
/// Texts may hold placeholders, so that a reader sees what the model saw: `{{memory}}`, the memory
/// blocks of the request, one after the other; `{{summary}}`, the summary of earlier messages;
/// `{{last_tool_result}}`, the latest result of a tool call; `{{message_count}}`, the number of
/// messages; `{{instructions}}`, the instructions.
///
/// A prompt that no turn matches is answered with `fallback`, or with a fixed sentence where the
/// script has none. Unknown keys and placeholders are errors.
#[derive(Debug, Clone)]
pub struct ScriptedModel {
    script: Script,
}

impl ScriptedModel {
    /// Reads a script from a file.
    ///
    /// # Errors
    ///
    /// [`ScriptError`] names the file, the place in it, and what to write there.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, ScriptError> {
        Script::from_file(path.as_ref()).map(|script| Self { script })
    }

    /// Reads a script from its JSON text.
    ///
    /// # Errors
    ///
    /// As [`ScriptedModel::from_file`], without a file name.
    pub fn from_json(json: &str) -> Result<Self, ScriptError> {
        Script::parse(json, "script").map(|script| Self { script })
    }
}

#[async_trait]
impl ChatModel for ScriptedModel {
    async fn respond(&self, request: &ChatRequest) -> Result<ChatResponse, ModelError> {
        let (prompt, answers) = latest_prompt(&request.messages);
        let Some(turn) = self.script.turn(&prompt) else {
            let fallback = self.script.fallback.as_deref().unwrap_or(FALLBACK);
            return Ok(ChatResponse {
                text: fill_in(fallback, request),
                tool_calls: Vec::new(),
            });
        };
        let response = turn.responses.get(answers).ok_or_else(|| {
            ModelError::Refused(format!(
                "the script ends before request {} of this turn",
                answers + 1
            ))
        })?;
        match response.failure_of(request) {
            Some(error) => Err(error),
            None => Ok(ChatResponse {
                text: fill_in(&response.text, request),
                tool_calls: response.tool_calls.iter().map(ToolCall::from).collect(),
            }),
        }
    }
}

/// The latest text of the user, and how many answers of the model follow it. A message with
/// nothing but memory blocks is no prompt.
fn latest_prompt(messages: &[Message]) -> (String, usize) {
    let mut answers = 0;
    for message in messages.iter().rev() {
        match message {
            Message::Assistant { .. } => answers += 1,
            Message::User { parts } => {
                let texts: Vec<&str> = parts.iter().filter_map(text_of).collect();
                if !texts.is_empty() {
                    return (texts.join("\n"), answers);
                }
            }
            Message::System { .. } | Message::Tool { .. } => {}
        }
    }
    (String::new(), answers)
}

fn text_of(part: &UserPart) -> Option<&str> {
    match part {
        UserPart::Text { text } => Some(text),
        UserPart::Memory { .. } | UserPart::Summary { .. } => None,
    }
}

/// What a text of a script can show of the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Placeholder {
    Memory,
    Summary,
    LastToolResult,
    MessageCount,
    Instructions,
}

impl Placeholder {
    pub(crate) const ALL: [Self; 5] = [
        Self::Memory,
        Self::Summary,
        Self::LastToolResult,
        Self::MessageCount,
        Self::Instructions,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Summary => "summary",
            Self::LastToolResult => "last_tool_result",
            Self::MessageCount => "message_count",
            Self::Instructions => "instructions",
        }
    }

    /// Every `{{name}}` of `text`, in order. Braces around anything but a name are text.
    pub(crate) fn find_all(text: &str) -> impl Iterator<Item = (&str, Option<Self>)> {
        text.split("{{").skip(1).filter_map(|rest| {
            let (name, _) = split_name(rest)?;
            Some((name, Self::named(name)))
        })
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.name() == name)
    }

    fn value(self, request: &ChatRequest) -> String {
        match self {
            Self::Memory => texts(&request.messages, |part| match part {
                UserPart::Memory { text, .. } => Some(text),
                UserPart::Text { .. } | UserPart::Summary { .. } => None,
            }),
            Self::Summary => texts(&request.messages, |part| match part {
                UserPart::Summary { text } => Some(text),
                UserPart::Text { .. } | UserPart::Memory { .. } => None,
            }),
            Self::LastToolResult => last_tool_result(&request.messages).to_owned(),
            Self::MessageCount => request.messages.len().to_string(),
            Self::Instructions => request.instructions.clone(),
        }
    }
}

/// Splits what follows `{{` into a name and what follows its `}}`.
fn split_name(rest: &str) -> Option<(&str, &str)> {
    let (name, after) = rest.split_once("}}")?;
    let is_name = !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    is_name.then_some((name, after))
}

/// Puts values in place of placeholders, once: a value may itself hold braces.
fn fill_in(template: &str, request: &ChatRequest) -> String {
    let mut pieces = template.split("{{");
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let known = split_name(piece)
            .and_then(|(name, after)| Placeholder::named(name).map(|known| (known, after)));
        match known {
            Some((placeholder, after)) => {
                text.push_str(&placeholder.value(request));
                text.push_str(after);
            }
            None => {
                text.push_str("{{");
                text.push_str(piece);
            }
        }
    }
    text
}

/// The texts of some parts of user messages, one after the other.
fn texts(messages: &[Message], of_part: fn(&UserPart) -> Option<&String>) -> String {
    let parts = messages.iter().filter_map(|message| match message {
        Message::User { parts } => Some(parts),
        Message::System { .. } | Message::Assistant { .. } | Message::Tool { .. } => None,
    });
    let texts: Vec<&str> = parts
        .flatten()
        .filter_map(of_part)
        .map(String::as_str)
        .collect();
    texts.join("\n")
}

fn last_tool_result(messages: &[Message]) -> &str {
    messages
        .iter()
        .rev()
        .find_map(|message| match message {
            Message::Tool { content, .. } => Some(content.as_str()),
            Message::System { .. } | Message::User { .. } | Message::Assistant { .. } => None,
        })
        .unwrap_or_default()
}
