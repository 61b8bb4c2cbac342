//! Vectors that a model of embeddings makes and a store keeps.

use std::sync::Arc;

use async_trait::async_trait;
use notekeeper_domain::{Operation, Where};
use notekeeper_models::{EMBEDDED_TEXTS_MAX, EMBEDDING_NUMBERS_MAX, EmbeddingModel, ModelError};
use notekeeper_store::{
    Chunk, EMBEDDING_DIMENSIONS_MAX, FoundChunk, Store, VectorCollection, VectorStore,
};

use super::{TextChunk, VectorIndex, kept_items::lacks};
use crate::{OpenStores, SourceCall, SourceError};

// What a model may answer can be kept.
const _: () = assert!(EMBEDDING_NUMBERS_MAX <= EMBEDDING_DIMENSIONS_MAX);

/// An index in a store's [`VectorStore`]. Which model makes the embeddings is a part of the collection:
/// with another model a collection starts out empty.
#[derive(Debug)]
pub struct EmbeddedVectors {
    stores: Arc<dyn OpenStores>,
    store: String,
    collection: VectorCollection,
    embedder: Arc<dyn EmbeddingModel>,
}

impl EmbeddedVectors {
    /// The collection of this name in the store of that one.
    pub fn new(
        stores: Arc<dyn OpenStores>,
        store: impl Into<String>,
        collection: impl Into<String>,
        embedder: Arc<dyn EmbeddingModel>,
    ) -> Self {
        Self {
            stores,
            store: store.into(),
            collection: VectorCollection {
                name: collection.into(),
                model: embedder.id().to_owned(),
            },
            embedder,
        }
    }
}

/// The embeddings of the texts, so many at a time as the model takes. One that says nothing is what a
/// lexical model has for a text without a word; of another model it is a fault.
pub(crate) async fn embeddings(
    embedder: &dyn EmbeddingModel,
    texts: &[String],
) -> Result<Vec<Vec<f32>>, ModelError> {
    let mut all: Vec<Vec<f32>> = Vec::with_capacity(texts.len());
    for batch in texts.chunks(EMBEDDED_TEXTS_MAX) {
        let made = embedder.embed(batch).await?;
        if made.len() != batch.len() {
            return Err(unusable(&format!(
                "it answered {} embeddings for {} texts",
                made.len(),
                batch.len()
            )));
        }
        all.extend(made);
    }
    check(&all)?;
    if !embedder.is_lexical() && all.iter().any(|embedding| is_zero(embedding)) {
        return Err(unusable(
            "it answered an embedding of zeros alone, which is near nothing",
        ));
    }
    Ok(all)
}

/// Whether an embedding says nothing: nothing is near it.
pub(crate) fn is_zero(embedding: &[f32]) -> bool {
    embedding.iter().all(|number| *number == 0.0)
}

/// Checks that embeddings can be kept and compared.
fn check(embeddings: &[Vec<f32>]) -> Result<(), ModelError> {
    let Some(first) = embeddings.first().map(Vec::len) else {
        return Ok(());
    };
    for embedding in embeddings {
        let numbers = embedding.len();
        if !(1..=EMBEDDING_NUMBERS_MAX).contains(&numbers) {
            return Err(unusable(&format!(
                "it answered an embedding of {numbers} numbers, 1 to {EMBEDDING_NUMBERS_MAX} can be kept"
            )));
        }
        if numbers != first {
            return Err(unusable(&format!(
                "it answered embeddings of {first} and of {numbers} numbers, which can't be compared"
            )));
        }
        if !embedding.iter().all(|number| number.is_finite()) {
            return Err(unusable(
                "it answered an embedding with a number that is infinite or none",
            ));
        }
    }
    Ok(())
}

fn unusable(what: &str) -> ModelError {
    ModelError::Refused(format!("{what}; see what is behind the embedder"))
}

fn vectors(store: &dyn Store) -> Result<&dyn VectorStore, SourceError> {
    store.vectors().ok_or_else(|| {
        lacks(
            store,
            "keeps no vectors",
            "name another store, or say index = \"in_memory\"",
        )
    })
}

#[async_trait]
impl VectorIndex for EmbeddedVectors {
    async fn search(
        &self,
        text: &str,
        condition: &Where,
        limit: usize,
        call: &SourceCall<'_>,
    ) -> Result<Vec<FoundChunk>, SourceError> {
        let store = self.stores.open(&self.store, call).await?;
        let kept = vectors(&*store)?;
        let embeddings = embeddings(&*self.embedder, &[text.to_owned()]).await?;
        let embedding = embeddings.first().map(Vec::as_slice).unwrap_or_default();
        if is_zero(embedding) {
            return Ok(Vec::new());
        }
        let found = kept.nearest_chunks(call.scope, &self.collection, embedding, condition, limit);
        Ok(found.await?)
    }

    async fn keep(
        &self,
        chunks: Vec<TextChunk>,
        operation: &Operation,
        call: &SourceCall<'_>,
    ) -> Result<(), SourceError> {
        let store = self.stores.open(&self.store, call).await?;
        let kept = vectors(&*store)?;
        // A repetition needs no model, which may be down by now or answer otherwise.
        if kept.chunks_receipt(call.scope, operation).await?.is_some() {
            return Ok(());
        }
        let texts: Vec<String> = chunks.iter().map(|chunk| chunk.content.clone()).collect();
        let embeddings = embeddings(&*self.embedder, &texts).await?;
        let chunks = chunks.into_iter().zip(embeddings);
        let chunks: Vec<Chunk> = chunks
            .map(|(chunk, embedding)| Chunk {
                id: chunk.id,
                content: chunk.content,
                metadata: chunk.metadata,
                embedding,
                mark: None,
            })
            .collect();
        kept.keep_chunks(call.scope, &self.collection, &chunks, Some(operation))
            .await?;
        Ok(())
    }
}
