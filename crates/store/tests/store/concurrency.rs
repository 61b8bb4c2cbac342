//! The compare-and-swap strategy under load: what callers were told is checked against what the
//! database holds.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex},
};

use futures::future::join_all;
use notekeeper_store::{Expected, MutationError, NoteStore, PostgresStore, Receipt, ReceiptStatus};
use rand::{Rng, SeedableRng, rngs::StdRng, seq::IndexedRandom};
use sqlx::Row;

use crate::database::{Database, append, name, operation, scope, seed, text};

const CONNECTIONS: u32 = 32;
const OPERATIONS: usize = 4_800;

/// One delivery of an operation.
#[derive(Debug, Clone)]
struct Call {
    id: String,
    fingerprint: String,
    file: &'static str,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Append,
    Write,
    Delete,
}

type Answer = Result<Receipt, MutationError>;

/// Operations over one hot note and a few that are deleted and made anew; about half of the
/// operations come twice, close together, and some come again with other arguments.
fn calls(random: &mut StdRng) -> Vec<Call> {
    let mut calls = Vec::new();
    for index in 0..OPERATIONS {
        let file = if random.random_bool(0.5) {
            "hot.md"
        } else {
            ["n0.md", "n1.md", "n2.md"]
                .choose(random)
                .expect("there are some")
        };
        let kind = match random.random_range(0..10) {
            0..=2 if file != "hot.md" => Kind::Delete,
            3 if file != "hot.md" => Kind::Write,
            _ => Kind::Append,
        };
        let id = format!("op{index}");
        let call = Call {
            fingerprint: format!("f-{id}"),
            id,
            file,
            kind,
        };
        let near = |random: &mut StdRng| (index * 8 + random.random_range(0..48), call.clone());
        calls.push(near(random));
        if random.random_bool(0.5) {
            calls.push(near(random));
        }
        if random.random_bool(0.05) {
            let (place, call) = near(random);
            let other = Call {
                fingerprint: "other".to_owned(),
                file: "n3.md",
                ..call
            };
            calls.push((place, other));
        }
    }
    calls.sort_by_key(|(place, _)| *place);
    calls.into_iter().map(|(_, call)| call).collect()
}

