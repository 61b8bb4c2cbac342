//! Short forms of what the cases say again and again.

use notekeeper_domain::{ItemMetadata, Operation, Scope, Where};
use serde_json::{Value, json};

use crate::{
    Chunk, ChunksKept, FoundChunk, MutationError, StoreError, VectorCollection, VectorStore,
};

/// Furthest that a similarity may be from what is right.
const TOLERANCE: f64 = 1e-6;

/// One collection of a scope. Each case has its own, so cases share a store and don't meet.
pub(in super::super) struct Collection<'s> {
    pub(super) store: &'s dyn VectorStore,
    pub(super) scope: Scope,
    pub(super) of: VectorCollection,
}

impl<'s> Collection<'s> {
    /// The collection `main` of a scope.
    pub(in super::super) fn new(store: &'s dyn VectorStore, scope: &str) -> Self {
        Self {
            store,
            scope: Scope::parse(scope).expect("suite uses valid scopes"),
            of: collection("main", "model"),
        }
    }

    /// Another collection of the same scope.
    pub(super) fn with(&self, name: &str, model: &str) -> Self {
        Self {
            store: self.store,
            scope: self.scope.clone(),
            of: collection(name, model),
        }
    }

    /// Keeps chunks without an operation.
    pub(super) async fn put(&self, chunks: &[Chunk]) {
        let kept = self.keep(chunks, None).await.expect("keep");
        assert!(
            !kept.replayed,
            "without an operation nothing is a repetition"
        );
    }

    pub(in super::super) async fn keep(
        &self,
        chunks: &[Chunk],
        operation: Option<&Operation>,
    ) -> Result<ChunksKept, MutationError> {
        self.store
            .keep_chunks(&self.scope, &self.of, chunks, operation)
            .await
    }

    pub(super) async fn receipt(
        &self,
        operation: &Operation,
    ) -> Result<Option<ChunksKept>, MutationError> {
        self.store.chunks_receipt(&self.scope, operation).await
    }

    pub(super) async fn ask(
        &self,
        embedding: &[f32],
        condition: Value,
        limit: usize,
    ) -> Result<Vec<FoundChunk>, StoreError> {
        let condition = Where::of_value(condition).expect("suite uses objects");
        self.store
            .nearest_chunks(&self.scope, &self.of, embedding, &condition, limit)
            .await
    }

    /// What is found, having seen to it that it is of the scope, in order and no more than asked for.
    pub(super) async fn found(
        &self,
        embedding: &[f32],
        condition: Value,
        limit: usize,
    ) -> Vec<FoundChunk> {
        let found = self.ask(embedding, condition, limit).await;
        let found = found.expect("nearest chunks are found");
        assert!(
            found.len() <= limit,
            "there are no more than were asked for"
        );
        for found in &found {
            assert_eq!(
                found.scope,
                self.scope.as_str(),
                "what is found says its scope, which is the caller's alone"
            );
            assert!(
                (-1.0..=1.0).contains(&found.similarity),
                "similarities are from -1 to 1, and {} isn't",
                found.similarity
            );
        }
        for two in found.windows(2) {
            assert!(
                two[0].similarity >= two[1].similarity - TOLERANCE,
                "the nearest come first"
            );
        }
        found
    }

    /// Ids of what is nearest, whatever its metadata are.
    pub(in super::super) async fn ids(&self, embedding: &[f32], limit: usize) -> Vec<String> {
        self.matching(embedding, json!({}), limit).await
    }

    /// Ids of the nearest that match.
    pub(super) async fn matching(
        &self,
        embedding: &[f32],
        condition: Value,
        limit: usize,
    ) -> Vec<String> {
        let found = self.found(embedding, condition, limit).await;
        found.into_iter().map(|found| found.id).collect()
    }

    /// Ids and marks.
    pub(super) async fn marks(&self) -> Vec<(String, Option<String>)> {
        let marks = self.store.chunk_marks(&self.scope, &self.of).await;
        let marks = marks.expect("chunk marks are listed").into_iter();
        marks.map(|mark| (mark.id, mark.mark)).collect()
    }

    /// Ids of all that is there.
    pub(in super::super) async fn all(&self) -> Vec<String> {
        self.marks().await.into_iter().map(|(id, _)| id).collect()
    }

    pub(in super::super) async fn remove(&self, ids: &[&str]) {
        let ids: Vec<String> = ids.iter().map(|id| (*id).to_owned()).collect();
        let removed = self.store.remove_chunks(&self.scope, &self.of, &ids).await;
        removed.expect("chunks are removed");
    }
}

pub(super) fn collection(name: &str, model: &str) -> VectorCollection {
    VectorCollection {
        name: name.to_owned(),
        model: model.to_owned(),
    }
}

/// A chunk whose content says its id.
pub(in super::super) fn chunk(id: &str, embedding: &[f32]) -> Chunk {
    Chunk {
        id: id.to_owned(),
        content: format!("content of {id}"),
        metadata: ItemMetadata::default(),
        embedding: embedding.to_vec(),
        mark: None,
    }
}

pub(super) fn described(id: &str, embedding: &[f32], metadata: Value) -> Chunk {
    Chunk {
        metadata: metadata_of(metadata),
        ..chunk(id, embedding)
    }
}

pub(super) fn metadata_of(metadata: Value) -> ItemMetadata {
    ItemMetadata::of_value(metadata).expect("suite uses objects")
}

#[track_caller]
pub(super) fn assert_similarity(found: f64, right: f64, of: &str) {
    assert!(
        (found - right).abs() < TOLERANCE,
        "the similarity of {of} is {right} to a millionth, not {found}"
    );
}
