//! Steps on chunks, and reads of notes for sources.

use notekeeper_domain::{ItemMetadata, Where};
use notekeeper_store::{
    Chunk, FoundChunk, JournalEntry, JournalStore, NoteStore, TextBounds, VectorCollection,
    VectorStore,
};
use rand::{Rng, seq::IndexedRandom};
use serde_json::{Value, json};

use super::{Comparison, Subject, same, same_mutation};
use crate::database::name;

const COLLECTIONS: [&str; 4] = ["main", "Main", "ma%n", "\u{6771}"];
const MODELS: [&str; 3] = ["hashing-1/3", "hashing-1/2", "small"];
const IDS: [&str; 12] = [
    "a",
    "A",
    "a_",
    "a%",
    "ab",
    " a",
    "b/1",
    "b/2",
    "\u{e9}",
    "e\u{301}",
    "\u{ff5e}",
    "\u{1f600}",
];

/// How far similarities may be apart.
const TOLERANCE: f64 = 1e-6;

impl Subject {
    fn vectors(&self) -> &dyn VectorStore {
        self.store.vectors().expect("it keeps vectors")
    }
}

impl Comparison {
    pub(super) async fn step_on_chunks(&mut self) {
        match self.random.random_range(0..100) {
            0..=24 => self.keep_chunks().await,
            25..=29 => self.remove_chunks().await,
            30..=64 => self.nearest_chunks().await,
            65..=69 => self.chunk_marks().await,
            70..=79 => self.step_on_notes().await,
            80..=87 => self.journal().await,
            88..=97 => self.texts().await,
            _ => self.restart().await,
        }
    }

    fn collection(&mut self) -> VectorCollection {
        let choose = |names: &[&'static str], random: &mut rand::rngs::StdRng| {
            (*names.choose(random).expect("there are some")).to_owned()
        };
        VectorCollection {
            name: choose(&COLLECTIONS, &mut self.random),
            model: choose(&MODELS, &mut self.random),
        }
    }

    /// Often one of few, so that some are as near as others; all lengths, and zeros.
    fn embedding(&mut self) -> Vec<f32> {
        let dimensions = if self.random.random_bool(0.8) { 3 } else { 2 };
        let few = self.random.random_bool(0.5);
        let length = *[1.0, 1e-30, 1e30].choose(&mut self.random).expect("some");
        let number = |_| match few {
            true => f32::from(self.random.random_range(-1_i8..=1)),
            false => self.random.random_range(-1.0..1.0) * length,
        };
        (0..dimensions).map(number).collect()
    }

    fn value(&mut self, levels: usize) -> Value {
        match self.random.random_range(0..12) {
            0..=2 => json!(self.any_text()),
            3 => json!(self.random.random_range(-2..3)),
            4 => json!(f64::from(self.random.random_range(-4..5)) / 2.0),
            5 => json!(self.random.random::<f64>() * 1e20),
            6 => json!(u64::MAX - self.random.random_range(0..2)),
            7 => json!(self.random.random_bool(0.5)),
            8 => Value::Null,
            _ if levels == 0 => json!("a"),
            9 | 10 => {
                let count = self.random.random_range(0..3);
                (0..count).map(|_| self.value(levels - 1)).collect()
            }
            _ => {
                let count = self.random.random_range(0..3);
                let entries = (0..count).map(|_| (self.any_text(), self.value(levels - 1)));
                Value::Object(entries.collect())
            }
        }
    }

    fn metadata_of_item(&mut self) -> Value {
        let count = self.random.random_range(0..3);
        let entries = (0..count).map(|_| {
            let key = *["t", "u", "tags", ""]
                .choose(&mut self.random)
                .expect("some");
            (key.to_owned(), self.value(2))
        });
        Value::Object(entries.collect())
    }

    /// Often what one of the chunks has, so that it matches.
    fn condition(&mut self, chunks: &[FoundChunk]) -> Where {
        let wanted = match (
            self.random.random_range(0..5),
            chunks.choose(&mut self.random),
        ) {
            (0 | 1, _) => json!({}),
            (2.., Some(one)) => Value::Object(one.metadata.to_object()),
            _ => self.metadata_of_item(),
        };
        Where::of_value(wanted).expect("an object")
    }

    async fn keep_chunks(&mut self) {
        let (scope, collection) = (self.scope(), self.collection());
        let dimensions = self.embedding().len();
        let count = self.random.random_range(0..5);
        let mut chunks = Vec::new();
        while chunks.len() < count {
            let embedding = self.embedding();
            if embedding.len() != dimensions {
                continue;
            }
            let metadata = self.metadata_of_item();
            chunks.push(Chunk {
                id: (*IDS.choose(&mut self.random).expect("some")).to_owned(),
                content: self.any_text(),
                metadata: ItemMetadata::of_value(metadata).expect("an object"),
                embedding,
                mark: self.random.random_bool(0.5).then(|| self.any_text()),
            });
        }
        let operation = self
            .random
            .random_bool(0.7)
            .then(|| self.operation_of("keep"));
        let operation = operation.as_ref();
        let specification: &dyn VectorStore = &self.specification;
        let right = specification.keep_chunks(&scope, &collection, &chunks, operation);
        let right = right.await;
        for subject in &self.subjects {
            let found = subject
                .vectors()
                .keep_chunks(&scope, &collection, &chunks, operation);
            same_mutation(subject, &found.await, &right);
        }
        match right {
            Ok(kept) if kept.replayed => self.saw("repeated keepings", 1),
            Ok(_) => self.saw("keepings", 1),
            Err(_) => self.saw("conflicts of keepings", 1),
        }
    }

