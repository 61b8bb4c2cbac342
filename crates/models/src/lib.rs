//! Models, seen from the outside: what is asked of one and what it answers; a scripted one for
//! tests and demonstrations, and one behind an endpoint that speaks OpenAI's protocol.

mod chat;
mod embedding;
mod openai;
mod script;
mod scripted;

pub use chat::{ChatModel, ChatRequest, ChatResponse, ModelError};
pub use embedding::{EMBEDDED_TEXTS_MAX, EmbeddingModel};
pub use openai::{ApiKey, OPENAI_BASE_URL, OpenAiError, OpenAiModel, OpenAiOptions, goes_in_clear};
pub use script::ScriptError;
pub use scripted::ScriptedModel;
