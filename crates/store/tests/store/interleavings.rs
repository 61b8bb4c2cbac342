//! Changes of one conversation or fact that meet at a chosen moment.

use notekeeper_domain::{Fact, FactKey, Operation, Scope};
use notekeeper_store::{
    FactForgotten, FactKept, FactStore, MessageSelection, MessagesAdded, MessagesCleared,
    MutationError, PostgresStore, TranscriptBounds, TranscriptStore,
};
use sqlx::{Connection as _, Executor as _, PgConnection};

use crate::{
    database::{Database, operation, scope},
    faults::{ONE_WAITS_FOR_A_LOCK, until, within_patience},
    messages::{conversation, message, said},
    proxy::Proxy,
};

const ADD_MESSAGES: &str = include_str!("../../src/postgres/sql/add_messages.sql");

pub(crate) async fn remember(
    store: &impl FactStore,
    scope: &Scope,
    (key, value): (&str, &str),
    operation: Option<&Operation>,
) -> Result<FactKept, MutationError> {
    let fact = Fact::new(key, value).expect("a fact");
    store.remember(scope, &fact, operation).await
}

pub(crate) async fn forget(
    store: &impl FactStore,
    scope: &Scope,
    key: &str,
    operation: Option<&Operation>,
) -> Result<FactForgotten, MutationError> {
    let key = FactKey::parse(key).expect("a key");
    store.forget(scope, &key, operation).await
}

pub(crate) async fn value(store: &impl FactStore, scope: &Scope, key: &str) -> Option<String> {
    let key = FactKey::parse(key).expect("a key");
    let found = store.fact(scope, &key).await.expect("read");
    found.map(|found| found.fact.value().to_owned())
}

/// Every term of a fact stands in the index, and no other.
pub(crate) async fn assert_terms_belong(connection: &mut PgConnection) {
    let astray: i64 = sqlx::query_scalar(
        "select count(*) from (select scope, key, unnest(terms) as term from facts) as kept \
         full join fact_terms as indexed using (scope, key, term) \
         where kept.term is null or indexed.term is null",
    )
    .fetch_one(connection)
    .await
    .expect("count");
    assert_eq!(astray, 0);
}

async fn bounds_and_texts(
    store: &impl TranscriptStore,
    scope: &Scope,
) -> (TranscriptBounds, Vec<String>) {
    let id = conversation("main");
    let part = store.messages(scope, &id, MessageSelection::All, 1_000_000);
    let part = part.await.expect("read");
    let texts = part.messages.iter().map(|message| said(message).to_owned());
    (part.bounds, texts.collect())
}

/// Adds a message in a transaction that stays open.
async fn add_and_wait(connection: &mut PgConnection, scope: &Scope, text: &str) {
    connection.execute("begin").await.expect("begin");
    sqlx::query(ADD_MESSAGES)
        .bind(scope.as_str())
        .bind(None::<&str>)
        .bind("main")
        .bind(None::<&str>)
        .bind([message(text).as_json()])
        .fetch_one(connection)
        .await
        .expect("add");
}

struct Met {
    database: Database,
    store: PostgresStore,
    other: PgConnection,
    behind: PgConnection,
    scope: Scope,
}

impl Met {
    async fn start() -> Self {
        let database = Database::migrated().await;
        Self {
            store: database.store(),
            other: database.connection().await,
            behind: database.connection().await,
            scope: scope("t/main"),
            database,
        }
    }

    /// Commits the other transaction when one of the store waits for it.
    async fn commit_when_waited_for(&mut self) {
        let schema = &self.database.options.schema;
        until(&mut self.behind, ONE_WAITS_FOR_A_LOCK, schema).await;
        self.other.execute("commit").await.expect("commit");
    }
}

#[tokio::test]
async fn clearing_that_waits_for_an_addition_leaves_what_it_adds() {
    let mut met = Met::start().await;
    let (id, scope, store) = (conversation("main"), met.scope.clone(), met.store.clone());
    let messages = [message("old"), message("older")];
    let added = store.add_messages(&scope, &id, &messages, None);
    added.await.expect("add");
    add_and_wait(&mut met.other, &scope, "new").await;
    let clear = operation("clear", "f");
    let (cleared, ()) = within_patience(async {
        tokio::join!(
            store.clear_messages(&scope, &id, Some(&clear)),
            met.commit_when_waited_for()
        )
    })
    .await;
    let cleared = cleared.expect("clear");
    let right = MessagesCleared {
        first: 0,
        next: 2,
        replayed: false,
    };
    assert_eq!(cleared, right);
    let bounds = TranscriptBounds { first: 2, next: 3 };
    let after = bounds_and_texts(&store, &scope).await;
    assert_eq!(after, (bounds, vec!["new".to_owned()]));
    let rows: i64 = sqlx::query_scalar("select count(*) from messages")
        .fetch_one(&mut met.behind)
        .await
        .expect("count");
    assert_eq!(rows, 1, "nothing that was cleared is left behind");
    let again = store.clear_messages(&scope, &id, Some(&clear)).await;
    let replayed = MessagesCleared {
        replayed: true,
        ..right
    };
    assert_eq!(again.expect("clear"), replayed);
    assert_eq!(bounds_and_texts(&store, &scope).await, after);
}

