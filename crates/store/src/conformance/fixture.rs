//! Short forms of what the cases say again and again.

use notekeeper_domain::{
    Edit, Fingerprint, NoteName, Operation, OperationId, Refusal, SCOPE_CHARS_MAX, Scope, Version,
};

use crate::{EditRequest, Expected, MutationError, NotePart, Receipt, Store, WriteRequest};

/// More characters than any note of the suite has, save where the bound is what is tested.
pub(super) const CHARS_MAX: usize = 1_000;

/// One notebook of a store. Each case has its own, so cases share a store and don't meet.
pub(super) struct Notebook<'s, S> {
    pub(super) store: &'s S,
    pub(super) scope: Scope,
}

pub(super) fn notebook<'s, S: Store>(store: &'s S, scope: &str) -> Notebook<'s, S> {
    Notebook {
        store,
        scope: Scope::parse(scope).expect("suite uses valid scopes"),
    }
}

impl<S: Store> Notebook<'_, S> {
    pub(super) async fn read(&self, file: &str) -> Option<NotePart> {
        let read = self
            .store
            .read(&self.scope, &name(file), CHARS_MAX)
            .await
            .expect("read answers");
        if let Some(note) = &read {
            assert_eq!(
                note.scope,
                self.scope.as_str(),
                "a note says its scope, which is the caller's alone"
            );
        }
        read
    }

    pub(super) async fn text(&self, file: &str) -> Option<String> {
        self.read(file).await.map(|note| note.content)
    }

    /// A write without an operation, whatever there is.
    pub(super) async fn put(&self, file: &str, content: &str) -> Version {
        self.write(file, content, Expected::Any, None)
            .await
            .expect("an unconditional write succeeds")
            .version
            .expect("a write makes a version")
    }

    pub(super) async fn write(
        &self,
        file: &str,
        content: &str,
        expected: Expected,
        operation: Option<&Operation>,
    ) -> Result<Receipt, MutationError> {
        self.store
            .write(
                &self.scope,
                &name(file),
                &WriteRequest::new(content, &expected),
                operation,
            )
            .await
    }

    pub(super) async fn delete(
        &self,
        file: &str,
        expected: Expected,
        operation: Option<&Operation>,
    ) -> Result<Receipt, MutationError> {
        self.store
            .delete(&self.scope, &name(file), &expected, operation)
            .await
    }

    pub(super) async fn edit(
        &self,
        file: &str,
        edit: &Edit,
        operation: &Operation,
    ) -> Result<Receipt, MutationError> {
        self.edit_within(file, edit, CHARS_MAX, Expected::Any, operation)
            .await
    }

    pub(super) async fn edit_within(
        &self,
        file: &str,
        edit: &Edit,
        note_chars_max: usize,
        expected: Expected,
        operation: &Operation,
    ) -> Result<Receipt, MutationError> {
        let request = EditRequest {
            edit,
            note_chars_max,
            expected,
            metadata: None,
        };
        self.store
            .edit(&self.scope, &name(file), &request, operation)
            .await
    }

    pub(super) async fn receipt(
        &self,
        operation: &Operation,
    ) -> Result<Option<Receipt>, MutationError> {
        self.store.receipt(&self.scope, operation).await
    }
}

pub(super) fn name(file: &str) -> NoteName {
    NoteName::parse(file).expect("suite uses valid names")
}

/// Letters without any pattern, always the same ones: what a database keeps of an index key is often
/// compressed, and repetitions would hide that the key is too long for it.
pub(super) fn noise(seed: u64, chars: usize, alphabet: std::ops::RangeInclusive<char>) -> String {
    let letters: Vec<char> = alphabet.filter(|c| c.is_alphanumeric()).collect();
    let mut state = seed;
    let letter = |_| {
        // Knuth's MMIX generator; its high bits are the better ones.
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        letters[(state >> 33) as usize % letters.len()]
    };
    (0..chars).map(letter).collect()
}

/// A scope of as many characters as there may be.
pub(super) fn longest_scope() -> String {
    let segments: Vec<String> = (0..SCOPE_CHARS_MAX as u64 / 100)
        .map(|seed| noise(seed, 99, '0'..='z'))
        .collect();
    format!("{}x", segments.join("/"))
}

pub(super) fn operation(id: &str, fingerprint: &str) -> Operation {
    Operation {
        id: OperationId::parse(id).expect("suite uses valid ids"),
        fingerprint: Fingerprint::new(fingerprint),
    }
}

pub(super) fn append(content: &str) -> Edit {
    Edit::Append {
        content: content.to_owned(),
    }
}

pub(super) fn replace(old_text: &str, content: &str) -> Edit {
    Edit::Replace {
        old_text: old_text.to_owned(),
        content: content.to_owned(),
    }
}

pub(super) fn at(version: &Version) -> Expected {
    Expected::Version(version.clone())
}

pub(super) fn at_token(token: &str) -> Expected {
    Expected::Version(Version::new(token))
}

/// The version that a successful write made.
pub(super) fn made(result: Result<Receipt, MutationError>) -> Version {
    result
        .expect("the write succeeds")
        .version
        .expect("a write makes a version")
}

#[track_caller]
pub(super) fn assert_version_conflict(result: Result<Receipt, MutationError>) {
    assert!(
        matches!(result, Err(MutationError::VersionConflict)),
        "{result:?}"
    );
}

#[track_caller]
pub(super) fn assert_operation_conflict<T: std::fmt::Debug>(result: Result<T, MutationError>) {
    assert!(
        matches!(result, Err(MutationError::OperationConflict)),
        "other arguments under an id are a conflict, not {result:?}"
    );
}

#[track_caller]
pub(super) fn assert_refused(result: Result<Receipt, MutationError>, refusal: &Refusal) {
    match result {
        Err(MutationError::Refused(found)) => assert_eq!(found, *refusal),
        other => panic!("expected {refusal:?}, found {other:?}"),
    }
}
