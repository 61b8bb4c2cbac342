//! What goes wrong around a store, and what callers see of it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use futures::future::join_all;
use notekeeper_domain::{Edit, RecallQuery, Scope, SearchLimits, SearchQuery};
use notekeeper_store::{
    EditRequest, Expected, FactStore, JournalStore, MessageSelection, MutationError, NoteStore,
    NotebookBounds, PostgresOptions, PostgresStore, SnapshotStore, StoreError, TextBounds,
    TranscriptStore, VectorStore, WriteRequest,
};
use sqlx::{
    AssertSqlSafe, Connection, Executor, PgConnection,
    postgres::{PgConnectOptions, PgPoolOptions},
};

use crate::{
    database::{Database, PATIENCE, append, database_url, name, operation, scope, text},
    interleavings::{forget, remember},
    messages::{conversation, message},
    proxy::Proxy,
    vectors::{chunk, collection, nearest},
};

const LIMITS: SearchLimits = SearchLimits {
    results_max: 10,
    result_chars_max: 1_000,
    files_max: 100,
    note_chars_max: 1_000,
};

/// One operation of every kind, chosen by number. Mutations have an operation each.
pub(crate) async fn any_operation(
    store: &PostgresStore,
    scope: &Scope,
    n: usize,
) -> Result<(), StoreError> {
    let own = operation(&format!("own {n}"), "f");
    let of_mutation = |error| match error {
        MutationError::Store(error) => error,
        error => panic!("{error}"),
    };
    let (id, key) = (conversation("main"), format!("key {}", n % 32));
    match n % KINDS {
        0 | 1 => append(store, scope, "a.md", &format!("line {n}"), &own)
            .await
            .map(drop)
            .map_err(of_mutation),
        2 => {
            let file = name(&format!("{n}.md"));
            store
                .delete(scope, &file, &Expected::Any, Some(&own))
                .await
                .map(drop)
                .map_err(of_mutation)
        }
        3 => store.read(scope, &name("a.md"), 10).await.map(drop),
        4 => store.names(scope, 10).await.map(drop),
        5 => {
            let bounds = NotebookBounds {
                main_chars_max: 100,
                names_max: 10,
            };
            store.notebook(scope, bounds).await.map(drop)
        }
        6 => {
            let query = SearchQuery::parse("line").expect("valid");
            store.search(scope, &query, &LIMITS).await.map(drop)
        }
        7 => {
            let digest = n.to_string();
            store.keep_snapshot(scope, &digest, "x").await?;
            store.snapshot(scope, &digest).await.map(drop)
        }
        8 => {
            let messages = [message(&n.to_string()), message("again")];
            let added = store.add_messages(scope, &id, &messages, Some(&own)).await;
            added.map(drop).map_err(of_mutation)
        }
        9 => {
            let cleared = store.clear_messages(scope, &id, Some(&own)).await;
            cleared.map(drop).map_err(of_mutation)
        }
        10 => {
            let part = store.messages(scope, &id, MessageSelection::All, 1_000);
            part.await.map(drop)
        }
        11 => store.conversations(scope, None, 10).await.map(drop),
        12 => remember(store, scope, (&key, &format!("line {n}")), Some(&own))
            .await
            .map(drop)
            .map_err(of_mutation),
        13 => forget(store, scope, &key, Some(&own))
            .await
            .map(drop)
            .map_err(of_mutation),
        kind => any_further_operation(store, scope, kind, n)
            .await
            .map_err(of_mutation),
    }
}

async fn any_further_operation(
    store: &PostgresStore,
    scope: &Scope,
    kind: usize,
    n: usize,
) -> Result<(), MutationError> {
    match kind {
        14 => {
            let query = RecallQuery::parse("line");
            store.recall(scope, &query, 10).await?;
        }
        15 => drop(store.facts(scope, None, 10).await?),
        16 => {
            let ids = [format!("key {}", n % 32), n.to_string()];
            let chunks = ids.each_ref().map(|id| chunk(id, &[1.0, 0.0]));
            let (main, own) = (collection("main"), operation(&format!("own {n}"), "f"));
            store.keep_chunks(scope, &main, &chunks, Some(&own)).await?;
        }
        17 => drop(nearest(store, scope, &[1.0, 0.0], 10).await?),
        18 => drop(store.newest_changes(scope, 10).await?),
        _ => {
            let bounds = TextBounds {
                notes_max: 10,
                chars_max: 100,
                bytes_max: 1_000,
            };
            store.texts(scope, None, bounds).await?;
        }
    }
    Ok(())
}

/// Kinds of operations that [`any_operation`] chooses from. Two of them append a line.
pub(crate) const KINDS: usize = 20;

/// What is said of a server that says nothing.
const SILENCE: &str = "the server doesn't answer";

