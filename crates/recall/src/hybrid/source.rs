//! The ready-made composition over notes and facts.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use notekeeper_domain::{Item, RecallQuery, SOURCE_LIMIT_MAX};
use notekeeper_models::EmbeddingModel;
use notekeeper_store::VectorCollection;
use serde_json::Value;

use super::{
    corpus::{Corpus, CorpusPassage, best_of_each},
    upkeep::Upkeep,
    vectors::{VectorsLeg, collection},
};
#[cfg(doc)]
use crate::ReciprocalRankFusion;
use crate::{
    Answer, Candidate, CompositeOptions, CompositeSource, LEG_TIMEOUT_DEFAULT, OpenStores,
    Reranker, Source, SourceCall, SourceError, SourceQuery, WriteOperation, Written,
    dedupe::origins, rerank::fuse,
};

/// Where the metadata of an item says which legs found it.
const FOUND_BY: &str = "found_by";

/// So many places of each leg are fused for one that is asked for: what stands in the middle of several lists
/// is to be seen in all of them.
const DEPTH: usize = 6;

/// What a place in the list of a lexical model of embeddings counts against one in another list.
const LEXICAL_WEIGHT: f64 = 0.5;

/// Fewest places of each leg that are fused.
const DEPTH_MIN: usize = 30;

/// A way in which a [`HybridSource`] finds things.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum HybridLeg {
    /// By words as they are, and those that begin with one of the query.
    Words,
    /// By these, and by words that are like them.
    Similar,
    /// By vectors.
    Vectors,
}

impl HybridLeg {
    /// As it is called within its source; outside it is `NAME.` and this.
    fn name(self) -> &'static str {
        match self {
            Self::Words => "words",
            Self::Similar => "similar",
            Self::Vectors => "vectors",
        }
    }
}

