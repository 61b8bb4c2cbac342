//! Journals and reads of texts that break one sentence each.

use std::sync::Arc;

use async_trait::async_trait;
use notekeeper_domain::{NoteName, Operation, Scope};
use notekeeper_store::{
    Changes, EditRequest, Expected, InMemoryStore, JournalStore, MutationError, Names, NotePart,
    NoteStore, NoteTexts, Receipt, Store, StoreError, TextBounds, WriteRequest, conformance,
};

use super::store::assert_found;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// The oldest changes come first.
    OldestFirst,
    /// Changes are told by the note's name.
    ByName,
    /// Deletions aren't told.
    NoDeletions,
    /// The underscore of a scope stands for any character.
    ScopePattern,
    /// No more than a few changes are told.
    Few,
    /// Times are local ones without a zone.
    LocalTimes,
    /// Each change is told twice.
    Twice,
    /// It never says that there are older changes.
    SaysNoMore,
    /// A part begins with the note that it should come after.
    AfterIsFirst,
    /// A part of nothing but a large note is empty.
    NothingFits,
    /// Texts are cut by bytes.
    CutsByBytes,
    /// There are never more.
    NeverMore,
    /// Bounds in bytes aren't looked at.
    IgnoresBytes,
    /// Texts are of a version before.
    OldVersions,
    /// Another tenant's texts are read where scopes look alike.
    SeesOthers,
    /// The same, and they are said to be the caller's.
    LiesOfTexts,
    /// Texts say no scope.
    TextsOfNobody,
    /// Another tenant's note is read where scopes look alike, and said to be the caller's.
    LiesOfNotes,
    /// A note says no scope.
    NotesOfNobody,
    /// Another tenant's changes are told where scopes look alike, and said to be the caller's.
    LiesOfChanges,
    /// Changes say no scope.
    ChangesOfNobody,
}

/// What each fault is found by.
const FAULTS: [(Fault, &str); 21] = [
    (Fault::OldestFirst, "the newest change is told first"),
    (Fault::ByName, "the newest change is told first"),
    (
        Fault::NoDeletions,
        "each operation that changed a note is told once",
    ),
    (Fault::ScopePattern, "alone"),
    (Fault::Few, "the newest are told"),
    (Fault::LocalTimes, "a time in UTC"),
    (Fault::SaysNoMore, "it says whether there are older changes"),
    (
        Fault::Twice,
        "each operation that changed a note is told once",
    ),
    (
        Fault::AfterIsFirst,
        "what is after a name doesn't begin with it",
    ),
    (Fault::NothingFits, "a part has one note at least"),
    (Fault::CutsByBytes, "texts are cut by characters"),
    (Fault::NeverMore, "the parts make the whole"),
    (Fault::IgnoresBytes, "a part has about"),
    (Fault::OldVersions, "each text is of its version"),
    (Fault::SeesOthers, "alone"),
    (Fault::LiesOfTexts, "texts of `john_doe/main` alone"),
    (Fault::TextsOfNobody, "each text says its scope"),
    (Fault::LiesOfNotes, "the note of `john_doe/main` alone"),
    (Fault::NotesOfNobody, "a note says its scope"),
    (Fault::LiesOfChanges, "changes of `john_doe/main` alone"),
    (Fault::ChangesOfNobody, "each change says its scope"),
];

#[tokio::test]
async fn journals_and_texts_that_break_a_sentence_are_found() {
    assert_found(&FAULTS, async |fault| {
        conformance::exercise_reads_of_sources(async || Faulty {
            inner: Arc::default(),
            fault,
        })
        .await;
    })
    .await;
}

#[derive(Debug)]
struct Faulty {
    inner: Arc<InMemoryStore>,
    fault: Fault,
}

impl Store for Faulty {
    fn journal(&self) -> Option<&dyn JournalStore> {
        Some(self)
    }
}

#[async_trait]
impl JournalStore for Faulty {
    async fn newest_changes(&self, scope: &Scope, limit: usize) -> Result<Changes, StoreError> {
        let mut all = self.inner.newest_changes(scope, usize::MAX).await?.changes;
        match self.fault {
            Fault::OldestFirst => all.reverse(),
            Fault::ByName => all.sort_by(|one, other| one.note.cmp(&other.note)),
            Fault::NoDeletions => all.retain(|entry| entry.kind != "delete"),
            Fault::ScopePattern if scope.as_str() == "john_doe/main" => {
                let other = Scope::parse("john-doe/main").expect("valid");
                all.extend(self.inner.newest_changes(&other, limit).await?.changes);
            }
            Fault::LiesOfChanges if scope.as_str() == "john_doe/main" => {
                let other = Scope::parse("john-doe/main").expect("valid");
                all.extend(self.inner.newest_changes(&other, limit).await?.changes);
                for entry in &mut all {
                    entry.scope = scope.as_str().to_owned();
                }
            }
            Fault::ChangesOfNobody => all.iter_mut().for_each(|entry| entry.scope.clear()),
            Fault::Few => all.truncate(500),
            Fault::LocalTimes => {
                for entry in &mut all {
                    entry.at = entry.at.replace(['T', 'Z'], " ");
                }
            }
            Fault::Twice => {
                all = all
                    .into_iter()
                    .flat_map(|entry| [entry.clone(), entry])
                    .collect();
            }
            _ => {}
        }
        let more = all.len() > limit && self.fault != Fault::SaysNoMore;
        all.truncate(limit);
        Ok(Changes { changes: all, more })
    }
}

