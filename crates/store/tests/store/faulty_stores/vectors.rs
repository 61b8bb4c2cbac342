//! Vectors that break one sentence of the trait each.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use async_trait::async_trait;
use notekeeper_domain::{Fingerprint, ItemMetadata, Operation, OperationId, Scope, Where};
use notekeeper_store::{
    Chunk, ChunkMark, ChunksKept, FoundChunk, InMemoryStore, MutationError, StoreError,
    VectorCollection, VectorStore, conformance,
};

use super::store::{Faulty, assert_found};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// A repeated keeping takes effect again.
    ForgetsOperations,
    /// A repeated keeping brings its chunks back.
    BringsBack,
    /// Receipts aren't told.
    TellsNoReceipts,
    /// Other arguments under an id are taken for the same.
    IgnoresFingerprints,
    /// Ids of operations are its own, apart from those of notes.
    OwnIds,
    /// Receipts go after a few hundred newer ones.
    FewReceipts,
    /// The first of two with one id counts.
    FirstCounts,
    /// One chunk after the other is kept, so others see a part.
    OneByOne,
    /// The underscore of a scope stands for any character.
    ScopePattern,
    /// The case of a collection's name doesn't count.
    CollectionCase,
    /// Models are no part of a collection.
    IgnoresModels,
    /// Chunks of another model stay when they are removed.
    RemovesOfModelAlone,
    /// Ids are compared without case.
    FoldsCase,
    /// The underscore of an id stands for any character when chunks are removed.
    RemovesByPattern,
    /// Contents are trimmed.
    TrimsContents,
    /// Fractions of metadata that are whole numbers come back as whole numbers.
    WholeNumbers,
    /// Marks get lost.
    LosesMarks,
    /// Marks are listed as a person would sort them.
    ListsByCase,
    /// What is found is by how far it is.
    FarthestFirst,
    /// Similarities are of products, whatever the lengths are.
    Products,
    /// Distances are told in the place of similarities.
    Distances,
    /// What is as near comes in any order.
    TiesAnyhow,
    /// One more than was asked for.
    OneTooMany,
    /// Conditions are looked at after the nearest were found.
    FiltersAfter,
    /// Conditions aren't looked at.
    IgnoresConditions,
    /// A percent sign of a condition stands for anything.
    Patterns,
    /// A condition with U+0000 is an error.
    NulFails,
    /// The nearest of all tenants are found, and those of others dropped.
    DropsOthersAfter,
    /// What isn't finite is kept.
    KeepsAnything,
    /// What is found doesn't say whose it is.
    SaysNoScope,
}

/// What each fault is found by.
const FAULTS: [(Fault, &str); 30] = [
    (Fault::ForgetsOperations, "replayed: false"),
    (Fault::BringsBack, "keeping again doesn't bring"),
    (Fault::IgnoresFingerprints, "other arguments under an id"),
    (Fault::OwnIds, "an id is of one kind of operation"),
    (
        Fault::FewReceipts,
        "newer operations don't push out a receipt",
    ),
    (Fault::FirstCounts, "of two with one id the later counts"),
    (Fault::OneByOne, "either all are kept or none is"),
    (Fault::ScopePattern, "is a scope of its own"),
    (Fault::CollectionCase, "is a collection of its own"),
    (Fault::IgnoresModels, "chunks of another model aren't found"),
    (
        Fault::RemovesOfModelAlone,
        "what is removed goes, whatever model made it",
    ),
    (Fault::FoldsCase, "each is its own"),
    (Fault::RemovesByPattern, "and nothing else"),
    (Fault::TellsNoReceipts, "the receipt of chunks is told"),
    (Fault::TrimsContents, "contents come back as they are"),
    (Fault::WholeNumbers, "to the last digit"),
    (Fault::LosesMarks, "marks come back as they are"),
    (Fault::ListsByCase, "ids ascend by code point"),
    (Fault::FarthestFirst, "nearest come first"),
    (Fault::Products, "similarit"),
    (Fault::Distances, "the nearest come first"),
    (Fault::TiesAnyhow, "as near come by id"),
    (Fault::OneTooMany, "there are no more than were asked for"),
    (Fault::FiltersAfter, "a condition matches as it says"),
    (
        Fault::IgnoresConditions,
        "nothing is left of the one before",
    ),
    (Fault::Patterns, "and no pattern"),
    (Fault::NulFails, "nearest chunks are found"),
    (
        Fault::DropsOthersAfter,
        "another tenant's chunks take nobody's place",
    ),
    (Fault::KeepsAnything, "what isn't finite is refused"),
    (Fault::SaysNoScope, "says its scope"),
];

