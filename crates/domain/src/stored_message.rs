//! Messages as transcripts keep them: JSON objects of any dialect.

mod calls;
mod content;
mod dialects;
mod faults;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

use self::faults::{holds_more_levels, nul_in_object, take_apart};
use crate::{MESSAGE_BYTES_MAX, MESSAGE_LEVELS_MAX, Message, ROLE_BYTES_MAX};

/// One message of a transcript: the JSON object that a caller gave, with whatever fields it has.
///
/// All that is asked of it is a `role`. What it says is read from it when it is needed.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredMessage {
    object: Map<String, Value>,
    /// The object as text: what stores keep, and what the bound measures.
    json: String,
}

/// Why a value is no message. The text quotes none of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidMessage {
    /// It is no object.
    #[error("must be a JSON object")]
    NoObject,
    /// It has no usable role.
    #[error("needs `role`, a text of 1 to {ROLE_BYTES_MAX} bytes, such as `user`")]
    Role,
    /// A text or a key in it holds U+0000.
    #[error("contains a NUL character (U+0000){}; leave it out", place(.path))]
    Nul {
        /// Where, such as `content[0].text`: up to the first name that is the caller's own, and empty
        /// where that is the first of all.
        path: String,
    },
    /// Lists and objects in it stand in one another too often.
    #[error(
        "has lists or objects in more than {MESSAGE_LEVELS_MAX} levels; keep what is so deep as a JSON text"
    )]
    TooDeep,
    /// It is too large.
    #[error(
        "has {bytes} bytes as JSON, {MESSAGE_BYTES_MAX} are allowed; split it, or keep a reference to what is large"
    )]
    TooLarge {
        /// Bytes of its JSON.
        bytes: usize,
    },
}

impl StoredMessage {
    /// Checks a value.
    ///
    /// # Errors
    ///
    /// [`InvalidMessage`].
    pub fn new(value: Value) -> Result<Self, InvalidMessage> {
        // All that comes after goes down into it level by level, as even letting go of it does.
        if holds_more_levels(&value, MESSAGE_LEVELS_MAX) {
            take_apart(value);
            return Err(InvalidMessage::TooDeep);
        }
        let Value::Object(object) = &value else {
            return Err(InvalidMessage::NoObject);
        };
        let role = object.get("role").and_then(Value::as_str);
        if !role.is_some_and(|role| (1..=ROLE_BYTES_MAX).contains(&role.len())) {
            return Err(InvalidMessage::Role);
        }
        let json = value.to_string();
        if json.len() > MESSAGE_BYTES_MAX {
            return Err(InvalidMessage::TooLarge { bytes: json.len() });
        }
        if let Some(path) = nul_in_object(object) {
            return Err(InvalidMessage::Nul { path });
        }
        let Value::Object(object) = value else {
            return Err(InvalidMessage::NoObject);
        };
        Ok(Self { object, json })
    }

    /// Reads back what a store kept.
    ///
    /// # Errors
    ///
    /// [`InvalidMessage`]; a store that kept one of ours never gives any.
    pub fn from_json(json: &str) -> Result<Self, InvalidMessage> {
        Self::new(serde_json::from_str(json).map_err(|_| InvalidMessage::NoObject)?)
    }

    /// Its JSON text, without spaces between.
    pub fn as_json(&self) -> &str {
        &self.json
    }

    /// Its fields.
    pub fn object(&self) -> &Map<String, Value> {
        &self.object
    }

    /// Its fields, as a value.
    pub fn into_value(self) -> Value {
        Value::Object(self.object)
    }

    /// Who speaks, as the caller named it.
    pub fn role(&self) -> &str {
        self.object
            .get("role")
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    /// What a model request needs of it: one message, or none, or several.
    ///
    /// It is read as our own form, OpenAI's Chat Completions or Anthropic's Messages have it, and
    /// nothing that is off makes it fail. Results of tools that stand beside words of the user come
    /// first, each as a message. What is no text, such as an image, is a mark like `[image]`, so that
    /// the model knows of it. Thoughts of a model and the tools of its provider are left out where
    /// the message says anything else, and so are messages of roles that no model knows.
    pub fn to_messages(&self) -> Vec<Message> {
        dialects::messages(&self.object)
    }
}

/// A place as errors tell it.
fn place(path: &str) -> String {
    match path {
        "" => String::new(),
        path => format!(" in `{path}`"),
    }
}
