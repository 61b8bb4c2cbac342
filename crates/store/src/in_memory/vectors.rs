//! Vectors, as [`VectorStore`] says.

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use notekeeper_domain::{Operation, Scope, Where};

use super::InMemoryStore;
use crate::{
    Chunk, ChunkMark, ChunksKept, FoundChunk, MutationError, StoreError, VectorCollection,
    VectorStore,
    nearness::{Nearest, Pauses, similarity, unit},
    values::{check_chunks, check_collection, check_embedding, check_operation},
};

/// The chunks of a collection by id.
pub(super) type KeptChunks = BTreeMap<String, KeptChunk>;

/// A chunk, and what made its embedding.
#[derive(Debug, Clone)]
pub(super) struct KeptChunk {
    model: String,
    /// Shared with searches, which go on after the lock was given back.
    chunk: Arc<Chunk>,
}

impl KeptChunk {
    fn new(model: &str, chunk: &Chunk) -> Self {
        let chunk = Chunk {
            embedding: unit(&chunk.embedding),
            ..chunk.clone()
        };
        Self {
            model: model.to_owned(),
            chunk: Arc::new(chunk),
        }
    }
}

impl InMemoryStore {
    /// All chunks of the scope, collection and model, of one moment, ascending by id, with path form of the
    /// scope that they are kept under.
    fn all_chunks(
        &self,
        scope: &Scope,
        collection: &VectorCollection,
    ) -> (String, Vec<Arc<Chunk>>) {
        let state = self.lock();
        let Some((own, in_scope)) = state.kept(scope) else {
            return Default::default();
        };
        let kept = in_scope.chunks.get(&collection.name);
        let of_model = kept
            .into_iter()
            .flat_map(BTreeMap::values)
            .filter(|kept| kept.model == collection.model);
        let chunks = of_model.map(|kept| Arc::clone(&kept.chunk)).collect();
        (own.as_str().to_owned(), chunks)
    }
}

#[async_trait]
impl VectorStore for InMemoryStore {
    async fn check_vectors(&self) -> Result<(), StoreError> {
        Ok(())
    }

    async fn keep_chunks(
        &self,
        scope: &Scope,
        collection: &VectorCollection,
        chunks: &[Chunk],
        operation: Option<&Operation>,
    ) -> Result<ChunksKept, MutationError> {
        check_collection(collection)?;
        operation.map_or(Ok(()), check_operation)?;
        check_chunks(chunks)?;
        // Before the lock is taken, which isn't held while others have their turn.
        let (mut new, mut pauses) = (Vec::new(), Pauses::default());
        for chunk in chunks {
            new.push(KeptChunk::new(&collection.model, chunk));
            pauses.after(chunk.embedding.len()).await;
        }
        let mut state = self.lock();
        let in_scope = state.scopes.entry(scope.clone()).or_default();
        if let Some(answer) = in_scope.receipts.answer(operation)? {
            return Ok(answer);
        }
        let kept = in_scope.chunks.entry(collection.name.clone()).or_default();
        kept.extend(new.into_iter().map(|kept| (kept.chunk.id.clone(), kept)));
        let kept = ChunksKept { replayed: false };
        in_scope.receipts.keep(operation, &kept);
        Ok(kept)
    }

    async fn chunks_receipt(
        &self,
        scope: &Scope,
        operation: &Operation,
    ) -> Result<Option<ChunksKept>, MutationError> {
        check_operation(operation)?;
        self.lock().scopes.get(scope).map_or(Ok(None), |in_scope| {
            in_scope.receipts.answer(Some(operation))
        })
    }

    async fn nearest_chunks(
        &self,
        scope: &Scope,
        collection: &VectorCollection,
        embedding: &[f32],
        condition: &Where,
        limit: usize,
    ) -> Result<Vec<FoundChunk>, StoreError> {
        check_collection(collection)?;
        check_embedding(embedding)?;
        let (own, chunks) = self.all_chunks(scope, collection);
        let wanted = unit(embedding);
        let (mut nearest, mut pauses) = (Nearest::new(), Pauses::default());
        for (place, chunk) in chunks.iter().enumerate() {
            if chunk.embedding.len() == wanted.len() && condition.matches(&chunk.metadata) {
                // Ids ascend with places.
                nearest.take(similarity(&chunk.embedding, &wanted), place);
            }
            pauses.after(chunk.embedding.len()).await;
        }
        let nearest = nearest.finish(limit).into_iter();
        let found = nearest.map(|(similarity, place)| FoundChunk {
            scope: own.clone(),
            id: chunks[place].id.clone(),
            content: chunks[place].content.clone(),
            metadata: chunks[place].metadata.clone(),
            similarity,
        });
        Ok(found.collect())
    }

    async fn chunk_marks(
        &self,
        scope: &Scope,
        collection: &VectorCollection,
    ) -> Result<Vec<ChunkMark>, StoreError> {
        check_collection(collection)?;
        let (_, chunks) = self.all_chunks(scope, collection);
        let marks = chunks.iter().map(|chunk| ChunkMark {
            id: chunk.id.clone(),
            mark: chunk.mark.clone(),
        });
        Ok(marks.collect())
    }

    async fn remove_chunks(
        &self,
        scope: &Scope,
        collection: &VectorCollection,
        ids: &[String],
    ) -> Result<(), StoreError> {
        check_collection(collection)?;
        let mut state = self.lock();
        let in_scope = state.scopes.get_mut(scope);
        let kept = in_scope.and_then(|in_scope| in_scope.chunks.get_mut(&collection.name));
        if let Some(kept) = kept {
            for id in ids {
                kept.remove(id);
            }
        }
        Ok(())
    }
}
