//! Models, seen from the outside: what is asked of one, what it answers, and a scripted one for
//! tests and demonstrations.

mod chat;
mod script;
mod scripted;

pub use chat::{ChatModel, ChatRequest, ChatResponse, ModelError};
pub use script::ScriptError;
pub use scripted::ScriptedModel;