#[tokio::test]
async fn vectors_that_break_a_sentence_are_found() {
    assert_found(&FAULTS, async |fault| {
        conformance::exercise_vectors(async || faulty(fault)).await;
    })
    .await;
}

fn faulty(fault: Fault) -> Faulty {
    let inner = Arc::new(InMemoryStore::default());
    let vectors = FaultyVectors {
        inner: Arc::clone(&inner),
        fault,
        operations: AtomicUsize::new(0),
    };
    Faulty::with_vectors(inner, vectors)
}

struct FaultyVectors {
    inner: Arc<InMemoryStore>,
    fault: Fault,
    operations: AtomicUsize,
}

impl FaultyVectors {
    fn scope(&self, scope: &Scope) -> Scope {
        match self.fault {
            Fault::ScopePattern => Scope::parse(&scope.as_str().replace('_', "-")).expect("valid"),
            _ => scope.clone(),
        }
    }

    fn collection(&self, collection: &VectorCollection) -> VectorCollection {
        let mut collection = collection.clone();
        match self.fault {
            Fault::CollectionCase => collection.name = collection.name.to_lowercase(),
            Fault::IgnoresModels if !collection.model.is_empty() => {
                collection.model = "model".to_owned();
            }
            _ => {}
        }
        collection
    }

    fn operation(&self, operation: Option<&Operation>) -> Option<Operation> {
        let mut operation = operation.cloned()?;
        let id = operation.id.as_str().to_owned();
        match self.fault {
            Fault::OwnIds => operation.id = OperationId::from_parts(&["vectors", &id]),
            Fault::IgnoresFingerprints => operation.fingerprint = Fingerprint::new("f"),
            Fault::FewReceipts if self.operations.fetch_add(1, Ordering::Relaxed) > 100 => {
                operation.id = OperationId::from_parts(&[&id, "later"]);
            }
            Fault::ForgetsOperations => return None,
            _ => {}
        }
        Some(operation)
    }

    fn chunks(&self, chunks: &[Chunk]) -> Vec<Chunk> {
        let mut chunks = chunks.to_vec();
        for chunk in &mut chunks {
            match self.fault {
                Fault::FoldsCase => chunk.id = chunk.id.to_lowercase(),
                Fault::TrimsContents => chunk.content = chunk.content.trim().to_owned(),
                Fault::LosesMarks => chunk.mark = None,
                Fault::WholeNumbers => {
                    let text = serde_json::Value::Object(chunk.metadata.to_object()).to_string();
                    let text = text.replace("1.0", "1");
                    let whole = serde_json::from_str(&text).expect("JSON");
                    chunk.metadata = ItemMetadata::of_value(whole).expect("an object");
                }
                Fault::KeepsAnything => {
                    for number in &mut chunk.embedding {
                        *number = if number.is_finite() { *number } else { 0.0 };
                    }
                }
                _ => {}
            }
        }
        if self.fault == Fault::FirstCounts {
            chunks.reverse();
        }
        chunks
    }
}

#[async_trait]
impl VectorStore for FaultyVectors {
    async fn check_vectors(&self) -> Result<(), StoreError> {
        self.inner.check_vectors().await
    }

    async fn keep_chunks(
        &self,
        scope: &Scope,
        collection: &VectorCollection,
        chunks: &[Chunk],
        operation: Option<&Operation>,
    ) -> Result<ChunksKept, MutationError> {
        let (scope, collection) = (&self.scope(scope), &self.collection(collection));
        let (chunks, operation) = (self.chunks(chunks), self.operation(operation));
        let operation = operation.as_ref();
        if self.fault == Fault::OneByOne {
            let mut rest = operation;
            for chunk in &chunks {
                let one = std::slice::from_ref(chunk);
                let kept = self.inner.keep_chunks(scope, collection, one, rest.take());
                let kept = kept.await?;
                if kept.replayed {
                    return Ok(kept);
                }
                tokio::task::yield_now().await;
            }
            if !chunks.is_empty() {
                return Ok(ChunksKept { replayed: false });
            }
        }
        let kept = self
            .inner
            .keep_chunks(scope, collection, &chunks, operation)
            .await?;
        if self.fault == Fault::BringsBack && kept.replayed {
            let again = self.inner.keep_chunks(scope, collection, &chunks, None);
            again.await?;
        }
        Ok(kept)
    }

