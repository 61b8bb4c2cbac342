//! Steps on facts.

use notekeeper_domain::{Fact, FactKey, RecallQuery};
use notekeeper_store::{FactStore, ListedFact};
use rand::{Rng, seq::IndexedRandom};

use super::{Comparison, Subject, same_mutation};

const KEYS: [&str; 12] = [
    "key",
    "Key",
    "k_y",
    "k%",
    " key",
    "food preferences",
    "C++",
    "caf\u{e9}",
    "cafe\u{301}",
    "\u{6771}\u{4eac}",
    "\u{ff5e}",
    "\u{1f600}",
];

/// Pieces that values and queries are made of: words and their beginnings, words with symbols, forms of
/// one letter, scripts without spaces, and what a query language would take for syntax.
const PIECES: [&str; 34] = [
    "tea",
    "Tea",
    "teapot",
    "steam",
    "migration",
    "migrat",
    "invoice",
    "invoices",
    "C++",
    "c",
    ".NET",
    "#42",
    "rm -rf",
    "src/auth.rs",
    "auth",
    "don't",
    "pre-edit",
    "v2.1",
    "GB/s",
    "caf\u{e9}",
    "CAFE\u{301}",
    "stra\u{df}e",
    "STRASSE",
    "\u{39f}\u{394}\u{39f}\u{3a3}",
    "\u{6771}\u{4eac}\u{90fd}",
    "\u{4eac}",
    "\u{e20}\u{e32}\u{e29}\u{e32}",
    "\u{d55c}\u{ad6d}\u{c5b4}",
    "\u{1f469}\u{200d}\u{1f469}",
    "%",
    "_",
    "\"",
    "(",
    ":*",
];

impl Subject {
    fn facts(&self) -> &dyn FactStore {
        self.store.facts().expect("it keeps facts")
    }

    /// The same fact; how old it is depends on the clock.
    fn assert_same_fact(&mut self, found: &ListedFact, right: &ListedFact) {
        assert_eq!(found.fact, right.fact, "{} on the left", self.store.kind());
        self.assert_same_order(found.order, right.order);
    }
}

impl Comparison {
    fn key(&mut self) -> FactKey {
        loop {
            let key = match self.random.random_bool(0.9) {
                true => (*KEYS.choose(&mut self.random).expect("there are some")).to_owned(),
                false => self.any_text(),
            };
            // A blank one is none.
            if let Ok(key) = FactKey::parse(&key) {
                return key;
            }
        }
    }

    /// Some words, and often something else.
    fn words(&mut self) -> String {
        let words = self.random.random_range(0..5);
        let mut text = String::new();
        for _ in 0..words {
            text += PIECES.choose(&mut self.random).expect("there are some");
            text += [" ", " ", " ", ", ", ""]
                .choose(&mut self.random)
                .expect("there are some");
        }
        if self.random.random_bool(0.3) {
            text += &self.any_text();
        }
        text
    }

    pub(super) async fn remember(&mut self) {
        let scope = self.scope();
        let (key, value) = (self.key(), self.words());
        let fact = Fact::new(key.as_str(), value).expect("a short value without U+0000");
        let operation = self
            .random
            .random_bool(0.7)
            .then(|| self.operation_of("remember"));
        let operation = operation.as_ref();
        let specification: &dyn FactStore = &self.specification;
        let right = specification.remember(&scope, &fact, operation).await;
        for subject in &self.subjects {
            let found = subject.facts().remember(&scope, &fact, operation).await;
            same_mutation(subject, &found, &right);
        }
        match right {
            Ok(kept) if kept.replayed => self.saw("repeated rememberings", 1),
            Ok(_) => self.saw("rememberings", 1),
            Err(_) => self.saw("conflicts of rememberings", 1),
        }
    }

    pub(super) async fn forget(&mut self) {
        let (scope, key) = (self.scope(), self.key());
        let operation = self
            .random
            .random_bool(0.7)
            .then(|| self.operation_of("forget"));
        let operation = operation.as_ref();
        let specification: &dyn FactStore = &self.specification;
        let right = specification.forget(&scope, &key, operation).await;
        for subject in &self.subjects {
            let found = subject.facts().forget(&scope, &key, operation).await;
            same_mutation(subject, &found, &right);
        }
    }

    pub(super) async fn recall(&mut self) {
        let scope = self.scope();
        let query = RecallQuery::parse(&self.words());
        let limit = match self.random.random_bool(0.2) {
            true => 1_000,
            false => self.random.random_range(0..6),
        };
        let specification: &dyn FactStore = &self.specification;
        let right = specification.recall(&scope, &query, limit).await;
        let right = right.expect("recall answers, whatever the query");
        for subject in &mut self.subjects {
            let found = subject.facts().recall(&scope, &query, limit).await;
            let found = found.expect("recall answers, whatever the query");
            let kind = subject.store.kind();
            assert_eq!(found.len(), right.len(), "{kind}: {query:?}");
            for (found, right) in found.iter().zip(&right) {
                assert_eq!(
                    (&found.key, &found.value, found.score.to_bits()),
                    (&right.key, &right.value, right.score.to_bits()),
                    "{kind} on the left: {query:?}"
                );
                subject.assert_same_order(found.order, right.order);
            }
        }
        if query.is_empty() {
            self.saw("newest facts", right.len());
        } else {
            self.saw("recalled facts", right.len());
        }
    }

    pub(super) async fn fact(&mut self) {
        let (scope, key) = (self.scope(), self.key());
        let specification: &dyn FactStore = &self.specification;
        let right = specification.fact(&scope, &key).await.expect("answers");
        for subject in &mut self.subjects {
            let found = subject.facts().fact(&scope, &key).await.expect("answers");
            match (&found, &right) {
                (Some(found), Some(right)) => subject.assert_same_fact(found, right),
                (found, right) => assert_eq!(found, right, "{}", subject.store.kind()),
            }
        }
    }

    pub(super) async fn facts(&mut self) {
        let scope = self.scope();
        let after = self.random.random_bool(0.5).then(|| self.key());
        let most = self.random.random_range(0..15);
        let specification: &dyn FactStore = &self.specification;
        let right = specification.facts(&scope, after.as_ref(), most).await;
        let right = right.expect("answers");
        for subject in &mut self.subjects {
            let found = subject.facts().facts(&scope, after.as_ref(), most).await;
            let found = found.expect("answers");
            assert_eq!(found.facts.len(), right.facts.len());
            assert_eq!(found.more, right.more, "{}", subject.store.kind());
            for (found, right) in found.facts.iter().zip(&right.facts) {
                subject.assert_same_fact(found, right);
            }
        }
    }
}
