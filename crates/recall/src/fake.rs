//! A source that does what a test tells it, and records what it was told.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use async_trait::async_trait;
use notekeeper_domain::{Item, ItemMetadata, OperationId, Scope};
use serde_json::Value;

use crate::{
    Answer, Scratchpad, Source, SourceCall, SourceError, SourceEvents, SourceQuery, WriteOperation,
    Written,
};

/// What a fake source does when it is called.
#[derive(Debug, Clone)]
pub(crate) enum Does {
    /// Answers.
    Works,
    /// Fails with what this makes.
    Fails(fn() -> SourceError),
    /// Never comes back.
    Hangs,
}

/// A write as a fake source got it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SeenWrite {
    pub(crate) scope: String,
    pub(crate) items: Vec<Item>,
    pub(crate) operation: WriteOperation,
}

/// A source with fixed items.
#[derive(Debug)]
pub(crate) struct FakeSource {
    name: String,
    items: Mutex<Vec<Item>>,
    query_does: Does,
    write_does: Does,
    accepts_writes: bool,
    looks_in_part: bool,
    /// What it was asked, with the scopes.
    pub(crate) queries: Mutex<Vec<(String, SourceQuery)>>,
    /// What it was given.
    pub(crate) writes: Mutex<Vec<SeenWrite>>,
    under_way: Arc<UnderWay>,
}

/// Counts calls that have begun and not ended. It can be shared between sources.
#[derive(Debug, Default)]
pub(crate) struct UnderWay {
    now: AtomicUsize,
    most: AtomicUsize,
}

struct OneUnderWay<'a>(&'a UnderWay);

impl UnderWay {
    pub(crate) fn now(&self) -> usize {
        self.now.load(Ordering::SeqCst)
    }

    pub(crate) fn most(&self) -> usize {
        self.most.load(Ordering::SeqCst)
    }

    fn begin(&self) -> OneUnderWay<'_> {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        OneUnderWay(self)
    }
}

impl Drop for OneUnderWay<'_> {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Ordering::SeqCst);
    }
}

impl FakeSource {
    /// A source without items.
    pub(crate) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            items: Mutex::default(),
            query_does: Does::Works,
            write_does: Does::Works,
            accepts_writes: true,
            looks_in_part: false,
            queries: Mutex::default(),
            writes: Mutex::default(),
            under_way: Arc::default(),
        }
    }

    /// One that finds these contents, whatever it is asked.
    pub(crate) fn finding(name: &str, contents: &[&str]) -> Self {
        let items = contents.iter().map(|it| Item::new(*it, name)).collect();
        Self::new(name).with_items(items)
    }

    pub(crate) fn with_items(self, items: Vec<Item>) -> Self {
        self.find(items);
        self
    }

    pub(crate) fn when_queried(mut self, does: Does) -> Self {
        self.query_does = does;
        self
    }

    pub(crate) fn when_written(mut self, does: Does) -> Self {
        self.write_does = does;
        self
    }

    pub(crate) fn that_accepts_no_writes(mut self) -> Self {
        self.accepts_writes = false;
        self
    }

    /// It has more than it looks through.
    pub(crate) fn looking_in_part(mut self) -> Self {
        self.looks_in_part = true;
        self
    }

    pub(crate) fn counting(mut self, under_way: &Arc<UnderWay>) -> Self {
        self.under_way = under_way.clone();
        self
    }

    /// From now on it finds these.
    pub(crate) fn find(&self, items: Vec<Item>) {
        *self.items.lock().unwrap() = items;
    }

    /// How often it was asked.
    pub(crate) fn asked(&self) -> usize {
        self.queries.lock().unwrap().len()
    }

    /// How often it was given something.
    pub(crate) fn given(&self) -> usize {
        self.writes.lock().unwrap().len()
    }

    async fn doing(&self, does: &Does) -> Result<(), SourceError> {
        let _one = self.under_way.begin();
        // Others get their turn, as behind a connection.
        tokio::task::yield_now().await;
        match does {
            Does::Works => Ok(()),
            Does::Fails(error) => Err(error()),
            Does::Hangs => std::future::pending().await,
        }
    }
}

#[async_trait]
impl Source for FakeSource {
    fn name(&self) -> &str {
        &self.name
    }