/// A source over notes and facts together, which finds them by words, by words that are spelt otherwise, and
/// by what they mean: a composition of up to three legs, whose ranks are fused
/// as by [`ReciprocalRankFusion`]. A place in the list of vectors counts half where the model is
/// [lexical](EmbeddingModel::is_lexical).
///
/// | leg | finds |
/// | --- | --- |
/// | `NAME.words` | words as they are, and those that begin with one of the query |
/// | `NAME.similar` | these, and words that are like them |
/// | `NAME.vectors` | what is near by the model of embeddings; where the store keeps vectors |
///
/// The rules of the first two are those of [`FullText`](notekeeper_domain::FullText). Facts take part where the
/// store keeps them. All items carry the source's own name, as to others it is one source; `found_by` in their
/// metadata lists which of `words`, `similar` and `vectors` found them. Where one was late or failed the answer
/// names it.
///
/// A query looks through the passages of the first 1,000 notes by name that tools can address, and through the
/// first 2,000 facts by key: about 6 MiB of text of notes, and 7 MiB with facts. The 100 facts that recall finds
/// best take part wherever they stand, in the legs of words alone.
///
/// Where the [call](SourceCall) allows it, passages whose embeddings are missing get them beside the query, and embeddings of
/// what is gone are removed: of each scope by one task at a time, which goes on when the query has ended, for about
/// a minute and 512 passages at most. A query waits for it half of the time that the leg has. Until then the other
/// legs find what has no embedding. Nothing that isn't in the notes and facts any more is ever found.
///
/// Where somebody waits, half of their time is for ranking by words. If it doesn't suffice these two legs are named as
/// late, with what they found until then.
///
/// The item of a passage has `note:STORE/NOTE#NUMBER` as id, and `path` and `version` as metadata. A fact is
/// one item, `fact:STORE/KEY`, with `key` and `age_seconds`; of a long value the passage that fits best is shown. It
/// can't be written to.
#[derive(Debug)]
pub struct HybridSource {
    name: String,
    stores: Arc<dyn OpenStores>,
    store: String,
    embedder: Arc<dyn EmbeddingModel>,
    legs: Vec<HybridLeg>,
    leg_timeout: Duration,
    upkeep: Arc<Upkeep>,
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
            legs: vec![HybridLeg::Words, HybridLeg::Similar, HybridLeg::Vectors],
            leg_timeout: LEG_TIMEOUT_DEFAULT,
            upkeep: Arc::default(),
        }
    }

    /// The same with another time that the leg of vectors may take: 1 ms to
    /// [`LEG_TIMEOUT_MS_MAX`](crate::LEG_TIMEOUT_MS_MAX).
    #[must_use]
    pub fn with_leg_timeout(mut self, leg_timeout: Duration) -> Self {
        self.leg_timeout = leg_timeout;
        self
    }

    /// The same with these legs alone. With none it finds nothing.
    #[must_use]
    pub fn with_legs(mut self, legs: &[HybridLeg]) -> Self {
        self.legs.retain(|leg| legs.contains(leg));
        self
    }

    /// Under what the store keeps the embeddings: another collection for each model.
    pub fn collection(&self) -> VectorCollection {
        collection(&self.name, &*self.embedder)
    }

    /// The legs, and whether the scope has more than they look through.
    async fn legs(
        &self,
        query: &SourceQuery,
        call: &SourceCall<'_>,
    ) -> Result<(Vec<Arc<dyn Source>>, bool), SourceError> {
        let wanted = RecallQuery::parse(&query.text);
        let store = self.stores.open(&self.store, call).await?;
        let mut corpus = Corpus::of_notes((&self.name, &self.store), &*store, call).await?;
        if let Some(facts) = store.facts() {
            corpus.add_facts(&self.name, facts, call, &wanted).await?;
        }
        let corpus = Arc::new(corpus);
        let ranked = corpus.ranked(&wanted, &query.condition, query.limit).await;
        let mut legs: Vec<Arc<dyn Source>> = Vec::new();
        for leg in &self.legs {
            match leg {
                HybridLeg::Words => {
                    legs.push(Arc::new(Found::of(*leg, &ranked.words, ranked.in_time)));
                }
                HybridLeg::Similar => {
                    legs.push(Arc::new(Found::of(*leg, &ranked.similar, ranked.in_time)));
                }
                HybridLeg::Vectors if store.vectors().is_some() => {
                    legs.push(Arc::new(VectorsLeg {
                        name: leg.name(),
                        source: self.name.clone(),
                        corpus: corpus.clone(),
                        condition: query.condition.clone(),
                        store: store.clone(),
                        embedder: self.embedder.clone(),
                        collection: self.collection(),
                        upkeep: self.upkeep.clone(),
                    }));
                }
                HybridLeg::Vectors => {}
            }
        }
        Ok((legs, corpus.is_part()))
    }

    /// What each leg counts. Vectors of a lexical model repeat what the others found, and add chance.
    fn fusion(&self) -> Fusion {
        let weight = |leg: &HybridLeg| match leg {
            HybridLeg::Vectors if self.embedder.is_lexical() => LEXICAL_WEIGHT,
            _ => 1.0,
        };
        Fusion {
            weights: self.legs.iter().map(weight).collect(),
        }
    }

    /// What is told outside, where nobody knows the legs: the source is one.
    fn told(&self, mut answer: Answer) -> Answer {
        let outside = |leg: &str| format!("{}.{leg}", self.name);
        for leg in &mut answer.timed_out {
            *leg = outside(leg);
        }
        for leg in &mut answer.failed {
            leg.source = outside(&leg.source);
        }
        for item in &mut answer.items {
            let found_by = Value::Array(origins(item));
            item.metadata = item.metadata.unstamped().with(FOUND_BY, found_by);
            item.source.clone_from(&self.name);
        }
        answer
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
            limit: query
                .limit
                .saturating_mul(DEPTH)
                .clamp(DEPTH_MIN, DEPTH * SOURCE_LIMIT_MAX),
            ..query.clone()
        };
        let (legs, is_part) = self.legs(&deep, call).await?;
        if legs.is_empty() {
            return Ok(Answer::default());
        }
        let options = CompositeOptions {
            reranker: Arc::new(self.fusion()),
            leg_timeout: self.leg_timeout,
            ..CompositeOptions::default()
        };
        let fused = CompositeSource::new(&self.name, legs, options)
            .map_err(|fault| SourceError::Invalid(fault.to_string()))?;
        match fused.query(&deep, call).await {
            Ok(mut answer) => {
                answer.items.truncate(query.limit);
                Ok(self.told(answer).looked_in_part(&self.name, is_part))
            }
            Err(SourceError::NoAnswer {
                source_name,
                answer,
            }) => Err(SourceError::NoAnswer {
                source_name,
                answer: Box::new(self.told(*answer)),
            }),
            Err(error) => Err(error),
        }
    }

    async fn write(
        &self,
        items: &[Item],
        _operation: &WriteOperation,
        _call: &SourceCall<'_>,
    ) -> Result<Written, SourceError> {
        Ok(Written::nothing_of(items, &self.name))
    }

    fn accepts_writes(&self) -> bool {
        false
    }
}

/// [`ReciprocalRankFusion`] in which some lists count less.
#[derive(Debug)]
struct Fusion {
    /// By the index of the leg.
    weights: Vec<f64>,
}

#[async_trait]
impl Reranker for Fusion {
    async fn rerank(
        &self,
        _: &SourceQuery,
        candidates: Vec<Candidate>,
    ) -> Result<Vec<Item>, SourceError> {
        let weight = |leg: usize| self.weights.get(leg).copied().unwrap_or(1.0);
        Ok(fuse(candidates, weight))
    }

    fn can_fail(&self) -> bool {
        false
    }
}

/// What a leg found already.
#[derive(Debug)]
struct Found {
    name: &'static str,
    answer: Answer,
}

impl Found {
    /// These; `in_time` says whether there was time to look for all.
    fn of(leg: HybridLeg, found: &[(&CorpusPassage, f64)], in_time: bool) -> Self {
        let name = leg.name();
        let items = best_of_each(found).map(|(passage, score)| passage.item(name, *score));
        let mut answer = Answer::of(items.collect());
        if !in_time {
            answer.timed_out.push(name.to_owned());
        }
        Self { name, answer }
    }
}

#[async_trait]
impl Source for Found {
    fn name(&self) -> &str {
        self.name
    }

    async fn query(&self, _: &SourceQuery, _: &SourceCall<'_>) -> Result<Answer, SourceError> {
        Ok(self.answer.clone())
    }

    async fn write(
        &self,
        _: &[Item],
        _: &WriteOperation,
        _: &SourceCall<'_>,
    ) -> Result<Written, SourceError> {
        Ok(Written::refused_by(self.name))
    }

    fn accepts_writes(&self) -> bool {
        false
    }
}
