//! The source over the notes of a scope, as whole texts.

use std::sync::Arc;

use async_trait::async_trait;
use notekeeper_domain::{Item, NOTE_CHARS_MAX_DEFAULT, NoteName, Operation, query_words};
use notekeeper_store::{Expected, NoteText, Store, TextBounds, WriteRequest};
use serde_json::{Value, json};

use super::kept_items::{kept_items, metadata, of_item, part};
use crate::{
    Answer, OpenStores, Source, SourceCall, SourceError, SourceQuery, WriteOperation, Written,
};

/// How much is read at a time.
const PAGE: TextBounds = TextBounds {
    notes_max: 200,
    chars_max: NOTE_CHARS_MAX_DEFAULT,
    bytes_max: 1024 * 1024,
};

/// A source over the notes that the model's tools address: it answers which of them match.
///
/// A note's score is how often the query's [words](query_words) stand in its text, both in lower case; a
/// note without any of them isn't found. The item is the whole note, of a longer one the first
/// [`NOTE_CHARS_MAX_DEFAULT`] characters, with its name as id, and `path` and `version` as metadata.
///
/// An item that is written becomes the whole text of the note that `path` in its metadata names, which is
/// made where it is missing. Nothing else of its metadata is kept.
#[derive(Debug)]
pub struct FileSource {
    name: String,
    stores: Arc<dyn OpenStores>,
    store: String,
}

impl FileSource {
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

    fn item(&self, note: NoteText) -> Item {
        let path = note.name.as_str();
        let known = metadata([
            ("path", json!(path)),
            ("version", json!(note.version.as_str())),
        ]);
        Item::new(note.content, &*self.name)
            .with_id(path)
            .with_metadata(known)
    }
}

#[async_trait]
impl Source for FileSource {
    fn name(&self) -> &str {
        &self.name
    }

    async fn query(
        &self,
        query: &SourceQuery,
        call: &SourceCall<'_>,
    ) -> Result<Answer, SourceError> {
        let words = query_words(&query.text);
        if words.is_empty() || query.limit == 0 {
            return Ok(Answer::default());
        }
        let store = self.stores.open(&self.store, call).await?;
        let mut best: Vec<(usize, Item)> = Vec::new();
        let mut after: Option<NoteName> = None;
        loop {
            let page = store.texts(call.scope, after.as_ref(), PAGE).await?;
            let last = page.notes.last().map(|note| note.name.clone());
            for note in page.notes {
                // What tools can't address can't be written back either.
                if !note.name.is_tool_addressable() {
                    continue;
                }
                let count = occurrences(&note.content, &words);
                if count == 0 {
                    continue;
                }
                let item = self.item(note);
                if query.condition.matches(&item.metadata) {
                    best.push((count, item));
                }
            }
            // Stable: of two with the same count the one whose name comes first stays first.
            best.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
            best.truncate(query.limit);
            // A store that says that there are more and has none to give is not asked for ever.
            if !page.more || last.is_none() {
                break;
            }
            after = last;
            tokio::task::yield_now().await;
        }
        #[expect(clippy::cast_precision_loss, reason = "no text is so long")]
        let scored = best
            .into_iter()
            .map(|(count, item)| item.with_score(count as f64));
        Ok(Answer::of(scored.collect()))
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
        let kept = kept_items(items, operation)?;
        let notes: Vec<NoteName> = kept
            .iter()
            .enumerate()
            .map(|(index, item)| note_of(index, item))
            .collect::<Result<_, _>>()?;
        let store = self.stores.open(&self.store, call).await?;
        for (index, (note, item)) in notes.iter().zip(&kept).enumerate() {
            let operation = part(operation.part(index), &self.name, &kept);
            put(&*store, call, note, &item.content, &operation).await?;
        }
        Ok(Written::accepted_by(&self.name))
    }
}

async fn put(
    store: &dyn Store,
    call: &SourceCall<'_>,
    note: &NoteName,
    content: &str,
    operation: &Operation,
) -> Result<(), SourceError> {
    let request = WriteRequest::new(content, &Expected::Any);
    store
        .write(call.scope, note, &request, Some(operation))
        .await?;
    Ok(())
}

/// The note that an item is to become.
fn note_of(index: usize, item: &Item) -> Result<NoteName, SourceError> {
    let Some(path) = item.metadata.get("path").and_then(Value::as_str) else {
        return Err(of_item(
            index,
            "names no note; give the note's name as `path` in its metadata",
        ));
    };
    NoteName::from_tool(path).map_err(|error| {
        of_item(
            index,
            &format!("has a `path` in its metadata that can't be a note's name: {error}"),
        )
    })
}

fn occurrences(text: &str, words: &[String]) -> usize {
    let text = text.to_lowercase();
    words
        .iter()
        .map(|word| text.matches(word.as_str()).count())
        .sum()
}
