//! Embeddings of a corpus, made beside the queries that want them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use notekeeper_domain::{ItemMetadata, Scope};
use notekeeper_models::{EmbeddingModel, ModelError};
use notekeeper_store::{Chunk, MutationError, Store, VectorCollection};
use tokio::{
    sync::{Semaphore, watch},
    time::{Instant, timeout},
};

use super::{
    corpus::{Corpus, CorpusPassage},
    vectors::vectors,
};
use crate::{SourceError, backends::embeddings};

/// Most passages that get an embedding in one flight. A notebook that is new takes several.
const EMBEDDED_MAX: usize = 512;

/// Passages that get their embeddings first; they are kept before the next do. So few that what a slow model
/// did isn't lost when the process ends in the middle.
const BATCH_FIRST: usize = 8;

/// Most passages that get their embeddings at a time.
const BATCH_MAX: usize = 64;

/// Where a batch took less time, the next one is twice as large.
const QUICK: Duration = Duration::from_millis(250);

/// Where a batch took more time, the next one is half as large.
const SLOW: Duration = Duration::from_secs(2);

/// How long a model may take for a batch, and after how long a flight begins no further one.
const BATCH_FOR: Duration = Duration::from_secs(60);
const FLIGHT_FOR: Duration = Duration::from_secs(60);

/// Most flights of a source at a time. Each holds the texts of a scope.
const FLIGHTS_MAX: usize = 8;

/// Work on embeddings that is under way: of each scope one flight at a time, which goes on when nobody waits
/// for it any more.
#[derive(Debug)]
pub(super) struct Upkeep {
    under_way: Mutex<BTreeMap<Place, watch::Receiver<Option<Done>>>>,
    flights: Arc<Semaphore>,
}

/// A workspace, and the path of a scope.
type Place = (Option<String>, String);

/// A flight that ended, whatever came of it.
#[derive(Debug, Clone, Copy)]
struct Done {
    /// When its corpus was read.
    read_at: Instant,
}

impl Default for Upkeep {
    fn default() -> Self {
        Self {
            under_way: Mutex::default(),
            flights: Arc::new(Semaphore::new(FLIGHTS_MAX)),
        }
    }
}

impl Upkeep {
    fn under_way(&self) -> MutexGuard<'_, BTreeMap<Place, watch::Receiver<Option<Done>>>> {
        let lock = self.under_way.lock();
        lock.unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a flight over this corpus, or over a later one of the same place, has ended; begins it
    /// where there is none. A flight that began ends by itself.
    pub(super) async fn done(self: &Arc<Self>, workspace: Option<&str>, flight: Flight) {
        let place = (
            workspace.map(str::to_owned),
            flight.scope.as_str().to_owned(),
        );
        loop {
            let other = self.under_way().get(&place).cloned();
            if let Some(mut other) = other {
                if ended(&mut other).await.is_some_and(|it| it.covers(&flight)) {
                    return;
                }
                continue;
            }
            let Ok(permit) = self.flights.clone().acquire_owned().await else {
                return;
            };
            let Some((entry, mut receiver)) = self.enter(&place) else {
                continue;
            };
            // Detached: where the query ends in the middle, what was paid for is kept all the same.
            tokio::spawn(async move {
                let _permit = permit;
                let read_at = flight.corpus.read_at();
                flight.run().await;
                entry.leave(Done { read_at });
            });
            ended(&mut receiver).await;
            return;
        }
    }

    /// Enters a flight, unless another was quicker.
    fn enter(self: &Arc<Self>, place: &Place) -> Option<(Entry, watch::Receiver<Option<Done>>)> {
        let mut under_way = self.under_way();
        if under_way.contains_key(place) {
            return None;
        }
        let (sender, receiver) = watch::channel(None);
        under_way.insert(place.clone(), receiver.clone());
        let entry = Entry {
            upkeep: self.clone(),
            place: place.clone(),
            sender,
        };
        Some((entry, receiver))
    }
}

/// How the flight ended; nothing where it was broken off.
async fn ended(receiver: &mut watch::Receiver<Option<Done>>) -> Option<Done> {
    let done = receiver.wait_for(Option::is_some).await.ok()?;
    *done
}

impl Done {
    /// Whether the other would find nothing to do that this one didn't see.
    fn covers(self, other: &Flight) -> bool {
        self.read_at >= other.corpus.read_at()
    }
}

/// A flight's place among those under way, which it leaves however it ends.
struct Entry {
    upkeep: Arc<Upkeep>,
    place: Place,
    sender: watch::Sender<Option<Done>>,
}

impl Entry {
    /// Who waits looks for the next flight at once: this one is gone by then.
    fn leave(self, done: Done) {
        self.upkeep.under_way().remove(&self.place);
        _ = self.sender.send(Some(done));
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        let mut under_way = self.upkeep.under_way();
        // After `leave` another flight may have taken the place.
        if let Some(receiver) = under_way.get(&self.place)
            && receiver.same_channel(&self.sender.subscribe())
        {
            under_way.remove(&self.place);
        }
    }
}

/// One go at the embeddings of a corpus.
pub(super) struct Flight {
    pub(super) corpus: Arc<Corpus>,
    pub(super) scope: Scope,
    pub(super) store: Arc<dyn Store>,
    pub(super) embedder: Arc<dyn EmbeddingModel>,
    pub(super) collection: VectorCollection,
    /// Numbers of an embedding, as the model gives them now.
    pub(super) dimensions: usize,
    /// A text that the model took a moment ago.
    pub(super) known_good: String,
}

/// A passage that lacks its embedding, and the id under which that is kept.
struct Lacking<'c> {
    id: String,
    passage: &'c CorpusPassage,
}

