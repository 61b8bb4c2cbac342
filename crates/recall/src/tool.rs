//! The port for search tools: what a source of the kind `tool` calls.

use std::{fmt::Debug, time::Duration};

use async_trait::async_trait;
use serde_json::{Map, Value};

use crate::SourceCall;

/// A tool that searches, somewhere else: behind an HTTP endpoint, or as an activity of the application's.
#[async_trait]
pub trait SearchTool: Send + Sync + Debug {
    /// Calls the tool with these arguments, for the scope of the call.
    ///
    /// # Errors
    ///
    /// [`ToolCallError`] says whether the same call may succeed later.
    async fn call(
        &self,
        arguments: Map<String, Value>,
        call: &SourceCall<'_>,
    ) -> Result<Value, ToolCallError>;
}

/// Why a tool gives no result. The text holds nothing of arguments or answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolCallError {
    /// It can't be reached or is overloaded; the same call may succeed later.
    #[error("the search tool is unavailable: {message}")]
    Unavailable {
        /// What happened.
        message: String,
        /// How long the tool asks to wait before the same call, if it asks.
        retry_after: Option<Duration>,
    },
    /// It refuses the call, or answers what can't be read; the same call would end the same way.
    #[error("the search tool refused: {0}")]
    Refused(String),
}

impl ToolCallError {
    /// An [`Unavailable`](Self::Unavailable) that leaves the time of the next call to the caller.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::Unavailable {
            message: message.into(),
            retry_after: None,
        }
    }
}
