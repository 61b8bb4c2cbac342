//! Messages of a conversation, in the form that transcripts and model requests carry.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One message. The JSON form is stable: transcripts and histories hold it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// What the user said, and memory blocks beside it.
    User {
        /// The parts in order.
        parts: Vec<UserPart>,
    },
    /// What the model answered.
    Assistant {
        /// Text of the answer; empty where it only calls tools.
        #[serde(default)]
        text: String,
        /// Tool calls of the answer, in order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<ToolCall>,
    },
    /// What a tool call came to.
    Tool {
        /// The call that is answered.
        tool_call_id: String,
        /// Text for the model.
        content: String,
        /// Whether the call failed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

/// One part of a user message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum UserPart {
    /// Text of the user.
    Text {
        /// The text.
        text: String,
    },
    /// A memory block. It belongs to one request and is never kept in a transcript.
    Memory {
        /// Which memory it shows: the scope hash.
        scope_hash: String,
        /// The delimited block.
        text: String,
    },
}

/// A tool call of the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Id that the model gave; it may repeat across responses, or be empty.
    #[serde(default)]
    pub id: String,
    /// Name of the tool.
    pub name: String,
    /// Arguments, as the model gave them.
    #[serde(default)]
    pub arguments: Value,
}

impl Message {
    /// A user message of one text.
    pub fn user(text: impl Into<String>) -> Self {
        Self::User {
            parts: vec![UserPart::Text { text: text.into() }],
        }
    }
}