    async fn chunks_receipt(
        &self,
        scope: &Scope,
        operation: &Operation,
    ) -> Result<Option<ChunksKept>, MutationError> {
        let (scope, operation) = (&self.scope(scope), self.operation(Some(operation)));
        match operation.filter(|_| self.fault != Fault::TellsNoReceipts) {
            Some(operation) => self.inner.chunks_receipt(scope, &operation).await,
            None => Ok(None),
        }
    }

    async fn nearest_chunks(
        &self,
        scope: &Scope,
        collection: &VectorCollection,
        embedding: &[f32],
        condition: &Where,
        limit: usize,
    ) -> Result<Vec<FoundChunk>, StoreError> {
        let (scope, collection) = (&self.scope(scope), &self.collection(collection));
        let find = async |scope: &Scope, condition: &Where, limit: usize| {
            self.inner
                .nearest_chunks(scope, collection, embedding, condition, limit)
                .await
        };
        let all = Where::default();
        let mut found = find(scope, condition, limit).await?;
        match self.fault {
            Fault::FarthestFirst => {
                found = find(scope, condition, usize::MAX).await?;
                found.reverse();
                found.truncate(limit);
            }
            Fault::Products => {
                let squares = embedding.iter().map(|n| f64::from(*n).powi(2));
                let length = squares.sum::<f64>().sqrt();
                for found in &mut found {
                    found.similarity *= length;
                }
            }
            Fault::Distances => {
                for found in &mut found {
                    found.similarity = (1.0 - found.similarity).min(1.0);
                }
            }
            Fault::TiesAnyhow => {
                found = find(scope, condition, usize::MAX).await?;
                found.reverse();
                found.sort_by(|one, other| other.similarity.total_cmp(&one.similarity));
                found.truncate(limit);
            }
            Fault::OneTooMany => found = find(scope, condition, limit.saturating_add(1)).await?,
            Fault::FiltersAfter => {
                found = find(scope, &all, limit).await?;
                found.retain(|found| condition.matches(&found.metadata));
            }
            Fault::IgnoresConditions => found = find(scope, &all, limit).await?,
            Fault::Patterns if condition.canonical().contains('%') => {
                found = find(scope, &all, limit).await?;
            }
            Fault::NulFails if condition.canonical().contains("\\u0000") => {
                return Err(StoreError::Unexpected("U+0000".to_owned()));
            }
            Fault::DropsOthersAfter if scope.as_str() == "a/few" => {
                let other = Scope::parse("a/many").expect("valid");
                let mut both = find(&other, condition, limit).await?;
                both.extend(found);
                both.sort_by(|one, other| other.similarity.total_cmp(&one.similarity));
                both.truncate(limit);
                both.retain(|found| found.scope == scope.as_str());
                found = both;
            }
            Fault::SaysNoScope => found.iter_mut().for_each(|found| found.scope.clear()),
            _ => {}
        }
        Ok(found)
    }

    async fn chunk_marks(
        &self,
        scope: &Scope,
        collection: &VectorCollection,
    ) -> Result<Vec<ChunkMark>, StoreError> {
        let (scope, collection) = (&self.scope(scope), &self.collection(collection));
        let mut marks = self.inner.chunk_marks(scope, collection).await?;
        if self.fault == Fault::ListsByCase {
            marks.sort_by_key(|mark| mark.id.to_lowercase());
        }
        Ok(marks)
    }

    async fn remove_chunks(
        &self,
        scope: &Scope,
        collection: &VectorCollection,
        ids: &[String],
    ) -> Result<(), StoreError> {
        let (scope, collection) = (&self.scope(scope), &self.collection(collection));
        let mut ids = ids.to_vec();
        let there = self.inner.chunk_marks(scope, collection).await?;
        match self.fault {
            Fault::RemovesOfModelAlone => {
                ids.retain(|id| there.iter().any(|mark| mark.id == *id));
            }
            Fault::RemovesByPattern => {
                let like = |id: &String| {
                    let pattern = |wanted: &String| {
                        wanted.len() == id.len()
                            && wanted
                                .chars()
                                .zip(id.chars())
                                .all(|(w, c)| w == '_' || w == c)
                    };
                    ids.iter().any(pattern)
                };
                let like: Vec<String> =
                    there.into_iter().map(|mark| mark.id).filter(like).collect();
                ids = like;
            }
            _ => {}
        }
        self.inner.remove_chunks(scope, collection, &ids).await
    }
}