/// Each time-out of a store that is in a hurry.
const HASTE: Duration = Duration::from_secs(1);

/// A store that gives up soon.
fn hasty(proxy: &Proxy, database: &Database, connections_max: u32) -> PostgresStore {
    let options = PostgresOptions {
        connections_max,
        acquire_timeout: HASTE,
        statement_timeout: HASTE,
        ..proxy.options(database)
    };
    PostgresStore::connect_lazy(&options).expect("valid options")
}

pub(crate) async fn within_patience<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, what)
        .await
        .expect("it hangs")
}

/// Polls until `query` gives true; for conditions inside the server that nothing announces.
pub(crate) async fn until(connection: &mut PgConnection, query: &'static str, parameter: &str) {
    let deadline = Instant::now() + PATIENCE;
    while !sqlx::query_scalar::<_, bool>(query)
        .bind(parameter)
        .fetch_one(&mut *connection)
        .await
        .expect("the condition can be read")
    {
        assert!(Instant::now() < deadline, "`{query}` doesn't come true");
        tokio::task::yield_now().await;
    }
}

const NO_CONNECTION_IS_LEFT: &str =
    "select not exists (select from pg_stat_activity where application_name = $1)";
pub(crate) const ONE_WAITS_FOR_A_LOCK: &str = "select exists (select from pg_stat_activity \
     where application_name = $1 and wait_event_type = 'Lock')";
const ONE_IS_IDLE_IN_A_TRANSACTION: &str = "select exists (select from pg_stat_activity \
     where application_name = $1 and state = 'idle in transaction')";
const KILL_ALL: &str =
    "select count(pg_terminate_backend(pid)) from pg_stat_activity where application_name = $1";
const KILL_ONE: &str = "select count(pg_terminate_backend(pid)) from (select pid \
     from pg_stat_activity where application_name = $1 order by random() limit 1) as one";

