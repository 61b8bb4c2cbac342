//! The ready-made composition over notes and facts.

use std::sync::Arc;

use async_trait::async_trait;
use notekeeper_domain::{Item, RecallQuery, SOURCE_LIMIT_MAX};
use notekeeper_models::EmbeddingModel;

use super::{
    corpus::{Corpus, CorpusPassage},
    vectors::{VectorsLeg, collection},
};
use crate::{
    Answer, CompositeOptions, CompositeSource, OpenStores, ReciprocalRankFusion, Source,
    SourceCall, SourceError, SourceQuery, WriteOperation, Written,
};

/// So many places of each leg are fused for one that is asked for: what stands in the middle of several lists
/// is to be seen in all of them.
const DEPTH: usize = 6;

/// Fewest places of each leg that are fused.
const DEPTH_MIN: usize = 30;

/// A source over notes and facts together, which finds them by words, by words that are spelt otherwise, and
/// by what they mean: a composition of up to three legs, whose ranks are fused
/// ([`ReciprocalRankFusion`]).
///
/// | leg | finds |
/// | --- | --- |
/// | `NAME.words` | words as they are, and those that begin with one of the query |
/// | `NAME.similar` | these, and words that are like them |
/// | `NAME.vectors` | what is near by the model of embeddings; where the store keeps vectors |
///
/// The rules of the first two are those of [`FullText`](notekeeper_domain::FullText). Facts take part where the
/// store keeps them. All items carry the source's own name; `dedupe_sources` in their metadata says which legs found
/// them, and where one was late or failed the answer names it.
///
/// A query looks through the passages of the first 1,000 notes by name and about 8 MiB of text, and through the
/// first 2,000 facts by key and the 100 that recall finds best. Passages whose embeddings are missing or out of
/// date get them during the query, as many as a second allows and at most 512; until then the other legs
/// find them. Nothing that isn't in the notes and facts any more is ever found.
///
/// The item of a passage has `NOTE#NUMBER` as id, and `path` and `version` as metadata; that of a fact
/// `fact:KEY`, and `key` and `age_seconds`. It can't be written to.
#[derive(Debug)]
pub struct HybridSource {
    name: String,
    stores: Arc<dyn OpenStores>,
    store: String,
    embedder: Arc<dyn EmbeddingModel>,
    options: CompositeOptions,
}

impl HybridSource {
    /// A source over the notes and facts of the store with this name.
    pub fn new(
        name: impl Into<String>,
        stores: Arc<dyn OpenStores>,
        store: impl Into<String>,
        embedder: Arc<dyn EmbeddingModel>,
    ) -> Self {
        Self {
            name: name.into(),
            stores,
            store: store.into(),
            embedder,
            options: CompositeOptions {
                reranker: Arc::new(ReciprocalRankFusion),
                ..CompositeOptions::default()
            },
        }
    }

    /// The same with other options: how long a leg may take, and what fuses.
    #[must_use]
    pub fn with_options(mut self, options: CompositeOptions) -> Self {
        self.options = options;
        self
    }

    async fn legs(
        &self,
        query: &SourceQuery,
        call: &SourceCall<'_>,
    ) -> Result<Vec<Arc<dyn Source>>, SourceError> {
        let wanted = RecallQuery::parse(&query.text);
        let store = self.stores.open(&self.store, call).await?;
        let mut corpus = Corpus::of_notes(&*store, call.scope).await?;
        if let Some(facts) = store.facts() {
            corpus.add_facts(facts, call.scope, &wanted).await?;
        }
        let corpus = Arc::new(corpus);
        let ranked = corpus.ranked(&wanted, &query.condition, query.limit).await;
        let mut legs: Vec<Arc<dyn Source>> = vec![
            Arc::new(self.found("words", &ranked.words)),
            Arc::new(self.found("similar", &ranked.similar)),
        ];
        if store.vectors().is_some() {
            legs.push(Arc::new(VectorsLeg {
                name: format!("{}.vectors", self.name),
                corpus: corpus.clone(),
                condition: query.condition.clone(),
                store,
                embedder: self.embedder.clone(),
                collection: collection(&self.name, &*self.embedder),
            }));
        }
        Ok(legs)
    }

    fn found(&self, leg: &str, found: &[(&CorpusPassage, f64)]) -> Found {
        let name = format!("{}.{leg}", self.name);
        let items = found
            .iter()
            .map(|(passage, score)| passage.item(&name, *score))
            .collect();
        Found { name, items }
    }
}

#[async_trait]
impl Source for HybridSource {
    fn name(&self) -> &str {
        &self.name
    }

    async fn query(
        &self,
        query: &SourceQuery,
        call: &SourceCall<'_>,
    ) -> Result<Answer, SourceError> {
        if query.limit == 0 || query.text.trim().is_empty() {
            return Ok(Answer::default());
        }
        let deep = SourceQuery {
            limit: (query.limit * DEPTH).clamp(DEPTH_MIN, DEPTH * SOURCE_LIMIT_MAX),
            ..query.clone()
        };
        let legs = self.legs(&deep, call).await?;
        let fused = CompositeSource::new(&self.name, legs, self.options.clone())
            .map_err(|fault| SourceError::Invalid(fault.to_string()))?;
        let mut answer = fused.query(&deep, call).await?;
        answer.items.truncate(query.limit);
        for item in &mut answer.items {
            item.source.clone_from(&self.name);
        }
        Ok(answer)
    }

    async fn write(
        &self,
        items: &[Item],
        _operation: &WriteOperation,
        _call: &SourceCall<'_>,
    ) -> Result<Written, SourceError> {
        Ok(match items {
            [] => Written::default(),
            _ => Written::refused_by(&self.name),
        })
    }

    fn accepts_writes(&self) -> bool {
        false
    }
}

/// What a leg found already.
#[derive(Debug)]
struct Found {
    name: String,
    items: Vec<Item>,
}

#[async_trait]
impl Source for Found {
    fn name(&self) -> &str {
        &self.name
    }

    async fn query(&self, _: &SourceQuery, _: &SourceCall<'_>) -> Result<Answer, SourceError> {
        Ok(Answer::of(self.items.clone()))
    }

    async fn write(
        &self,
        _: &[Item],
        _: &WriteOperation,
        _: &SourceCall<'_>,
    ) -> Result<Written, SourceError> {
        Ok(Written::refused_by(&self.name))
    }

    fn accepts_writes(&self) -> bool {
        false
    }
}
