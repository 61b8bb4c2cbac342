//! Transcripts that break one sentence of the trait each.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use notekeeper_domain::{ConversationId, Operation, OperationId, Scope, StoredMessage};
use notekeeper_store::{
    Conversations, InMemoryStore, MessageSelection, MessagesAdded, MessagesCleared, MutationError,
    StoreError, TranscriptPart, TranscriptStore, conformance,
};
use serde_json::{Value, json};

use super::store::{Faulty, assert_found};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// A repeated clearing clears what was added since.
    ClearsLater,
    /// A clearing that is repeated is carried out again as a new one.
    ForgetsClearing,
    /// An addition that is repeated adds again.
    ForgetsAddition,
    /// Other arguments under an id are taken for the same.
    IgnoresFingerprints,
    /// Clearing leaves a gap.
    LeavesGap,
    /// Positions begin again after clearing.
    BeginsAgain,
    /// Clearing makes a conversation that nothing was added to.
    ClearingMakes,
    /// Messages of one call are added one by one.
    TearsBatches,
    /// Ids are compared without case.
    FoldsCase,
    /// Ids are trimmed.
    Trims,
    /// The underscore of a scope stands for any character.
    ScopePattern,
    /// All but role and text is lost.
    DropsFields,
    /// All numbers become fractions.
    Fractions,
    /// A message that is larger than the bound never comes.
    NeverTooLarge,
    /// One byte too many fits.
    OneByteMore,
    /// It never says that there are more.
    NeverMore,
    /// The newest are taken from the front.
    OldestForNewest,
    /// A range is counted from the first that is there.
    RelativeRange,
    /// The end of an empty selection is its beginning.
    EmptyAtBeginning,
    /// A batch of nothing is taken.
    TakesNothing,
    /// Ids of operations are its own, apart from those of notes.
    OwnIds,
    /// Receipts go after a few hundred newer ones.
    FewReceipts,
    /// Cleared conversations aren't listed.
    HidesCleared,
    /// Conversations are listed as a person would sort them.
    ListsByCase,
    /// A page begins with the one that it should come after.
    AfterIsFirst,
    /// The receipt of an addition is kept in a step of its own, after the messages.
    LateReceipt,
    /// Clearing clears all conversations of the scope.
    ClearsOthers,
    /// Another tenant's messages are read where scopes look alike.
    SeesOthers,
    /// The same, and they are said to be the caller's.
    LiesOfScope,
    /// Messages say no scope.
    MessagesOfNobody,
    /// Conversations that are listed say no scope.
    ListsOfNobody,
}

/// What each fault is found by.
const FAULTS: [(Fault, &str); 31] = [
    (
        Fault::ClearsLater,
        "clearing again clears nothing that came later",
    ),
    (Fault::ForgetsClearing, "replayed"),
    (Fault::ForgetsAddition, "adding again"),
    (Fault::IgnoresFingerprints, "other arguments"),
    (Fault::LeavesGap, "clearing leaves positions where they are"),
    (
        Fault::BeginsAgain,
        "clearing leaves positions where they are",
    ),
    (Fault::ClearingMakes, "clearing nothing makes nothing"),
    (Fault::TearsBatches, "no batch is seen in part"),
    (Fault::FoldsCase, "is a conversation of its own"),
    (Fault::Trims, "is a conversation of its own"),
    (Fault::ScopePattern, "is a conversation of its own"),
    (Fault::DropsFields, "a message comes back as it was"),
    (Fault::Fractions, "a message comes back as it was"),
    (Fault::NeverTooLarge, "bytes"),
    (Fault::OneByteMore, "bytes"),
    (Fault::NeverMore, "whether there are more"),
    (Fault::OldestForNewest, "Newest(0)"),
    (Fault::RelativeRange, "Range("),
    (Fault::EmptyAtBeginning, "Newest(0)"),
    (Fault::TakesNothing, "no batch of nothing"),
    (Fault::OwnIds, "an id is of one kind of operation"),
    (
        Fault::FewReceipts,
        "newer operations don't push out a receipt",
    ),
    (Fault::HidesCleared, "cleared conversations stay listed"),
    (Fault::ListsByCase, "by code point"),
    (Fault::AfterIsFirst, "after"),
    (
        Fault::LateReceipt,
        "an addition that was given up and repeated takes effect once",
    ),
    (Fault::ClearsOthers, "clears nothing of"),
    (Fault::SeesOthers, "messages say their scope"),
    (
        Fault::LiesOfScope,
        "messages of `main` in `john_doe/main` alone",
    ),
    (Fault::MessagesOfNobody, "messages say their scope"),
    (Fault::ListsOfNobody, "each conversation says its scope"),
];

