//! Operations that come at the same time and more than once, and what must hold afterwards: what
//! callers were told is checked against what the database holds.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex},
};

use notekeeper_store::{Expected, MutationError, NoteStore, Receipt, ReceiptStatus, WriteRequest};
use rand::{Rng, rngs::StdRng, seq::IndexedRandom};

use crate::database::{append, name, operation, scope};

/// One delivery of an operation.
#[derive(Debug, Clone)]
pub(crate) struct Call {
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

pub(crate) type Answer = Result<Receipt, MutationError>;

/// A receipt as its row says.
#[derive(Debug)]
pub(crate) struct StoredReceipt {
    pub(crate) id: String,
    pub(crate) fingerprint: String,
    pub(crate) name: String,
    pub(crate) status: String,
    pub(crate) version: Option<String>,
    pub(crate) existed: bool,
}

/// The rows of either database.
pub(crate) const ALL_RECEIPTS: &str =
    "select id, fingerprint, name, status, version, existed from receipts";

/// One row of [`ALL_RECEIPTS`]; versions are of the type that is given.
macro_rules! stored_receipt {
    ($row:expr, $version:ty) => {
        $crate::load::StoredReceipt {
            id: sqlx::Row::get($row, "id"),
            fingerprint: sqlx::Row::get($row, "fingerprint"),
            name: sqlx::Row::get($row, "name"),
            status: sqlx::Row::get($row, "status"),
            version: sqlx::Row::get::<Option<$version>, _>($row, "version")
                .map(|version| version.to_string()),
            existed: sqlx::Row::get($row, "existed"),
        }
    };
}
pub(crate) use stored_receipt;

/// Operations over one hot note and a few that are deleted and made anew; about half of the
/// operations come twice, close together, and some come again with other arguments.
pub(crate) fn calls(random: &mut StdRng, operations: usize) -> Vec<Call> {
    let mut calls = Vec::new();
    for index in 0..operations {
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

async fn run(store: &impl NoteStore, call: &Call) -> Answer {
    let scope = scope("load/main");
    let operation = operation(&call.id, &call.fingerprint);
    let line = format!("<{}:{}>", call.id, call.fingerprint);
    let any = &Expected::Any;
    match call.kind {
        Kind::Append => append(store, &scope, call.file, &line, &operation).await,
        Kind::Write => {
            let line = format!("{line}\n");
            store
                .write(
                    &scope,
                    &name(call.file),
                    &WriteRequest::new(&line, any),
                    Some(&operation),
                )
                .await
        }
        Kind::Delete => {
            store
                .delete(&scope, &name(call.file), any, Some(&operation))
                .await
        }
    }
}

/// Makes the calls, so many at a time, and tells each answer as soon as it is there.
pub(crate) async fn carry_out<S: NoteStore + Clone + 'static>(
    store: &S,
    calls: impl Iterator<Item = (usize, Call)> + Send + 'static,
    at_a_time: usize,
    told: impl Fn(usize, &Call, Answer) + Send + Sync + 'static,
) {
    let queue = Arc::new(Mutex::new(calls));
    let told = Arc::new(told);
    let workers: Vec<_> = (0..at_a_time)
        .map(|_| {
            let (store, queue, told) = (store.clone(), Arc::clone(&queue), Arc::clone(&told));
            tokio::spawn(async move {
                loop {
                    let next = queue.lock().expect("never held over a panic").next();
                    let Some((index, call)) = next else { return };
                    let answer = run(&store, &call).await;
                    told(index, &call, answer);
                }
            })
        })
        .collect();
    for worker in workers {
        worker.await.expect("no worker panics");
    }
}

/// How many calls of an operation are answered as the one that took effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Told {
    /// One.
    Once,
    /// One, or none where whoever made the call died before it heard.
    AtMostOnce,
}

/// Checks all that was told, and the notes, against the receipts that the database holds.
pub(crate) async fn check(
    store: &impl NoteStore,
    stored: Vec<StoredReceipt>,
    answers: Vec<(Call, Answer)>,
    told: Told,
) {
    let rows = stored.len();
    let stored: HashMap<String, StoredReceipt> = stored
        .into_iter()
        .map(|row| (row.id.clone(), row))
        .collect();
    assert_eq!(rows, stored.len());
    let mut by_id: HashMap<String, Vec<(Call, Answer)>> = HashMap::new();
    for (call, answer) in answers {
        by_id
            .entry(call.id.clone())
            .or_default()
            .push((call, answer));
    }
    assert_eq!(rows, by_id.len(), "every operation has a receipt");
    let mut versions = HashSet::new();
    let mut applied = HashMap::new();
    for (id, answers) in by_id {
        let receipt = &stored[&id];
        if let Some(version) = &receipt.version {
            assert!(versions.insert(version), "version {version} was made twice");
        }
        let call = the_one_that_took_effect(receipt, &answers, told);
        applied.insert(id, (call, receipt));
    }
    notes_are_what_receipts_say(store, &applied).await;
}

/// Of an operation's calls one took effect; the others were answered from its receipt or refused
/// as a conflict.
fn the_one_that_took_effect(
    receipt: &StoredReceipt,
    answers: &[(Call, Answer)],
    told: Told,
) -> Call {
    let mut taken = 0;
    for (call, answer) in answers {
        match answer {
            Ok(answer) => {
                taken += usize::from(!answer.replayed);
                assert_eq!(call.fingerprint, receipt.fingerprint, "{answers:?}");
                assert_eq!(call.file, receipt.name, "{answers:?}");
                assert_eq!(answer.status.code(), receipt.status, "{answers:?}");
                assert_eq!(answer.existed, receipt.existed, "{answers:?}");
                let answered = answer.version.as_ref().map(|version| version.as_str());
                assert_eq!(answered, receipt.version.as_deref(), "{answers:?}");
            }
            Err(MutationError::OperationConflict) => {
                assert_ne!(call.fingerprint, receipt.fingerprint, "{answers:?}");
            }
            Err(error) => panic!("{call:?} gave up: {error}"),
        }
    }
    match told {
        Told::Once => assert_eq!(taken, 1, "{answers:?}"),
        Told::AtMostOnce => assert!(taken <= 1, "{answers:?}"),
    }
    let of_receipt = |call: &&Call| call.fingerprint == receipt.fingerprint;
    let mut calls = answers.iter().map(|(call, _)| call);
    calls.find(of_receipt).expect("one was made").clone()
}

async fn notes_are_what_receipts_say(
    store: &impl NoteStore,
    applied: &HashMap<String, (Call, &StoredReceipt)>,
) {
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
            .filter(|(_, r)| r.status == ReceiptStatus::Deleted.code());
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
        let version = applied[&last].1.version.as_deref();
        assert_eq!(version, Some(note.version.as_str()));
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
