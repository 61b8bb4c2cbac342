//! Options of a model behind an endpoint.

use std::time::Duration;

use secrecy::SecretString;

use crate::EMBEDDING_NUMBERS_MAX;

/// Base URL of OpenAI's own endpoint.
pub const OPENAI_BASE_URL: &str = "https://api.openai.com/v1";

/// Longest time of a request where none is given. Workflows allow two minutes by default, and what
/// the model's side knows to be late is told better here.
const TIMEOUT_DEFAULT: Duration = Duration::from_secs(110);

/// Longest time of a request for embeddings where none is given: below what an activity that queries a
/// source is given, so that the endpoint's side is told apart from a worker that died.
const EMBEDDING_TIMEOUT_DEFAULT: Duration = Duration::from_secs(8);

/// Longest name of a model of embeddings, in bytes: an id has 200, and dimensions may follow.
const EMBEDDING_MODEL_BYTES_MAX: usize = 150;

/// A secret that is sent as a bearer token. It is never shown.
#[derive(Clone)]
pub struct ApiKey(pub(super) SecretString);

impl ApiKey {
    /// A key. White space around it, such as a file's last line break, isn't part of it.
    pub fn new(key: &str) -> Self {
        Self(SecretString::from(key.trim()))
    }
}

impl std::fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ApiKey")
    }
}

/// How to reach a model, and what to ask of it besides the conversation.
#[derive(Clone)]
pub struct OpenAiOptions {
    /// Where the endpoint is, `http://…` or `https://…`, without `/chat/completions`.
    pub base_url: String,
    /// Name of the model, as the endpoint knows it.
    pub model: String,
    /// Sent as a bearer token; an endpoint on this machine may need none.
    pub api_key: Option<ApiKey>,
    /// Longest time of one request, from the connection to the last byte of the answer. The
    /// start-to-close time-out of the activity should be longer.
    pub timeout: Duration,
    /// Sampling temperature, 0 to 2; the endpoint's own where it is missing.
    pub temperature: Option<f64>,
    /// Most tokens of an answer, at least 1; the endpoint's own bound where it is missing.
    pub max_completion_tokens: Option<u32>,
}

impl std::fmt::Debug for OpenAiOptions {
    /// Without the base URL, which may hold a password until it is checked.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenAiOptions")
            .field("model", &self.model)
            .field("api_key", &self.api_key)
            .field("timeout", &self.timeout)
            .field("temperature", &self.temperature)
            .field("max_completion_tokens", &self.max_completion_tokens)
            .finish_non_exhaustive()
    }
}

impl OpenAiOptions {
    /// This model of OpenAI's own endpoint, without a key.
    pub fn new(model: impl Into<String>) -> Self {
        Self {
            base_url: OPENAI_BASE_URL.to_owned(),
            model: model.into(),
            api_key: None,
            timeout: TIMEOUT_DEFAULT,
            temperature: None,
            max_completion_tokens: None,
        }
    }

    pub(super) fn check(&self) -> Result<(), OpenAiError> {
        if self.model.trim().is_empty() {
            return Err(OpenAiError::Model);
        }
        if self.timeout.is_zero() {
            return Err(OpenAiError::Timeout);
        }
        if let Some(temperature) = self.temperature
            && !(0.0..=2.0).contains(&temperature)
        {
            return Err(OpenAiError::Temperature(temperature));
        }
        if self.max_completion_tokens == Some(0) {
            return Err(OpenAiError::MaxCompletionTokens);
        }
        Ok(())
    }
}

/// How to reach a model of embeddings.
#[derive(Clone)]
pub struct OpenAiEmbedderOptions {
    /// Where the endpoint is, `http://…` or `https://…`, without `/embeddings`.
    pub base_url: String,
    /// Name of the model, as the endpoint knows it: at most 150 bytes.
    pub model: String,
    /// Sent as a bearer token; an endpoint on this machine may need none.
    pub api_key: Option<ApiKey>,
    /// Longest time of one request, from the connection to the last byte of the answer.
    pub timeout: Duration,
    /// How many numbers an embedding is to have, 1 to 4,096, for models that can be asked for fewer
    /// than they have; the model's own number where it is missing.
    pub dimensions: Option<u32>,
}

impl std::fmt::Debug for OpenAiEmbedderOptions {
    /// Without the base URL, which may hold a password until it is checked.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenAiEmbedderOptions")
            .field("model", &self.model)
            .field("api_key", &self.api_key)
            .field("timeout", &self.timeout)
            .field("dimensions", &self.dimensions)
            .finish_non_exhaustive()
    }
}

impl OpenAiEmbedderOptions {
    /// This model of OpenAI's own endpoint, without a key.
    pub fn new(model: impl Into<String>) -> Self {
        Self {
            base_url: OPENAI_BASE_URL.to_owned(),
            model: model.into(),
            api_key: None,
            timeout: EMBEDDING_TIMEOUT_DEFAULT,
            dimensions: None,
        }
    }

    pub(super) fn check(&self) -> Result<(), OpenAiError> {
        if self.model.trim().is_empty() {
            return Err(OpenAiError::Model);
        }
        let is_long = self.model.len() > EMBEDDING_MODEL_BYTES_MAX;
        if is_long || self.model.contains(char::is_control) {
            return Err(OpenAiError::ModelName);
        }
        if self.timeout.is_zero() {
            return Err(OpenAiError::Timeout);
        }
        match self.dimensions {
            Some(dimensions) if !(1..=EMBEDDING_NUMBERS_MAX).contains(&(dimensions as usize)) => {
                Err(OpenAiError::Dimensions(dimensions))
            }
            _ => Ok(()),
        }
    }
}

/// Why a model can't be prepared. No text quotes the URL or the key.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum OpenAiError {
    /// The base URL can't be used.
    #[error("`base_url` {0}")]
    BaseUrl(&'static str),
    /// The model has no name.
    #[error("`model` is empty; give the model's name as the endpoint knows it")]
    Model,
    /// The key can't stand in a header.
    #[error(
        "the API key has characters that a header can't carry; check for line breaks and quotes"
    )]
    ApiKey,
    /// The name of a model of embeddings stands in the id of its embeddings.
    #[error("`model` has more than {EMBEDDING_MODEL_BYTES_MAX} bytes or control characters")]
    ModelName,
    /// No embedding could have so many numbers.
    #[error("`dimensions` is `{0}`; give 1 to {EMBEDDING_NUMBERS_MAX}, or leave it out")]
    Dimensions(u32),
    /// The time-out is zero.
    #[error("`timeout_seconds` must be at least 1")]
    Timeout,
    /// The temperature is out of bounds.
    #[error("`temperature` is `{0}`; give 0 to 2")]
    Temperature(f64),
    /// No answer could have a token.
    #[error("`max_completion_tokens` must be at least 1")]
    MaxCompletionTokens,
    /// There is nothing to check a certificate with.
    #[error(
        "this machine has no usable root certificates, which an https endpoint needs; install \
         `ca-certificates`, or name a file in SSL_CERT_FILE"
    )]
    RootCertificates,
    /// The HTTP client can't be built.
    #[error("the HTTP client can't be built: {0}")]
    Client(String),
}
