//! Steps on transcripts and facts, and what they come to in words that are the same on every store.

use notekeeper_domain::{ConversationId, Fact, FactKey, Operation, RecallQuery, Scope};
use notekeeper_store::{
    Expected, InMemoryStore, MessageSelection as Selection, Store, WriteRequest,
};

use crate::{
    database::{name, operation},
    messages::{conversation, message},
    vectors::{chunk, collection, nearest},
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
    /// Chunks with these ids, and with what a letter of each says for an embedding.
    Keep(Vec<String>, Option<String>),
    Remove(Vec<String>),
    Nearest([f32; 2], usize),
    Marks,
    Changes(usize),
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
        Step::Changes(limit) => {
            let journal = store.journal().expect("it has one");
            let told = journal.newest_changes(scope, *limit).await.expect("told");
            let changes = told.changes.iter();
            let changes = changes.map(|entry| (&entry.operation_id, &entry.kind));
            format!("{:?} {}", changes.collect::<Vec<_>>(), told.more)
        }
        step => {
            if let Some(outcome) = of_transcript(store, scope, step).await {
                return outcome;
            }
            match of_vectors(store, scope, step).await {
                Some(outcome) => outcome,
                None => of_facts(store, scope, step).await.expect("a step of facts"),
            }
        }
    }
}

/// `None` where the step is none of vectors.
async fn of_vectors(store: &dyn Store, scope: &Scope, step: &Step) -> Option<String> {
    let vectors = store.vectors().expect("it keeps vectors");
    let main = collection("main");
    Some(match step {
        Step::Keep(ids, by) => {
            let by = made(by.as_ref(), &format!("keep {ids:?}"));
            let chunks: Vec<_> = ids.iter().map(|id| chunk(id, &direction(id))).collect();
            let kept = vectors.keep_chunks(scope, &main, &chunks, by.as_ref());
            format!("{:?}", kept.await)
        }
        Step::Remove(ids) => format!("{:?}", vectors.remove_chunks(scope, &main, ids).await),
        Step::Nearest(embedding, limit) => {
            let found = nearest(vectors, scope, embedding, *limit).await;
            let found = found.expect("found").into_iter();
            // The last digits are each database's own.
            let found = found.map(|found| (found.id, found.content, found.similarity.round()));
            format!("{:?}", found.collect::<Vec<_>>())
        }
        Step::Marks => format!("{:?}", vectors.chunk_marks(scope, &main).await),
        _ => return None,
    })
}

/// One of twenty directions, by the length of an id and its last letter; no two of them are as near to
/// an axis.
fn direction(id: &str) -> [f32; 2] {
    let last = id.chars().last().map_or(0, u32::from);
    let angle = f64::from(last % 20) * 0.17 + 0.011 * id.len() as f64;
    [angle.cos() as f32, angle.sin() as f32]
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