#[tokio::test(flavor = "multi_thread")]
async fn a_small_pool_serves_many_operations_at_once() {
    let database = Database::migrated().await;
    for connections_max in [1, 2] {
        let store = database.store_of(connections_max);
        let scope = scope(&format!("small/{connections_max}"));
        let operations = (0..64).map(|n| {
            let (store, scope) = (store.clone(), scope.clone());
            tokio::spawn(async move { any_operation(&store, &scope, n).await })
        });
        for done in within_patience(join_all(operations)).await {
            done.expect("no panic").expect("every operation finishes");
        }
        let lines = text(&store, &scope, "a.md").await.expect("there");
        let appended = (0..64).filter(|n| n % KINDS < 2).count();
        assert_eq!(lines.lines().count(), appended);
        store.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_that_died_in_the_pool_are_stepped_over() {
    let database = Database::migrated().await;
    let store = database.store_of(10);
    let scope = scope("killed/main");
    let mut behind = database.connection().await;
    for round in 0..3 {
        let operations = |first: usize| {
            join_all((first..first + 40).map(|n| any_operation(&store, &scope, round * 100 + n)))
        };
        for done in within_patience(operations(0)).await {
            done.expect("operation");
        }
        let schema = &database.options.schema;
        let killed: i64 = sqlx::query_scalar(KILL_ALL)
            .bind(schema)
            .fetch_one(&mut behind)
            .await
            .expect("kill");
        assert!(killed > 1, "the pool had connections");
        until(&mut behind, NO_CONNECTION_IS_LEFT, schema).await;
        for done in within_patience(operations(40)).await {
            done.expect("a dead connection costs the caller nothing but time");
        }
        // A mutation that could not be repeated doesn't meet a dead connection at all.
        sqlx::query(KILL_ALL)
            .bind(schema)
            .execute(&mut behind)
            .await
            .expect("kill");
        until(&mut behind, NO_CONNECTION_IS_LEFT, schema).await;
        let file = name(&format!("plain{round}.md"));
        store
            .write(
                &scope,
                &file,
                &WriteRequest::new("x", &Expected::Absent),
                None,
            )
            .await
            .expect("write");
        store
            .delete(&scope, &file, &Expected::Any, None)
            .await
            .expect("delete");
    }
    let lines = text(&store, &scope, "a.md").await.expect("there");
    assert_eq!(
        lines.lines().count(),
        3 * (80 / KINDS * 2),
        "each append took effect once"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn appends_survive_connections_that_are_killed_under_them() {
    const APPENDS: usize = 300;
    let database = Database::migrated().await;
    let store = database.store_of(8);
    let mut behind = database.connection().await;
    let appends = (0..APPENDS).map(|n| {
        let store = store.clone();
        tokio::spawn(async move {
            let line = format!("line {n}");
            let edit = operation(&line, "f");
            // What the caller of a store does: the same operation again while it is unavailable.
            loop {
                match append(&store, &scope("killed/main"), "a.md", &line, &edit).await {
                    Ok(_) => return,
                    Err(MutationError::Store(StoreError::Unavailable(_))) => {}
                    Err(error) => panic!("{error}"),
                }
            }
        })
    });
    let appends: Vec<_> = appends.collect();
    let mut killed = 0;
    while killed < 40 && appends.iter().any(|append| !append.is_finished()) {
        let one: i64 = sqlx::query_scalar(KILL_ONE)
            .bind(&database.options.schema)
            .fetch_one(&mut behind)
            .await
            .expect("kill");
        killed += one;
    }
    for append in within_patience(join_all(appends)).await {
        append.expect("no append is lost");
    }
    assert!(killed > 0);
    let text = text(&store, &scope("killed/main"), "a.md")
        .await
        .expect("there");
    let mut lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), APPENDS, "each append took effect once");
    lines.sort_unstable();
    lines.dedup();
    assert_eq!(lines.len(), APPENDS);
}

#[tokio::test]
async fn an_answer_that_got_lost_after_the_commit_comes_from_the_receipt() {
    let database = Database::migrated().await;
    let proxy = Proxy::start().await;
    let store = proxy.store(&database, 2);
    let scope = scope("lost/main");
    // The statement that writes is the second; the first look-up parses nothing that counts.
    proxy.cut_after(2);
    let edit = operation("edit", "f");
    let receipt = append(&store, &scope, "a.md", "once", &edit)
        .await
        .expect("edit");
    assert!(receipt.replayed, "the receipt answered the second attempt");
    assert_eq!(
        text(&store, &scope, "a.md").await.as_deref(),
        Some("once\n")
    );
    proxy.cut_after(2);
    let deletion = operation("deletion", "f");
    let file = name("a.md");
    let receipt = store
        .delete(&scope, &file, &Expected::Any, Some(&deletion))
        .await;
    let receipt = receipt.expect("delete");
    assert!(receipt.replayed && receipt.existed);
}

#[tokio::test]
async fn a_commit_that_got_lost_in_the_contended_path_is_answered_from_the_receipt() {
    let database = Database::migrated().await;
    let (proxy, direct) = (Proxy::start().await, database.store());
    let store = proxy.store(&database, 2);
    let scope = scope("lost/main");
    for (cut, replayed) in [(7, true), (6, false), (3, false)] {
        let id = format!("slow {cut}");
        let (slow_edit, fast_edit) = (operation(&id, "f"), operation(&format!("fast {cut}"), "f"));
        let slow = append(&store, &scope, "a.md", &id, &slow_edit);
        let fast = async {
            append(&direct, &scope, "a.md", "fast", &fast_edit)
                .await
                .expect("edit");
            if replayed {
                proxy.cut_after(cut - 2);
            } else {
                proxy.cut_before(cut - 2);
            }
        };
        let (receipt, ()) = proxy.overtake(2, slow, fast).await;
        assert_eq!(receipt.expect("edit").replayed, replayed, "cut at {cut}");
        let text = text(&direct, &scope, "a.md").await.expect("there");
        assert_eq!(text.matches(&id).count(), 1, "cut at {cut}");
    }
}

#[tokio::test]
async fn a_statement_that_never_arrived_is_sent_again() {
    let database = Database::migrated().await;
    let proxy = Proxy::start().await;
    let store = proxy.store(&database, 2);
    let scope = scope("lost/main");
    for number in [1, 2] {
        proxy.cut_before(number);
        let id = number.to_string();
        let receipt = append(&store, &scope, "a.md", &id, &operation(&id, "f")).await;
        assert!(!receipt.expect("edit").replayed);
    }
    proxy.cut_before(1);
    assert_eq!(
        text(&store, &scope, "a.md").await.as_deref(),
        Some("1\n2\n")
    );
}

#[tokio::test]
async fn a_change_without_operation_is_not_repeated_when_in_doubt() {
    let database = Database::migrated().await;
    let proxy = Proxy::start().await;
    let store = proxy.store(&database, 2);
    let scope = scope("doubt/main");
    let (file, any) = (name("a.md"), &Expected::Any);
    proxy.cut_after(2);
    let before = proxy.statements();
    let result = store
        .write(&scope, &file, &WriteRequest::new("secret", any), None)
        .await;
    assert_eq!(proxy.statements() - before, 2, "nothing was repeated");
    let Err(MutationError::Store(StoreError::Unavailable(reason))) = result else {
        panic!("{result:?}");
    };
    assert!(reason.contains("isn't known"), "{reason}");
    assert_eq!(
        text(&store, &scope, "a.md").await.as_deref(),
        Some("secret")
    );
    proxy.cut_after(1);
    let result = store.delete(&scope, &file, any, None).await;
    assert!(
        matches!(
            result,
            Err(MutationError::Store(StoreError::Unavailable(_)))
        ),
        "{result:?}"
    );
    assert_eq!(text(&store, &scope, "a.md").await, None);
}

/// A note that another transaction has locked.
async fn lock(database: &Database, scope: &Scope) -> PgConnection {
    database
        .store()
        .write(
            scope,
            &name("a.md"),
            &WriteRequest::new("start\n", &Expected::Any),
            None,
        )
        .await
        .expect("write");
    let mut other = database.connection().await;
    other.execute("begin").await.expect("begin");
    sqlx::query("select from notes where scope = $1 for update")
        .bind(scope.as_str())
        .fetch_one(&mut other)
        .await
        .expect("lock");
    other
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_pool_is_unavailable_within_its_time_out() {
    let database = Database::migrated().await;
    let options = PostgresOptions {
        connections_max: 1,
        acquire_timeout: Duration::from_secs(1),
        // Nothing else gives the place free.
        statement_timeout: PATIENCE * 10,
        ..database.options.clone()
    };
    let store = PostgresStore::connect_lazy(&options).expect("valid options");
    let scope = scope("full/main");
    let other = lock(&database, &scope).await;
    let waiting = tokio::spawn({
        let (store, scope) = (store.clone(), scope.clone());
        async move { append(&store, &scope, "a.md", "x", &operation("1", "f")).await }
    });
    let mut behind = database.connection().await;
    until(&mut behind, ONE_WAITS_FOR_A_LOCK, &database.options.schema).await;
    let full = within_patience(store.read(&scope, &name("a.md"), 10)).await;
    assert!(matches!(&full, Err(StoreError::Unavailable(_))), "{full:?}");
    other.close().await.expect("close");
    within_patience(waiting)
        .await
        .expect("no panic")
        .expect("the lock is free");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_statement_that_takes_too_long_is_unavailable() {
    let database = Database::migrated().await;
    let options = PostgresOptions {
        statement_timeout: Duration::from_millis(500),
        ..database.options.clone()
    };
    let store = PostgresStore::connect_lazy(&options).expect("valid options");
    let scope = scope("slow/main");
    let other = lock(&database, &scope).await;
    let edit = operation("1", "f");
    let slow = within_patience(append(&store, &scope, "a.md", "x", &edit)).await;
    let Err(MutationError::Store(StoreError::Unavailable(reason))) = slow else {
        panic!("{slow:?}");
    };
    assert_eq!(reason, "the statement took too long, SQLSTATE 57014");
    other.close().await.expect("close");
    let patient = database.store();
    append(&patient, &scope, "a.md", "x", &edit)
        .await
        .expect("the lock is free");
    assert_eq!(
        text(&patient, &scope, "a.md").await.as_deref(),
        Some("start\nx\n")
    );
}

#[tokio::test]
async fn a_server_that_refuses_is_named_and_not_waited_for() {
    let store = |acquire_timeout| {
        let options = PostgresOptions {
            acquire_timeout,
            // A port that no server may listen on.
            ..PostgresOptions::new("postgres://nobody:secret@127.0.0.1:1/none")
        };
        PostgresStore::connect_lazy(&options).expect("valid options")
    };
    let patient = store(Duration::from_secs(3_600));
    let checked = within_patience(patient.check()).await.err();
    let migrated = within_patience(patient.migrate()).await.err();
    let hasty = store(Duration::from_millis(100));
    let read = hasty
        .read(&scope("away/main"), &name("a.md"), 1)
        .await
        .err();
    for reason in [checked, migrated, read] {
        let Some(StoreError::Unavailable(reason)) = reason else {
            panic!("{reason:?}");
        };
        assert_eq!(reason, "can't connect (ConnectionRefused)");
    }
}

/// A server that went silent, as a cut cable looks: nothing comes, and nothing says so.
#[tokio::test]
async fn a_silent_server_is_unavailable_and_its_connection_is_given_up() {
    let database = Database::migrated().await;
    let proxy = Proxy::start().await;
    let store = hasty(&proxy, &database, 1);
    let scope = scope("silent/main");
    let edit = operation("1", "f");
    append(&store, &scope, "a.md", "x", &edit)
        .await
        .expect("edit");
    // Kept, so that the statement never goes on.
    let _held = proxy.hold(1);
    let silent = within_patience(append(&store, &scope, "a.md", "x", &operation("2", "f"))).await;
    let Err(MutationError::Store(StoreError::Unavailable(reason))) = silent else {
        panic!("{silent:?}");
    };
    assert_eq!(reason, SILENCE);
    append(&store, &scope, "a.md", "y", &operation("3", "f"))
        .await
        .expect("a new connection");
    assert_eq!(
        text(&store, &scope, "a.md").await.as_deref(),
        Some("x\ny\n")
    );
}

/// After a fail-over one connection says that it is dead, and the others say nothing. Each that
/// was tried would cost a whole time-out.
#[tokio::test]
async fn of_a_silent_pool_no_more_than_one_connection_is_tried() {
    const CONNECTIONS: u32 = 4;
    let database = Database::migrated().await;
    for (cut, operation) in [(false, None), (true, Some(operation("1", "f")))] {
        let proxy = Proxy::start().await;
        let store = hasty(&proxy, &database, CONNECTIONS);
        let (scope, file) = (scope("silent/main"), name("a.md"));
        let reads = (0..CONNECTIONS).map(|_| store.read(&scope, &file, 1));
        for read in within_patience(join_all(reads)).await {
            read.expect("read");
        }
        assert_eq!(proxy.connections(), u64::from(CONNECTIONS));
        proxy.silence();
        if cut {
            proxy.cut_before(1);
        }
        let request = WriteRequest::new("x", &Expected::Any);
        let write = || store.write(&scope, &file, &request, operation.as_ref());
        let silent = within_patience(write()).await;
        let Err(MutationError::Store(StoreError::Unavailable(reason))) = silent else {
            panic!("{silent:?}");
        };
        assert_eq!(reason, SILENCE);
        assert_eq!(
            proxy.connections(),
            u64::from(CONNECTIONS),
            "no new one was needed"
        );
        // Each of the others is given up as well, one by each try, and then there are new ones. What says that
        // it is dead may go without one.
        let mut tries = 1;
        while within_patience(write()).await.is_err() {
            tries += 1;
        }
        let one_each = CONNECTIONS - u32::from(cut)..=CONNECTIONS;
        assert!(one_each.contains(&tries), "{tries} tries");
    }
}

/// The driver asks a connection that comes back whether it lives. The caller has its answer then,
/// and no silence may keep the connection's place in the pool.
#[tokio::test]
async fn a_connection_that_goes_silent_on_its_way_back_frees_its_place() {
    let database = Database::migrated().await;
    let proxy = Proxy::start().await;
    // So much time that no machine is busy for as long.
    let give_up = HASTE * 8;
    let options = PostgresOptions {
        connections_max: 1,
        acquire_timeout: give_up,
        statement_timeout: give_up,
        ..proxy.options(&database)
    };
    let store = PostgresStore::connect_lazy(&options).expect("valid options");
    let (scope, file) = (scope("silent/main"), name("a.md"));
    proxy.silence_after(1);
    let asked = Instant::now();
    let read = store.read(&scope, &file, 1).await;
    assert_eq!(read.expect("the caller has its answer"), None);
    assert!(asked.elapsed() < give_up, "the caller doesn't wait");
    within_patience(until_it_reads(&store, &scope)).await;
}

#[tokio::test]
async fn a_cancelled_operation_at_a_silent_server_frees_its_place() {
    let database = Database::migrated().await;
    let proxy = Proxy::start().await;
    let store = hasty(&proxy, &database, 1);
    let (scope, file) = (scope("silent/main"), name("a.md"));
    let held = proxy.hold(1);
    let mut release = None;
    {
        let read = std::pin::pin!(store.read(&scope, &file, 1));
        let reached = std::pin::pin!(async { release = Some(held.reached().await) });
        futures::future::select(read, reached).await;
        // Here the operation is dropped in the middle.
    }
    // Kept, so that the statement never goes on.
    assert!(release.is_some(), "the statement was on its way");
    within_patience(until_it_reads(&store, &scope)).await;
}

async fn until_it_reads(store: &PostgresStore, scope: &Scope) {
    loop {
        match store.read(scope, &name("a.md"), 1).await {
            Ok(_) => return,
            Err(StoreError::Unavailable(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

#[tokio::test]
async fn a_server_that_is_silent_about_its_migrations_is_unavailable() {
    let database = Database::migrated().await;
    let proxy = Proxy::start().await;
    let store = hasty(&proxy, &database, 1);
    let mut behind = database.connection().await;
    behind
        .execute("alter table notes rename to away")
        .await
        .expect("alter");
    let is_silent = |result: Result<(), StoreError>, what: &str| match result {
        Err(StoreError::Unavailable(reason)) => assert_eq!(reason, SILENCE, "{what}"),
        other => panic!("{what}: {other:?}"),
    };
    // Kept, so that the statements never go on.
    let _held = proxy.hold(1);
    is_silent(within_patience(store.check()).await, "check");
    let _held = proxy.hold(1);
    is_silent(
        within_patience(store.migrate()).await.map(drop),
        "the first question of a migration run",
    );
    let _held = proxy.hold(2);
    is_silent(
        within_patience(store.migrate()).await.map(drop),
        "the second one",
    );
    // The missing table is what parsing finds; the question why is the first statement that runs.
    let _held = proxy.hold(1);
    let (scope, file) = (scope("t/main"), name("a.md"));
    let read = store.read(&scope, &file, 1);
    is_silent(within_patience(read).await.map(drop), "read");
}

/// A worker that vanishes between two statements of a transaction, with its machine or network:
/// nothing tells the server, which has a note locked for it.
#[tokio::test]
async fn a_note_does_not_stay_locked_by_a_worker_that_vanished() {
    let database = Database::migrated().await;
    let (proxy, direct) = (Proxy::start().await, database.store());
    let options = PostgresOptions {
        statement_timeout: HASTE * 4,
        ..proxy.options(&database)
    };
    let store = PostgresStore::connect_lazy(&options).expect("valid options");
    let scope = scope("vanished/main");
    let mut behind = database.connection().await;
    let vanishing_edit = operation("vanishing", "f");
    let vanishing = append(&store, &scope, "a.md", "vanishing", &vanishing_edit);
    let overtaking = async {
        append(&direct, &scope, "a.md", "fast", &operation("fast", "f"))
            .await
            .expect("edit");
        // The transaction begins, and locks the note.
        proxy.silence_after(2);
    };
    let vanishing = proxy.overtake(2, vanishing, overtaking);
    let next = async {
        let schema = &database.options.schema;
        until(&mut behind, ONE_IS_IDLE_IN_A_TRANSACTION, schema).await;
        append(&direct, &scope, "a.md", "next", &operation("next", "f")).await
    };
    let ((vanished, ()), next) = within_patience(async { futures::join!(vanishing, next) }).await;
    next.expect("the lock is free again");
    // This one came back, learns that its transaction is gone, and makes another attempt.
    assert!(!vanished.expect("edit").replayed);
    let text = text(&direct, &scope, "a.md").await.expect("there");
    let mut lines: Vec<_> = text.lines().collect();
    lines[1..].sort_unstable();
    assert_eq!(lines, ["fast", "next", "vanishing"]);
}

#[tokio::test]
async fn names_that_a_person_made_with_a_console_are_passed_over() {
    let database = Database::migrated().await;
    let store = database.store();
    let scope = scope("odd/main");
    append(&store, &scope, "fine.md", "needle", &operation("1", "f"))
        .await
        .expect("edit");
    let mut behind = database.connection().await;
    behind
        .execute(
            "insert into notes (scope, name, content, chars, version) \
             select 'odd/main', name, 'needle', 6, nextval('note_versions') \
             from unnest(array['', '../up.md', 'a b.md', 'e/f.md', 'é.md', 'x.md\n.md']) as name",
        )
        .await
        .expect("insert");
    let listed = store.names(&scope, 10).await.expect("names");
    assert_eq!((listed.names, listed.more), (vec![name("fine.md")], false));
    let bounds = NotebookBounds {
        main_chars_max: 10,
        names_max: 10,
    };
    let view = store.notebook(&scope, bounds).await.expect("notebook");
    assert_eq!(view.names, ["fine.md"]);
    let query = SearchQuery::parse("needle").expect("valid");
    let answer = store.search(&scope, &query, &LIMITS).await.expect("search");
    assert_eq!((answer.matches.len(), answer.scanned), (1, 7));
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelled_operations_give_their_connections_back() {
    let database = Database::migrated().await;
    let store = database.store_of(2);
    let scope = scope("cancelled/main");
    let other = lock(&database, &scope).await;
    let mut behind = database.connection().await;
    // Both connections wait for the lock, and more operations for the connections.
    let waiting: Vec<_> = (0..6)
        .map(|n| {
            let (store, scope) = (store.clone(), scope.clone());
            tokio::spawn(async move {
                let id = n.to_string();
                append(&store, &scope, "a.md", &id, &operation(&id, "f")).await
            })
        })
        .collect();
    until(&mut behind, ONE_WAITS_FOR_A_LOCK, &database.options.schema).await;
    for operation in &waiting {
        operation.abort();
    }
    other.close().await.expect("close");
    within_patience(join_all(waiting)).await;
    let operations = (0..64).map(|n| any_operation(&store, &scope, n));
    for done in within_patience(join_all(operations)).await {
        done.expect("the connections are there again");
    }
    // A cancelled edit took effect wholly or not at all.
    let text = text(&store, &scope, "a.md").await.expect("there");
    for n in 0..6 {
        let id = n.to_string();
        let receipt = store
            .receipt(&scope, &operation(&id, "f"))
            .await
            .expect("answers");
        assert_eq!(text.lines().any(|line| line == id), receipt.is_some());
    }
}

#[tokio::test]
async fn half_of_the_operations_can_be_cancelled_anywhere() {
    let database = Database::migrated().await;
    let store = database.store_of(2);
    let scope = scope("cancelled/main");
    let operations: Vec<_> = (0..200)
        .map(|n| {
            let (store, scope) = (store.clone(), scope.clone());
            tokio::spawn(async move { any_operation(&store, &scope, n).await })
        })
        .collect();
    for (n, operation) in operations.into_iter().enumerate() {
        if n % 2 == 0 {
            operation.abort();
            let _ = operation.await;
        } else {
            within_patience(operation)
                .await
                .expect("no panic")
                .expect("finishes");
        }
    }
    // When all connections are closed, what was sent on them has come to its end.
    within_patience(store.close()).await;
    let store = database.store();
    let text = text(&store, &scope, "a.md").await.expect("there");
    for n in (0..200).filter(|n| n % KINDS < 2) {
        let receipt = store
            .receipt(&scope, &operation(&format!("own {n}"), "f"))
            .await
            .expect("answers");
        let line = format!("line {n}");
        let lines = text.lines().filter(|found| **found == line).count();
        assert_eq!(lines, usize::from(receipt.is_some()), "{line}");
        assert!(n % 2 == 0 || receipt.is_some());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_serialization_failure_is_attempted_again() {
    let database = Database::migrated().await;
    let options: PgConnectOptions = database_url().parse().expect("valid URL");
    let options = options.application_name(&database.options.schema).options([
        ("search_path", database.options.schema.as_str()),
        ("default_transaction_isolation", "repeatable read"),
    ]);
    let pool = PgPoolOptions::new()
        .max_connections(1)
        .connect_lazy_with(options);
    let store = PostgresStore::with_pool(pool);
    let scope = scope("serial/main");
    let mut other = lock(&database, &scope).await;
    let waiting = tokio::spawn({
        let (store, scope) = (store.clone(), scope.clone());
        async move { append(&store, &scope, "a.md", "mine", &operation("1", "f")).await }
    });
    let mut behind = database.connection().await;
    until(&mut behind, ONE_WAITS_FOR_A_LOCK, &database.options.schema).await;
    other
        .execute("update notes set content = E'theirs\\n', version = nextval('note_versions')")
        .await
        .expect("update");
    other.execute("commit").await.expect("commit");
    let receipt = within_patience(waiting)
        .await
        .expect("no panic")
        .expect("edit");
    assert!(!receipt.replayed);
    assert_eq!(
        text(&store, &scope, "a.md").await.as_deref(),
        Some("theirs\nmine\n")
    );
}

/// A stricter default of the database or of the URL would make a waiting edit fail and start
/// anew instead of going on where it is.
#[tokio::test(flavor = "multi_thread")]
async fn the_isolation_level_is_the_stores_own() {
    let database = Database::migrated().await;
    let proxy = Proxy::start().await;
    let mut options = proxy.options(&database);
    options
        .url
        .push_str("&options[default_transaction_isolation]=repeatable%20read");
    let store = PostgresStore::connect_lazy(&options).expect("valid options");
    let scope = scope("serial/main");
    let mut other = lock(&database, &scope).await;
    let before = proxy.statements();
    let waiting = tokio::spawn({
        let (store, scope) = (store.clone(), scope.clone());
        async move { append(&store, &scope, "a.md", "mine", &operation("1", "f")).await }
    });
    let mut behind = database.connection().await;
    until(&mut behind, ONE_WAITS_FOR_A_LOCK, &database.options.schema).await;
    other
        .execute("update notes set content = E'theirs\n', version = nextval('note_versions')")
        .await
        .expect("update");
    other.execute("commit").await.expect("commit");
    within_patience(waiting)
        .await
        .expect("no panic")
        .expect("edit");
    assert_eq!(
        proxy.statements() - before,
        7,
        "it went on under the lock, without another attempt"
    );
}

/// After a fail-over the pool still leads to the old primary, which only reads.
#[tokio::test]
async fn connections_to_a_server_that_only_reads_are_replaced() {
    let database = Database::migrated().await;
    let options: PgConnectOptions = database_url().parse().expect("valid URL");
    let options = options.options([("search_path", database.options.schema.as_str())]);
    let connected = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&connected);
    let pool = PgPoolOptions::new()
        .max_connections(1)
        .after_connect(move |connection, _| {
            let first = counted.fetch_add(1, Ordering::SeqCst) == 0;
            let mode = if first { "on" } else { "off" };
            Box::pin(async move {
                let set = format!("set default_transaction_read_only = {mode}");
                connection.execute(AssertSqlSafe(set)).await.map(drop)
            })
        })
        .connect_lazy_with(options);
    let store = PostgresStore::with_pool(pool);
    let scope = scope("standby/main");
    assert_eq!(text(&store, &scope, "a.md").await, None);
    // Nothing is in doubt, so even a change without an operation is attempted again.
    store
        .write(
            &scope,
            &name("a.md"),
            &WriteRequest::new("x", &Expected::Absent),
            None,
        )
        .await
        .expect("write");
    assert_eq!(text(&store, &scope, "a.md").await.as_deref(), Some("x"));
    assert_eq!(connected.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn an_unmigrated_database_is_said_to_be_one_by_every_operation() {
    let database = Database::unmigrated();
    let store = database.store();
    let scope = scope("t/main");
    let is_unmigrated = |result: Result<(), StoreError>, what: &str| {
        assert!(
            matches!(
                result,
                Err(StoreError::Unmigrated {
                    found: 0,
                    needed: 1..
                })
            ),
            "{what}: {result:?}"
        );
    };
    is_unmigrated(store.check().await, "check");
    for n in 0..KINDS {
        is_unmigrated(
            any_operation(&store, &scope, n).await,
            &format!("operation {n}"),
        );
    }
    let edit = operation("1", "f");
    let receipt = store.receipt(&scope, &edit).await;
    assert!(
        matches!(
            receipt,
            Err(MutationError::Store(StoreError::Unmigrated { .. }))
        ),
        "{receipt:?}"
    );
    let written = store
        .write(
            &scope,
            &name("a.md"),
            &WriteRequest::new("x", &Expected::Any),
            None,
        )
        .await;
    assert!(
        matches!(
            written,
            Err(MutationError::Store(StoreError::Unmigrated { .. }))
        ),
        "{written:?}"
    );
}

#[tokio::test]
async fn a_database_that_is_away_is_unavailable_and_no_secret_is_told() {
    // A port that nothing listens on: it was free a moment ago.
    let free = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("bind");
    let port = free.local_addr().expect("bound").port();
    drop(free);
    let options = PostgresOptions {
        acquire_timeout: Duration::from_millis(300),
        ..PostgresOptions::new(format!("postgres://user:hunter2@127.0.0.1:{port}/secretdb"))
    };
    let store = PostgresStore::connect_lazy(&options).expect("nothing is connected yet");
    let scope = scope("secret-tenant/main");
    let edit = Edit::Append {
        content: "secret text".to_owned(),
    };
    let request = EditRequest {
        edit: &edit,
        note_chars_max: 100,
        expected: Expected::Any,
        metadata: None,
    };
    let asked = Instant::now();
    let edited = store
        .edit(
            &scope,
            &name("secret-note.md"),
            &request,
            &operation("secret-id", "f"),
        )
        .await;
    let checked = store.check().await;
    let migrated = store.migrate().await;
    assert!(asked.elapsed() < PATIENCE);
    assert!(matches!(
        &edited,
        Err(MutationError::Store(StoreError::Unavailable(_)))
    ));
    assert!(matches!(&checked, Err(StoreError::Unavailable(_))));
    assert!(matches!(&migrated, Err(StoreError::Unavailable(_))));
    let told = format!("{edited:?} {checked:?} {migrated:?} {store:?} {options:?}");
    for secret in ["hunter2", "secret"] {
        assert!(!told.contains(secret), "{told}");
    }
}

#[tokio::test]
async fn options_that_cannot_be_meant_are_refused() {
    let refused = |options: &PostgresOptions| match PostgresStore::connect_lazy(options) {
        Err(StoreError::InvalidValue { field, reason }) => {
            assert!(!reason.contains("hunter2"), "{reason}");
            field
        }
        other => panic!("{other:?}"),
    };
    let valid = PostgresOptions::new("postgres://user:hunter2@127.0.0.1/db");
    for url in [
        "",
        "no url",
        "mysql://user:hunter2@host/db",
        "postgres://u:hunter2@h:99999/db",
    ] {
        assert_eq!(refused(&PostgresOptions::new(url)), "url", "`{url}`");
    }
    for schema in [
        "",
        "With-Dash",
        "1st",
        "a;b",
        "a\"b",
        "Upper",
        &"x".repeat(64),
    ] {
        let schema = schema.to_owned();
        assert_eq!(
            refused(&PostgresOptions {
                schema,
                ..valid.clone()
            }),
            "schema"
        );
    }
    let none = PostgresOptions {
        connections_max: 0,
        ..valid.clone()
    };
    assert_eq!(refused(&none), "connections_max");
    for statement_timeout in [Duration::ZERO, Duration::from_micros(999), Duration::MAX] {
        let options = PostgresOptions {
            statement_timeout,
            ..valid.clone()
        };
        assert_eq!(refused(&options), "statement_timeout");
    }
}

#[tokio::test]
async fn a_closed_store_is_unavailable() {
    let database = Database::migrated().await;
    let store = database.store();
    store.check().await.expect("migrated");
    store.close().await;
    let read = store.read(&scope("t/main"), &name("a.md"), 1).await;
    assert!(matches!(read, Err(StoreError::Unavailable(_))), "{read:?}");
}
