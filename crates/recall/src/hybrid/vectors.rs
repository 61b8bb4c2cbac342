//! Vectors of passages, which queries keep up to date.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use notekeeper_domain::{Item, ItemMetadata, Scope, Where, short_hash};
use notekeeper_models::{EmbeddingModel, ModelError};
use notekeeper_store::{
    COLLECTION_BYTES_MAX, Chunk, MutationError, Store, VectorCollection, VectorStore,
};
use tokio::time::Instant;

use super::corpus::{Corpus, CorpusPassage};
use crate::{
    Answer, Source, SourceCall, SourceError, SourceQuery, WriteOperation, Written, backends::lacks,
};

/// Most passages that get an embedding during one query. A notebook that is new takes several.
const EMBEDDED_MAX: usize = 512;

/// Passages that get their embeddings first; they are kept before the next do. So few that a slow model has
/// them in time: what was done stays when the query ends in the middle.
const BATCH_MIN: usize = 8;

/// Most passages that get their embeddings at a time.
const BATCH_MAX: usize = 64;

/// Where a batch took less time, the next one is twice as large.
const QUICK: Duration = Duration::from_millis(250);

/// After so long a query embeds no more, and searches what there is.
const SYNCHRONISED_FOR: Duration = Duration::from_secs(1);

/// What is less near isn't found: by chance alone so much similarity is common.
const SIMILARITY_MIN: f64 = 0.1;

/// The vectors of a corpus, as a leg of a composition that lives as long as the query.
#[derive(Debug)]
pub(super) struct VectorsLeg {
    pub(super) name: String,
    pub(super) corpus: Arc<Corpus>,
    /// What is wanted of the corpus.
    pub(super) condition: Where,
    pub(super) store: Arc<dyn Store>,
    pub(super) embedder: Arc<dyn EmbeddingModel>,
    pub(super) collection: VectorCollection,
}

/// The collection of a hybrid source. A source's name has no colon, so none that keeps what it is given
/// has the same.
pub(super) fn collection(source: &str, embedder: &dyn EmbeddingModel) -> VectorCollection {
    let name = format!("hybrid:{source}");
    VectorCollection {
        name: match name.len() <= COLLECTION_BYTES_MAX {
            true => name,
            false => format!("hybrid:{}", short_hash(source)),
        },
        model: embedder.id().to_owned(),
    }
}

impl VectorsLeg {
    fn vectors(&self) -> Result<&dyn VectorStore, SourceError> {
        let vectors = self.store.vectors();
        vectors.ok_or_else(|| lacks(&*self.store, "keeps no vectors", "name another store"))
    }

    /// Makes the collection hold the passages of the corpus and nothing else, as far as one query goes.
    async fn synchronise(&self, scope: &Scope) -> Result<(), SourceError> {
        let began = Instant::now();
        let kept = self.vectors()?.chunk_marks(scope, &self.collection).await?;
        let kept: BTreeMap<String, Option<String>> = kept
            .into_iter()
            .map(|chunk| (chunk.id, chunk.mark))
            .collect();
        let mut lacking: Vec<(&CorpusPassage, String)> = Vec::new();
        let mut current: BTreeSet<&str> = BTreeSet::new();
        for passage in self.corpus.passages() {
            let mark = passage.mark();
            match kept.get(&passage.id) {
                Some(Some(known)) if *known == mark => _ = current.insert(&passage.id),
                _ => lacking.push((passage, mark)),
            }
        }
        // What will be made anew in a moment is out of date until then, too.
        let outdated: Vec<String> = kept
            .into_keys()
            .filter(|id| !current.contains(id.as_str()))
            .collect();
        if !outdated.is_empty() {
            let vectors = self.vectors()?;
            vectors
                .remove_chunks(scope, &self.collection, &outdated)
                .await?;
        }
        let left = lacking.len().saturating_sub(EMBEDDED_MAX);
        lacking.truncate(EMBEDDED_MAX);
        let mut made = 0;
        let mut size = BATCH_MIN;
        while made < lacking.len() && (made == 0 || began.elapsed() < SYNCHRONISED_FOR) {
            let batch = &lacking[made..lacking.len().min(made + size)];
            let batch_began = Instant::now();
            self.keep(batch, scope).await?;
            made += batch.len();
            if batch_began.elapsed() < QUICK {
                size = (size * 2).min(BATCH_MAX);
            }
        }
        if left > 0 || made < lacking.len() {
            tracing::debug!(
                passages = left + lacking.len() - made,
                "passages wait for their embeddings until the next query"
            );
        }
        Ok(())
    }

