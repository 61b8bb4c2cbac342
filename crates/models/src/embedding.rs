//! The port for models of embeddings.

use std::fmt::Debug;

use async_trait::async_trait;

use crate::ModelError;

/// Most texts of one request.
pub const EMBEDDED_TEXTS_MAX: usize = 256;

/// Most numbers of an embedding.
pub const EMBEDDING_NUMBERS_MAX: usize = 4_096;

/// A model that gives texts embeddings: lists of numbers, near where the texts mean the like.
#[async_trait]
pub trait EmbeddingModel: Send + Sync + Debug {
    /// What makes these embeddings: the same for two models only where their embeddings can be compared.
    /// 1 to 200 bytes, such as `hashing-1/256`.
    fn id(&self) -> &str;

    /// The embeddings of the texts, in their order: of all the same length, 1 to 4,096 finite numbers. At
    /// most [`EMBEDDED_TEXTS_MAX`] texts at a time.
    ///
    /// # Errors
    ///
    /// [`ModelError`] says whether the same request may be sent again.
    async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, ModelError>;

    /// Whether texts are near by their letters, and not by what they mean. Who fuses it with a search for
    /// words counts it less, as it says much the same again.
    fn is_lexical(&self) -> bool {
        false
    }
}
