//! What is searched: the passages of a scope's notes, and its facts.

use std::collections::BTreeSet;

use notekeeper_domain::{
    FactKey, FullText, Item, ItemMetadata, NOTE_CHARS_MAX_DEFAULT, NoteName, RankedText,
    RecallQuery, RecordIds, SEARCH_FILES_MAX_DEFAULT, Where, char_prefix, keyed_text, passages,
    snapshot_digest,
};
use notekeeper_store::{FactStore, NoteStore, NoteText, TextBounds};
use serde_json::json;
use tokio::time::Instant;

use crate::{
    SourceCall, SourceError,
    backends::{TRUNCATED, metadata, own_rows},
    patience::time_left,
};

/// Most notes that a query looks through, in the order of their names.
const NOTES_MAX: usize = SEARCH_FILES_MAX_DEFAULT;

/// About how much text a query looks through, in bytes: that of notes, with the facts that come first by
/// key, and with those that recall finds. It is held while the query runs.
const NOTES_BYTES_MAX: usize = 6 * MIB;
const FACTS_BYTES_MAX: usize = 7 * MIB;
const BYTES_MAX: usize = 8 * MIB;
const MIB: usize = 1024 * 1024;

/// Most facts that a query looks through beside those that recall finds.
const FACTS_MAX: usize = 2_000;

/// Facts that are read at a time: of the longest 13 MB.
const FACTS_PAGE: usize = 200;

/// Facts that are looked at because recall finds them, however many others there are.
const RECALLED_MAX: usize = 100;

/// Most characters of a note that a query looks through.
const NOTE_CHARS_MAX: usize = NOTE_CHARS_MAX_DEFAULT;

/// How much is read at a time. One character more than is looked at tells of a note that it isn't all.
const PAGE: TextBounds = TextBounds {
    notes_max: 200,
    chars_max: NOTE_CHARS_MAX + 1,
    bytes_max: 1024 * 1024,
};

/// Texts that are ranked before other tasks get their turn, in bytes.
const SHARE_BYTES: usize = 32 * 1024;

/// The passages that a query looks through.
#[derive(Debug)]
pub(super) struct Corpus {
    ids: RecordIds,
    fact_ids: RecordIds,
    passages: Vec<CorpusPassage>,
    /// So many passages, from the front, are there whatever the query says.
    standing: usize,
    notes: usize,
    bytes: usize,
    /// Whether the scope has more than is looked through.
    is_part: bool,
    /// When the first of it was read.
    read_at: Instant,
}

/// A passage of a note, or a fact.
#[derive(Debug)]
pub(super) struct CorpusPassage {
    pub(super) id: String,
    /// What it stands under: name of the note and headings, or key of the fact.
    title: String,
    content: String,
    pub(super) metadata: ItemMetadata,
}

impl Corpus {
    /// The passages of the notes of the call's scope, as many as are looked through, for this source, in the
    /// store that is called so.
    pub(super) async fn of_notes(
        (source, name): (&str, &str),
        store: &dyn NoteStore,
        call: &SourceCall<'_>,
    ) -> Result<Self, SourceError> {
        let mut corpus = Self {
            ids: RecordIds::of_notes(name),
            fact_ids: RecordIds::of_facts(name),
            passages: Vec::new(),
            standing: 0,
            notes: 0,
            bytes: 0,
            is_part: false,
            read_at: Instant::now(),
        };
        let mut after: Option<NoteName> = None;
        loop {
            let bounds = TextBounds {
                notes_max: PAGE.notes_max.min(NOTES_MAX - corpus.notes),
                ..PAGE
            };
            let page = store.texts(call.scope, after.as_ref(), bounds).await?;
            own_rows(source, call, page.notes.iter().map(|note| &*note.scope))?;
            let last = page.notes.last().map(|note| note.name.clone());
            for note in &page.notes {
                corpus.notes += 1;
                // What the tools of the model can't name isn't shown to it here either.
                if note.name.is_tool_addressable() {
                    corpus.add_note(note);
                }
                tokio::task::yield_now().await;
            }
            // A store that says that there are more and has none to give is not asked for ever.
            corpus.standing = corpus.passages.len();
            if !page.more || last.is_none() {
                corpus.is_part |= page.more;
                return Ok(corpus);
            }
            if corpus.notes >= NOTES_MAX || corpus.bytes >= NOTES_BYTES_MAX {
                tracing::debug!(
                    notes = corpus.notes,
                    "a scope has more notes than one query looks through"
                );
                corpus.is_part = true;
                return Ok(corpus);
            }
            after = last;
        }
    }

    fn add_note(&mut self, note: &NoteText) {
        let path = note.name.as_str();
        let name = path.strip_suffix(".md").unwrap_or(path);
        self.bytes += note.content.len();
        let (text, is_cut) = char_prefix(&note.content, NOTE_CHARS_MAX);
        self.is_part |= is_cut;
        for (number, passage) in (1..).zip(passages(text)) {
            let number: usize = number;
            let mut title = name.to_owned();
            for heading in passage.headings {
                title.push_str(" > ");
                title.push_str(heading);
            }
            self.passages.push(CorpusPassage {
                id: self.ids.id(&format!("{path}#{number}")),
                title,
                content: passage.text.to_owned(),
                metadata: metadata([
                    ("path", json!(path)),
                    ("version", json!(note.version.as_str())),
                ]),
            });
        }
    }