    async fn remove_chunks(&mut self) {
        let (scope, collection) = (self.scope(), self.collection());
        let count = self.random.random_range(0..4);
        let ids = (0..count).map(|_| (*IDS.choose(&mut self.random).expect("some")).to_owned());
        let ids: Vec<String> = ids.collect();
        let specification: &dyn VectorStore = &self.specification;
        let right = specification.remove_chunks(&scope, &collection, &ids).await;
        for subject in &self.subjects {
            let found = subject.vectors().remove_chunks(&scope, &collection, &ids);
            same(subject, found.await, &right);
        }
    }

    async fn chunk_marks(&mut self) {
        let (scope, collection) = (self.scope(), self.collection());
        let specification: &dyn VectorStore = &self.specification;
        let right = specification.chunk_marks(&scope, &collection).await;
        for subject in &self.subjects {
            let found = subject.vectors().chunk_marks(&scope, &collection).await;
            same(subject, found, &right);
        }
        self.saw("marks", right.expect("listed").len());
    }

    async fn nearest_chunks(&mut self) {
        let (scope, collection, embedding) = (self.scope(), self.collection(), self.embedding());
        let limit = self.random.random_range(0..8);
        let specification: &dyn VectorStore = &self.specification;
        let everything = Where::default();
        let chunks =
            specification.nearest_chunks(&scope, &collection, &embedding, &everything, usize::MAX);
        let chunks = chunks.await.expect("found");
        let condition = self.condition(&chunks);
        let specification: &dyn VectorStore = &self.specification;
        let all =
            specification.nearest_chunks(&scope, &collection, &embedding, &condition, usize::MAX);
        let all = all.await.expect("found");
        for subject in &self.subjects {
            let found = subject.vectors().nearest_chunks(
                &scope,
                &collection,
                &embedding,
                &condition,
                limit,
            );
            let found = found.await.expect("found");
            assert_same_chunks(subject, &found, &all, limit);
        }
        match all.len() < chunks.len() {
            true => self.saw("nearest that match", all.len().min(limit)),
            false => self.saw("nearest", all.len().min(limit)),
        }
    }

    pub(super) async fn journal(&mut self) {
        let (scope, limit) = (self.scope(), self.random.random_range(0..30));
        let specification: &dyn JournalStore = &self.specification;
        let right = specification.newest_changes(&scope, limit).await;
        let right = right.expect("told");
        for subject in &mut self.subjects {
            let journal = subject.store.journal().expect("it has one");
            let found = journal.newest_changes(&scope, limit).await.expect("told");
            let kind = subject.store.kind();
            assert_eq!(found.changes.len(), right.changes.len(), "{kind}");
            assert_eq!(found.more, right.more, "{kind}");
            for (found, right) in found.changes.into_iter().zip(&right.changes) {
                if let (Some(found), Some(right)) = (&found.version, &right.version) {
                    subject.assert_same_version(found, right);
                }
                assert_eq!(found.version.is_some(), right.version.is_some());
                // When it was depends on the clock.
                let same = JournalEntry {
                    version: right.version.clone(),
                    at: right.at.clone(),
                    ..found
                };
                assert_eq!(same, *right, "{} on the left", subject.store.kind());
            }
        }
        self.saw("changes", right.changes.len());
    }

    async fn texts(&mut self) {
        let scope = self.scope();
        let after = self.random.random_bool(0.5).then(|| name(self.file()));
        let bounds = TextBounds {
            notes_max: self.random.random_range(0..6),
            chars_max: self.random.random_range(0..40),
            bytes_max: self.random.random_range(0..150),
        };
        let right = self.specification.texts(&scope, after.as_ref(), bounds);
        let right = right.await.expect("read");
        for subject in &mut self.subjects {
            let found = subject.store.texts(&scope, after.as_ref(), bounds).await;
            let found = found.expect("read");
            let kind = subject.store.kind();
            assert_eq!(found.more, right.more, "{kind}: {bounds:?}");
            assert_eq!(found.notes.len(), right.notes.len(), "{kind}: {bounds:?}");
            for (found, right) in found.notes.iter().zip(&right.notes) {
                assert_eq!(
                    (&found.name, &found.content),
                    (&right.name, &right.content),
                    "{kind} on the left"
                );
                subject.assert_same_version(&found.version, &right.version);
            }
        }
        self.saw("texts", right.notes.len());
    }
}

/// The same chunks, as near, in the same order; what is as near to a millionth may come in another.
fn assert_same_chunks(subject: &Subject, found: &[FoundChunk], all: &[FoundChunk], limit: usize) {
    let kind = subject.store.kind();
    assert_eq!(found.len(), all.len().min(limit), "{kind}");
    for (place, found) in found.iter().enumerate() {
        let right = all.iter().find(|right| right.id == found.id);
        let right = right.unwrap_or_else(|| panic!("{kind}: {found:?} isn't there"));
        assert!(
            (found.similarity - right.similarity).abs() < TOLERANCE,
            "{kind} on the left: {found:?} {right:?}"
        );
        assert_eq!(
            (&found.scope, &found.content, &found.metadata),
            (&right.scope, &right.content, &right.metadata),
            "{kind} on the left"
        );
        // In its place is itself or what is as near.
        let in_place = &all[place];
        assert!(
            in_place.id == found.id
                || (in_place.similarity - right.similarity).abs() < 2.0 * TOLERANCE,
            "{kind} on the left: {found:?} {in_place:?}"
        );
    }
    let mut ids: Vec<&str> = found.iter().map(|found| found.id.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), found.len(), "{kind}: none is found twice");
}
