//! Vectors without a model: how often each word stands in a text. They live in memory.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, VecDeque},
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use notekeeper_domain::{Fingerprint, ItemMetadata, Operation, OperationId, Where, folded_fact};
use notekeeper_store::{FoundChunk, MutationError};

use super::{TextChunk, VectorIndex};
use crate::{SourceCall, SourceError};

/// Chunks that are looked at before other tasks get their turn.
const SHARE: usize = 256;

/// Operations that are remembered of one scope, as stores of notes do; older ones make room.
const OPERATIONS_PER_SCOPE_MAX: usize = 1_024;

/// An index for tests, demonstrations and small collections that need no model: near are texts that have
/// the same words, by the cosine of their counts. Words are folded, so that case and accents make no
/// difference, and runs of letters and digits.
///
/// The same texts give the same answers. A text without a word of the query isn't found. It keeps all in
/// memory, looks at every chunk of a scope, and starts out empty with the process.
#[derive(Default)]
pub struct TermVectors {
    scopes: Mutex<BTreeMap<String, ScopeChunks>>,
}

/// What is kept of one scope.
#[derive(Default)]
struct ScopeChunks {
    /// Shared with the queries that look at them, so that none keeps others waiting meanwhile.
    chunks: Arc<BTreeMap<String, Arc<Counted>>>,
    operations: Operations,
}

struct Counted {
    content: String,
    metadata: ItemMetadata,
    terms: Terms,
}

/// The newest operations, with the fingerprints of their arguments.
#[derive(Default)]
struct Operations {
    fingerprints: BTreeMap<String, Fingerprint>,
    /// Ids, oldest first.
    order: VecDeque<OperationId>,
}

/// How often each word stands in a text.
struct Terms {
    counts: BTreeMap<String, u32>,
    /// Sum of the squares of the counts.
    square: f64,
}

impl TermVectors {
    fn scopes(&self) -> MutexGuard<'_, BTreeMap<String, ScopeChunks>> {
        self.scopes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for TermVectors {
    /// Says how much there is, and nothing of what it is.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scopes = self.scopes();
        let chunks: usize = scopes.values().map(|scope| scope.chunks.len()).sum();
        f.debug_struct("TermVectors")
            .field("scopes", &scopes.len())
            .field("chunks", &chunks)
            .finish()
    }
}

#[async_trait]
impl VectorIndex for TermVectors {
    async fn search(
        &self,
        text: &str,
        condition: &Where,
        limit: usize,
        call: &SourceCall<'_>,
    ) -> Result<Vec<FoundChunk>, SourceError> {
        let wanted = Terms::of(text);
        let kept = self
            .scopes()
            .get_key_value(call.scope.as_str())
            .map(|(scope, kept)| (scope.clone(), Arc::clone(&kept.chunks)));
        let Some((scope, chunks)) = kept else {
            return Ok(Vec::new());
        };
        let mut near: Vec<(f64, &String, &Counted)> = Vec::new();
        for (count, (id, chunk)) in (1..).zip(&*chunks) {
            let count: usize = count;
            let similarity = wanted.cosine(&chunk.terms);
            if similarity > 0.0 && condition.matches(&chunk.metadata) {
                near.push((similarity, id, chunk));
            }
            if count.is_multiple_of(SHARE) {
                tokio::task::yield_now().await;
            }
        }
        near.sort_by(|(one, one_id, _), (other, other_id, _)| {
            let nearer = other.partial_cmp(one).unwrap_or(Ordering::Equal);
            nearer.then_with(|| one_id.cmp(other_id))
        });
        near.truncate(limit);
        let found = near.into_iter().map(|(similarity, id, chunk)| FoundChunk {
            scope: scope.clone(),
            id: id.clone(),
            content: chunk.content.clone(),
            metadata: chunk.metadata.clone(),
            similarity,
        });
        Ok(found.collect())
    }

    async fn keep(
        &self,
        chunks: Vec<TextChunk>,
        operation: &Operation,
        call: &SourceCall<'_>,
    ) -> Result<(), SourceError> {
        let counted: Vec<(String, Arc<Counted>)> = chunks
            .into_iter()
            .map(|chunk| {
                let counted = Counted {
                    terms: Terms::of(&chunk.content),
                    content: chunk.content,
                    metadata: chunk.metadata,
                };
                (chunk.id, Arc::new(counted))
            })
            .collect();
        let mut scopes = self.scopes();
        let kept = scopes.entry(call.scope.as_str().to_owned()).or_default();
        if kept.operations.is_repeated(operation)? {
            return Ok(());
        }
        Arc::make_mut(&mut kept.chunks).extend(counted);
        kept.operations.remember(operation);
        Ok(())
    }
}

impl Operations {
    fn is_repeated(&self, operation: &Operation) -> Result<bool, MutationError> {
        match self.fingerprints.get(operation.id.as_str()) {
            None => Ok(false),
            Some(kept) if *kept == operation.fingerprint => Ok(true),
            Some(_) => Err(MutationError::OperationConflict),
        }
    }

    fn remember(&mut self, operation: &Operation) {
        self.fingerprints.insert(
            operation.id.as_str().to_owned(),
            operation.fingerprint.clone(),
        );
        self.order.push_back(operation.id.clone());
        if self.order.len() > OPERATIONS_PER_SCOPE_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.fingerprints.remove(oldest.as_str());
        }
    }
}

impl Terms {
    fn of(text: &str) -> Self {
        let counts = folded_words(text);
        let square = counts.values().map(|count| f64::from(*count).powi(2)).sum();
        Self { counts, square }
    }

    /// 0 where they have no word in common, up to 1.
    fn cosine(&self, other: &Self) -> f64 {
        let products = self.counts.iter().filter_map(|(word, count)| {
            let other = other.counts.get(word)?;
            Some(f64::from(*count) * f64::from(*other))
        });
        let product: f64 = products.sum();
        match product > 0.0 {
            true => (product / (self.square * other.square).sqrt()).min(1.0),
            false => 0.0,
        }
    }
}

/// How often each word stands in a text: runs of letters and digits, folded.
fn folded_words(text: &str) -> BTreeMap<String, u32> {
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    let folded = folded_fact("", text);
    let words = folded.split(|c: char| !c.is_alphanumeric());
    for word in words.filter(|word| !word.is_empty()) {
        *counts.entry(word.to_owned()).or_default() += 1;
    }
    counts
}
