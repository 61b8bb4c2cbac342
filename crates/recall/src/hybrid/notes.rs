//! The source over the notes of a scope, by full text.

use std::sync::Arc;

use async_trait::async_trait;
use notekeeper_domain::{Item, RecallQuery};

use super::corpus::Corpus;
use crate::{
    Answer, OpenStores, Source, SourceCall, SourceError, SourceQuery, WriteOperation, Written,
};

/// A source over the notes that the model edits: it answers with the passages that have the query's words as
/// they are, or at the beginning of longer words, ranked by [`FullText`](notekeeper_domain::FullText).
///
/// Where somebody waits, half of their time is for ranking; if it doesn't suffice the source is among those that were
/// late, with what it found until then.
///
/// A query looks through the first 1,000 notes of the scope by name, and about 6 MiB of text. Notes whose names
/// the model's tools can't address are passed over. The item of a
/// passage has `note:STORE/NOTE#NUMBER` as id, a score from 0 to 1, and `path` and `version` of its note as metadata.
/// Of a query the first 1,000 characters count. It can't be written to.
#[derive(Debug)]
pub struct NotesSource {
    name: String,
    stores: Arc<dyn OpenStores>,
    store: String,
}

impl NotesSource {
    /// A source over the notes of the store with this name.
    pub fn new(
        name: impl Into<String>,
        stores: Arc<dyn OpenStores>,
        store: impl Into<String>,
    ) -> Self {
        Self {
            name: name.into(),
            stores,
            store: store.into(),
        }
    }
}

#[async_trait]
impl Source for NotesSource {
    fn name(&self) -> &str {
        &self.name
    }

    async fn query(
        &self,
        query: &SourceQuery,
        call: &SourceCall<'_>,
    ) -> Result<Answer, SourceError> {
        let wanted = RecallQuery::parse(&query.text);
        if wanted.is_empty() || query.limit == 0 {
            return Ok(Answer::default());
        }
        let store = self.stores.open(&self.store, call).await?;
        let corpus = Corpus::of_notes((&self.name, &self.store), &*store, call).await?;
        let ranked = corpus.ranked(&wanted, &query.condition, query.limit).await;
        let found = ranked.words.iter();
        let items = found.map(|(passage, score)| passage.item(&self.name, *score));
        let late = (!ranked.in_time).then(|| self.name.clone());
        let answer = Answer {
            timed_out: late.into_iter().collect(),
            ..Answer::of(items.collect())
        };
        Ok(answer.looked_in_part(&self.name, corpus.is_part()))
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