#[tokio::test]
async fn clearing_that_waits_for_one_that_went_further_leaves_it_there() {
    let mut met = Met::start().await;
    let (id, scope, store) = (conversation("main"), met.scope.clone(), met.store.clone());
    let messages = [message("old")];
    let added = store.add_messages(&scope, &id, &messages, None);
    added.await.expect("add");
    add_and_wait(&mut met.other, &scope, "new").await;
    for clear in [
        "update conversations set first = next",
        "delete from messages",
    ] {
        met.other.execute(clear).await.expect("clear");
    }
    let (cleared, ()) = within_patience(async {
        tokio::join!(
            store.clear_messages(&scope, &id, None),
            met.commit_when_waited_for()
        )
    })
    .await;
    let cleared = cleared.expect("clear");
    assert_eq!((cleared.first, cleared.next), (2, 2));
    let bounds = TranscriptBounds { first: 2, next: 2 };
    assert_eq!(bounds_and_texts(&store, &scope).await, (bounds, vec![]));
}

#[tokio::test]
async fn an_addition_that_waits_for_another_goes_on_behind_it() {
    let mut met = Met::start().await;
    let (id, scope, store) = (conversation("main"), met.scope.clone(), met.store.clone());
    add_and_wait(&mut met.other, &scope, "first").await;
    let add = operation("add", "f");
    let messages = [message("second"), message("third")];
    let (added, ()) = within_patience(async {
        tokio::join!(
            store.add_messages(&scope, &id, &messages, Some(&add)),
            met.commit_when_waited_for()
        )
    })
    .await;
    let right = MessagesAdded {
        first: 1,
        next: 3,
        replayed: false,
    };
    assert_eq!(added.expect("add"), right);
    let texts = ["first", "second", "third"].map(str::to_owned).to_vec();
    assert_eq!(bounds_and_texts(&store, &scope).await.1, texts);
}

#[tokio::test]
async fn an_addition_behind_one_that_is_undone_leaves_no_gap() {
    let mut met = Met::start().await;
    let (id, scope, store) = (conversation("main"), met.scope.clone(), met.store.clone());
    add_and_wait(&mut met.other, &scope, "undone").await;
    let messages = [message("first")];
    let (added, ()) = within_patience(async {
        tokio::join!(store.add_messages(&scope, &id, &messages, None), async {
            let schema = &met.database.options.schema;
            until(&mut met.behind, ONE_WAITS_FOR_A_LOCK, schema).await;
            met.other.execute("rollback").await.expect("rollback");
        })
    })
    .await;
    let added = added.expect("add");
    assert_eq!((added.first, added.next), (0, 1));
}

