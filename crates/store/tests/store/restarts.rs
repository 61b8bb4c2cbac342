//! A script of all operations on transcripts and facts comes out the same on every store, and where
//! the store is closed and opened anew between every two steps.

use notekeeper_domain::{ConversationId, Fact, FactKey, RecallQuery, Scope};
use notekeeper_store::{
    Expected, InMemoryStore, MessageSelection as Selection, Store, WriteRequest,
};

use crate::{
    database::{Database, name, operation, scope},
    database_file::DatabaseFile,
    messages::{conversation, message},
};

/// One step of the script.
#[derive(Debug, Clone)]
enum Step {
    Add(&'static str, &'static [&'static str], Option<&'static str>),
    Clear(&'static str, Option<&'static str>),
    Read(&'static str, Selection, usize),
    List(Option<&'static str>, usize),
    Remember(&'static str, &'static str, Option<&'static str>),
    Forget(&'static str, Option<&'static str>),
    Recall(&'static str, usize),
    Fact(&'static str),
    Facts(Option<&'static str>, usize),
    /// A write of a note, which shares the ids.
    Note(&'static str),
}
use Step::{Add, Clear, Fact as OneFact, Facts, Forget, List, Note, Read, Recall, Remember};

const ALL: usize = 1_000_000;

fn script() -> Vec<Step> {
    let mut steps = vec![
        Read("main", Selection::All, ALL),
        Clear("main", Some("clear nothing")),
        List(None, 10),
        Add("main", &["a"], Some("1")),
        Add("main", &["a"], Some("1")),
        Add("main", &["b", "c", "d"], None),
        Add("other", &["x"], Some("1")),
        Add("other", &["x", "y"], Some("2")),
        Note("2"),
        Clear("main", Some("1")),
        Remember("k", "v", Some("1")),
        Forget("k", Some("1")),
        Read("main", Selection::All, ALL),
        Read("main", Selection::All, 0),
        Read("main", Selection::All, 70),
        Read("main", Selection::Newest(2), ALL),
        Read("main", Selection::Newest(0), ALL),
        Read("main", Selection::Newest(u64::MAX), ALL),
        Read("main", Selection::Range(1, 3), ALL),
        Read("main", Selection::Range(3, 1), ALL),
        Read("main", Selection::Range(2, u64::MAX), 1),
        Read("main", Selection::Range(u64::MAX, u64::MAX), ALL),
        Clear("main", Some("3")),
        Add("main", &["e", "f"], Some("4")),
        Clear("main", Some("3")),
        Read("main", Selection::All, ALL),
        Read("main", Selection::Range(0, 5), ALL),
        Read("main", Selection::Range(0, 2), ALL),
        List(None, 10),
        List(None, 1),
        List(Some("main"), 10),
        List(None, 0),
        Clear("main", None),
        Clear("main", None),
        Clear("absent", None),
        Read("main", Selection::All, ALL),
        Add("main", &["g"], None),
        Read("main", Selection::Newest(5), ALL),
    ];
    steps.extend([
        OneFact("k"),
        Forget("k", None),
        Forget("k", Some("5")),
        Remember("k", "first value", Some("6")),
        Remember("k", "second value", Some("7")),
        Remember("k", "first value", Some("6")),
        Forget("k", Some("5")),
        OneFact("k"),
        Remember("a", "", None),
        Remember("ä", "Straße", None),
        Remember("a", "again", None),
        Recall("", 2),
        Recall("", 10),
        Recall("value", 10),
        Recall("sec", 10),
        Recall("trass", 10),
        Recall("nowhere", 10),
        Facts(None, 2),
        Facts(Some("a"), 10),
        Facts(None, 0),
        Forget("k", Some("8")),
        Forget("k", Some("8")),
        Remember("k", "third value", None),
        Forget("k", Some("8")),
        OneFact("k"),
        Recall("value", 10),
        Clear("main", None),
        Facts(None, 10),
        Note("9"),
        Remember("k", "other", Some("9")),
    ]);
    steps
}

/// What a step comes to, in words, without times and numbers of facts.
async fn outcome(store: &dyn Store, scope: &Scope, step: &Step) -> String {
    let transcripts = store.transcripts().expect("it keeps transcripts");
    let facts = store.facts().expect("it keeps facts");
    let made = |id: &Option<&str>, what: String| id.map(|id| operation(id, &what));
    match step {
        Add(id, texts, by) => {
            let messages: Vec<_> = texts.iter().map(|text| message(text)).collect();
            let by = made(by, format!("add {id} {texts:?}"));
            let id = conversation(id);
            let added = transcripts.add_messages(scope, &id, &messages, by.as_ref());
            format!("{:?}", added.await)
        }
        Clear(id, by) => {
            let by = made(by, format!("clear {id}"));
            let id = conversation(id);
            let cleared = transcripts.clear_messages(scope, &id, by.as_ref());
            format!("{:?}", cleared.await)
        }
        Read(id, selection, bytes_max) => {
            let id = conversation(id);
            let part = transcripts.messages(scope, &id, *selection, *bytes_max);
            format!("{:?}", part.await)
        }
        List(after, max) => {
            let after: Option<ConversationId> = after.map(conversation);
            let listed = transcripts.conversations(scope, after.as_ref(), *max).await;
            let mut listed = listed.expect("list");
            for conversation in &mut listed.conversations {
                conversation.updated_at = None;
            }
            format!("{listed:?}")
        }
        Remember(key, value, by) => {
            let fact = Fact::new(key, *value).expect("a fact");
            let by = made(by, format!("remember {key} {value}"));
            format!("{:?}", facts.remember(scope, &fact, by.as_ref()).await)
        }
        Forget(key, by) => {
            let by = made(by, format!("forget {key}"));
            let key = FactKey::parse(key).expect("a key");
            format!("{:?}", facts.forget(scope, &key, by.as_ref()).await)
        }
        Recall(query, limit) => {
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
        OneFact(key) => {
            let fact = facts
                .fact(scope, &FactKey::parse(key).expect("a key"))
                .await;
            let mut fact = fact.expect("read");
            if let Some(fact) = &mut fact {
                (fact.order, fact.age_seconds) = (0, 0);
            }
            format!("{fact:?}")
        }
        Facts(after, max) => {
            let after = after.map(|key| FactKey::parse(key).expect("a key"));
            let mut listed = facts
                .facts(scope, after.as_ref(), *max)
                .await
                .expect("list");
            for fact in &mut listed.facts {
                (fact.order, fact.age_seconds) = (0, 0);
            }
            format!("{listed:?}")
        }
        Note(id) => {
            let by = operation(id, "note");
            let request = WriteRequest::new("x", &Expected::Any);
            let name = name("a.md");
            let made = store.write(scope, &name, &request, Some(&by));
            format!(
                "{:?}",
                made.await.map(|receipt| (receipt.status, receipt.replayed))
            )
        }
    }
}

/// What each step of the script comes to in the specification.
async fn right() -> Vec<String> {
    let (store, scope) = (InMemoryStore::default(), scope("script/main"));
    let mut outcomes = Vec::new();
    for step in script() {
        outcomes.push(outcome(&store, &scope, &step).await);
    }
    outcomes
}

/// Runs the script; `restart` gives the store for the next step.
async fn assert_right<S: Store>(mut restart: impl AsyncFnMut() -> S) {
    let scope = scope("script/main");
    for (number, (step, right)) in script().iter().zip(right().await).enumerate() {
        let store = restart().await;
        let found = outcome(&store, &scope, step).await;
        assert_eq!(found, right, "step {number}, {step:?}");
    }
}

#[tokio::test]
async fn the_script_comes_out_the_same_on_every_database() {
    let (database, file) = (Database::migrated().await, DatabaseFile::new());
    let (postgres, sqlite) = (database.store(), file.store().await);
    assert_right(async || postgres.clone()).await;
    assert_right(async || sqlite.clone()).await;
}

#[tokio::test]
async fn a_restart_between_every_two_steps_changes_nothing_in_postgres() {
    let database = Database::migrated().await;
    let mut running = database.store();
    assert_right(async || {
        running.close().await;
        running = database.store();
        running.check().await.expect("it can be used");
        running.clone()
    })
    .await;
}

#[tokio::test]
async fn a_restart_between_every_two_steps_changes_nothing_in_sqlite() {
    let file = DatabaseFile::new();
    let mut running = file.store().await;
    assert_right(async || {
        running.close().await;
        running = file.store().await;
        running.clone()
    })
    .await;
}
