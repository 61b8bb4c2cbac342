//! Facts that break one sentence of the trait each.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use notekeeper_domain::{
    Fact, FactKey, Fingerprint, Operation, OperationId, RecallQuery, RecalledFact, Scope,
};
use notekeeper_store::{
    FactForgotten, FactKept, FactStore, Facts, InMemoryStore, ListedFact, MutationError,
    StoreError, conformance,
};

use super::store::{Faulty, assert_found};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// A fact that is remembered anew stands beside the old one.
    Doubles,
    /// A repeated forgetting forgets what was remembered since.
    ForgetsLater,
    /// A repeated remembering brings its value back.
    BringsBack,
    /// A repeated remembering makes the fact the newest.
    ReplayIsNews,
    /// What is remembered again takes effect again.
    ForgetsOperations,
    /// Other arguments under an id are taken for the same.
    IgnoresFingerprints,
    /// Forgetting what is absent fails.
    AbsentFails,
    /// Whether there was one is looked up before, by itself.
    LooksFirst,
    /// Ids of operations are its own, apart from those of notes.
    OwnIds,
    /// Receipts go after a few hundred newer ones.
    FewReceipts,
    /// Keys are compared without case.
    FoldsCase,
    /// Keys are trimmed.
    Trims,
    /// The underscore of a key stands for any character when it is forgotten.
    KeyPattern,
    /// The underscore of a scope stands for any character.
    ScopePattern,
    /// Values are trimmed.
    TrimsValues,
    /// Long values are cut.
    CutsValues,
    /// The order is one more than the highest that is there.
    OrderOfThose,
    /// Ages are of the first time that the key was remembered, in milliseconds.
    Milliseconds,
    /// Facts are listed as a person would sort them.
    ListsByCase,
    /// A page begins with the one that it should come after.
    AfterIsFirst,
    /// A recall sees another tenant's facts where scopes look alike.
    SeesOthers,
    /// The same, and says that they are the caller's.
    LiesOfScope,
    /// What is recalled says no scope.
    RecallsOfNobody,
    /// What is listed says no scope.
    ListsOfNobody,
    /// What is found by an old text of a fact is found still.
    StaleTerms,
    /// What was forgotten is found still.
    FindsForgotten,
    /// Nothing is found inside of words.
    NeverScans,
    /// Signs of patterns find everything.
    Patterns,
    /// Scores are rounded.
    Rounds,
    /// Facts of equal rank come oldest first.
    OldestFirst,
    /// An empty query gives nothing.
    EmptyIsNothing,
    /// One more than was asked for.
    OneTooMany,
}

/// What each fault is found by.
const FAULTS: [(Fault, &str); 32] = [
    (Fault::Doubles, "there is one fact of each key"),
    (Fault::ForgetsLater, "forgetting again doesn't forget"),
    (
        Fault::BringsBack,
        "remembering again doesn't bring an old value back",
    ),
    (Fault::ReplayIsNews, "nor is it news"),
    (Fault::ForgetsOperations, "replayed"),
    (Fault::IgnoresFingerprints, "other arguments"),
    (Fault::AbsentFails, "forget"),
    (Fault::LooksFirst, "one of them makes the fact"),
    (Fault::OwnIds, "an id is of one kind of operation"),
    (
        Fault::FewReceipts,
        "newer operations don't push out a receipt",
    ),
    (Fault::FoldsCase, "is a key of its own"),
    (Fault::Trims, "is a key of its own"),
    (Fault::KeyPattern, "forgetting is of one key"),
    (Fault::ScopePattern, "is a scope of its own"),
    (Fault::TrimsValues, "value"),
    (Fault::CutsValues, "value"),
    (
        Fault::OrderOfThose,
        "what is remembered later has a higher order",
    ),
    (Fault::Milliseconds, "seconds, at most"),
    (Fault::ListsByCase, "by code point"),
    (Fault::AfterIsFirst, "after"),
    (Fault::SeesOthers, "alone"),
    (Fault::LiesOfScope, "facts of `john_doe/main` alone"),
    (Fault::RecallsOfNobody, "each fact says its scope"),
    (Fault::ListsOfNobody, "each fact says its scope"),
    (Fault::StaleTerms, "it is found by its last value alone"),
    (Fault::FindsForgotten, "what was forgotten isn't recalled"),
    (Fault::NeverScans, "recall"),
    (Fault::Patterns, "recall"),
    (Fault::Rounds, "scores of the case"),
    (Fault::OldestFirst, "newest first"),
    (Fault::EmptyIsNothing, "an empty query gives the newest"),
    (Fault::OneTooMany, "recall of the case"),
];

#[tokio::test]
async fn facts_that_break_a_sentence_are_found() {
    assert_found(&FAULTS, async |fault| {
        conformance::exercise_facts(async || faulty(fault)).await;
    })
    .await;
}

