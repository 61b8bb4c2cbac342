//! The source over vectors, and the port to what keeps them.

use std::{fmt::Debug, sync::Arc};

use async_trait::async_trait;
use notekeeper_domain::{Item, ItemMetadata, Operation, Where, is_blank};
use notekeeper_models::EmbeddingModel;
use notekeeper_store::FoundChunk;

use super::{
    EmbeddedVectors, TermVectors,
    kept_items::{kept_items, part},
    own_rows,
};
use crate::{
    Answer, OpenStores, Source, SourceCall, SourceError, SourceQuery, WriteOperation, Written,
};

/// Chunks of text that are found by how near they are to another text.
#[async_trait]
pub trait VectorIndex: Send + Sync + Debug {
    /// The chunks of the call's scope that match and are nearest: at most `limit`, the nearest first,
    /// ascending by id where they are as near. The text isn't blank.
    ///
    /// # Errors
    ///
    /// [`SourceError`], by what the caller may do.
    async fn search(
        &self,
        text: &str,
        condition: &Where,
        limit: usize,
        call: &SourceCall<'_>,
    ) -> Result<Vec<FoundChunk>, SourceError>;

    /// Keeps chunks in the call's scope, each in the place of the one that has its id: all, or where it
    /// fails none. Once for each operation; one that is repeated with other arguments is an
    /// [`OperationConflict`](notekeeper_store::MutationError::OperationConflict).
    ///
    /// # Errors
    ///
    /// [`SourceError`], by what the caller may do.
    async fn keep(
        &self,
        chunks: Vec<TextChunk>,
        operation: &Operation,
        call: &SourceCall<'_>,
    ) -> Result<(), SourceError>;
}

/// A text that is to be kept.
#[derive(Debug, Clone, PartialEq)]
pub struct TextChunk {
    /// Id, as [`check_item_id`](notekeeper_domain::check_item_id) has it.
    pub id: String,
    /// The text.
    pub content: String,
    /// What else is known of it.
    pub metadata: ItemMetadata,
}

/// A source that finds what is near, by what an index takes for near.
///
/// A text under `id` in the metadata of an item that is written becomes the chunk's id and is gone from
/// the metadata; where there is none the id follows from the operation and the item's place. One with an id
/// of its own that is a part of a text alone is refused. A query without any text finds nothing.
#[derive(Debug)]
pub struct VectorSource {
    name: String,
    index: Arc<dyn VectorIndex>,
}

impl VectorSource {
    /// A source over an index.
    pub fn new(name: impl Into<String>, index: Arc<dyn VectorIndex>) -> Self {
        Self {
            name: name.into(),
            index,
        }
    }

    /// A source over [`TermVectors`] of its own.
    pub fn in_memory(name: impl Into<String>) -> Self {
        Self::new(name, Arc::new(TermVectors::default()))
    }

    /// A source over [`EmbeddedVectors`].
    pub fn embedded(
        name: impl Into<String>,
        stores: Arc<dyn OpenStores>,
        store: impl Into<String>,
        collection: impl Into<String>,
        embedder: Arc<dyn EmbeddingModel>,
    ) -> Self {
        let index = EmbeddedVectors::new(stores, store, collection, embedder);
        Self::new(name, Arc::new(index))
    }

    fn item(&self, found: FoundChunk) -> Item {
        Item::new(found.content, &*self.name)
            .with_id(found.id)
            .with_score(found.similarity)
            .with_metadata(found.metadata.unstamped())
    }
}

#[async_trait]
impl Source for VectorSource {
    fn name(&self) -> &str {
        &self.name
    }

    async fn query(
        &self,
        query: &SourceQuery,
        call: &SourceCall<'_>,
    ) -> Result<Answer, SourceError> {
        if query.limit == 0 || is_blank(&query.text) {
            return Ok(Answer::default());
        }
        let found = self
            .index
            .search(&query.text, &query.condition, query.limit, call)
            .await?;
        // All of them, also those that the limit leaves out.
        own_rows(&self.name, call, found.iter().map(|found| &*found.scope))?;
        let items = found.into_iter().take(query.limit);
        Ok(Answer::of(items.map(|found| self.item(found)).collect()))
    }

    async fn write(
        &self,
        items: &[Item],
        operation: &WriteOperation,
        call: &SourceCall<'_>,
    ) -> Result<Written, SourceError> {
        if items.is_empty() {
            return Ok(Written::default());
        }
        let kept = kept_items(items, operation)?;
        let whole = part(operation.id().clone(), &self.name, &kept);
        let chunks = kept.into_iter().map(|item| TextChunk {
            id: item.id.unwrap_or_default(),
            content: item.content,
            metadata: item.metadata,
        });
        self.index.keep(chunks.collect(), &whole, call).await?;
        Ok(Written::accepted_by(&self.name))
    }

    fn check_items(&self, items: &[Item], operation: &WriteOperation) -> Result<(), SourceError> {
        kept_items(items, operation).map(drop)
    }
}
