//! Messages of a conversation, as payloads carry them.

use notekeeper_domain::{Message, ToolCall, ToolDefinition, UserPart, is_block_of};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum ChatMessage {
    /// What the user said.
    User {
        /// The text.
        content: String,
        /// Memory blocks that an earlier request left beside it. None is sent on that a memory of
        /// the request left: each request has its own blocks.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        memories: Vec<ChatMemory>,
    },
    /// What the model answered.
    Assistant {
        /// Text of the answer; empty where it only calls tools.
        #[serde(default)]
        content: String,
        /// Tool calls of the answer, in order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<ChatToolCall>,
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

/// A memory block that an earlier request left in a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
pub struct ChatMemory {
    /// Hash of the scope that it shows, 16 hexadecimal digits; empty where nobody knows any more.
    #[serde(default)]
    pub scope_hash: String,
    /// The delimited block.
    pub text: String,
}

/// A tool call of the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
pub struct ChatToolCall {
    /// Id that the model gave; it may repeat across responses, or be empty.
    #[serde(default)]
    pub id: String,
    /// Name of the tool.
    pub name: String,
    /// Arguments, as the model gave them.
    #[serde(default)]
    pub arguments: Value,
}

/// A tool that the model may call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schemars"), derive(schemars::JsonSchema))]
pub struct ChatToolDefinition {
    /// Name, unique in a request.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// JSON Schema of its arguments.
    pub parameters: Value,
}

impl ChatMessage {
    /// What a user said.
    pub fn user(text: impl Into<String>) -> Self {
        Self::User {
            content: text.into(),
            memories: Vec::new(),
        }
    }

    /// Takes out the blocks of these memories that an earlier request left here, and those of which
    /// nobody knows any more whose they are.
    pub fn remove_memories(&mut self, scope_hashes: &[&str]) {
        if let Self::User { memories, .. } = self {
            memories.retain(|block| !is_block_of(&block.scope_hash, scope_hashes));
        }
    }
}

impl From<ChatMessage> for Message {
    fn from(message: ChatMessage) -> Self {
        match message {
            ChatMessage::User { content, memories } => {
                // A message that only ever held blocks is no prompt.
                let said = !content.is_empty() || memories.is_empty();
                let said = said.then_some(UserPart::Text { text: content });
                let blocks = memories
                    .into_iter()
                    .map(|ChatMemory { scope_hash, text }| UserPart::Memory { scope_hash, text });
                Self::User {
                    parts: said.into_iter().chain(blocks).collect(),
                }
            }
            ChatMessage::Assistant {
                content,
                tool_calls,
            } => Self::Assistant {
                text: content,
                tool_calls: tool_calls.into_iter().map(ToolCall::from).collect(),
            },
            ChatMessage::Tool {
                tool_call_id,
                content,
                is_error,
            } => Self::Tool {
                tool_call_id,
                content,
                is_error,
            },
        }
    }
}

impl From<ChatToolCall> for ToolCall {
    fn from(call: ChatToolCall) -> Self {
        Self {
            id: call.id,
            name: call.name,
            arguments: call.arguments,
        }
    }
}

impl From<ToolCall> for ChatToolCall {
    fn from(call: ToolCall) -> Self {
        Self {
            id: call.id,
            name: call.name,
            arguments: call.arguments,
        }
    }
}

impl From<ToolDefinition> for ChatToolDefinition {
    fn from(tool: ToolDefinition) -> Self {
        Self {
            name: tool.name,
            description: tool.description,
            parameters: tool.parameters,
        }
    }
}

impl From<ChatToolDefinition> for ToolDefinition {
    fn from(tool: ChatToolDefinition) -> Self {
        Self {
            name: tool.name,
            description: tool.description,
            parameters: tool.parameters,
        }
    }
}
