//! Facts, as [`FactStore`] says.

use std::{ops::Bound, time::Instant};

use async_trait::async_trait;
use notekeeper_domain::{
    Fact, FactKey, Operation, Recall, RecallCandidate, RecallQuery, RecalledFact, Scope,
};

use super::InMemoryStore;
use crate::{
    FactForgotten, FactKept, FactStore, Facts, ListedFact, MutationError, StoreError,
    values::check_operation,
};

/// Texts that a recall looks at before other tasks get their turn, in bytes.
const BYTES_BETWEEN_PAUSES: usize = 128 * 1024;

/// A fact as it was remembered last.
#[derive(Debug, Clone)]
pub(super) struct KeptFact {
    fact: Fact,
    order: i64,
    remembered_at: Instant,
}

impl KeptFact {
    fn listed(&self) -> ListedFact {
        ListedFact {
            fact: self.fact.clone(),
            order: self.order,
            age_seconds: self.remembered_at.elapsed().as_secs(),
        }
    }
}

impl InMemoryStore {
    /// All facts of a scope, of one moment, ascending by key.
    fn all_facts(&self, scope: &Scope) -> Vec<ListedFact> {
        let state = self.lock();
        let in_scope = state.scopes.get(scope);
        let facts = in_scope
            .into_iter()
            .flat_map(|in_scope| in_scope.facts.values());
        facts.map(KeptFact::listed).collect()
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
            fact: fact.clone(),
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
            let mut bytes = 0;
            for listed in &facts {
                let (key, value) = (listed.fact.key.as_str(), listed.fact.value());
                recall.offer(RecallCandidate {
                    key,
                    value,
                    order: listed.order,
                    age_seconds: listed.age_seconds,
                });
                bytes += key.len() + value.len();
                if bytes > BYTES_BETWEEN_PAUSES {
                    bytes = 0;
                    tokio::task::yield_now().await;
                }
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
