//! One SQLite file with several connections: locks that others hold, and calls that are given up.

use std::time::Duration;

use futures::future::{Either, join_all, select};
use notekeeper_store::{NoteStore as _, SqliteOptions, SqliteStore, StoreError};
use rand::{Rng as _, SeedableRng as _, rngs::StdRng};
use sqlx::Executor as _;

use crate::{
    database::{PATIENCE, append, name, operation, scope, seed, text},
    database_file::DatabaseFile,
};

/// A store that doesn't wait for long.
async fn impatient(file: &DatabaseFile) -> SqliteStore {
    let mut options = file.options.clone();
    options.busy_timeout = Duration::from_millis(300);
    SqliteStore::open(&options).await.expect("open")
}

#[tokio::test]
async fn a_lock_that_stays_is_told_in_time_and_nothing_was_changed() {
    let file = DatabaseFile::new();
    let store = impatient(&file).await;
    let scope = scope("t/main");
    append(&store, &scope, "a.md", "1", &operation("1", "f"))
        .await
        .expect("append");
    let mut other = file.connection().await;
    other.execute("begin immediate").await.expect("begin");
    let second = operation("2", "f");
    let refused = append(&store, &scope, "a.md", "2", &second).await;
    let refused = refused.expect_err("the lock stays").to_string();
    assert_eq!(
        refused,
        "store is unavailable: the database file stays locked by another program"
    );
    assert!(
        store
            .receipt(&scope, &second)
            .await
            .expect("read")
            .is_none()
    );
    other.execute("rollback").await.expect("rollback");
    let appended = append(&store, &scope, "a.md", "2", &second).await;
    assert!(!appended.expect("append").replayed);
    assert_eq!(
        text(&store, &scope, "a.md").await.as_deref(),
        Some("1\n2\n")
    );
}

/// On one thread, which has time for others while one waits.
#[tokio::test]
async fn a_lock_that_is_given_back_is_had_and_nobody_who_reads_waits_for_it() {
    let file = DatabaseFile::new();
    let mut options = file.options.clone();
    // Nobody gives up, however busy the machine is.
    options.busy_timeout = Duration::from_secs(3_600);
    let store = SqliteStore::open(&options).await.expect("open");
    let mut other = file.connection().await;
    other.execute("begin immediate").await.expect("begin");
    let scope = scope("t/main");
    let edit = operation("1", "f");
    let mut waiting = Box::pin(append(&store, &scope, "a.md", "1", &edit));
    let early = tokio::time::timeout(Duration::from_millis(50), &mut waiting).await;
    assert!(early.is_err(), "{early:?}");
    for _ in 0..20 {
        let reading = Box::pin(text(&store, &scope, "a.md"));
        match select(&mut waiting, reading).await {
            Either::Left((appended, _)) => panic!("the lock isn't free: {appended:?}"),
            Either::Right((read, _)) => assert_eq!(read, None),
        }
    }
    other.execute("commit").await.expect("commit");
    assert!(!waiting.await.expect("append").replayed);
}

#[tokio::test]
async fn a_file_that_another_program_keeps_for_itself_is_told_with_what_to_do() {
    let file = DatabaseFile::new();
    file.store().await.close().await;
    let mut other = file.connection().await;
    other
        .execute("pragma locking_mode = exclusive; begin exclusive; commit")
        .await
        .expect("keep it");
    let mut options = file.options.clone();
    options.busy_timeout = Duration::from_millis(200);
    let refused = SqliteStore::open(&options).await;
    let Err(StoreError::Unavailable(reason)) = refused else {
        panic!("{refused:?}")
    };
    let path = file.options.path.display();
    assert_eq!(
        reason,
        format!("`{path}` stays locked by another program; end that one, or name another file")
    );
}

/// An activity can be cancelled at any moment.
#[tokio::test(flavor = "multi_thread")]
async fn calls_that_are_given_up_have_whole_effects_or_none_and_hold_no_lock() {
    const CALLS: usize = 600;
    let mut random = StdRng::seed_from_u64(seed());
    let file = DatabaseFile::new();
    let store = file.store().await;
    let scope = scope("t/main");
    // However fast or busy the machine is, some are given up, and some are not.
    let patience: Vec<_> = (0..CALLS)
        .map(|index| match index % 20 {
            0 => Duration::ZERO,
            10 => PATIENCE,
            _ => Duration::from_micros(random.random_range(0..4_000)),
        })
        .collect();
    let calls = patience.iter().enumerate().map(async |(index, patience)| {
        let edit = operation(&format!("op{index}"), "f");
        let line = format!("<{index}>");
        let call = append(&store, &scope, "a.md", &line, &edit);
        match tokio::time::timeout(*patience, call).await {
            Ok(answer) => Some(answer.expect("append")),
            Err(_) => None,
        }
    });
    let mut answered = Vec::new();
    let mut calls: Vec<_> = calls.collect();
    // Some at a time, so that some are given up while they wait for their turn and some later.
    while !calls.is_empty() {
        let some = calls.split_off(calls.len().saturating_sub(3));
        answered.extend(join_all(some).await);
    }
    let given_up = answered.iter().filter(|answer| answer.is_none()).count();
    assert!(given_up > 0 && given_up < CALLS, "{given_up} given up");
    // From another store, as from another process: nothing is locked.
    let other = impatient(&file).await;
    append(&other, &scope, "b.md", "x", &operation("last", "f"))
        .await
        .expect("append");
    let text = text(&other, &scope, "a.md").await.unwrap_or_default();
    for index in 0..CALLS {
        let edit = operation(&format!("op{index}"), "f");
        let receipt = other.receipt(&scope, &edit).await.expect("read");
        let times = text.matches(&format!("<{index}>")).count();
        assert_eq!(times, usize::from(receipt.is_some()), "op{index}");
    }
    let told = answered.iter().flatten().count();
    assert!(text.lines().count() >= told);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_reader_serves_many_calls() {
    let file = DatabaseFile::new();
    let options = SqliteOptions {
        readers_max: 1,
        ..file.options.clone()
    };
    let store = SqliteStore::open(&options).await.expect("open");
    let scope = scope("t/main");
    append(&store, &scope, "a.md", "x", &operation("1", "f"))
        .await
        .expect("append");
    let reads = (0..200).map(async |_| {
        let names = store.names(&scope, 10).await.expect("names").names;
        let note = store.read(&scope, &name("a.md"), 10).await.expect("read");
        (names.len(), note.is_some())
    });
    let reads = join_all(reads).await;
    assert!(reads.iter().all(|read| *read == (1, true)));
}
