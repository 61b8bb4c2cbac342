//! The vectors of a store: texts under ids, found by how near their embeddings are.

use async_trait::async_trait;
use notekeeper_domain::{ItemMetadata, Operation, Scope, Where};

use crate::{MutationError, StoreError};

/// Most chunks that are kept at once. With embeddings of the most numbers they come to 16 MiB.
pub const CHUNKS_KEPT_MAX: usize = 1_000;

/// Most numbers of an embedding.
pub const EMBEDDING_DIMENSIONS_MAX: usize = 4_096;

/// Longest name of a collection, in bytes of UTF-8.
///
/// The key of a chunk is scope, collection and id: 2,000 + 100 + 400 bytes stay below the 2,704 that
/// PostgreSQL allows.
pub const COLLECTION_BYTES_MAX: usize = 100;

/// Longest name of what made embeddings, in bytes of UTF-8.
pub const MODEL_BYTES_MAX: usize = 200;

/// Longest mark of a chunk, in bytes of UTF-8.
pub const MARK_BYTES_MAX: usize = 200;

/// Chunks of text with their embeddings.
///
/// A chunk is found by its scope, collection and id. Which model made its embedding is a part of the
/// [`VectorCollection`] too: chunks of another model aren't found, and a chunk that is kept again under
/// its id takes the place of the other, whatever model made that one.
///
/// [`keep_chunks`](Self::keep_chunks) with an operation does as mutations of notes do
/// ([`NoteStore`](crate::NoteStore)): it looks for the operation's receipt, and keeps chunks and receipt in one step.
/// Receipts of one scope share one space of ids, those of notes, transcripts and facts included.
///
/// Every method refuses a collection that can't be one ([`check_collection`](crate::check_collection))
/// before it looks at anything else.
#[async_trait]
pub trait VectorStore: Send + Sync {
    /// Whether chunks can be kept and found now; what stands in the way otherwise, such as an
    /// extension that the database lacks.
    async fn check_vectors(&self) -> Result<(), StoreError>;

    /// Keeps chunks, each in the place of the one that has its id. Of two with one id the later counts.
    /// Either all are kept or none is; at most [`CHUNKS_KEPT_MAX`], with at most
    /// [`CONTENT_BYTES_MAX`](crate::CONTENT_BYTES_MAX) bytes of text together, and as
    /// [`check_chunks`](crate::check_chunks) has them. None at all leave the receipt alone.
    async fn keep_chunks(
        &self,
        scope: &Scope,
        collection: &VectorCollection,
        chunks: &[Chunk],
        operation: Option<&Operation>,
    ) -> Result<ChunksKept, MutationError>;

    /// The receipt of an operation that kept chunks, marked as replayed; `None` where it has none: so that
    /// nobody makes embeddings for chunks that were kept already. With another fingerprint, or where it is
    /// another kind's, it is an [`OperationConflict`](MutationError::OperationConflict).
    async fn chunks_receipt(
        &self,
        scope: &Scope,
        operation: &Operation,
    ) -> Result<Option<ChunksKept>, MutationError>;

    /// The chunks of the scope and collection that match and are nearest by cosine similarity: at most
    /// `limit`, the nearest first, ascending by id where they are as near. It looks at every chunk of the
    /// scope and collection and at no other, so the answer is exact, and there are fewer than `limit` only
    /// where fewer match. Chunks whose embeddings have another number of dimensions aren't found.
    ///
    /// Similarities are right to a millionth; what differs by less than that may come in either order.
    /// Equal embeddings are as near.
    async fn nearest_chunks(
        &self,
        scope: &Scope,
        collection: &VectorCollection,
        embedding: &[f32],
        condition: &Where,
        limit: usize,
    ) -> Result<Vec<FoundChunk>, StoreError>;

    /// Ids and marks of all chunks of the scope and collection, ascending by id.
    async fn chunk_marks(
        &self,
        scope: &Scope,
        collection: &VectorCollection,
    ) -> Result<Vec<ChunkMark>, StoreError>;

    /// Removes the chunks of the scope and collection that have these ids, whatever model made their
    /// embeddings: what is to be gone mustn't stay because the model changed. Where there are none it
    /// succeeds as well.
    async fn remove_chunks(
        &self,
        scope: &Scope,
        collection: &VectorCollection,
        ids: &[String],
    ) -> Result<(), StoreError>;
}

/// Which chunks of a scope belong together.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VectorCollection {
    /// Its name: 1 to [`COLLECTION_BYTES_MAX`] bytes.
    pub name: String,
    /// What made the embeddings, such as `hashing-1/256`: 1 to [`MODEL_BYTES_MAX`] bytes.
    /// Embeddings of two models can't be compared.
    pub model: String,
}

/// A text with its embedding.
#[derive(Debug, Clone, PartialEq)]
pub struct Chunk {
    /// Id in its collection, as [`check_item_id`](notekeeper_domain::check_item_id) has it.
    pub id: String,
    /// The text.
    pub content: String,
    /// What else is known of it.
    pub metadata: ItemMetadata,
    /// The embedding: 1 to [`EMBEDDING_DIMENSIONS_MAX`] finite numbers, as many as the others of the call
    /// have. Its length says nothing: it is kept for its direction.
    pub embedding: Vec<f32>,
    /// What the chunk was made from, for whoever made it, such as a version: at most
    /// [`MARK_BYTES_MAX`] bytes.
    pub mark: Option<String>,
}

/// What keeping chunks came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunksKept {
    /// Whether this answer comes from the receipt of an earlier call.
    pub replayed: bool,
}

/// A chunk that is near.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundChunk {
    /// Path form of the scope that the row belongs to, as the store has it: who asks compares it.
    pub scope: String,
    /// Id in its collection.
    pub id: String,
    /// The text.
    pub content: String,
    /// What else is known of it.
    pub metadata: ItemMetadata,
    /// Cosine similarity, -1 to 1; 0 where one of the two embeddings is zero.
    pub similarity: f64,
}

/// What a chunk was made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChunkMark {
    /// Id in its collection.
    pub id: String,
    /// As it was kept.
    pub mark: Option<String>,
}
