//! The operations of a scope have one space of ids, whatever they are about.

use notekeeper_domain::Operation;

use super::{
    facts::FactsOfScope,
    fixture::{Notebook, append, assert_operation_conflict, notebook, operation},
    receipts::NEWER_OPERATIONS,
    transcripts::Conversation,
    vectors::{Collection, chunk},
};
use crate::{Expected, MutationError, Store};

pub(super) async fn exercise<S: Store>(store: &S) {
    an_id_is_of_one_kind_of_operation(store).await;
    clearing_leaves_notes_and_facts(store).await;
    newer_operations_of_any_kind_dont_push_out_a_receipt(store).await;
}

/// What can be done to a scope under an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Edit,
    Write,
    Delete,
    Add,
    Clear,
    Remember,
    Forget,
    Keep,
}

const KINDS: [Kind; 8] = [
    Kind::Edit,
    Kind::Write,
    Kind::Delete,
    Kind::Add,
    Kind::Clear,
    Kind::Remember,
    Kind::Forget,
    Kind::Keep,
];

impl Kind {
    /// Operations on notes answer each other's repetitions.
    fn is_on_notes(self) -> bool {
        matches!(self, Self::Edit | Self::Write | Self::Delete)
    }
}

/// All that a store keeps of one scope.
struct Kept<'s, S> {
    notes: Notebook<'s, S>,
    conversation: Option<Conversation<'s>>,
    facts: Option<FactsOfScope<'s>>,
    chunks: Option<Collection<'s>>,
}

impl<'s, S: Store> Kept<'s, S> {
    fn of(store: &'s S, scope: &str) -> Self {
        let transcripts = store.transcripts();
        Self {
            notes: notebook(store, scope),
            conversation: transcripts.map(|store| Conversation::new(store, scope, "main")),
            facts: store.facts().map(|store| FactsOfScope::new(store, scope)),
            chunks: store.vectors().map(|store| Collection::new(store, scope)),
        }
    }

    /// The kinds of operations that the store has.
    fn kinds(&self) -> Vec<Kind> {
        let kinds = KINDS.into_iter().filter(|kind| match kind {
            Kind::Add | Kind::Clear => self.conversation.is_some(),
            Kind::Remember | Kind::Forget => self.facts.is_some(),
            Kind::Keep => self.chunks.is_some(),
            Kind::Edit | Kind::Write | Kind::Delete => true,
        });
        kinds.collect()
    }

    /// Does it; whether the answer was a repetition's.
    async fn apply(&self, kind: Kind, operation: &Operation) -> Result<bool, MutationError> {
        let (notes, some) = (&self.notes, Some(operation));
        let conversation = || self.conversation.as_ref().expect("one of `kinds`");
        let facts = || self.facts.as_ref().expect("one of `kinds`");
        match kind {
            Kind::Edit => {
                let made = notes.edit("a.md", &append("x"), operation).await;
                made.map(|made| made.replayed)
            }
            Kind::Write => {
                let made = notes.write("b.md", "x", Expected::Any, some).await;
                made.map(|made| made.replayed)
            }
            Kind::Delete => {
                let made = notes.delete("b.md", Expected::Any, some).await;
                made.map(|made| made.replayed)
            }
            Kind::Add => conversation()
                .add(&["x"], some)
                .await
                .map(|made| made.replayed),
            Kind::Clear => conversation().clear(some).await.map(|made| made.replayed),
            Kind::Remember => {
                let made = facts().remember("key", "x", some).await;
                made.map(|made| made.replayed)
            }
            Kind::Forget => facts().forget("key", some).await.map(|made| made.replayed),
            Kind::Keep => {
                let chunks = self.chunks.as_ref().expect("one of `kinds`");
                let made = chunks.keep(&[chunk("x", &[1.0])], some).await;
                made.map(|made| made.replayed)
            }
        }
    }