    /// Adds the facts of the call's scope: the first ones by key, and those that recall finds beyond these.
    pub(super) async fn add_facts(
        &mut self,
        source: &str,
        store: &dyn FactStore,
        call: &SourceCall<'_>,
        query: &RecallQuery,
    ) -> Result<(), SourceError> {
        let mut listed = 0;
        let mut last: Option<FactKey> = None;
        let more = loop {
            let page = store.facts(call.scope, last.as_ref(), FACTS_PAGE).await?;
            own_rows(source, call, page.facts.iter().map(|found| &*found.scope))?;
            let mut whole = true;
            for found in &page.facts {
                if listed == FACTS_MAX || self.bytes >= FACTS_BYTES_MAX {
                    whole = false;
                    break;
                }
                listed += 1;
                self.add_fact(
                    found.fact.key.as_str(),
                    found.fact.value(),
                    found.age_seconds,
                );
                last = Some(found.fact.key.clone());
            }
            tokio::task::yield_now().await;
            // A store that says that there are more and has none to give is not asked for ever.
            if !whole || !page.more || page.facts.is_empty() {
                break !whole || page.more;
            }
        };
        self.standing = self.passages.len();
        self.is_part |= more;
        if !more || query.is_empty() {
            return Ok(());
        }
        let recalled = store.recall(call.scope, query, RECALLED_MAX).await?;
        own_rows(source, call, recalled.iter().map(|found| &*found.scope))?;
        for found in recalled {
            // Those up to the last one that was listed are there.
            let beyond = last
                .as_ref()
                .is_none_or(|last| found.key.as_str() > last.as_str());
            if beyond && self.bytes < BYTES_MAX {
                self.add_fact(&found.key, &found.value, found.age_seconds);
            }
        }
        Ok(())
    }

    /// Adds the passages of a fact. They share its id, and of each list the best of them stands for it.
    fn add_fact(&mut self, key: &str, value: &str, age_seconds: u64) {
        self.bytes += key.len() + value.len();
        let mut texts: Vec<&str> = passages(value).iter().map(|it| it.text).collect();
        let known = metadata([("key", json!(key)), ("age_seconds", json!(age_seconds))]);
        let known = match texts.len() {
            // A short value is shown as it is.
            0 | 1 => {
                texts = vec![value];
                known
            }
            // Who writes a passage back must not lose the rest of the fact.
            _ => known.with(TRUNCATED, json!(true)),
        };
        for text in texts {
            self.passages.push(CorpusPassage {
                id: self.fact_ids.id(key),
                title: key.to_owned(),
                content: keyed_text(key, text),
                metadata: known.clone(),
            });
        }
    }

    /// The passages that are there whatever the query says: what has embeddings.
    pub(super) fn standing(&self) -> &[CorpusPassage] {
        self.passages.get(..self.standing).unwrap_or_default()
    }

    /// Whether the scope has more notes or facts, or more of one, than is looked through.
    pub(super) fn is_part(&self) -> bool {
        self.is_part
    }

    /// When it was read, or a little before.
    pub(super) fn read_at(&self) -> Instant {
        self.read_at
    }

    /// The passages that have words of the query, of those that meet the condition, in their orders. Half of
    /// the time that whoever waits still has is for it, where somebody waits: then those that were looked at are ranked.
    pub(super) async fn ranked(
        &self,
        query: &RecallQuery,
        condition: &Where,
        limit: usize,
    ) -> RankedPassages<'_> {
        let until = time_left().map(|left| Instant::now() + left / 2);
        let mut in_time = true;
        let mut text = FullText::new(query);
        let mut offered: Vec<&CorpusPassage> = Vec::new();
        let mut share = 0;
        for passage in &self.passages {
            if !condition.matches(&passage.metadata) {
                continue;
            }
            offered.push(passage);
            text.offer(&passage.title, &passage.content);
            share += passage.title.len() + passage.content.len();
            if share > SHARE_BYTES {
                share = 0;
                tokio::task::yield_now().await;
                if until.is_some_and(|until| until <= Instant::now()) {
                    in_time = false;
                    break;
                }
            }
        }
        let ranked = text.finish(limit);
        let passages = |found: Vec<RankedText>| {
            let found = found.into_iter();
            found.map(|it| (offered[it.index], it.score)).collect()
        };
        RankedPassages {
            in_time,
            words: passages(ranked.words),
            similar: passages(ranked.similar),
        }
    }
}

/// Passages in the orders of full text, with their scores.
pub(super) struct RankedPassages<'c> {
    /// Whether there was time to look at all of them.
    pub(super) in_time: bool,
    pub(super) words: Vec<(&'c CorpusPassage, f64)>,
    pub(super) similar: Vec<(&'c CorpusPassage, f64)>,
}

/// Of those that share an id, as the passages of a fact do, the first, which is the best.
pub(super) fn best_of_each<'f, 'c>(
    found: &'f [(&'c CorpusPassage, f64)],
) -> impl Iterator<Item = &'f (&'c CorpusPassage, f64)> {
    let mut seen = BTreeSet::new();
    let first = move |(passage, _): &&'f (&'c CorpusPassage, f64)| seen.insert(passage.id.as_str());
    found.iter().filter(first)
}

impl CorpusPassage {
    /// The passage as an item of this source.
    pub(super) fn item(&self, source: &str, score: f64) -> Item {
        Item::new(self.content.as_str(), source)
            .with_id(self.id.as_str())
            .with_score(score)
            .with_metadata(self.metadata.clone())
    }

    /// What gets an embedding: a passage says more together with what it stands under.
    pub(super) fn embedded_text(&self) -> String {
        format!("{}\n{}", self.title, self.content)
    }

    /// Digest of what gets an embedding, under which that is kept: a note that grew, in whatever place,
    /// keeps the embeddings of its other passages.
    pub(super) fn digest(&self) -> String {
        snapshot_digest(&self.embedded_text())
    }
}