fn faulty(fault: Fault) -> Faulty {
    let inner = Arc::new(InMemoryStore::default());
    let facts = FaultyFacts {
        inner: Arc::clone(&inner),
        fault,
        old: InMemoryStore::default(),
        orders: Mutex::default(),
    };
    Faulty::with_facts(inner, facts)
}

struct FaultyFacts {
    inner: Arc<InMemoryStore>,
    fault: Fault,
    /// Facts as they were before.
    old: InMemoryStore,
    /// Numbers of its own, by scope and key.
    orders: Mutex<HashMap<(Scope, FactKey), i64>>,
}

impl FaultyFacts {
    fn scope(&self, scope: &Scope) -> Scope {
        match self.fault {
            Fault::ScopePattern => Scope::parse(&scope.as_str().replace('_', "-")).expect("valid"),
            _ => scope.clone(),
        }
    }

    fn key(&self, key: &FactKey) -> FactKey {
        match self.fault {
            Fault::FoldsCase => FactKey::parse(&key.as_str().to_lowercase()).expect("valid"),
            Fault::Trims => FactKey::parse(key.as_str().trim()).expect("valid"),
            _ => key.clone(),
        }
    }

    fn operation(&self, scope: &Scope, operation: Option<&Operation>) -> Option<Operation> {
        let mut operation = operation.cloned()?;
        let id = operation.id.as_str().to_owned();
        match self.fault {
            Fault::OwnIds => operation.id = OperationId::from_parts(&["facts", &id]),
            Fault::IgnoresFingerprints => operation.fingerprint = Fingerprint::new("f"),
            Fault::FewReceipts => {
                let key = FactKey::parse("count").expect("valid");
                let mut orders = self.orders.lock().expect("no case panics with it");
                let count = orders.entry((scope.clone(), key)).or_default();
                *count += 1;
                if *count > 300 {
                    operation.id = OperationId::from_parts(&[&id, "later"]);
                }
            }
            Fault::ForgetsOperations => return None,
            _ => {}
        }
        Some(operation)
    }

    /// Notes a number for the fact, one above those that are there.
    fn number(&self, scope: &Scope, key: &FactKey) {
        let mut orders = self.orders.lock().expect("no case panics with it");
        let order = orders.values().max().map_or(1, |highest| highest + 1);
        orders.insert((scope.clone(), key.clone()), order);
    }

    fn listed(&self, scope: &Scope, mut listed: ListedFact) -> ListedFact {
        match self.fault {
            Fault::OrderOfThose => {
                let orders = self.orders.lock().expect("no case panics with it");
                listed.order = orders[&(scope.clone(), listed.fact.key.clone())];
            }
            Fault::ListsOfNobody => listed.scope.clear(),
            Fault::Milliseconds => listed.age_seconds = 10_000 + listed.age_seconds * 1_000,
            _ => {}
        }
        listed
    }

    /// What old states of the facts have of a query.
    async fn stale(&self, scope: &Scope, query: &RecallQuery) -> Vec<RecalledFact> {
        self.old.recall(scope, query, 1_000).await.expect("recall")
    }
}

#[async_trait]
impl FactStore for FaultyFacts {
    async fn remember(
        &self,
        scope: &Scope,
        fact: &Fact,
        operation: Option<&Operation>,
    ) -> Result<FactKept, MutationError> {
        let scope = &self.scope(scope);
        let operation = self.operation(scope, operation);
        let key = self.key(&fact.key);
        let value = match self.fault {
            Fault::TrimsValues => fact.value().trim(),
            Fault::CutsValues => &fact.value()[..fact.value().floor_char_boundary(16_384)],
            _ => fact.value(),
        };
        let new = Fact::new(key.as_str(), value).expect("valid");
        let before = self.inner.fact(scope, &key).await?;
        if self.fault == Fault::LooksFirst {
            tokio::task::yield_now().await;
        }
        let kept = self.inner.remember(scope, &new, operation.as_ref()).await?;
        if kept.replayed {
            let again = match self.fault {
                Fault::BringsBack => Some(new.clone()),
                Fault::ReplayIsNews => {
                    let current = self.inner.fact(scope, &key).await?;
                    current.map(|current| current.fact)
                }
                _ => None,
            };
            if let Some(again) = again {
                self.inner.remember(scope, &again, None).await?;
            }
            return Ok(kept);
        }
        self.number(scope, &key);
        // Of what changes what it was before, of what is forgotten later what it is.
        let changes = before.as_ref().is_some_and(|before| before.fact != new);
        let old = match before
            .as_ref()
            .filter(|_| self.fault != Fault::FindsForgotten)
        {
            Some(before) => changes.then_some(&before.fact),
            None => Some(&new),
        };
        if let Some(old) = old {
            self.old.remember(scope, old, None).await?;
        }
        Ok(match self.fault {
            Fault::LooksFirst => FactKept {
                existed: before.is_some(),
                ..kept
            },
            _ => kept,
        })
    }

