// How well each leg of hybrid search finds the passages that answer questions, and all of them together: what the
// test over a small corpus and `make bench-recall` have in common.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use anyhow::{Context as _, ensure};
use async_trait::async_trait;
use notekeeper_domain::{NoteName, Scope};
use notekeeper_models::EmbeddingModel;
use notekeeper_recall::{
    HybridLeg, HybridSource, OpenStores, Source as _, SourceCall, SourceError, SourceEvents,
    SourceQuery,
};
use notekeeper_store::{Expected, InMemoryStore, NoteStore as _, Store, WriteRequest};
use serde::Deserialize;

/// Places of an answer that are looked at.
pub(crate) const AT: usize = 5;

/// What is looked for, and which passages answer it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Question {
    /// What is difficult about it: `words`, `prefix`, `typo` or `paraphrase`.
    pub(crate) kind: String,
    pub(crate) query: String,
    /// The note of each passage, and some words of it, runs of white space as one space.
    answers: Vec<(String, String)>,
}

/// Passages that were found among those that answer.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Found {
    pub(crate) questions: usize,
    /// Sum over the questions of the share that was found.
    shares: f64,
}

impl Found {
    /// Share of the passages that were found, each question counting the same.
    #[expect(clippy::cast_precision_loss, reason = "there are few questions")]
    pub(crate) fn recall(self) -> f64 {
        self.shares / self.questions.max(1) as f64
    }
}

/// What one way of searching found, by kind of question and under `all`.
#[derive(Debug, Clone)]
pub(crate) struct Searched {
    pub(crate) way: &'static str,
    pub(crate) found: BTreeMap<String, Found>,
    /// Questions of which something is missing.
    pub(crate) missed: Vec<String>,
}

impl Searched {
    /// Recall over all questions.
    pub(crate) fn recall(&self) -> f64 {
        self.found.get("all").copied().unwrap_or_default().recall()
    }
}

/// Notes in a store of their own.
#[derive(Debug)]
pub(crate) struct Library {
    store: Arc<dyn Store>,
    scope: Scope,
}

#[async_trait]
impl OpenStores for Library {
    async fn open(&self, _: &str, _: &SourceCall<'_>) -> Result<Arc<dyn Store>, SourceError> {
        Ok(self.store.clone())
    }
}

impl Library {
    /// A library of these notes: names and texts.
    pub(crate) async fn of(notes: &[(String, String)]) -> anyhow::Result<Arc<Self>> {
        let store = InMemoryStore::default();
        let scope = Scope::resolve("library", "main")?;
        for (name, text) in notes {
            let request = WriteRequest::new(text, &Expected::Any);
            store
                .write(&scope, &NoteName::parse(name)?, &request, None)
                .await?;
        }
        Ok(Arc::new(Self {
            store: Arc::new(store),
            scope,
        }))
    }

    /// Asks the questions, of each leg alone and last of all together.
    pub(crate) async fn search(
        self: &Arc<Self>,
        questions: &[Question],
        embedder: &Arc<dyn EmbeddingModel>,
    ) -> anyhow::Result<Vec<Searched>> {
        use HybridLeg::{Similar, Vectors, Words};
        let ways: [(&str, &[HybridLeg]); 4] = [
            ("words", &[Words]),
            ("similar", &[Similar]),
            ("vectors", &[Vectors]),
            ("hybrid", &[Words, Similar, Vectors]),
        ];
        self.fill(embedder).await?;
        let mut searched = Vec::new();
        for (way, legs) in ways {
            let source = self.source(embedder).with_legs(legs);
            let mut found: BTreeMap<String, Found> = BTreeMap::new();
            let mut missed = Vec::new();
            for question in questions {
                let share = self.share(&source, question).await?;
                for kind in [question.kind.as_str(), "all"] {
                    let found = found.entry(kind.to_owned()).or_default();
                    found.questions += 1;
                    found.shares += share;
                }
                if share < 1.0 {
                    missed.push(question.query.clone());
                }
            }
            searched.push(Searched { way, found, missed });
        }
        Ok(searched)
    }

    /// Whoever measures waits: nothing here is about time.
    fn source(self: &Arc<Self>, embedder: &Arc<dyn EmbeddingModel>) -> HybridSource {
        HybridSource::new("hybrid", self.clone(), "default", embedder.clone())
            .with_leg_timeout(Duration::from_secs(60))
    }

    /// Asks until every passage has its embedding.
    async fn fill(self: &Arc<Self>, embedder: &Arc<dyn EmbeddingModel>) -> anyhow::Result<()> {
        let source = self.source(embedder);
        let vectors = self.store.vectors().context("the store keeps vectors")?;
        let collection = source.collection();
        let mut before = None;
        loop {
            let answer = self.ask(&source, "anything").await?;
            ensure!(answer.is_whole(), "the embedder doesn't answer in time");
            let kept = vectors.chunk_marks(&self.scope, &collection).await?.len();
            if before.replace(kept) == Some(kept) {
                return Ok(());
            }
        }
    }

    async fn ask(
        &self,
        source: &HybridSource,
        query: &str,
    ) -> anyhow::Result<notekeeper_recall::Answer> {
        let (scratchpad, events) = (BTreeMap::new(), SourceEvents::default());
        let call = SourceCall {
            scope: &self.scope,
            workspace: None,
            scratchpad: &scratchpad,
            events: &events,
            upkeep: true,
        };
        Ok(source.query(&SourceQuery::new(query, AT), &call).await?)
    }

    /// Which share of the passages that answer the question was found.
    async fn share(&self, source: &HybridSource, question: &Question) -> anyhow::Result<f64> {
        let answer = self.ask(source, &question.query).await?;
        ensure!(answer.is_whole(), "a leg is missing");
        let found: Vec<(&str, String)> = answer
            .items
            .iter()
            .map(|item| {
                let path = item.metadata.get("path").and_then(|path| path.as_str());
                (path.unwrap_or_default(), plain(&item.content))
            })
            .collect();
        let is_found = |(note, words): &&(String, String)| {
            found
                .iter()
                .any(|(path, content)| path == note && content.contains(words))
        };
        let count = question.answers.iter().filter(is_found).count();
        #[expect(clippy::cast_precision_loss, reason = "there are few answers")]
        let share = count as f64 / question.answers.len() as f64;
        Ok(share)
    }
}

/// Questions as they are committed, each of which a passage of the notes answers.
pub(crate) fn questions(json: &str, notes: &[(String, String)]) -> anyhow::Result<Vec<Question>> {
    let questions: Vec<Question> = serde_json::from_str(json)?;
    for question in &questions {
        for (note, words) in &question.answers {
            let answered = notes.iter().any(|(name, text)| {
                name == note
                    && notekeeper_domain::passages(text)
                        .iter()
                        .any(|passage| plain(passage.text).contains(words))
            });
            ensure!(
                answered,
                "no passage of `{note}` has the words `{words}`, which answer `{}`; bring the key up to date",
                question.query
            );
        }
    }
    Ok(questions)
}

fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
