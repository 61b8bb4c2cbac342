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

/// Most bytes of all ids, texts and metadata together, of all scopes: 64 MiB. Their words take some times as much.
const BYTES_MAX: usize = 64 * 1024 * 1024;

/// An index for tests, demonstrations and small collections that need no model: near are texts that have
/// the same words, by the cosine of their counts. Words are folded, so that case and accents make no
/// difference, and runs of letters and digits.
///
/// The same texts give the same answers. A text without a word of the query isn't found. It keeps all in
/// memory, looks at every chunk of a scope, and starts out empty with the process. It takes 64 MiB of texts and
/// metadata; a write beyond that is [too large](SourceError::TooLarge).
pub struct TermVectors {
    kept: Mutex<Kept>,
    bytes_max: usize,
}

/// What is kept of all scopes.
#[derive(Default)]
struct Kept {
    scopes: BTreeMap<String, ScopeChunks>,
    /// Bytes of all chunks.
    bytes: usize,
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
    /// Of id, content and metadata.
    bytes: usize,
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
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for TermVectors {
    fn default() -> Self {
        Self {
            kept: Mutex::default(),
            bytes_max: BYTES_MAX,
        }
    }
}

impl fmt::Debug for TermVectors {
    /// Says how much there is, and nothing of what it is.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scopes = &self.kept().scopes;
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
            .kept()
            .scopes
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
        // Of chunks with one id the last stays.
        let counted: BTreeMap<String, Arc<Counted>> = chunks
            .into_iter()
            .map(|chunk| {
                let counted = Counted {
                    bytes: bytes_of(&chunk),
                    terms: Terms::of(&chunk.content),
                    content: chunk.content,
                    metadata: chunk.metadata,
                };
                (chunk.id, Arc::new(counted))
            })
            .collect();
        let mut kept = self.kept();
        let kept = &mut *kept;
        let of_scope = kept.scopes.entry(call.scope.as_str().to_owned());
        let of_scope = of_scope.or_default();
        if of_scope.operations.is_repeated(operation)? {
            return Ok(());
        }
        let replaced = counted.keys().filter_map(|id| of_scope.chunks.get(id));
        let gone: usize = replaced.map(|chunk| chunk.bytes).sum();
        let new: usize = counted.values().map(|chunk| chunk.bytes).sum();
        let bytes = kept.bytes - gone + new;
        if bytes > self.bytes_max {
            return Err(SourceError::TooLarge(format!(
                "texts and metadata in the memory of one worker may have {} bytes altogether, and with these items they \
                 would have more; keep them in a store, with `index` left out",
                self.bytes_max
            )));
        }
        Arc::make_mut(&mut of_scope.chunks).extend(counted);
        of_scope.operations.remember(operation);
        kept.bytes = bytes;
        Ok(())
    }
}

fn bytes_of(chunk: &TextChunk) -> usize {
    let metadata = chunk.metadata.entries();
    let metadata = metadata.map(|(key, value)| key.len() + value.to_string().len());
    chunk.id.len() + chunk.content.len() + metadata.sum::<usize>()
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        Source as _, VectorSource,
        fake::{Caller, metadata, operation},
    };
    use notekeeper_domain::Item;

    #[tokio::test]
    async fn no_more_is_kept_than_is_allowed_of_all_scopes_and_what_takes_anothers_place_counts_once()
     {
        let index = TermVectors {
            bytes_max: 100,
            ..TermVectors::default()
        };
        let index = Arc::new(index);
        let source = VectorSource::new("kb", index.clone());
        let (acme, other) = (Caller::of("acme"), Caller::of("other"));
        let write = async |caller: &Caller, id: &str, content: &str, op: &str| {
            let item = Item::new(content, "")
                .with_id(id)
                .with_metadata(metadata(json!({"note": "nine"})));
            let operation = operation(op);
            source.write(&[item], &operation, &caller.call()).await
        };
        let long = "green tea ".repeat(4);
        write(&acme, "a", &long, "1").await.unwrap();
        assert_eq!(index.kept().bytes, 1 + 40 + 4 + 6);
        for (caller, op) in [(&acme, "2"), (&other, "3")] {
            let refused = write(caller, "b", &long, op).await;
            assert!(
                matches!(refused, Err(SourceError::TooLarge(_))),
                "{refused:?}"
            );
        }
        assert_eq!(acme.found(&source, "tea", 9).await.len(), 1);
        assert_eq!(other.found(&source, "tea", 9).await.len(), 0);
        write(&acme, "a", &"black tea ".repeat(8), "4")
            .await
            .unwrap();
        write(&acme, "a", &long, "1").await.unwrap();
        assert_eq!(index.kept().bytes, 1 + 80 + 4 + 6);
        write(&acme, "a", "tea", "5").await.unwrap();
        write(&other, "b", &long, "3").await.unwrap();
        assert_eq!(index.kept().bytes, 2 * (1 + 4 + 6) + 3 + 40);
        assert_eq!(other.found(&source, "tea", 9).await.len(), 1);
    }
}
