//! The vectors of the store.

use async_trait::async_trait;
use notekeeper_domain::{Operation, Scope, Where};

use super::{
    attempts::{Repeatable, attempted},
    chunks::{Asked, Keeping, chunk_marks, remove_chunks},
    receipt::{find_receipt, repeatable},
    store::PostgresStore,
};
use crate::{
    Chunk, ChunkMark, ChunksKept, FoundChunk, MutationError, StoreError, VectorCollection,
    VectorStore,
    kept_chunks::{Batch, possible_ids},
    values::{check_chunks, check_collection, check_embedding, check_operation},
};

#[async_trait]
impl VectorStore for PostgresStore {
    async fn check_vectors(&self) -> Result<(), StoreError> {
        // A search that finds nothing, in no scope, needs all that others need but for what compares.
        let nowhere = VectorCollection {
            name: String::new(),
            model: String::new(),
        };
        let nothing = Where::default();
        let Some(asked) = Asked::new("", &nowhere, &[1.0], &nothing, 0) else {
            return Ok(());
        };
        attempted!(self, Repeatable::Always, |connection| asked
            .try_out(self, connection))
        .map(drop)
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
        let keeping = Keeping {
            scope,
            collection,
            batch: Batch::new(chunks),
            operation,
        };
        attempted!(self, repeatable(operation), |connection| keeping
            .run(connection))?
    }

    async fn chunks_receipt(
        &self,
        scope: &Scope,
        operation: &Operation,
    ) -> Result<Option<ChunksKept>, MutationError> {
        check_operation(operation)?;
        let found = attempted!(self, Repeatable::Always, |connection| find_receipt(
            connection,
            scope,
            Some(operation)
        ))?;
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
        let Some(asked) = Asked::new(scope.as_str(), collection, embedding, condition, limit)
        else {
            return Ok(Vec::new());
        };
        attempted!(self, Repeatable::Always, |connection| asked
            .run(self, connection))
    }

    async fn chunk_marks(
        &self,
        scope: &Scope,
        collection: &VectorCollection,
    ) -> Result<Vec<ChunkMark>, StoreError> {
        check_collection(collection)?;
        attempted!(self, Repeatable::Always, |connection| chunk_marks(
            connection, scope, collection
        ))
    }

    async fn remove_chunks(
        &self,
        scope: &Scope,
        collection: &VectorCollection,
        ids: &[String],
    ) -> Result<(), StoreError> {
        check_collection(collection)?;
        let ids = possible_ids(ids);
        attempted!(self, Repeatable::UnlessInDoubt, |connection| remove_chunks(
            connection, scope, collection, &ids
        ))
    }
}