#[tokio::test]
async fn transcripts_that_break_a_sentence_are_found() {
    assert_found(&FAULTS, async |fault| {
        conformance::exercise_transcripts(async || faulty(fault)).await;
    })
    .await;
}

fn faulty(fault: Fault) -> Faulty {
    let inner = Arc::new(InMemoryStore::default());
    let transcripts = FaultyTranscripts {
        inner: Arc::clone(&inner),
        fault,
        counts: Mutex::default(),
        late: Mutex::default(),
    };
    Faulty::with_transcripts(inner, transcripts)
}

struct FaultyTranscripts {
    inner: Arc<InMemoryStore>,
    fault: Fault,
    /// Changes of a scope or of a conversation so far.
    counts: Mutex<HashMap<String, usize>>,
    /// Receipts that are kept late.
    late: Mutex<HashMap<OperationId, MessagesAdded>>,
}

impl FaultyTranscripts {
    fn is(&self, fault: Fault) -> bool {
        self.fault == fault
    }

    fn count(&self, of: &str) -> usize {
        let counts = self.counts.lock().expect("no case panics with it");
        counts.get(of).copied().unwrap_or_default()
    }

    fn count_one(&self, of: String) {
        *self
            .counts
            .lock()
            .expect("no case panics with it")
            .entry(of)
            .or_default() += 1;
    }

    fn scope(&self, scope: &Scope) -> Scope {
        match self.fault {
            Fault::ScopePattern => Scope::parse(&scope.as_str().replace('_', "-")).expect("valid"),
            _ => scope.clone(),
        }
    }

    fn conversation(&self, scope: &Scope, id: &ConversationId) -> ConversationId {
        let text = id.as_str();
        let text = match self.fault {
            Fault::FoldsCase => text.to_lowercase(),
            Fault::Trims => text.trim().to_owned(),
            Fault::BeginsAgain => match self.count(&format!("{} {id}", scope.as_str())) {
                0 => text.to_owned(),
                clearings => format!("{text} {clearings}"),
            },
            _ => text.to_owned(),
        };
        ConversationId::parse(&text).expect("valid")
    }

    fn operation(&self, scope: &Scope, operation: Option<&Operation>) -> Option<Operation> {
        let mut operation = operation.cloned()?;
        let id = operation.id.as_str();
        let id = match self.fault {
            Fault::OwnIds => OperationId::from_parts(&["messages", id]),
            Fault::FewReceipts => match self.count(scope.as_str()) / 300 {
                0 => operation.id.clone(),
                later => OperationId::from_parts(&[id, &later.to_string()]),
            },
            _ => operation.id.clone(),
        };
        operation.id = id;
        if self.is(Fault::IgnoresFingerprints) {
            operation.fingerprint = notekeeper_domain::Fingerprint::new("f");
        }
        Some(operation)
    }

    fn message(&self, message: &StoredMessage) -> StoredMessage {
        let mut value = message.clone().into_value();
        match self.fault {
            Fault::DropsFields => {
                value = json!({"role": value["role"], "content": value["content"]});
            }
            Fault::Fractions => fractions(&mut value),
            _ => return message.clone(),
        }
        StoredMessage::new(value).expect("valid")
    }
}

