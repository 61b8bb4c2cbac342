//! Facts, as [`FactStore`] says.

use std::{ops::Bound, sync::Arc, time::Instant};

use async_trait::async_trait;
use notekeeper_domain::{
    Fact, FactKey, Operation, Recall, RecallCandidate, RecallQuery, RecalledFact, Scope,
};

use super::InMemoryStore;
use crate::{
    FactForgotten, FactKept, FactStore, Facts, ListedFact, MutationError, StoreError,
    kept_facts::Offers, values::check_operation,
};

/// A fact as it was remembered last.
#[derive(Debug, Clone)]
pub(super) struct KeptFact {
    scope: Scope,
    /// Shared with recalls, which go on after the lock was given back.
    fact: Arc<Fact>,
    order: i64,
    remembered_at: Instant,
}

impl KeptFact {
    fn candidate(&self) -> RecallCandidate<'_> {
        RecallCandidate {
            scope: self.scope.as_str(),
            key: self.fact.key.as_str(),
            value: self.fact.value(),
            order: self.order,
            age_seconds: self.age_seconds(),
        }
    }

    fn age_seconds(&self) -> u64 {
        self.remembered_at.elapsed().as_secs()
    }

    fn listed(&self) -> ListedFact {
        ListedFact {
            scope: self.scope.as_str().to_owned(),
            fact: Fact::clone(&self.fact),
            order: self.order,
            age_seconds: self.age_seconds(),
        }
    }
}

impl InMemoryStore {
    /// All facts of a scope, of one moment, ascending by key.
    fn all_facts(&self, scope: &Scope) -> Vec<KeptFact> {
        let state = self.lock();
        let in_scope = state.scopes.get(scope);
        let facts = in_scope
            .into_iter()
            .flat_map(|in_scope| in_scope.facts.values());
        facts.cloned().collect()
    }
}

#[async_trait]
impl FactStore for InMemoryStore {
    async fn remember(
        &self,
        scope: &Scope,
        fact: &Fact,
        operation: Option<&Operation>,
    ) -> Result<FactKept, MutationError> {
        operation.map_or(Ok(()), check_operation)?;
        let state = &mut *self.lock();
        let in_scope = state.scopes.entry(scope.clone()).or_default();
        if let Some(answer) = in_scope.receipts.answer(operation)? {
            return Ok(answer);
        }
        state.last_order += 1;
        let kept = KeptFact {
            scope: scope.clone(),
            fact: Arc::new(fact.clone()),
            order: state.last_order,
            remembered_at: Instant::now(),
        };
        let before = in_scope.facts.insert(fact.key.clone(), kept);
        let kept = FactKept {
            existed: before.is_some(),
            replayed: false,
        };
        in_scope.receipts.keep(operation, &kept);
        Ok(kept)
    }

    async fn forget(
        &self,
        scope: &Scope,
        key: &FactKey,
        operation: Option<&Operation>,
    ) -> Result<FactForgotten, MutationError> {
        operation.map_or(Ok(()), check_operation)?;
        let mut state = self.lock();
        let in_scope = state.scopes.entry(scope.clone()).or_default();
        if let Some(answer) = in_scope.receipts.answer(operation)? {
            return Ok(answer);
        }
        let forgotten = FactForgotten {
            existed: in_scope.facts.remove(key).is_some(),
            replayed: false,
        };
        in_scope.receipts.keep(operation, &forgotten);
        Ok(forgotten)
    }

    async fn recall(
        &self,
        scope: &Scope,
        query: &RecallQuery,
        limit: usize,
    ) -> Result<Vec<RecalledFact>, StoreError> {
        let facts = self.all_facts(scope);
        let mut recall = Recall::new(query, limit);
        loop {
            let mut offers = Offers::default();
            for kept in &facts {
                offers.offer(&mut recall, kept.candidate()).await;
            }
            if recall.unread().is_empty() {
                return Ok(recall.finish());
            }
        }
    }

    async fn fact(&self, scope: &Scope, key: &FactKey) -> Result<Option<ListedFact>, StoreError> {
        let state = self.lock();
        let in_scope = state.scopes.get(scope);
        let fact = in_scope.and_then(|in_scope| in_scope.facts.get(key));
        Ok(fact.map(KeptFact::listed))
    }

    async fn facts(
        &self,
        scope: &Scope,
        after: Option<&FactKey>,
        facts_max: usize,
    ) -> Result<Facts, StoreError> {
        let state = self.lock();
        let Some(in_scope) = state.scopes.get(scope) else {
            return Ok(Facts::default());
        };
        let after = after.map_or(Bound::Unbounded, Bound::Excluded);
        let mut facts = in_scope.facts.range((after, Bound::Unbounded));
        let first = facts.by_ref().take(facts_max);
        Ok(Facts {
            facts: first.map(|(_, kept)| kept.listed()).collect(),
            more: facts.next().is_some(),
        })
    }
}
