//! A script of all operations on transcripts and facts comes out the same on every store, and where
//! the store is closed and opened anew between every two steps.

use notekeeper_store::{MessageSelection as Selection, Store};

use crate::{
    database::{Database, scope},
    database_file::DatabaseFile,
    script::{Step, outcome, right},
};

const ALL: usize = 1_000_000;

fn script() -> Vec<Step> {
    let mut steps = transcript_steps();
    steps.extend(fact_steps());
    steps.extend(vector_steps());
    steps
}

fn transcript_steps() -> Vec<Step> {
    vec![
        read("main", Selection::All, ALL),
        clear("main", Some("clear nothing")),
        list(None, 10),
        add("main", &["a"], Some("1")),
        add("main", &["a"], Some("1")),
        add("main", &["b", "c", "d"], None),
        add("other", &["x"], Some("1")),
        add("other", &["x", "y"], Some("2")),
        note("2"),
        clear("main", Some("1")),
        remember("k", "v", Some("1")),
        forget("k", Some("1")),
        read("main", Selection::All, ALL),
        read("main", Selection::All, 0),
        read("main", Selection::All, 70),
        read("main", Selection::Newest(2), ALL),
        read("main", Selection::Newest(0), ALL),
        read("main", Selection::Newest(u64::MAX), ALL),
        read("main", Selection::Range(1, 3), ALL),
        read("main", Selection::Range(3, 1), ALL),
        read("main", Selection::Range(2, u64::MAX), 1),
        read("main", Selection::Range(u64::MAX, u64::MAX), ALL),
        clear("main", Some("3")),
        add("main", &["e", "f"], Some("4")),
        clear("main", Some("3")),
        read("main", Selection::All, ALL),
        read("main", Selection::Range(0, 5), ALL),
        read("main", Selection::Range(0, 2), ALL),
        list(None, 10),
        list(None, 1),
        list(Some("main"), 10),
        list(None, 0),
        clear("main", None),
        clear("main", None),
        clear("absent", None),
        read("main", Selection::All, ALL),
        add("main", &["g"], None),
        read("main", Selection::Newest(5), ALL),
    ]
}

/// Whatever else is there by then.
fn vector_steps() -> Vec<Step> {
    let keep = |ids: &[&str], by: Option<&str>| Step::Keep(texts(ids), owned(by));
    let remove = |ids: &[&str]| Step::Remove(texts(ids));
    let nearest = |limit| Step::Nearest([1.0, 0.1], limit);
    vec![
        nearest(10),
        Step::Marks,
        remove(&["a"]),
        keep(&["a", "b", "c"], Some("k1")),
        keep(&["a", "b", "c"], Some("k1")),
        keep(&["d"], Some("k1")),
        keep(&["d"], Some("2")),
        nearest(2),
        nearest(10),
        keep(&["d", "a", "d"], None),
        remove(&["b", "absent"]),
        keep(&["a", "b", "c"], Some("k1")),
        nearest(10),
        Step::Marks,
        note("k1"),
        note("k2"),
        keep(&["e"], Some("k2")),
        keep(&[], Some("k3")),
        keep(&["e"], Some("k3")),
        nearest(0),
        Step::Changes(10),
        Step::Changes(1),
        note("k4"),
        Step::Changes(10),
    ]
}

/// Whatever the transcripts hold by then.
fn fact_steps() -> Vec<Step> {
    vec![
        fact("k"),
        forget("k", None),
        forget("k", Some("5")),
        remember("k", "first value", Some("6")),
        remember("k", "second value", Some("7")),
        remember("k", "first value", Some("6")),
        forget("k", Some("5")),
        fact("k"),
        remember("a", "", None),
        remember("ä", "Straße", None),
        remember("a", "again", None),
        recall("", 2),
        recall("", 10),
        recall("value", 10),
        recall("sec", 10),
        recall("trass", 10),
        recall("nowhere", 10),
        facts(None, 2),
        facts(Some("a"), 10),
        facts(None, 0),
        forget("k", Some("8")),
        forget("k", Some("8")),
        remember("k", "third value", None),
        forget("k", Some("8")),
        fact("k"),
        recall("value", 10),
        clear("main", None),
        facts(None, 10),
        note("9"),
        remember("k", "other", Some("9")),
    ]
}

fn owned(text: Option<&str>) -> Option<String> {
    text.map(str::to_owned)
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}

fn add(id: &str, said: &[&str], by: Option<&str>) -> Step {
    Step::Add(id.to_owned(), texts(said), owned(by))
}

fn clear(id: &str, by: Option<&str>) -> Step {
    Step::Clear(id.to_owned(), owned(by))
}

fn read(id: &str, selection: Selection, bytes_max: usize) -> Step {
    Step::Read(id.to_owned(), selection, bytes_max)
}

fn list(after: Option<&str>, max: usize) -> Step {
    Step::List(owned(after), max)
}

fn remember(key: &str, value: &str, by: Option<&str>) -> Step {
    Step::Remember(key.to_owned(), value.to_owned(), owned(by))
}

fn forget(key: &str, by: Option<&str>) -> Step {
    Step::Forget(key.to_owned(), owned(by))
}

fn recall(query: &str, limit: usize) -> Step {
    Step::Recall(query.to_owned(), limit)
}

fn fact(key: &str) -> Step {
    Step::Fact(key.to_owned())
}

fn facts(after: Option<&str>, max: usize) -> Step {
    Step::Facts(owned(after), max)
}

fn note(by: &str) -> Step {
    Step::Note(by.to_owned())
}

/// Runs the script; `restart` gives the store for the next step.
async fn assert_right<S: Store>(mut restart: impl AsyncFnMut() -> S) {
    let scope = scope("script/main");
    let script = script();
    let right = right(&scope, &script).await;
    for (number, (step, right)) in script.iter().zip(right).enumerate() {
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
