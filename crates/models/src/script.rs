//! Scripts: the file format of the scripted model.

use std::{io, path::Path};

use notekeeper_domain::{ToolCall, with_nearest};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{ChatRequest, ModelError, scripted::Placeholder};

/// Why a script can't be used.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// The file can't be read.
    #[error("can't read the script `{file}`: {source}")]
    Read {
        /// Path of the file.
        file: String,
        /// Why not.
        source: io::Error,
    },
    /// The text isn't a script.
    #[error("{script} is not usable: at `{at}`, {reason}")]
    Invalid {
        /// Which script: its file, where it came from one.
        script: String,
        /// Place in the script, such as `turns[0].responses[1].text`; `.` is the whole.
        at: String,
        /// What is wrong there, and what to write instead.
        reason: String,
    },
}

/// The whole script.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Script {
    /// Turns, the first that matches counts.
    pub(crate) turns: Vec<Turn>,
    /// What answers a prompt that no turn matches.
    pub(crate) fallback: Option<String>,
}

/// The answers to one user message.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Turn {
    /// The user's text, exactly.
    pub(crate) prompt: Option<String>,
    /// A part of the user's text.
    pub(crate) prompt_contains: Option<String>,
    /// One answer for each model request after the user's message.
    pub(crate) responses: Vec<Response>,
}

/// The answer to one model request.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Response {
    #[serde(default)]
    pub(crate) text: String,
    #[serde(default)]
    pub(crate) tool_calls: Vec<ScriptedCall>,
    pub(crate) failure: Option<Failure>,
}

/// A tool call of the script.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScriptedCall {
    #[serde(default)]
    id: String,
    name: String,
    #[serde(default = "no_arguments")]
    arguments: Value,
}

/// A failure instead of an answer.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Failure {
    kind: FailureKind,
    /// Attempts that fail; all of them where it is missing.
    attempts: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum FailureKind {
    Unavailable,
    Refused,
}

fn no_arguments() -> Value {
    Value::Object(Map::new())
}

impl Script {
    /// Reads and checks a script file.
    pub(crate) fn from_file(path: &Path) -> Result<Self, ScriptError> {
        let file = path.display().to_string();
        match std::fs::read_to_string(path) {
            Ok(json) => Self::parse(&json, &format!("script `{file}`")),
            Err(source) => Err(ScriptError::Read { file, source }),
        }
    }

    /// Reads and checks a script. `name` is what messages call it.
    pub(crate) fn parse(json: &str, name: &str) -> Result<Self, ScriptError> {
        Self::read(json)
            .and_then(|script| script.check().map(|()| script))
            .map_err(|Fault { at, reason }| ScriptError::Invalid {
                script: name.to_owned(),
                at,
                reason,
            })
    }

    fn read(json: &str) -> Result<Self, Fault> {
        let mut deserializer = serde_json::Deserializer::from_str(json);
        let script = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
            let path = error.path().to_string();
            // Where the text ends too early there is no path, which prints as `?`.
            let at = if path == "?" { "." } else { &path };
            fault(at, with_nearest(&error.inner().to_string()))
        })?;
        deserializer.end().map_err(|error| fault(".", error))?;
        Ok(script)
    }

    fn check(&self) -> Result<(), Fault> {
        if let Some(fallback) = &self.fallback {
            check_text("fallback", fallback)?;
        }
        for (index, turn) in self.turns.iter().enumerate() {
            turn.check(&format!("turns[{index}]"))?;
        }
        Ok(())
    }

    /// The first turn that answers `prompt`.
    pub(crate) fn turn(&self, prompt: &str) -> Option<&Turn> {
        self.turns.iter().find(|turn| turn.matches(prompt))
    }
}

impl Turn {
    fn check(&self, at: &str) -> Result<(), Fault> {
        if self.prompt.is_some() == self.prompt_contains.is_some() {
            return Err(fault(at, "give either `prompt` or `prompt_contains`"));
        }
        if self.responses.is_empty() {
            return Err(fault(
                &format!("{at}.responses"),
                "give at least one response",
            ));
        }
        for (index, response) in self.responses.iter().enumerate() {
            response.check(&format!("{at}.responses[{index}]"))?;
        }
        Ok(())
    }

    fn matches(&self, prompt: &str) -> bool {
        match (&self.prompt, &self.prompt_contains) {
            (Some(exact), _) => exact == prompt,
            (None, Some(part)) => prompt.contains(part.as_str()),
            (None, None) => false,
        }
    }
}

impl Response {
    fn check(&self, at: &str) -> Result<(), Fault> {
        check_text(&format!("{at}.text"), &self.text)?;
        let answers = !self.text.is_empty() || !self.tool_calls.is_empty();
        match self.failure {
            Some(Failure { attempts: None, .. }) if answers => Err(fault(
                at,
                "a failure without `attempts` leaves nothing to answer; set `attempts`, or leave out `text` and `tool_calls`",
            )),
            Some(Failure {
                kind: FailureKind::Refused,
                attempts: Some(_),
            }) => Err(fault(
                &format!("{at}.failure"),
                "a refused request is never sent again; leave out `attempts`",
            )),
            _ => Ok(()),
        }
    }

    /// The failure that this attempt of the request meets, if it meets one.
    pub(crate) fn failure_of(&self, request: &ChatRequest) -> Option<ModelError> {
        let failure = self.failure?;
        let fails = failure
            .attempts
            .is_none_or(|attempts| request.attempt <= attempts);
        fails.then(|| match failure.kind {
            FailureKind::Unavailable => ModelError::unavailable("the script says so"),
            FailureKind::Refused => ModelError::Refused("the script says so".to_owned()),
        })
    }
}

impl From<&ScriptedCall> for ToolCall {
    fn from(call: &ScriptedCall) -> Self {
        Self {
            id: call.id.clone(),
            name: call.name.clone(),
            arguments: call.arguments.clone(),
        }
    }
}

/// A misspelt placeholder would be said to the user, so it is an error.
fn check_text(at: &str, text: &str) -> Result<(), Fault> {
    let mut placeholders = Placeholder::find_all(text);
    let Some((name, _)) = placeholders.find(|(_, placeholder)| placeholder.is_none()) else {
        return Ok(());
    };
    let known = Placeholder::ALL.map(Placeholder::name).join(", ");
    Err(fault(
        at,
        format!("unknown placeholder `{name}`; known: {known}"),
    ))
}

/// What is wrong, and where.
struct Fault {
    at: String,
    reason: String,
}

fn fault(at: &str, reason: impl ToString) -> Fault {
    Fault {
        at: at.to_owned(),
        reason: reason.to_string(),
    }
}
