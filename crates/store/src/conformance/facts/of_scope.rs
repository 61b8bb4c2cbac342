//! Short forms of what the cases say again and again.

use notekeeper_domain::{Fact, FactKey, Operation, RecallQuery, RecalledFact, Scope};

use crate::{FactForgotten, FactKept, FactStore, Facts, ListedFact, MutationError};

/// The facts of one scope of a store. Each case has its own, so cases share a store and don't meet.
pub(in super::super) struct FactsOfScope<'s> {
    pub(in super::super) store: &'s dyn FactStore,
    pub(in super::super) scope: Scope,
}

impl<'s> FactsOfScope<'s> {
    pub(in super::super) fn new(store: &'s dyn FactStore, scope: &str) -> Self {
        Self {
            store,
            scope: Scope::parse(scope).expect("suite uses valid scopes"),
        }
    }

    /// Remembers without an operation; whether there was one of the key before.
    pub(super) async fn put(&self, key: &str, value: &str) -> bool {
        let kept = self.remember(key, value, None).await.expect("remember");
        assert!(
            !kept.replayed,
            "without an operation nothing is a repetition"
        );
        kept.existed
    }

    pub(in super::super) async fn remember(
        &self,
        key: &str,
        value: &str,
        operation: Option<&Operation>,
    ) -> Result<FactKept, MutationError> {
        self.store
            .remember(&self.scope, &fact(key, value), operation)
            .await
    }

    pub(in super::super) async fn forget(
        &self,
        key: &str,
        operation: Option<&Operation>,
    ) -> Result<FactForgotten, MutationError> {
        self.store
            .forget(&self.scope, &fact_key(key), operation)
            .await
    }

    pub(super) async fn found(&self, key: &str) -> Option<ListedFact> {
        let found = self
            .store
            .fact(&self.scope, &fact_key(key))
            .await
            .expect("fact answers");
        self.assert_own(found.iter().map(|found| &*found.scope));
        found
    }

    #[track_caller]
    fn assert_own<'r>(&self, scopes: impl Iterator<Item = &'r str>) {
        for scope in scopes {
            assert_eq!(
                scope,
                self.scope.as_str(),
                "each fact says its scope, which is the caller's alone"
            );
        }
    }

    pub(in super::super) async fn value(&self, key: &str) -> Option<String> {
        let found = self.found(key).await?;
        assert_eq!(found.fact.key.as_str(), key, "a fact has its own key");
        Some(found.fact.value().to_owned())
    }

    pub(super) async fn order(&self, key: &str) -> i64 {
        self.found(key).await.expect("the fact is there").order
    }

    pub(super) async fn listed(&self, after: Option<&str>, most: usize) -> Facts {
        let after = after.map(fact_key);
        let listed = self
            .store
            .facts(&self.scope, after.as_ref(), most)
            .await
            .expect("facts answers");
        self.assert_own(listed.facts.iter().map(|listed| &*listed.scope));
        listed
    }

    /// All keys and values.
    pub(super) async fn all(&self) -> Vec<(String, String)> {
        let listed = self.listed(None, 10_000).await;
        assert!(!listed.more);
        let facts = listed.facts.into_iter().map(|listed| listed.fact);
        facts
            .map(|fact| (fact.key.as_str().to_owned(), fact.value().to_owned()))
            .collect()
    }

    pub(in super::super) async fn recalled(&self, query: &str, limit: usize) -> Vec<RecalledFact> {
        let recalled = self
            .store
            .recall(&self.scope, &RecallQuery::parse(query), limit)
            .await
            .expect("recall answers, whatever the query");
        self.assert_own(recalled.iter().map(|recalled| &*recalled.scope));
        recalled
    }

    /// Keys of what is recalled, best first.
    pub(in super::super) async fn keys(&self, query: &str) -> Vec<String> {
        let recalled = self.recalled(query, 1_000).await;
        recalled.into_iter().map(|recalled| recalled.key).collect()
    }
}

pub(in super::super) fn fact(key: &str, value: &str) -> Fact {
    Fact::new(key, value).expect("suite uses valid facts")
}

fn fact_key(key: &str) -> FactKey {
    FactKey::parse(key).expect("suite uses valid keys")
}

pub(super) fn kept(existed: bool) -> FactKept {
    FactKept {
        existed,
        replayed: false,
    }
}

pub(super) fn forgotten(existed: bool) -> FactForgotten {
    FactForgotten {
        existed,
        replayed: false,
    }
}
