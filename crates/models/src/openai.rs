//! A chat model, and a model of embeddings, behind endpoints that speak OpenAI's protocol.

mod answer;
mod client;
mod embedder;
mod endpoint;
mod failure;
mod options;
mod request;
mod transport;

use std::time::Duration;

use async_openai::{Client, error::OpenAIError};
use async_trait::async_trait;
use serde_json::Value;

use crate::{ChatModel, ChatRequest, ChatResponse, ModelError};

pub use self::failure::retry_after;
pub use self::{
    embedder::OpenAiEmbedder,
    endpoint::goes_in_clear,
    options::{ApiKey, OPENAI_BASE_URL, OpenAiEmbedderOptions, OpenAiError, OpenAiOptions},
};
use self::{endpoint::Endpoint, failure::Asked, transport::Transport};

/// A chat model that is asked by `POST {base_url}/chat/completions`, without streaming.
///
/// Each [`respond`](ChatModel::respond) is one HTTP request: nothing is retried here. What can't
/// be told apart from the outside is decided so:
///
/// - 408, 409, 425, 429 and 5xx, a connection that fails or breaks, and a time-out are
///   [`Unavailable`](ModelError::Unavailable), with the `Retry-After` of the answer. A 429 that says
///   that the account's quota is used up is `Refused`.
/// - Every other status, redirects included, is [`Refused`](ModelError::Refused).
/// - An answer that isn't a chat completion is `Refused`: it comes from a wrong address more often
///   than from a fault that passes.
/// - An answer that was cut at its longest length, or by a content filter, is `Refused`: half of a
///   tool call must not be carried out, and half of a text must not pass for the whole.
/// - A refusal in the model's own words is an answer.
/// - Arguments of a tool call that are no JSON object are kept as the text that the model wrote.
#[derive(Clone)]
pub struct OpenAiModel {
    options: OpenAiOptions,
    client: Client<Endpoint>,
}

impl OpenAiModel {
    /// Prepares the client. Nothing is connected yet.
    ///
    /// # Errors
    ///
    /// [`OpenAiError`] names the option that can't be used, or says that this machine has no root
    /// certificates, which an `https` endpoint needs.
    pub fn new(options: OpenAiOptions) -> Result<Self, OpenAiError> {
        let endpoint = Endpoint::new(&options.base_url, options.api_key.as_ref())?;
        options.check()?;
        let client = prepared(endpoint, options.timeout, Asked::Completion)?;
        Ok(Self { options, client })
    }
}

impl std::fmt::Debug for OpenAiModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("OpenAiModel").field(&self.options).finish()
    }
}

#[async_trait]
impl ChatModel for OpenAiModel {
    async fn respond(&self, request: &ChatRequest) -> Result<ChatResponse, ModelError> {
        let body = request::body(&self.options, request);
        let answered: Result<Value, OpenAIError> = self.client.chat().create_byot(body).await;
        let answered = answered.map_err(|error| failure::of_client(error, Asked::Completion));
        answer::response(answered?)
    }
}

/// A client for an endpoint, which goes through our transport.
fn prepared(
    endpoint: Endpoint,
    timeout: Duration,
    asked: Asked,
) -> Result<Client<Endpoint>, OpenAiError> {
    let http = client::http_client(&endpoint, timeout)?;
    let transport = Transport::new(http.clone(), timeout, asked);
    Ok(Client::build(http, endpoint).with_http_service(transport))
}