/// Both are in flight at once: the second write comes first.
#[tokio::test]
async fn a_fact_that_changes_between_look_up_and_write_is_changed_from_what_it_is_then() {
    let database = Database::migrated().await;
    let (proxy, direct) = (Proxy::start().await, database.store());
    let store = proxy.store(&database, 1);
    let mut behind = database.connection().await;
    let scope = scope("t/main");
    // A first use of each statement parses it, which is a statement of its own to the proxy.
    for warm in [true, false] {
        let id = |what: &str| operation(&format!("{what} {warm}"), "f");
        remember(&direct, &scope, ("there", "one two"), None)
            .await
            .expect("remember");

        let before = proxy.statements();
        let slow = id("slow");
        let slow = remember(&store, &scope, ("there", "three four"), Some(&slow));
        let fast = remember(&direct, &scope, ("there", "five six"), None);
        let (kept, fast) = proxy.overtake(2, slow, fast).await;
        assert!(kept.expect("remember").existed && fast.expect("remember").existed);
        if !warm {
            assert_eq!(proxy.statements() - before, 2 + 5, "round trips");
        }
        assert_eq!(
            value(&direct, &scope, "there").await.as_deref(),
            Some("three four")
        );
        assert_terms_belong(&mut behind).await;

        let slow = id("forget");
        let slow = forget(&store, &scope, "there", Some(&slow));
        let fast = remember(&direct, &scope, ("there", "seven"), None);
        let (forgotten, _) = proxy.overtake(2, slow, fast).await;
        assert!(forgotten.expect("forget").existed);
        assert_eq!(value(&direct, &scope, "there").await, None);
        assert_terms_belong(&mut behind).await;

        let slow = id("absent");
        let slow = remember(&store, &scope, ("absent", "slow"), Some(&slow));
        let fast = remember(&direct, &scope, ("absent", "fast"), None);
        let (kept, _) = proxy.overtake(2, slow, fast).await;
        assert!(kept.expect("remember").existed, "it is there by then");
        assert_terms_belong(&mut behind).await;

        let slow = id("gone");
        let slow = remember(&store, &scope, ("absent", "anew"), Some(&slow));
        let fast = forget(&direct, &scope, "absent", None);
        let (kept, fast) = proxy.overtake(2, slow, fast).await;
        assert!(!kept.expect("remember").existed && fast.expect("forget").existed);
        assert_terms_belong(&mut behind).await;

        let slow = id("both");
        let slow = forget(&store, &scope, "absent", Some(&slow));
        let fast = forget(&direct, &scope, "absent", None);
        let (slow, fast) = proxy.overtake(2, slow, fast).await;
        assert!(!slow.expect("forget").existed && fast.expect("forget").existed);
        let facts: i64 = sqlx::query_scalar("select count(*) from facts where key = 'absent'")
            .fetch_one(&mut behind)
            .await
            .expect("count");
        assert_eq!(facts, 0, "no placeholder is left behind");
        assert_terms_belong(&mut behind).await;
    }
}

#[tokio::test]
async fn an_operation_that_runs_elsewhere_meanwhile_is_answered_as_it_was_there() {
    let database = Database::migrated().await;
    let (proxy, direct) = (Proxy::start().await, database.store());
    let store = proxy.store(&database, 1);
    let mut behind = database.connection().await;
    let (scope, id) = (scope("t/main"), conversation("main"));
    let messages = [message("once")];
    for round in 0..2 {
        let same = operation(&format!("add {round}"), "f");
        let before = proxy.statements();
        let slow = store.add_messages(&scope, &id, &messages, Some(&same));
        let fast = direct.add_messages(&scope, &id, &messages, Some(&same));
        let (slow, fast) = proxy.overtake(2, slow, fast).await;
        let (slow, fast) = (slow.expect("add"), fast.expect("add"));
        assert!(slow.replayed && !fast.replayed);
        assert_eq!((slow.first, slow.next), (fast.first, fast.next));
        if round > 0 {
            assert_eq!(proxy.statements() - before, 3, "round trips");
        }

        let same = operation(&format!("clear {round}"), "f");
        let slow = store.clear_messages(&scope, &id, Some(&same));
        let fast = direct.clear_messages(&scope, &id, Some(&same));
        let (slow, fast) = proxy.overtake(2, slow, fast).await;
        let (slow, fast) = (slow.expect("clear"), fast.expect("clear"));
        assert!(slow.replayed && !fast.replayed);
        assert_eq!((slow.first, slow.next), (fast.first, fast.next));

        // Once the fact is absent, once it is there: its other call made it, or changed it.
        let same = operation(&format!("remember {round}"), "f");
        let slow = remember(&store, &scope, ("k", "once"), Some(&same));
        let fast = remember(&direct, &scope, ("k", "once"), Some(&same));
        let (slow, fast) = proxy.overtake(2, slow, fast).await;
        let (slow, fast) = (slow.expect("remember"), fast.expect("remember"));
        assert!(slow.replayed && !fast.replayed);
        assert_eq!((slow.existed, fast.existed), (round > 0, round > 0));

        for key in ["k", "absent"] {
            let same = operation(&format!("forget {key} {round}"), "f");
            let slow = forget(&store, &scope, key, Some(&same));
            let fast = forget(&direct, &scope, key, Some(&same));
            let (slow, fast) = proxy.overtake(2, slow, fast).await;
            let (slow, fast) = (slow.expect("forget"), fast.expect("forget"));
            assert!(slow.replayed && !fast.replayed);
            assert_eq!((slow.existed, fast.existed), (key == "k", key == "k"));
        }
        remember(&direct, &scope, ("k", "again"), None)
            .await
            .expect("remember");
        assert_terms_belong(&mut behind).await;
    }
    behind.close().await.expect("close");
}
