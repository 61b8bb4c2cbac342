//! Steps on transcripts and facts, and what they come to in words that are the same on every store.

use notekeeper_domain::{ConversationId, Fact, FactKey, Operation, RecallQuery, Scope};
use notekeeper_store::{
    Expected, InMemoryStore, MessageSelection as Selection, Store, WriteRequest,
};

use crate::{
    database::{name, operation},
    messages::{conversation, message},
};

/// One operation. The last text of a change is its operation's id.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    Add(String, Vec<String>, Option<String>),
    Clear(String, Option<String>),
    Read(String, Selection, usize),
    List(Option<String>, usize),
    Remember(String, String, Option<String>),
    Forget(String, Option<String>),
    Recall(String, usize),
    Fact(String),
    Facts(Option<String>, usize),
    /// A write of a note, which shares the ids.
    Note(String),
}

/// What steps come to in the specification.
pub(crate) async fn right(scope: &Scope, steps: &[Step]) -> Vec<String> {
    let store = InMemoryStore::default();
    let mut outcomes = Vec::new();
    for step in steps {
        outcomes.push(outcome(&store, scope, step).await);
    }
    outcomes
}

/// What a step comes to, in words, without times and numbers of facts.
pub(crate) async fn outcome(store: &dyn Store, scope: &Scope, step: &Step) -> String {
    match step {
        Step::Note(id) => {
            let by = operation(id, "note");
            let request = WriteRequest::new("x", &Expected::Any);
            let name = name("a.md");
            let made = store.write(scope, &name, &request, Some(&by));
            format!(
                "{:?}",
                made.await.map(|receipt| (receipt.status, receipt.replayed))
            )
        }
        step => match of_transcript(store, scope, step).await {
            Some(outcome) => outcome,
            None => of_facts(store, scope, step).await.expect("a step of facts"),
        },
    }
}

fn made(id: Option<&String>, what: &str) -> Option<Operation> {
    id.map(|id| operation(id, what))
}

/// `None` where the step is none of transcripts.
async fn of_transcript(store: &dyn Store, scope: &Scope, step: &Step) -> Option<String> {
    let transcripts = store.transcripts().expect("it keeps transcripts");
    Some(match step {
        Step::Add(id, texts, by) => {
            let messages: Vec<_> = texts.iter().map(|text| message(text)).collect();
            let by = made(by.as_ref(), &format!("add {id} {texts:?}"));
            let id = conversation(id);
            let added = transcripts.add_messages(scope, &id, &messages, by.as_ref());
            format!("{:?}", added.await)
        }
        Step::Clear(id, by) => {
            let by = made(by.as_ref(), &format!("clear {id}"));
            let id = conversation(id);
            let cleared = transcripts.clear_messages(scope, &id, by.as_ref());
            format!("{:?}", cleared.await)
        }
        Step::Read(id, selection, bytes_max) => {
            let id = conversation(id);
            let part = transcripts.messages(scope, &id, *selection, *bytes_max);
            format!("{:?}", part.await)
        }
        Step::List(after, max) => {
            let after: Option<ConversationId> = after.as_deref().map(conversation);
            let listed = transcripts.conversations(scope, after.as_ref(), *max).await;
            let mut listed = listed.expect("list");
            for conversation in &mut listed.conversations {
                conversation.updated_at = None;
            }
            format!("{listed:?}")
        }
        _ => return None,
    })
}

/// `None` where the step is none of facts.
async fn of_facts(store: &dyn Store, scope: &Scope, step: &Step) -> Option<String> {
    let facts = store.facts().expect("it keeps facts");
    Some(match step {
        Step::Remember(key, value, by) => {
            let fact = Fact::new(key, value.as_str()).expect("a fact");
            let by = made(by.as_ref(), &format!("remember {key} {value}"));
            format!("{:?}", facts.remember(scope, &fact, by.as_ref()).await)
        }
        Step::Forget(key, by) => {
            let by = made(by.as_ref(), &format!("forget {key}"));
            let key = FactKey::parse(key).expect("a key");
            format!("{:?}", facts.forget(scope, &key, by.as_ref()).await)
        }
        Step::Recall(query, limit) => {
            let query = RecallQuery::parse(query);
            let mut found = facts.recall(scope, &query, *limit).await.expect("recall");
            if query.is_empty() {
                assert!(found.is_sorted_by(|a, b| a.order > b.order), "{found:?}");
            }
            for fact in &mut found {
                (fact.order, fact.age_seconds) = (0, 0);
            }
            format!("{found:?}")
        }
        Step::Fact(key) => {
            let fact = facts
                .fact(scope, &FactKey::parse(key).expect("a key"))
                .await;
            let mut fact = fact.expect("read");
            if let Some(fact) = &mut fact {
                (fact.order, fact.age_seconds) = (0, 0);
            }
            format!("{fact:?}")
        }
        Step::Facts(after, max) => {
            let after = after
                .as_ref()
                .map(|key| FactKey::parse(key).expect("a key"));
            let mut listed = facts
                .facts(scope, after.as_ref(), *max)
                .await
                .expect("list");
            for fact in &mut listed.facts {
                (fact.order, fact.age_seconds) = (0, 0);
            }
            format!("{listed:?}")
        }
        _ => return None,
    })
}