    async fn keep(
        &self,
        batch: &[(&CorpusPassage, String)],
        scope: &Scope,
    ) -> Result<(), SourceError> {
        let texts: Vec<String> = batch
            .iter()
            .map(|(passage, _)| passage.embedded_text())
            .collect();
        let embeddings = self.embeddings(&texts).await?;
        let chunks: Vec<Chunk> = batch
            .iter()
            .zip(embeddings)
            .map(|((passage, mark), embedding)| Chunk {
                id: passage.id.clone(),
                // The text stands in its note. Here it would outlive that.
                content: passage.id.clone(),
                metadata: ItemMetadata::default(),
                embedding,
                mark: Some(mark.clone()),
            })
            .collect();
        let kept = self
            .vectors()?
            .keep_chunks(scope, &self.collection, &chunks, None);
        kept.await.map_err(|error| match error {
            MutationError::Store(error) => SourceError::Store(error),
            error => SourceError::Mutation(error),
        })?;
        Ok(())
    }

    async fn embeddings(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, SourceError> {
        let made = self.embedder.embed(texts).await?;
        match made.len() == texts.len() {
            true => Ok(made),
            false => Err(SourceError::Model(ModelError::Refused(format!(
                "it answered {} embeddings for {} texts; see what is behind the embedder",
                made.len(),
                texts.len()
            )))),
        }
    }
}

#[async_trait]
impl Source for VectorsLeg {
    fn name(&self) -> &str {
        &self.name
    }

    async fn query(
        &self,
        query: &SourceQuery,
        call: &SourceCall<'_>,
    ) -> Result<Answer, SourceError> {
        self.synchronise(call.scope).await?;
        let by_id: BTreeMap<&str, &CorpusPassage> = self
            .corpus
            .passages()
            .iter()
            .map(|passage| (passage.id.as_str(), passage))
            .collect();
        // Conditions are on what the corpus knows; the collection has but ids.
        let examined = match self.condition.is_empty() {
            true => query.limit,
            false => by_id.len(),
        };
        let embeddings = self.embeddings(std::slice::from_ref(&query.text)).await?;
        let embedding = embeddings.first().map(Vec::as_slice).unwrap_or_default();
        if by_id.is_empty() || embedding.iter().all(|number| *number == 0.0) {
            return Ok(Answer::default());
        }
        let found = self
            .vectors()?
            .nearest_chunks(
                call.scope,
                &self.collection,
                embedding,
                &Where::default(),
                examined,
            )
            .await?;
        if found.iter().any(|chunk| chunk.scope != call.scope.as_str()) {
            return Err(SourceError::ForeignScope {
                source_name: self.name.clone(),
            });
        }
        let items = found
            .iter()
            .filter(|chunk| chunk.similarity >= SIMILARITY_MIN)
            .filter_map(|chunk| {
                let passage = by_id.get(chunk.id.as_str())?;
                Some(passage.item(&self.name, chunk.similarity))
            })
            .filter(|item| self.condition.matches(&item.metadata));
        Ok(Answer::of(items.take(query.limit).collect()))
    }

    async fn write(
        &self,
        _items: &[Item],
        _operation: &WriteOperation,
        _call: &SourceCall<'_>,
    ) -> Result<Written, SourceError> {
        Ok(Written::refused_by(&self.name))
    }

    fn accepts_writes(&self) -> bool {
        false
    }
}
