//! A model of embeddings behind an endpoint that speaks OpenAI's protocol.

use async_openai::{Client, error::OpenAIError};
use async_trait::async_trait;
use notekeeper_domain::char_prefix;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    answer,
    endpoint::Endpoint,
    failure::{self, Asked},
    options::{OpenAiEmbedderOptions, OpenAiError},
    prepared,
};
use crate::{EMBEDDED_TEXTS_MAX, EMBEDDING_NUMBERS_MAX, EmbeddingModel, ModelError};

/// Texts of one HTTP request: what servers of small models take by default.
const BATCH_TEXTS_MAX: usize = 32;

/// Of a longer text so many characters from the front are sent. Endpoints refuse what is longer than
/// their model's context, with everything that was sent beside it; the usual 8,192 tokens hold this of most
/// languages, and not of text that comes to more than a token for a character.
const TEXT_CHARS_MAX: usize = 6_000;

/// A model of embeddings that is asked by `POST {base_url}/embeddings`.
///
/// Texts are sent 32 at a time, one request after the other, and nothing is retried here. Of each text
/// the first 6,000 characters count. Failures are told apart as those of
/// [`OpenAiModel`](crate::OpenAiModel) are. An answer that isn't one embedding for each text, of finite
/// numbers and one length, is [`Refused`](ModelError::Refused): none of it is used.
///
/// Its [`id`](EmbeddingModel::id) is the name of the model, with `;dimensions=N` behind it where these are
/// set. So endpoints that serve one model under one name can take each other's place.
#[derive(Clone)]
pub struct OpenAiEmbedder {
    options: OpenAiEmbedderOptions,
    id: String,
    client: Client<Endpoint>,
}

impl OpenAiEmbedder {
    /// Prepares the client. Nothing is connected yet.
    ///
    /// # Errors
    ///
    /// [`OpenAiError`] names the option that can't be used, or says that this machine has no root
    /// certificates, which an `https` endpoint needs.
    pub fn new(options: OpenAiEmbedderOptions) -> Result<Self, OpenAiError> {
        let endpoint = Endpoint::new(&options.base_url, options.api_key.as_ref())?;
        options.check()?;
        let client = prepared(endpoint, options.timeout, Asked::Embeddings)?;
        let id = match options.dimensions {
            Some(dimensions) => format!("{};dimensions={dimensions}", options.model),
            None => options.model.clone(),
        };
        Ok(Self {
            options,
            id,
            client,
        })
    }

    async fn embed_batch(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, ModelError> {
        let mut body = json!({
            "model": self.options.model,
            "input": texts.iter().map(|text| sent(text)).collect::<Vec<&str>>(),
            "encoding_format": "float",
        });
        if let Some(dimensions) = self.options.dimensions {
            body["dimensions"] = json!(dimensions);
        }
        let answered: Result<Value, OpenAIError> = self.client.embeddings().create_byot(body).await;
        let answer = answered.map_err(|error| failure::of_client(error, Asked::Embeddings))?;
        if let Some(error) = answer::error_within(&answer, Asked::Embeddings) {
            return Err(error);
        }
        let answer: Answer =
            serde_json::from_value(answer).map_err(|_| Asked::Embeddings.unreadable())?;
        in_order(answer.data, texts.len())
    }
}

impl std::fmt::Debug for OpenAiEmbedder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("OpenAiEmbedder")
            .field(&self.options)
            .finish()
    }
}

#[async_trait]
impl EmbeddingModel for OpenAiEmbedder {
    fn id(&self) -> &str {
        &self.id
    }

    async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, ModelError> {
        if texts.len() > EMBEDDED_TEXTS_MAX {
            return Err(ModelError::Refused(format!(
                "{} texts are too many at once; {EMBEDDED_TEXTS_MAX} are allowed",
                texts.len()
            )));
        }
        let mut embeddings = Vec::with_capacity(texts.len());
        for batch in texts.chunks(BATCH_TEXTS_MAX) {
            embeddings.extend(self.embed_batch(batch).await?);
        }
        check(&embeddings, self.options.dimensions)?;
        Ok(embeddings)
    }
}

#[derive(Deserialize)]
struct Answer {
    data: Vec<Embedding>,
}

#[derive(Deserialize)]
struct Embedding {
    index: Option<usize>,
    /// As `f64`: a number that an `f32` can't hold isn't passed for infinity unseen.
    embedding: Vec<f64>,
}

/// What of a text goes to the endpoint. Endpoints refuse an empty text.
fn sent(text: &str) -> &str {
    match char_prefix(text, TEXT_CHARS_MAX).0 {
        "" => " ",
        text => text,
    }
}

/// The embeddings in the order of their texts. Endpoints may answer in another order, and say in
/// `index` which text is meant; where none says it, the order is that of the texts.
fn in_order(mut found: Vec<Embedding>, texts: usize) -> Result<Vec<Vec<f32>>, ModelError> {
    if found.len() != texts {
        return Err(ModelError::Refused(format!(
            "the endpoint answered with {} embeddings for {texts} texts; its own log may say why",
            found.len()
        )));
    }
    if found.iter().any(|embedding| embedding.index.is_some()) {
        found.sort_by_key(|embedding| embedding.index);
        if !(0..texts)
            .map(Some)
            .eq(found.iter().map(|embedding| embedding.index))
        {
            return Err(refused(
                "the endpoint's embeddings don't say which text each is of; its own log may say why",
            ));
        }
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "embeddings are kept so; what is too large is infinite, and refused"
    )]
    let single = |embedding: Embedding| embedding.embedding.into_iter().map(|n| n as f32).collect();
    Ok(found.into_iter().map(single).collect())
}

fn check(embeddings: &[Vec<f32>], dimensions: Option<u32>) -> Result<(), ModelError> {
    let Some(first) = embeddings.first() else {
        return Ok(());
    };
    let length = first.len();
    if !(1..=EMBEDDING_NUMBERS_MAX).contains(&length) {
        return Err(ModelError::Refused(format!(
            "the endpoint's embeddings have {length} numbers; 1 to {EMBEDDING_NUMBERS_MAX} can be kept"
        )));
    }
    if embeddings.iter().any(|embedding| embedding.len() != length) {
        return Err(refused(
            "the endpoint's embeddings differ in length; give the name of one model of embeddings",
        ));
    }
    if let Some(wanted) = dimensions
        && wanted as usize != length
    {
        return Err(ModelError::Refused(format!(
            "the endpoint's embeddings have {length} numbers, `dimensions` asks for {wanted}; leave it out \
             where the model doesn't know it"
        )));
    }
    match embeddings.iter().flatten().all(|number| number.is_finite()) {
        true => Ok(()),
        false => Err(refused(
            "the endpoint's embeddings hold numbers that aren't finite; its own log may say why",
        )),
    }
}

fn refused(why: &str) -> ModelError {
    ModelError::Refused(why.to_owned())
}