fn fractions(value: &mut Value) {
    match value {
        Value::Number(number) => *value = json!(number.as_f64()),
        Value::Array(items) => items.iter_mut().for_each(fractions),
        Value::Object(fields) => fields.values_mut().for_each(fractions),
        _ => {}
    }
}

#[async_trait]
impl TranscriptStore for FaultyTranscripts {
    async fn add_messages(
        &self,
        scope: &Scope,
        conversation: &ConversationId,
        messages: &[StoredMessage],
        operation: Option<&Operation>,
    ) -> Result<MessagesAdded, MutationError> {
        let scope = &self.scope(scope);
        let conversation = &self.conversation(scope, conversation);
        let operation = self.operation(scope, operation);
        let operation = operation.as_ref();
        self.count_one(scope.as_str().to_owned());
        let messages: Vec<_> = messages
            .iter()
            .map(|message| self.message(message))
            .collect();
        let add = async |messages: &[StoredMessage], operation| {
            let added = self
                .inner
                .add_messages(scope, conversation, messages, operation);
            added.await
        };
        match self.fault {
            Fault::ForgetsAddition => add(&messages, None).await,
            Fault::TakesNothing if messages.is_empty() => Ok(MessagesAdded {
                first: 0,
                next: 0,
                replayed: false,
            }),
            Fault::TearsBatches if messages.len() == 3 => {
                let first = add(&messages[..1], operation).await?;
                if first.replayed {
                    return Ok(first);
                }
                tokio::task::yield_now().await;
                let rest = add(&messages[1..], None).await?;
                Ok(MessagesAdded {
                    next: rest.next,
                    ..first
                })
            }
            // Where calls are given up; in other cases it does as it should.
            Fault::LateReceipt if scope.as_str() == "g/t" => {
                let id = &operation.expect("there is one in this case").id;
                let known = self
                    .late
                    .lock()
                    .expect("no case panics with it")
                    .get(id)
                    .copied();
                if let Some(known) = known {
                    return Ok(known);
                }
                let added = add(&messages, None).await?;
                tokio::task::yield_now().await;
                self.late
                    .lock()
                    .expect("no case panics with it")
                    .insert(id.clone(), added);
                Ok(added)
            }
            _ => add(&messages, operation).await,
        }
    }

    async fn clear_messages(
        &self,
        scope: &Scope,
        conversation: &ConversationId,
        operation: Option<&Operation>,
    ) -> Result<MessagesCleared, MutationError> {
        let scope = &self.scope(scope);
        let inner_id = &self.conversation(scope, conversation);
        let operation = self.operation(scope, operation);
        let operation = operation.as_ref();
        self.count_one(scope.as_str().to_owned());
        let clear = async |id: &ConversationId, operation| {
            self.inner.clear_messages(scope, id, operation).await
        };
        let add = async || {
            let message = [StoredMessage::new(json!({"role": "gap"})).expect("valid")];
            self.inner
                .add_messages(scope, inner_id, &message, None)
                .await
        };
        match self.fault {
            Fault::ForgetsClearing => clear(inner_id, None).await,
            Fault::ClearsLater => {
                let cleared = clear(inner_id, operation).await?;
                if cleared.replayed {
                    clear(inner_id, None).await?;
                }
                Ok(cleared)
            }
            Fault::LeavesGap => {
                let cleared = clear(inner_id, operation).await?;
                if cleared.next > 0 && !cleared.replayed {
                    add().await?;
                    clear(inner_id, None).await?;
                }
                Ok(cleared)
            }
            Fault::BeginsAgain => {
                let cleared = clear(inner_id, operation).await?;
                self.count_one(format!("{} {conversation}", scope.as_str()));
                Ok(cleared)
            }
            Fault::ClearingMakes => {
                let cleared = clear(inner_id, operation).await?;
                if cleared.next == 0 {
                    add().await?;
                    clear(inner_id, None).await?;
                }
                Ok(cleared)
            }
            Fault::ClearsOthers => {
                let cleared = clear(inner_id, operation).await?;
                let listed = self.inner.conversations(scope, None, 100).await?;
                for listed in listed.conversations {
                    if !cleared.replayed && listed.id != *inner_id {
                        clear(&listed.id, None).await?;
                    }
                }
                Ok(cleared)
            }
            _ => clear(inner_id, operation).await,
        }
    }

