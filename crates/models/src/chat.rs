//! The port for chat models.

use std::{fmt::Debug, time::Duration};

use async_trait::async_trait;
use notekeeper_domain::{Message, ToolCall, ToolDefinition};

/// One request to a chat model.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatRequest {
    /// Trusted instructions: the application's, then the guidance of the memories, then what grounds the
    /// conversation.
    pub instructions: String,
    /// The conversation, memory blocks in their places.
    pub messages: Vec<Message>,
    /// Tools that the model may call.
    pub tools: Vec<ToolDefinition>,
    /// Which attempt at this request it is, counted from 1.
    pub attempt: u32,
}

/// What a model answers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ChatResponse {
    /// Text of the answer; empty where the model only calls tools.
    pub text: String,
    /// Tool calls of the answer, in order.
    pub tool_calls: Vec<ToolCall>,
}

/// Why a model gives no answer, by what the caller may do. The text quotes neither the request
/// nor the answer: it ends up in histories and logs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// The model can't be reached or is overloaded; the same request may succeed later.
    #[error("model is unavailable: {message}")]
    Unavailable {
        /// What happened.
        message: String,
        /// How long the model asks to wait before the same request, if it asks: at most a minute.
        retry_after: Option<Duration>,
    },
    /// The model refuses the request or answers something that can't be used; the same request
    /// would end the same way.
    #[error("model refused: {0}")]
    Refused(String),
}

impl ModelError {
    /// An [`Unavailable`](Self::Unavailable) that leaves the time of the next attempt to the caller.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::Unavailable {
            message: message.into(),
            retry_after: None,
        }
    }
}

/// A chat model.
#[async_trait]
pub trait ChatModel: Send + Sync + Debug {
    /// Answers one request. It keeps nothing from earlier ones: all that the model should know
    /// stands in the request.
    ///
    /// # Errors
    ///
    /// [`ModelError`] says whether the same request may be sent again.
    async fn respond(&self, request: &ChatRequest) -> Result<ChatResponse, ModelError>;
}