    /// What is there, to see whether something changed.
    async fn state(&self) -> (Vec<Option<String>>, Vec<String>) {
        let notes = vec![self.notes.text("a.md").await, self.notes.text("b.md").await];
        let mut kept = Vec::new();
        if let Some(conversation) = &self.conversation {
            kept.extend(conversation.texts().await);
        }
        if let Some(facts) = &self.facts {
            kept.extend(facts.value("key").await);
        }
        if let Some(chunks) = &self.chunks {
            kept.extend(chunks.all().await);
        }
        (notes, kept)
    }
}

async fn an_id_is_of_one_kind_of_operation<S: Store>(store: &S) {
    let kept = Kept::of(store, "i/kinds");
    for first in kept.kinds() {
        for second in kept.kinds() {
            let id = format!("{first:?} before {second:?}");
            let one = operation(&id, "f");
            assert!(!kept.apply(first, &one).await.expect("the id is free"));
            let before = kept.state().await;
            let other = kept.apply(second, &operation(&id, "g")).await;
            assert!(
                matches!(other, Err(MutationError::OperationConflict)),
                "an id is of one kind of operation: {id} is a conflict, not {other:?}"
            );
            // No two kinds have fingerprints in common, but no store knows how they are made.
            let same = kept.apply(second, &one).await;
            if first == second || (first.is_on_notes() && second.is_on_notes()) {
                assert!(same.expect("replay"), "{id} is a repetition");
            } else {
                assert!(
                    matches!(same, Err(MutationError::OperationConflict)),
                    "an id is of one kind of operation: {id} is a conflict, not {same:?}"
                );
            }
            if !first.is_on_notes() {
                assert_operation_conflict(kept.notes.receipt(&one).await);
            }
            assert_eq!(kept.state().await, before, "{id} changes nothing");
            assert!(kept.apply(first, &one).await.expect("replay"));
        }
    }
}

async fn clearing_leaves_notes_and_facts<S: Store>(store: &S) {
    let kept = Kept::of(store, "i/clear");
    for (index, kind) in kept.kinds().into_iter().enumerate() {
        if !matches!(kind, Kind::Delete | Kind::Clear | Kind::Forget) {
            let own = operation(&index.to_string(), "f");
            kept.apply(kind, &own).await.expect("the id is free");
        }
    }
    let Some(conversation) = &kept.conversation else {
        return;
    };
    let (notes, _) = kept.state().await;
    conversation.clear(None).await.expect("clear");
    let (notes_after, rest) = kept.state().await;
    assert_eq!(notes_after, notes, "clearing messages leaves notes");
    let others = usize::from(kept.facts.is_some()) + usize::from(kept.chunks.is_some());
    assert_eq!(
        rest,
        vec!["x"; others],
        "clearing messages leaves facts and chunks"
    );
}

async fn newer_operations_of_any_kind_dont_push_out_a_receipt<S: Store>(store: &S) {
    let kept = Kept::of(store, "i/newer");
    let kinds: Vec<Kind> = kept
        .kinds()
        .into_iter()
        .filter(|kind| !kind.is_on_notes())
        .collect();
    if kinds.is_empty() {
        return;
    }
    let firsts: Vec<(Kind, Operation)> = kinds
        .iter()
        .map(|kind| (*kind, operation(&format!("first {kind:?}"), "f")))
        .collect();
    for (kind, first) in &firsts {
        kept.apply(*kind, first).await.expect("the id is free");
    }
    // The first of them is as old as any that must be kept.
    let newer = NEWER_OPERATIONS + 1 - firsts.len();
    for (index, kind) in (0..newer).zip(kinds.iter().cycle()) {
        let own = operation(&format!("newer {index}"), "f");
        assert!(!kept.apply(*kind, &own).await.expect("the id is free"));
    }
    let before = kept.state().await;
    for (kind, first) in &firsts {
        let replayed = kept.apply(*kind, first).await.expect("replay");
        assert!(replayed, "newer operations don't push out a receipt");
    }
    assert_eq!(kept.state().await, before);
}