    async fn messages(
        &self,
        scope: &Scope,
        conversation: &ConversationId,
        selection: MessageSelection,
        bytes_max: usize,
    ) -> Result<TranscriptPart, StoreError> {
        let scope = &self.scope(scope);
        let conversation = &self.conversation(scope, conversation);
        let messages = async |selection, bytes_max| {
            let part = self
                .inner
                .messages(scope, conversation, selection, bytes_max);
            part.await
        };
        let mut part = messages(selection, bytes_max).await?;
        match (self.fault, selection) {
            (Fault::NeverMore, _) => part.more = false,
            (Fault::OneByteMore, _) => {
                return messages(selection, bytes_max.saturating_add(1)).await;
            }
            (Fault::NeverTooLarge, _) => {
                let bytes: usize = part.messages.iter().map(|one| one.as_json().len()).sum();
                if bytes > bytes_max {
                    part.messages.clear();
                    part.scopes.clear();
                }
            }
            (Fault::OldestForNewest, MessageSelection::Newest(most)) => {
                let (first, next) = (part.bounds.first, part.bounds.next);
                let end = first.saturating_add(most).min(next);
                return messages(MessageSelection::Range(first, end), bytes_max).await;
            }
            (Fault::RelativeRange, MessageSelection::Range(from, to)) => {
                let first = part.bounds.first;
                let (from, to) = (from.saturating_add(first), to.saturating_add(first));
                return messages(MessageSelection::Range(from, to), bytes_max).await;
            }
            (Fault::SeesOthers | Fault::LiesOfScope, _) if scope.as_str() == "john_doe/main" => {
                let other = Scope::parse("john-doe/main").expect("valid");
                let others = self
                    .inner
                    .messages(&other, conversation, selection, bytes_max);
                part = others.await?;
                if self.is(Fault::LiesOfScope) && !part.messages.is_empty() {
                    part.scopes = [scope.as_str().to_owned()].into();
                }
            }
            (Fault::MessagesOfNobody, _) => part.scopes.clear(),
            (Fault::EmptyAtBeginning, _) if part.messages.is_empty() => {
                part.first = part.bounds.first;
            }
            _ => {}
        }
        Ok(part)
    }

    async fn conversations(
        &self,
        scope: &Scope,
        after: Option<&ConversationId>,
        conversations_max: usize,
    ) -> Result<Conversations, StoreError> {
        let scope = &self.scope(scope);
        let inner = &self.inner;
        let mut all = inner.conversations(scope, None, usize::MAX).await?;
        let mut rest = inner.conversations(scope, after, usize::MAX).await?;
        match (self.fault, after) {
            (Fault::ListsOfNobody, _) => {
                let listed = rest.conversations.iter_mut();
                listed.for_each(|listed| listed.scope.clear());
            }
            (Fault::HidesCleared, _) => {
                let is_there =
                    |bounds: notekeeper_store::TranscriptBounds| bounds.first < bounds.next;
                rest.conversations.retain(|listed| is_there(listed.bounds));
            }
            (Fault::ListsByCase, _) => {
                let by_case = |id: &ConversationId| id.as_str().to_lowercase();
                rest.conversations.sort_by_key(|listed| by_case(&listed.id));
            }
            (Fault::AfterIsFirst, Some(after)) => {
                all.conversations.retain(|listed| listed.id >= *after);
                rest = all;
            }
            _ => {}
        }
        rest.more = rest.conversations.len() > conversations_max;
        rest.conversations.truncate(conversations_max);
        Ok(rest)
    }
}
