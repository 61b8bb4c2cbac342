//! A worker inside the test, with sources that the test can take away.

use std::sync::{
    Arc,
    atomic::{AtomicU8, Ordering},
};

use async_trait::async_trait;
use notekeeper_activities::{
    ModelActivities, ModelRequests, Models, Notebook, NotebookActivities, Sources, Stores,
};
use notekeeper_domain::Item;
use notekeeper_models::{ChatModel, ScriptedModel};
use notekeeper_recall::{
    Answer, CompositeOptions, CompositeSource, FactsSource, FileSource, OpenStores, Source,
    SourceCall, SourceError, SourceQuery, WriteOperation, Written,
};
use notekeeper_store::{FileOptions, FileStore, Store};
use notekeeper_workflows::AgentWorkflow;
use serde_json::{Value, json};

use crate::support::{Bed, Hosted};

/// A worker with a scripted model; with the sources `notes` and `facts`, on what their names say of the
/// bed's store, and `kb`, of notes, which are always there, and facts; and with the store `files`, which
/// keeps no transcripts.
pub(super) struct Library {
    hosted: Hosted,
    state: Arc<AtomicU8>,
}

/// What is behind the sources is there.
const THERE: u8 = 0;
/// It is away, and may come back: whoever asks goes on trying.
const AWAY: u8 = 1;
/// It fails for good: whoever asks hears so at once, however busy the machine is.
const BROKEN: u8 = 2;

impl Library {
    /// Starts the worker on the bed's queue of workflows. The model takes these turns.
    pub(super) async fn open(bed: &Bed, turns: &Value) -> Self {
        let files = FileStore::open(FileOptions::new(bed.path("files"))).await;
        let stores: [(String, Arc<dyn Store>); 2] = [
            ("default".to_owned(), Arc::new(bed.store.clone())),
            ("files".to_owned(), Arc::new(files.expect("open the files"))),
        ];
        let stores = Stores::new(stores);
        let state = Arc::new(AtomicU8::new(THERE));
        let opened: Arc<dyn OpenStores> = Arc::new(stores.clone());
        let notes = Arc::new(FileSource::new("notes", Arc::clone(&opened), "default"));
        let facts = Arc::new(FactsSource::new("facts", opened, "default"));
        let gated = |inner: Arc<dyn Source>| -> Arc<dyn Source> {
            let state = Arc::clone(&state);
            Arc::new(Gated { inner, state })
        };
        let legs: Vec<Arc<dyn Source>> = vec![notes.clone(), gated(facts.clone())];
        let kb = CompositeSource::new("kb", legs, CompositeOptions::default());
        let sources: [Arc<dyn Source>; 3] = [
            gated(notes),
            gated(facts),
            Arc::new(kb.expect("a composition")),
        ];
        let sources = sources.map(|source| (source.name().to_owned(), source));
        let script = json!({ "turns": turns }).to_string();
        let model = ScriptedModel::from_json(&script).expect("a usable script");
        let model: Arc<dyn ChatModel> = Arc::new(model);
        let models = Models::new([("default".to_owned(), model)]);
        let requests = ModelRequests::new(models, stores.clone());
        let notebook = Notebook::new(stores).with_sources(Sources::new(sources));
        let mut options = temporalio_sdk::WorkerOptions::new(bed.workflow_task_queue.as_str())
            .register_activities(NotebookActivities::new(notebook))
            .register_activities(ModelActivities::new(requests))
            .build();
        options
            .register_workflow::<AgentWorkflow>()
            .expect("a new type");
        Self {
            hosted: Hosted::start(bed.client.clone(), options).await,
            state,
        }
    }

    /// Takes what is behind the sources away.
    pub(super) fn take_away(&self) {
        self.state.store(AWAY, Ordering::SeqCst);
    }

    /// Breaks what is behind the sources.
    pub(super) fn break_down(&self) {
        self.state.store(BROKEN, Ordering::SeqCst);
    }

    /// Brings it back.
    pub(super) fn bring_back(&self) {
        self.state.store(THERE, Ordering::SeqCst);
    }

    pub(super) async fn close(self) {
        self.hosted.stop().await;
    }
}

/// A source that can be away.
#[derive(Debug)]
struct Gated {
    inner: Arc<dyn Source>,
    state: Arc<AtomicU8>,
}

impl Gated {
    fn check(&self) -> Result<(), SourceError> {
        match self.state.load(Ordering::SeqCst) {
            THERE => Ok(()),
            AWAY => Err(SourceError::Unavailable(
                "what is behind it is away".to_owned(),
            )),
            _ => Err(SourceError::Unsupported(
                "what is behind it is broken".to_owned(),
            )),
        }
    }
}

#[async_trait]
impl Source for Gated {
    fn name(&self) -> &str {
        self.inner.name()
    }

    async fn query(
        &self,
        query: &SourceQuery,
        call: &SourceCall<'_>,
    ) -> Result<Answer, SourceError> {
        self.check()?;
        self.inner.query(query, call).await
    }

    async fn write(
        &self,
        items: &[Item],
        operation: &WriteOperation,
        call: &SourceCall<'_>,
    ) -> Result<Written, SourceError> {
        self.check()?;
        self.inner.write(items, operation, call).await
    }
}