    async fn query(
        &self,
        query: &SourceQuery,
        call: &SourceCall<'_>,
    ) -> Result<Answer, SourceError> {
        let asked = (call.scope.as_str().to_owned(), query.clone());
        self.queries.lock().unwrap().push(asked);
        let found = self.items.lock().unwrap().clone();
        self.doing(&self.query_does).await?;
        let wanted = found.into_iter().take(query.limit);
        Ok(Answer::of(wanted.collect()).looked_in_part(&self.name, self.looks_in_part))
    }

    async fn write(
        &self,
        items: &[Item],
        operation: &WriteOperation,
        call: &SourceCall<'_>,
    ) -> Result<Written, SourceError> {
        if items.is_empty() {
            return Ok(Written::default());
        }
        self.writes.lock().unwrap().push(SeenWrite {
            scope: call.scope.as_str().to_owned(),
            items: items.to_vec(),
            operation: operation.clone(),
        });
        self.doing(&self.write_does).await?;
        Ok(match self.accepts_writes {
            true => Written::accepted_by(&self.name),
            false => Written::refused_by(&self.name),
        })
    }

    fn accepts_writes(&self) -> bool {
        self.accepts_writes
    }
}

/// What comes with the calls of a test.
#[derive(Debug)]
pub(crate) struct Caller {
    scope: Scope,
    scratchpad: Scratchpad,
    pub(crate) events: SourceEvents,
}

impl Caller {
    /// One of this namespace.
    pub(crate) fn of(namespace: &str) -> Self {
        Self {
            scope: Scope::resolve(namespace, "main").unwrap(),
            scratchpad: BTreeMap::new(),
            events: SourceEvents::default(),
        }
    }

    /// Another agent of the namespace.
    pub(crate) fn named(mut self, agent: &str) -> Self {
        self.scope = Scope::resolve(self.scope.namespace(), agent).unwrap();
        self
    }

    pub(crate) fn with_scratchpad(mut self, key: &str, value: Value) -> Self {
        self.scratchpad.insert(key.to_owned(), value);
        self
    }

    pub(crate) fn call(&self) -> SourceCall<'_> {
        SourceCall {
            scope: &self.scope,
            workspace: None,
            scratchpad: &self.scratchpad,
            events: &self.events,
            upkeep: true,
        }
    }

    pub(crate) async fn query(
        &self,
        source: &dyn Source,
        text: &str,
        limit: usize,
    ) -> Result<Answer, SourceError> {
        let query = SourceQuery::new(text, limit);
        source.query(&query, &self.call()).await
    }

    /// Contents of what is found, where all goes well.
    pub(crate) async fn found(&self, source: &dyn Source, text: &str, limit: usize) -> Vec<String> {
        let answer = self.query(source, text, limit).await.unwrap();
        assert!(answer.is_whole(), "{answer:?}");
        answer.items.into_iter().map(|it| it.content).collect()
    }

    pub(crate) async fn write(
        &self,
        source: &dyn Source,
        items: &[Item],
    ) -> Result<Written, SourceError> {
        source.write(items, &operation("op"), &self.call()).await
    }

    /// The events so far, as name, source, number and policy.
    pub(crate) fn told(&self) -> Vec<String> {
        self.events
            .take()
            .into_iter()
            .map(|event| format!("{}: {event:?}", event.name()))
            .collect()
    }
}

pub(crate) fn operation(id: &str) -> WriteOperation {
    WriteOperation::new(OperationId::parse(id).unwrap())
}

pub(crate) fn metadata(value: Value) -> ItemMetadata {
    ItemMetadata::of_value(value).unwrap()
}

/// Contents of items.
pub(crate) fn contents(items: &[Item]) -> Vec<&str> {
    items.iter().map(|it| it.content.as_str()).collect()
}

/// Sources of items.
pub(crate) fn sources(items: &[Item]) -> Vec<&str> {
    items.iter().map(|it| it.source.as_str()).collect()
}

/// An error that may pass.
pub(crate) fn unavailable() -> SourceError {
    SourceError::Unavailable("it is down".to_owned())
}

/// An error that stays.
pub(crate) fn unsupported() -> SourceError {
    SourceError::Unsupported("it can't".to_owned())
}

/// A row of another tenant.
pub(crate) fn foreign() -> SourceError {
    SourceError::ForeignScope {
        source_name: "leaky".to_owned(),
    }
}