#[async_trait]
impl NoteStore for Faulty {
    fn kind(&self) -> &'static str {
        "faulty"
    }

    async fn read(
        &self,
        scope: &Scope,
        name: &NoteName,
        chars_max: usize,
    ) -> Result<Option<NotePart>, StoreError> {
        let mut read = self.inner.read(scope, name, chars_max).await?;
        match (self.fault, &mut read) {
            (Fault::LiesOfNotes, read) if scope.as_str() == "john_doe/main" => {
                let other = Scope::parse("john-doe/main").expect("valid");
                *read = self.inner.read(&other, name, chars_max).await?;
                if let Some(note) = read {
                    note.scope = scope.as_str().to_owned();
                }
            }
            (Fault::NotesOfNobody, Some(note)) => note.scope.clear(),
            _ => {}
        }
        Ok(read)
    }

    async fn write(
        &self,
        scope: &Scope,
        name: &NoteName,
        request: &WriteRequest<'_>,
        operation: Option<&Operation>,
    ) -> Result<Receipt, MutationError> {
        self.inner.write(scope, name, request, operation).await
    }

    async fn edit(
        &self,
        scope: &Scope,
        name: &NoteName,
        request: &EditRequest<'_>,
        operation: &Operation,
    ) -> Result<Receipt, MutationError> {
        self.inner.edit(scope, name, request, operation).await
    }

    async fn delete(
        &self,
        scope: &Scope,
        name: &NoteName,
        expected: &Expected,
        operation: Option<&Operation>,
    ) -> Result<Receipt, MutationError> {
        self.inner.delete(scope, name, expected, operation).await
    }

    async fn receipt(
        &self,
        scope: &Scope,
        operation: &Operation,
    ) -> Result<Option<Receipt>, MutationError> {
        self.inner.receipt(scope, operation).await
    }

    async fn names(&self, scope: &Scope, names_max: usize) -> Result<Names, StoreError> {
        self.inner.names(scope, names_max).await
    }

    async fn texts(
        &self,
        scope: &Scope,
        after: Option<&NoteName>,
        bounds: TextBounds,
    ) -> Result<NoteTexts, StoreError> {
        let mut part = self.inner.texts(scope, after, bounds).await?;
        match self.fault {
            Fault::AfterIsFirst => {
                let all = self.inner.texts(scope, None, bounds).await?;
                part = all;
                part.notes
                    .retain(|note| after.is_none_or(|after| note.name >= *after));
            }
            Fault::NothingFits if bounds.bytes_max == 0 => {
                part.more = !part.notes.is_empty();
                part.notes.clear();
            }
            Fault::CutsByBytes => {
                for note in &mut part.notes {
                    let end = note.content.floor_char_boundary(bounds.chars_max);
                    note.content.truncate(end);
                }
            }
            Fault::NeverMore => part.more = false,
            Fault::IgnoresBytes => {
                let bounds = TextBounds {
                    bytes_max: usize::MAX,
                    ..bounds
                };
                part = self.inner.texts(scope, after, bounds).await?;
            }
            Fault::OldVersions => {
                for note in &mut part.notes {
                    note.version = notekeeper_domain::Version::new("1");
                }
            }
            Fault::SeesOthers if scope.as_str() == "john_doe/main" => {
                let other = Scope::parse("john-doe/main").expect("valid");
                part = self.inner.texts(&other, after, bounds).await?;
            }
            Fault::LiesOfTexts if scope.as_str() == "john_doe/main" => {
                let other = Scope::parse("john-doe/main").expect("valid");
                part = self.inner.texts(&other, after, bounds).await?;
                for note in &mut part.notes {
                    note.scope = scope.as_str().to_owned();
                }
            }
            Fault::TextsOfNobody => part.notes.iter_mut().for_each(|note| note.scope.clear()),
            _ => {}
        }
        Ok(part)
    }
}
