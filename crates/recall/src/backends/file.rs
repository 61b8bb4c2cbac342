//! The source over the notes of a scope, as whole texts.

use std::sync::Arc;

use async_trait::async_trait;
use notekeeper_domain::{
    ITEM_CHARS_MAX, Item, NoteName, Operation, RecordIds, SEARCH_FILES_MAX_DEFAULT, Version,
    char_prefix, query_words,
};
use notekeeper_store::{Expected, NoteText, Store, TextBounds, WriteRequest};
use serde_json::{Value, json};

use super::{
    kept_items::{cut, is_cut, kept_items, metadata, of_item, only_a_part, part},
    own_rows,
};
use crate::{
    Answer, OpenStores, Source, SourceCall, SourceError, SourceQuery, WriteOperation, Written,
};

/// How much is read at a time. One character more than an item has tells of a note that it isn't all.
const PAGE: TextBounds = TextBounds {
    notes_max: 200,
    chars_max: ITEM_CHARS_MAX + 1,
    bytes_max: 1024 * 1024,
};

/// Most notes that a query looks through, as searches do.
const NOTES_MAX: usize = SEARCH_FILES_MAX_DEFAULT;

/// About how much text a query looks through, in bytes.
const NOTES_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Bytes of text times words that are looked at before other tasks get their turn.
const SHARE: usize = 1024 * 1024;

/// A source over the notes that the model's tools address: it answers which of them match.
///
/// A note's score is how often the query's [words](query_words) stand in its text, both in lower case; a
/// note without any of them isn't found. The item is the whole note, of a longer one the first
/// [`ITEM_CHARS_MAX`] characters, with `note:STORE/PATH` as id, and `path` and `version` as metadata,
/// and `truncated` where it isn't all. A query looks through the first [`SEARCH_FILES_MAX_DEFAULT`] notes by
/// name, and about 8 MiB of text.
///
/// An item that is written becomes the whole text of the note that `path` in its metadata names, which is
/// made where it is missing. Nothing else of its metadata is kept. Where there is a `version` the note is
/// written only if it is still at that version, so what was found can be written back without the loss of
/// somebody else's change. What is a part of a note alone is refused.
#[derive(Debug)]
pub struct FileSource {
    name: String,
    stores: Arc<dyn OpenStores>,
    store: String,
    ids: RecordIds,
}

impl FileSource {
    /// A source over the notes of the store with this name.
    pub fn new(
        name: impl Into<String>,
        stores: Arc<dyn OpenStores>,
        store: impl Into<String>,
    ) -> Self {
        let store = store.into();
        Self {
            name: name.into(),
            stores,
            ids: RecordIds::of_notes(&store),
            store,
        }
    }

    fn item(&self, note: &NoteText) -> Item {
        let path = note.name.as_str();
        let known = metadata([
            ("path", json!(path)),
            ("version", json!(note.version.as_str())),
        ]);
        let (text, known) = cut(&note.content, known);
        Item::new(text, &*self.name)
            .with_id(self.ids.id(path))
            .with_metadata(known)
    }

    /// The change that an item is to become.
    fn change_of(&self, index: usize, item: &Item) -> Result<Change, SourceError> {
        let note = note_of(index, item)?;
        let id = item.id.as_deref().unwrap_or_default();
        let found = self.ids.record_in_any_store(id);
        let is_passage = found.is_some_and(|found| {
            found != note.as_str() && found.starts_with(&format!("{}#", note.as_str()))
        });
        if is_cut(item) || is_passage {
            return Err(only_a_part(index));
        }
        // Versions of one store say nothing in another.
        let is_elsewhere = found.is_some() && self.ids.record(id).is_none();
        let expected = match item.metadata.get("version") {
            Some(Value::String(version)) if !is_elsewhere => {
                Expected::Version(Version::new(version.as_str()))
            }
            Some(version) if !version.is_string() => {
                return Err(of_item(
                    index,
                    "has a `version` in its metadata that is no text; give the version that the note is \
                     to be at, or leave it out",
                ));
            }
            _ => Expected::Any,
        };
        Ok(Change { note, expected })
    }

    fn changes_of(&self, kept: &[Item]) -> Result<Vec<Change>, SourceError> {
        let changes = kept.iter().enumerate();
        changes
            .map(|(index, item)| self.change_of(index, item))
            .collect()
    }
}

/// What becomes of a note.
struct Change {
    note: NoteName,
    expected: Expected,
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
        let mut looked = Looked::default();
        loop {
            let bounds = TextBounds {
                notes_max: PAGE.notes_max.min(NOTES_MAX - looked.notes),
                ..PAGE
            };
            let page = store.texts(call.scope, after.as_ref(), bounds).await?;
            own_rows(&self.name, call, page.notes.iter().map(|note| &*note.scope))?;
            let last = page.notes.last().map(|note| note.name.clone());
            for note in &page.notes {
                looked.at(note, words.len()).await;
                // What tools can't address can't be written back either.
                if !note.name.is_tool_addressable() {
                    continue;
                }
                let (text, is_cut) = char_prefix(&note.content, ITEM_CHARS_MAX);
                looked.is_part |= is_cut;
                let count = occurrences(text, &words);
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
            if !page.more || last.is_none() || looked.is_enough() {
                looked.is_part |= page.more;
                break;
            }
            after = last;
        }
        #[expect(clippy::cast_precision_loss, reason = "no text is so long")]
        let scored = best
            .into_iter()
            .map(|(count, item)| item.with_score(count as f64));
        Ok(Answer::of(scored.collect()).looked_in_part(&self.name, looked.is_part))
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
        let changes = self.changes_of(&kept)?;
        let store = self.stores.open(&self.store, call).await?;
        for (index, (change, item)) in changes.iter().zip(&kept).enumerate() {
            let operation = part(operation.part(index), &self.name, &kept);
            put(&*store, call, change, &item.content, &operation).await?;
        }
        Ok(Written::accepted_by(&self.name))
    }

    fn check_items(&self, items: &[Item], operation: &WriteOperation) -> Result<(), SourceError> {
        self.changes_of(&kept_items(items, operation)?).map(drop)
    }
}

/// What a query has looked at so far.
#[derive(Default)]
struct Looked {
    notes: usize,
    bytes: usize,
    share: usize,
    /// Whether there is more than that.
    is_part: bool,
}

impl Looked {
    /// Counts a note in that so many words are looked for, and lets others have their turn.
    async fn at(&mut self, note: &NoteText, words: usize) {
        self.notes += 1;
        self.bytes += note.content.len();
        self.share += note.content.len() * words;
        if self.share > SHARE {
            self.share = 0;
            tokio::task::yield_now().await;
        }
    }

    fn is_enough(&self) -> bool {
        let is_enough = self.notes >= NOTES_MAX || self.bytes >= NOTES_BYTES_MAX;
        if is_enough {
            tracing::debug!(
                notes = self.notes,
                "a scope has more notes than one query looks through"
            );
        }
        is_enough
    }
}

async fn put(
    store: &dyn Store,
    call: &SourceCall<'_>,
    change: &Change,
    content: &str,
    operation: &Operation,
) -> Result<(), SourceError> {
    let request = WriteRequest::new(content, &change.expected);
    store
        .write(call.scope, &change.note, &request, Some(operation))
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