impl Flight {
    /// Goes as far as one flight goes. What fails is tried again after another query.
    async fn run(&self) {
        if let Err(error) = self.bring_up_to_date().await {
            // What an endpoint or a store says may hold what was sent there.
            tracing::warn!(
                passing = error.is_passing(),
                refused = is_refusal(&error),
                "embeddings for hybrid search could not be brought up to date"
            );
        }
    }

    /// Makes the collection hold the passages of the corpus and nothing else.
    async fn bring_up_to_date(&self) -> Result<(), SourceError> {
        let mut lacking = self.lacking().await?;
        let left = lacking.len().saturating_sub(EMBEDDED_MAX);
        lacking.truncate(EMBEDDED_MAX);
        let began = Instant::now();
        let mut made = 0;
        let mut size = BATCH_FIRST;
        while made < lacking.len() && began.elapsed() < FLIGHT_FOR {
            let batch = &lacking[made..lacking.len().min(made + size)];
            let batch_began = Instant::now();
            match self.keep(batch).await {
                // One of them may be to blame. By halves it is found, and the others are kept.
                Err(error) if is_refusal(&error) && batch.len() > 1 => {
                    size = batch.len() / 2;
                    continue;
                }
                Err(error) if is_refusal(&error) => self.keep_refused(batch).await?,
                kept => kept?,
            }
            made += batch.len();
            let took = batch_began.elapsed();
            if took < QUICK {
                size = (size * 2).min(BATCH_MAX);
            } else if took > SLOW {
                size = (size / 2).max(1);
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

    /// The passages without an embedding. Embeddings of anything else are removed first: what is gone is
    /// to be gone, whatever becomes of the rest.
    async fn lacking(&self) -> Result<Vec<Lacking<'_>>, SourceError> {
        let vectors = vectors(&*self.store)?;
        let kept = vectors.chunk_marks(&self.scope, &self.collection).await?;
        let marks = [self.mark(), self.refused_mark()];
        let (current, mut outdated): (BTreeSet<String>, Vec<String>) = (
            kept.iter()
                .filter(|chunk| chunk.mark.as_ref().is_some_and(|mark| marks.contains(mark)))
                .map(|chunk| chunk.id.clone())
                .collect(),
            Vec::new(),
        );
        let mut wanted: BTreeSet<String> = BTreeSet::new();
        let mut lacking = Vec::new();
        for passage in self.corpus.standing() {
            let id = passage.digest();
            if wanted.insert(id.clone()) && !current.contains(&id) {
                lacking.push(Lacking { id, passage });
            }
            tokio::task::consume_budget().await;
        }
        for chunk in kept {
            if !wanted.contains(&chunk.id) || !current.contains(&chunk.id) {
                outdated.push(chunk.id);
            }
        }
        if !outdated.is_empty() {
            vectors
                .remove_chunks(&self.scope, &self.collection, &outdated)
                .await?;
        }
        Ok(lacking)
    }

    /// What an embedding that can be compared with the query's is marked with.
    fn mark(&self) -> String {
        self.dimensions.to_string()
    }

    /// What stands for a text that the model refuses is marked with. It is near nothing.
    fn refused_mark(&self) -> String {
        format!("{} refused", self.dimensions)
    }

    async fn keep(&self, batch: &[Lacking<'_>]) -> Result<(), SourceError> {
        let texts: Vec<String> = batch.iter().map(|it| it.passage.embedded_text()).collect();
        let made = self.embeddings(&texts).await?;
        if made.iter().any(|made| made.len() != self.dimensions) {
            return Err(SourceError::Unavailable(
                "embeddings of passages and of the query differ in length".to_owned(),
            ));
        }
        let chunks = batch.iter().zip(made);
        let chunks = chunks.map(|(it, embedding)| chunk(&it.id, embedding, self.mark()));
        self.keep_chunks(chunks.collect()).await
    }

    /// Keeps a mark in the place of an embedding that can't be had, so that it isn't asked for by every
    /// query. A model that refuses all is another matter.
    async fn keep_refused(&self, batch: &[Lacking<'_>]) -> Result<(), SourceError> {
        self.embeddings(std::slice::from_ref(&self.known_good))
            .await?;
        let nothing = || vec![0.0; self.dimensions];
        let chunks = batch
            .iter()
            .map(|it| chunk(&it.id, nothing(), self.refused_mark()));
        self.keep_chunks(chunks.collect()).await
    }

    async fn keep_chunks(&self, chunks: Vec<Chunk>) -> Result<(), SourceError> {
        let kept = vectors(&*self.store)?
            .keep_chunks(&self.scope, &self.collection, &chunks, None)
            .await;
        kept.map_err(|error| match error {
            MutationError::Store(error) => SourceError::Store(error),
            error => SourceError::Mutation(error),
        })?;
        Ok(())
    }

    async fn embeddings(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, SourceError> {
        match timeout(BATCH_FOR, embeddings(&*self.embedder, texts)).await {
            Ok(made) => Ok(made?),
            Err(_) => Err(SourceError::Unavailable(
                "the embedder didn't answer in a minute".to_owned(),
            )),
        }
    }
}

/// The text stands in its note. Here it would outlive that.
fn chunk(id: &str, embedding: Vec<f32>, mark: String) -> Chunk {
    Chunk {
        id: id.to_owned(),
        content: String::new(),
        metadata: ItemMetadata::default(),
        embedding,
        mark: Some(mark),
    }
}

fn is_refusal(error: &SourceError) -> bool {
    matches!(error, SourceError::Model(ModelError::Refused(_)))
}
