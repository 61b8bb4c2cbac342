//! Models, seen from the outside: what is asked of one and what it answers; a scripted one for
//! tests and demonstrations, and one behind an endpoint that speaks OpenAI's protocol. The same for models
//! that give texts embeddings; of those one needs no endpoint and no model file.

mod chat;
mod embedding;
mod hashing;
mod openai;
mod script;
mod scripted;

pub use chat::{ChatModel, ChatRequest, ChatResponse, ModelError};
pub use embedding::{EMBEDDED_TEXTS_MAX, EMBEDDING_NUMBERS_MAX, EmbeddingModel};
pub use hashing::{HASHING_DIMENSIONS_DEFAULT, HashingEmbedder, InvalidDimensions};
pub use openai::retry_after;
pub use openai::{
    ApiKey, OPENAI_BASE_URL, OpenAiEmbedder, OpenAiEmbedderOptions, OpenAiError, OpenAiModel,
    OpenAiOptions, goes_in_clear,
};
pub use script::ScriptError;
pub use scripted::ScriptedModel;
