//! Steps on transcripts.

use notekeeper_domain::{ConversationId, StoredMessage};
use notekeeper_store::{
    Conversations, MessageSelection, StoreError, TranscriptPart, TranscriptStore,
};
use rand::{Rng, seq::IndexedRandom};
use serde_json::{Map, Value, json};

use super::{Comparison, Subject, same, same_mutation};

const CONVERSATIONS: [&str; 7] = ["main", "Main", "m_in", "m%", "a", "\u{56fa}", "\u{1f600}"];

impl Subject {
    fn transcripts(&self) -> &dyn TranscriptStore {
        self.store.transcripts().expect("it keeps transcripts")
    }
}

impl Comparison {
    fn conversation(&mut self) -> ConversationId {
        let id = CONVERSATIONS.choose(&mut self.random);
        ConversationId::parse(id.expect("there are some")).expect("a valid id")
    }

    /// Any JSON that isn't deep.
    fn json(&mut self, depth: usize) -> Value {
        let most = if depth == 0 { 6 } else { 8 };
        match self.random.random_range(0..most) {
            0 => Value::Null,
            1 => json!(self.random.random_bool(0.5)),
            2 => json!(self.random.random::<i64>()),
            3 => json!(self.random.random::<u64>()),
            4 => json!(f64::from_bits(self.random.random())),
            5 => json!(self.any_text()),
            6 => {
                let items = self.random.random_range(0..3);
                (0..items).map(|_| self.json(depth - 1)).collect()
            }
            _ => self.fields(depth - 1).into(),
        }
    }

    fn fields(&mut self, depth: usize) -> Map<String, Value> {
        let fields = self.random.random_range(0..4);
        (0..fields)
            .map(|_| (self.any_text(), self.json(depth)))
            .collect()
    }

    fn message(&mut self) -> StoredMessage {
        let mut fields = self.fields(2);
        fields.insert("role".to_owned(), json!("user"));
        fields.insert("content".to_owned(), json!(self.any_text()));
        StoredMessage::new(fields.into()).expect("a small message without U+0000")
    }

    pub(super) async fn add_messages(&mut self) {
        let (scope, conversation) = (self.scope(), self.conversation());
        // Now and then none, which is refused.
        let count = self.random.random_range(0..8);
        let messages: Vec<_> = (0..count).map(|_| self.message()).collect();
        let operation = self
            .random
            .random_bool(0.7)
            .then(|| self.operation_of("add"));
        let operation = operation.as_ref();
        let specification: &dyn TranscriptStore = &self.specification;
        let right = specification.add_messages(&scope, &conversation, &messages, operation);
        let right = right.await;
        for subject in &self.subjects {
            let store = subject.transcripts();
            let found = store.add_messages(&scope, &conversation, &messages, operation);
            same_mutation(subject, &found.await, &right);
        }
        match right {
            Ok(added) if added.replayed => self.saw("repeated additions", 1),
            Ok(_) => self.saw("additions", 1),
            Err(_) => self.saw("refused additions", 1),
        }
    }

    pub(super) async fn clear_messages(&mut self) {
        let (scope, conversation) = (self.scope(), self.conversation());
        let operation = self
            .random
            .random_bool(0.7)
            .then(|| self.operation_of("clear"));
        let operation = operation.as_ref();
        let specification: &dyn TranscriptStore = &self.specification;
        let right = specification.clear_messages(&scope, &conversation, operation);
        let right = right.await;
        for subject in &self.subjects {
            let store = subject.transcripts();
            let found = store.clear_messages(&scope, &conversation, operation);
            same_mutation(subject, &found.await, &right);
        }
        if right.is_ok_and(|cleared| cleared.first < cleared.next) {
            self.saw("clearings", 1);
        }
    }

    /// A position near those that there are, or far from all.
    fn position(&mut self) -> u64 {
        match self.random.random_range(0..10) {
            0 => u64::MAX,
            1 => self.random.random(),
            _ => self.random.random_range(0..300),
        }
    }

    pub(super) async fn messages(&mut self) {
        let (scope, conversation) = (self.scope(), self.conversation());
        let selection = match self.random.random_range(0..4) {
            0 => MessageSelection::All,
            1 => MessageSelection::Newest(self.position()),
            2 => MessageSelection::Newest(self.random.random_range(0..8)),
            _ => MessageSelection::Range(self.position(), self.position()),
        };
        let bytes_max = match self.random.random_range(0..4) {
            0 => usize::MAX,
            1 => self.random.random_range(0..10_000),
            _ => self.random.random_range(0..1_000),
        };
        let specification: &dyn TranscriptStore = &self.specification;
        let right = specification.messages(&scope, &conversation, selection, bytes_max);
        let right = right.await;
        for subject in &self.subjects {
            let store = subject.transcripts();
            let found = store.messages(&scope, &conversation, selection, bytes_max);
            let found: Result<TranscriptPart, StoreError> = found.await;
            same(subject, found, &right);
        }
        let part = right.expect("messages answers");
        assert!(!part.more || !part.messages.is_empty());
        self.saw("messages", part.messages.len());
    }

    pub(super) async fn conversations(&mut self) {
        let scope = self.scope();
        let after = self.random.random_bool(0.5).then(|| self.conversation());
        let most = self.random.random_range(0..8);
        let timeless = |found: Result<Conversations, StoreError>| {
            found.map(|mut found| {
                for conversation in &mut found.conversations {
                    conversation.updated_at = None;
                }
                found
            })
        };
        let specification: &dyn TranscriptStore = &self.specification;
        let right = specification.conversations(&scope, after.as_ref(), most);
        let right = timeless(right.await);
        for subject in &self.subjects {
            let store = subject.transcripts();
            let found = store.conversations(&scope, after.as_ref(), most).await;
            same(subject, timeless(found), &right);
        }
    }
}