async fn run(store: &PostgresStore, call: &Call) -> Answer {
    let scope = scope("load/main");
    let operation = operation(&call.id, &call.fingerprint);
    let line = format!("<{}:{}>", call.id, call.fingerprint);
    let any = &Expected::Any;
    match call.kind {
        Kind::Append => append(store, &scope, call.file, &line, &operation).await,
        Kind::Write => {
            let line = format!("{line}\n");
            store
                .write(&scope, &name(call.file), &line, any, Some(&operation))
                .await
        }
        Kind::Delete => {
            store
                .delete(&scope, &name(call.file), any, Some(&operation))
                .await
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn thousands_of_calls_at_once_each_take_effect_once_and_none_gives_up() {
    let mut random = StdRng::seed_from_u64(seed());
    let database = Database::migrated().await;
    let store = database.store_of(CONNECTIONS);
    let calls = calls(&mut random);
    assert!(calls.len() >= 7_000, "{} calls", calls.len());
    let queue = Arc::new(Mutex::new(calls.clone().into_iter().enumerate()));
    let workers: Vec<_> = (0..CONNECTIONS)
        .map(|_| {
            let (store, queue) = (store.clone(), Arc::clone(&queue));
            tokio::spawn(async move {
                let mut answers = Vec::new();
                loop {
                    let next = queue.lock().expect("never held over a panic").next();
                    let Some((index, call)) = next else {
                        return answers;
                    };
                    answers.push((index, run(&store, &call).await));
                }
            })
        })
        .collect();
    let mut answers: HashMap<String, Vec<(Call, Answer)>> = HashMap::new();
    for worker in workers {
        for (index, answer) in worker.await.expect("no worker panics") {
            let call = calls[index].clone();
            answers
                .entry(call.id.clone())
                .or_default()
                .push((call, answer));
        }
    }
    let applied: HashMap<String, (Call, Receipt)> = answers
        .into_iter()
        .map(|(id, answers)| (id, the_one_that_took_effect(answers)))
        .collect();
    assert_eq!(applied.len(), OPERATIONS);
    receipts_are_what_callers_were_told(&database, &applied).await;
    notes_are_what_receipts_say(&database, &store, &applied).await;
}

/// Of an operation's calls one took effect, the others were answered from its receipt or refused
/// as a conflict.
fn the_one_that_took_effect(answers: Vec<(Call, Answer)>) -> (Call, Receipt) {
    let mut applied: Vec<_> = answers
        .iter()
        .filter_map(|(call, answer)| Some((call, answer.as_ref().ok()?)))
        .filter(|(_, receipt)| !receipt.replayed)
        .collect();
    assert_eq!(applied.len(), 1, "{answers:?}");
    let (call, receipt) = applied.remove(0);
    for (other, answer) in &answers {
        match answer {
            Ok(answer) => {
                assert_eq!(other.fingerprint, call.fingerprint, "{answers:?}");
                let replay = Receipt {
                    replayed: answer.replayed,
                    ..receipt.clone()
                };
                assert_eq!(*answer, replay, "{answers:?}");
            }
            Err(MutationError::OperationConflict) => {
                assert_ne!(other.fingerprint, call.fingerprint, "{answers:?}");
            }
            Err(error) => panic!("{other:?} gave up: {error}"),
        }
    }
    (call.clone(), receipt.clone())
}

async fn receipts_are_what_callers_were_told(
    database: &Database,
    applied: &HashMap<String, (Call, Receipt)>,
) {
    let mut connection = database.connection().await;
    let rows = sqlx::query("select id, fingerprint, name, status, version, existed from receipts")
        .fetch_all(&mut connection)
        .await
        .expect("receipts");
    assert_eq!(rows.len(), applied.len());
    let mut versions = HashSet::new();
    for row in rows {
        let (call, receipt) = &applied[row.get::<&str, _>("id")];
        assert_eq!(row.get::<&str, _>("fingerprint"), call.fingerprint);
        assert_eq!(row.get::<&str, _>("name"), call.file);
        assert_eq!(row.get::<&str, _>("status"), receipt.status.code());
        assert_eq!(row.get::<bool, _>("existed"), receipt.existed);
        let version: Option<i64> = row.get("version");
        let told = receipt
            .version
            .as_ref()
            .map(|version| version.as_str().to_owned());
        assert_eq!(version.map(|version| version.to_string()), told);
        if let Some(version) = version {
            assert!(versions.insert(version), "version {version} was made twice");
        }
    }
}

async fn notes_are_what_receipts_say(
    database: &Database,
    store: &PostgresStore,
    applied: &HashMap<String, (Call, Receipt)>,
) {
    let mut connection = database.connection().await;
    let placeholders: i64 = sqlx::query_scalar("select count(*) from notes where version = 0")
        .fetch_one(&mut connection)
        .await
        .expect("count");
    assert_eq!(placeholders, 0);
    let scope = scope("load/main");
    for file in ["hot.md", "n0.md", "n1.md", "n2.md", "n3.md"] {
        let of_file: Vec<_> = applied
            .values()
            .filter(|(call, _)| call.file == file)
            .collect();
        let made = of_file
            .iter()
            .filter(|(call, r)| call.kind != Kind::Delete && !r.existed);
        let deleted = of_file
            .iter()
            .filter(|(_, r)| r.status == ReceiptStatus::Deleted);
        let note = store
            .read(&scope, &name(file), usize::MAX)
            .await
            .expect("read");
        // Whatever came between, making and deleting took turns.
        assert_eq!(
            made.count(),
            deleted.count() + usize::from(note.is_some()),
            "{file}"
        );
        let Some(note) = note else { continue };
        let last = note.operation_id.expect("every call has an operation");
        assert_eq!(applied[&last].1.version.as_ref(), Some(&note.version));
        let lines: Vec<&str> = note.content.lines().collect();
        let distinct: HashSet<&str> = lines.iter().copied().collect();
        assert_eq!(distinct.len(), lines.len(), "{file} has a line twice");
        let expected: HashSet<String> = of_file
            .iter()
            .filter(|(call, _)| call.kind != Kind::Delete)
            .map(|(call, _)| format!("<{}:{}>", call.id, call.fingerprint))
            .collect();
        assert!(lines.iter().all(|line| expected.contains(*line)), "{file}");
        if file == "hot.md" {
            assert_eq!(lines.len(), expected.len(), "nothing was lost");
        }
    }
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
                .write(&scope, &file, &id, &Expected::Absent, Some(&write))
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
