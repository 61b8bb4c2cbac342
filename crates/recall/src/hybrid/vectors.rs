//! Vectors of passages, as a leg of hybrid search.

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use notekeeper_domain::{Item, Where, short_hash};
use notekeeper_models::EmbeddingModel;
use notekeeper_store::{COLLECTION_BYTES_MAX, Store, VectorCollection, VectorStore};

use super::{
    corpus::{Corpus, CorpusPassage, best_of_each},
    upkeep::{Flight, Upkeep},
};
use crate::{
    Answer, LEG_TIMEOUT_DEFAULT, Source, SourceCall, SourceError, SourceQuery, WriteOperation,
    Written,
    backends::{embeddings, is_zero, lacks, own_rows},
    patience::time_left,
};

/// How the names of collections of hybrid sources begin; those that are given may not.
pub(crate) const RESERVED: &str = "hybrid:";

/// What is less near isn't found: by chance alone so much similarity is common.
const SIMILARITY_MIN: f64 = 0.1;

/// The vectors of a corpus, as a leg of a composition that lives as long as the query.
#[derive(Debug)]
pub(super) struct VectorsLeg {
    pub(super) name: &'static str,
    /// The name of the source that it is a leg of.
    pub(super) source: String,
    pub(super) corpus: Arc<Corpus>,
    /// What is wanted of the corpus.
    pub(super) condition: Where,
    pub(super) store: Arc<dyn Store>,
    pub(super) embedder: Arc<dyn EmbeddingModel>,
    pub(super) collection: VectorCollection,
    pub(super) upkeep: Arc<Upkeep>,
}

/// The collection of a hybrid source: one for each model, so that two which share a name don't remove each
/// other's embeddings.
pub(super) fn collection(source: &str, embedder: &dyn EmbeddingModel) -> VectorCollection {
    let model = short_hash(embedder.id());
    let name = format!("{RESERVED}{source}:{model}");
    VectorCollection {
        name: match name.len() <= COLLECTION_BYTES_MAX {
            true => name,
            false => format!("{RESERVED}{}:{model}", short_hash(source)),
        },
        model: embedder.id().to_owned(),
    }
}

/// The store's vectors.
pub(super) fn vectors(store: &dyn Store) -> Result<&dyn VectorStore, SourceError> {
    let vectors = store.vectors();
    vectors.ok_or_else(|| lacks(store, "keeps no vectors", "name another store"))
}

impl VectorsLeg {
    /// Has the embeddings brought up to date, and waits half of the time that there is: what isn't done by
    /// then goes on, and what is there is searched.
    async fn bring_up_to_date(&self, dimensions: usize, query: &str, call: &SourceCall<'_>) {
        let flight = Flight {
            corpus: self.corpus.clone(),
            scope: call.scope.clone(),
            store: self.store.clone(),
            embedder: self.embedder.clone(),
            collection: self.collection.clone(),
            dimensions,
            known_good: query.to_owned(),
        };
        let done = self.upkeep.done(call.workspace, flight);
        let patience = time_left().unwrap_or(LEG_TIMEOUT_DEFAULT) / 2;
        _ = tokio::time::timeout(patience, done).await;
    }
}

#[async_trait]
impl Source for VectorsLeg {
    fn name(&self) -> &str {
        self.name
    }

    async fn query(
        &self,
        query: &SourceQuery,
        call: &SourceCall<'_>,
    ) -> Result<Answer, SourceError> {
        let wanted = embeddings(&*self.embedder, std::slice::from_ref(&query.text)).await?;
        let wanted = wanted.first().map(Vec::as_slice).unwrap_or_default();
        if call.upkeep {
            self.bring_up_to_date(wanted.len(), &query.text, call).await;
        }
        let mut by_digest: BTreeMap<String, Vec<&CorpusPassage>> = BTreeMap::new();
        for passage in self.corpus.standing() {
            by_digest.entry(passage.digest()).or_default().push(passage);
        }
        if by_digest.is_empty() || is_zero(wanted) {
            return Ok(Answer::default());
        }
        // Conditions are on what the corpus knows; the collection has but digests.
        let examined = match self.condition.is_empty() {
            true => query.limit,
            false => by_digest.len(),
        };
        let found = vectors(&*self.store)?
            .nearest_chunks(
                call.scope,
                &self.collection,
                wanted,
                &Where::default(),
                examined,
            )
            .await?;
        own_rows(&self.source, call, found.iter().map(|chunk| &*chunk.scope))?;
        let near = found
            .iter()
            .filter(|chunk| chunk.similarity >= SIMILARITY_MIN);
        let passages = near.flat_map(|chunk| {
            let passages = by_digest.get(&chunk.id).into_iter().flatten();
            passages.map(|passage| (*passage, chunk.similarity))
        });
        let matching: Vec<(&CorpusPassage, f64)> = passages
            .filter(|(passage, _)| self.condition.matches(&passage.metadata))
            .collect();
        let items = best_of_each(&matching)
            .map(|(passage, similarity)| passage.item(self.name, *similarity));
        Ok(Answer::of(items.take(query.limit).collect()))
    }

    async fn write(
        &self,
        _items: &[Item],
        _operation: &WriteOperation,
        _call: &SourceCall<'_>,
    ) -> Result<Written, SourceError> {
        Ok(Written::refused_by(self.name))
    }

    fn accepts_writes(&self) -> bool {
        false
    }
}