    async fn forget(
        &self,
        scope: &Scope,
        key: &FactKey,
        operation: Option<&Operation>,
    ) -> Result<FactForgotten, MutationError> {
        let scope = &self.scope(scope);
        let key = &self.key(key);
        let operation = self.operation(scope, operation);
        let forgotten = self.inner.forget(scope, key, operation.as_ref()).await?;
        if self.fault == Fault::AbsentFails && !forgotten.existed {
            return Err(StoreError::Unexpected("there is no such fact".to_owned()).into());
        }
        if self.fault == Fault::ForgetsLater && forgotten.replayed {
            self.inner.forget(scope, key, None).await?;
        }
        if self.fault == Fault::KeyPattern && key.as_str().contains('_') {
            let like = key.as_str().chars().count();
            for listed in self.inner.facts(scope, None, 1_000).await?.facts {
                if listed.fact.key.as_str().chars().count() == like {
                    self.inner.forget(scope, &listed.fact.key, None).await?;
                }
            }
        }
        if !forgotten.replayed {
            let mut orders = self.orders.lock().expect("no case panics with it");
            orders.remove(&(scope.clone(), key.clone()));
        }
        Ok(forgotten)
    }

    async fn recall(
        &self,
        scope: &Scope,
        query: &RecallQuery,
        limit: usize,
    ) -> Result<Vec<RecalledFact>, StoreError> {
        let scope = &self.scope(scope);
        let mut found = self.inner.recall(scope, query, limit).await?;
        match self.fault {
            Fault::SeesOthers if scope.as_str() == "john_doe/main" => {
                let other = Scope::parse("john-doe/main").expect("valid");
                found.extend(self.inner.recall(&other, query, limit).await?);
            }
            Fault::LiesOfScope if scope.as_str() == "john_doe/main" => {
                let other = Scope::parse("john-doe/main").expect("valid");
                found.extend(self.inner.recall(&other, query, limit).await?);
                for fact in &mut found {
                    fact.scope = scope.as_str().to_owned();
                }
            }
            Fault::RecallsOfNobody => found.iter_mut().for_each(|fact| fact.scope.clear()),
            Fault::StaleTerms | Fault::FindsForgotten => {
                // Of those that are there, or of those that aren't.
                let current = self.fault == Fault::StaleTerms;
                for stale in self.stale(scope, query).await {
                    let key = FactKey::parse(&stale.key).expect("valid");
                    let there = self.inner.fact(scope, &key).await?.is_some();
                    if there == current && found.iter().all(|fact| fact.key != stale.key) {
                        found.push(stale);
                    }
                }
                found.truncate(limit);
            }
            Fault::NeverScans if !query.is_empty() => found.retain(|fact| fact.score > 0.1),
            Fault::Patterns
                if query
                    .substrings()
                    .iter()
                    .any(|text| text.contains(['%', '_'])) =>
            {
                found = self
                    .inner
                    .recall(scope, &RecallQuery::parse(""), limit)
                    .await?;
            }
            Fault::Rounds => {
                for fact in &mut found {
                    fact.score = f64::from(fact.score as f32);
                }
            }
            Fault::OldestFirst => {
                found.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.order.cmp(&b.order)));
            }
            Fault::EmptyIsNothing if query.is_empty() => found.clear(),
            Fault::OneTooMany => {
                return self
                    .inner
                    .recall(scope, query, limit.saturating_add(1))
                    .await;
            }
            _ => {}
        }
        Ok(found)
    }

    async fn fact(&self, scope: &Scope, key: &FactKey) -> Result<Option<ListedFact>, StoreError> {
        let scope = &self.scope(scope);
        let found = self.inner.fact(scope, &self.key(key)).await?;
        Ok(found.map(|found| self.listed(scope, found)))
    }

    async fn facts(
        &self,
        scope: &Scope,
        after: Option<&FactKey>,
        facts_max: usize,
    ) -> Result<Facts, StoreError> {
        let scope = &self.scope(scope);
        let mut all = self.inner.facts(scope, None, usize::MAX).await?;
        let mut rest = self.inner.facts(scope, after, usize::MAX).await?;
        match (self.fault, after) {
            (Fault::ListsByCase, _) => {
                let by_case = |key: &FactKey| key.as_str().to_lowercase();
                rest.facts.sort_by_key(|listed| by_case(&listed.fact.key));
            }
            (Fault::AfterIsFirst, Some(after)) => {
                all.facts.retain(|listed| listed.fact.key >= *after);
                rest = all;
            }
            (Fault::Doubles, _) => {
                for old in self.old.facts(scope, None, usize::MAX).await?.facts {
                    if rest.facts.iter().all(|listed| listed.fact != old.fact) {
                        rest.facts.push(old);
                    }
                }
            }
            _ => {}
        }
        rest.more = rest.facts.len() > facts_max;
        rest.facts.truncate(facts_max);
        let facts = rest.facts.into_iter();
        rest.facts = facts.map(|listed| self.listed(scope, listed)).collect();
        Ok(rest)
    }
}
