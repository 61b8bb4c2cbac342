//! The vectors of the store.

use async_trait::async_trait;
use notekeeper_domain::{Operation, Scope, Where};

use super::{
    attempts::attempted,
    chunks::{Asked, Keep, Remove, chunk_marks},
    fault::Fault,
    receipt::find_receipt,
    store::SqliteStore,
};
use crate::{
    Chunk, ChunkMark, ChunksKept, FoundChunk, MutationError, StoreError, VectorCollection,
    VectorStore,
    kept_chunks::{Batch, possible_ids},
    kept_receipt::Outcome,
    values::{check_chunks, check_collection, check_embedding, check_operation},
};

#[async_trait]
impl VectorStore for SqliteStore {
    /// The file has all that it takes since it was opened.
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
        let keep = Keep::new(scope, collection, &Batch::new(chunks), operation).await;
        self.mutate(&keep).await?
    }

    async fn chunks_receipt(
        &self,
        scope: &Scope,
        operation: &Operation,
    ) -> Result<Option<ChunksKept>, MutationError> {
        check_operation(operation)?;
        let found = attempted(self, |_| chunks_receipt(self, scope, operation)).await?;
        found.transpose()
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
        let asked = Asked {
            scope,
            collection,
            embedding,
            condition,
            limit,
        };
        attempted(self, |_| asked.run(self)).await
    }

    async fn chunk_marks(
        &self,
        scope: &Scope,
        collection: &VectorCollection,
    ) -> Result<Vec<ChunkMark>, StoreError> {
        check_collection(collection)?;
        attempted(self, |_| chunk_marks(self, scope, collection)).await
    }

    async fn remove_chunks(
        &self,
        scope: &Scope,
        collection: &VectorCollection,
        ids: &[String],
    ) -> Result<(), StoreError> {
        check_collection(collection)?;
        let remove = Remove {
            scope,
            collection,
            ids: &possible_ids(ids),
        };
        self.mutate(&remove).await?.map_err(|never| match never {})
    }
}

async fn chunks_receipt(
    store: &SqliteStore,
    scope: &Scope,
    operation: &Operation,
) -> Result<Option<Outcome<ChunksKept>>, Fault> {
    let mut connection = store.reader().await?;
    find_receipt(&mut connection, scope, Some(operation)).await
}
