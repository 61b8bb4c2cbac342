//! The compare-and-swap strategy of the database under load.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex},
};

use futures::future::join_all;
use notekeeper_store::{Expected, MutationError, NoteStore as _, ReceiptStatus, WriteRequest};
use rand::{SeedableRng, rngs::StdRng};

use crate::{
    database::{Database, append, name, operation, scope, seed, text},
    load::{ALL_RECEIPTS, Told, calls, carry_out, check, stored_receipt},
};

const CONNECTIONS: u32 = 32;
const OPERATIONS: usize = 4_800;

#[tokio::test(flavor = "multi_thread")]
async fn thousands_of_calls_at_once_each_take_effect_once_and_none_gives_up() {
    let mut random = StdRng::seed_from_u64(seed());
    let database = Database::migrated().await;
    let store = database.store_of(CONNECTIONS);
    let calls = calls(&mut random, OPERATIONS);
    assert!(calls.len() >= 7_000, "{} calls", calls.len());
    let answers = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&answers);
    let calls = calls.into_iter().enumerate();
    carry_out(
        &store,
        calls,
        CONNECTIONS as usize,
        move |_, call, answer| {
            let mut told = told.lock().expect("never held over a panic");
            told.push((call.clone(), answer));
        },
    )
    .await;
    let mut connection = database.connection().await;
    let placeholders: i64 = sqlx::query_scalar("select count(*) from notes where version = 0")
        .fetch_one(&mut connection)
        .await
        .expect("count");
    assert_eq!(placeholders, 0);
    let rows = sqlx::query(ALL_RECEIPTS).fetch_all(&mut connection).await;
    let rows = rows.expect("receipts");
    assert_eq!(rows.len(), OPERATIONS);
    let stored = rows.iter().map(|row| stored_receipt!(row, i64)).collect();
    let answers = std::mem::take(&mut *answers.lock().expect("never held over a panic"));
    check(&store, stored, answers, Told::Once).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sixty_four_writers_of_one_note_all_succeed() {
    const WRITERS: usize = 64;
    const EACH: usize = 5;
    let database = Database::migrated().await;
    let store = database.store_of(CONNECTIONS);
    let writers = (0..WRITERS).map(|writer| {
        let store = store.clone();
        tokio::spawn(async move {
            for index in 0..EACH {
                let line = format!("{writer}-{index}");
                let edit = operation(&line, "f");
                let receipt = append(&store, &scope("hot/main"), "a.md", &line, &edit).await;
                assert!(!receipt.expect("no writer gives up").replayed);
            }
        })
    });
    for writer in join_all(writers).await {
        writer.expect("no writer panics");
    }
    let text = text(&store, &scope("hot/main"), "a.md")
        .await
        .expect("there");
    let lines: HashSet<&str> = text.lines().collect();
    assert_eq!(
        (text.lines().count(), lines.len()),
        (WRITERS * EACH, WRITERS * EACH)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_creators_of_one_note_from_two_processes_make_one_note() {
    let database = Database::migrated().await;
    let stores = [database.store(), database.store()];
    let creators = (0..20).map(|creator| {
        let store = stores[creator % 2].clone();
        tokio::spawn(async move {
            let id = creator.to_string();
            let edit = operation(&id, "f");
            let appended = append(&store, &scope("race/main"), "new.md", &id, &edit).await;
            let write = operation(&format!("w{id}"), "f");
            let (scope, file) = (scope("race/main"), name("whole.md"));
            let written = store
                .write(
                    &scope,
                    &file,
                    &WriteRequest::new(&id, &Expected::Absent),
                    Some(&write),
                )
                .await;
            (appended.expect("edit"), written)
        })
    });
    let answers: Vec<_> = join_all(creators)
        .await
        .into_iter()
        .map(|c| c.expect("no creator panics"))
        .collect();
    let created = answers
        .iter()
        .filter(|(r, _)| r.status == ReceiptStatus::Created)
        .count();
    assert_eq!(created, 1);
    let written: Vec<_> = answers
        .iter()
        .enumerate()
        .filter(|(_, (_, w))| w.is_ok())
        .map(|(i, _)| i)
        .collect();
    assert_eq!(written.len(), 1);
    for (_, write) in &answers {
        assert!(
            matches!(write, Ok(_) | Err(MutationError::VersionConflict)),
            "{write:?}"
        );
    }
    let scope = scope("race/main");
    let whole = text(&stores[0], &scope, "whole.md").await;
    assert_eq!(whole, Some(written[0].to_string()));
    let appended = text(&stores[0], &scope, "new.md").await.expect("there");
    assert_eq!(appended.lines().count(), 20);
    let mut connection = database.connection().await;
    let rows: i64 = sqlx::query_scalar("select count(*) from notes")
        .fetch_one(&mut connection)
        .await
        .expect("count");
    assert_eq!(rows, 2);
}
