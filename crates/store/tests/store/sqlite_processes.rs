//! One SQLite file in the hands of several processes, which may die at any moment.

use std::{
    fs::OpenOptions,
    io::Write as _,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Instant,
};

use futures::future::join_all;
use notekeeper_domain::Version;
use notekeeper_store::{
    Expected, MutationError, NoteStore as _, Receipt, ReceiptStatus, SqliteOptions, SqliteStore,
    StoreError, WriteRequest,
};
use rand::{Rng as _, SeedableRng as _, rngs::StdRng};
use serde_json::{Value, json};

use crate::{
    child::{Process, lines, part, until},
    database::{PATIENCE, append, name, operation, scope, seed, text},
    database_file::DatabaseFile,
    load::{ALL_RECEIPTS, Answer, Call, Told, calls, carry_out, check, stored_receipt},
};

const PROCESSES: usize = 4;

/// Calls at a time of one process.
const AT_A_TIME: usize = 8;

/// A part: a share of the calls that a seed makes.
fn share(file: &DatabaseFile, seed: u64, operations: usize, process: usize, run: usize) -> Value {
    json!({
        "database": file.options.path,
        "answers": file.beside(&format!("answers-{process}-{run}")),
        "seed": seed,
        "operations": operations,
        "process": process,
    })
}

/// Plays a part: makes the calls, and writes down each answer as soon as it is there.
fn play(part: &Value) {
    let path = |key: &str| PathBuf::from(part[key].as_str().expect("a path"));
    let number = |key: &str| part[key].as_u64().expect("a number");
    let operations = usize::try_from(number("operations")).expect("few");
    let process = usize::try_from(number("process")).expect("few");
    let calls = calls(&mut StdRng::seed_from_u64(number("seed")), operations);
    let share = calls
        .into_iter()
        .enumerate()
        .filter(move |(index, _)| index % PROCESSES == process);
    let answers = OpenOptions::new()
        .create(true)
        .append(true)
        .open(path("answers"));
    let answers = Arc::new(Mutex::new(answers.expect("a file")));
    block_on(async move {
        let store = opened(&path("database")).await;
        carry_out(&store, share, AT_A_TIME, move |index, _, answer| {
            let line = format!("{index} {}\n", written(&answer));
            let mut answers = answers.lock().expect("never held over a panic");
            answers.write_all(line.as_bytes()).expect("write");
        })
        .await;
        store.close().await;
    });
}

async fn opened(path: &Path) -> SqliteStore {
    let mut options = SqliteOptions::new(path);
    options.busy_timeout = PATIENCE / 2;
    SqliteStore::open(&options).await.expect("open")
}

pub(crate) fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime")
        .block_on(work)
}

/// An answer as a line.
pub(crate) fn written(answer: &Answer) -> String {
    match answer {
        Ok(receipt) => format!(
            "ok {} {} {} {}",
            receipt.status.code(),
            receipt
                .version
                .as_ref()
                .map_or("-", |version| version.as_str()),
            receipt.existed,
            receipt.replayed
        ),
        Err(MutationError::OperationConflict) => "conflict".to_owned(),
        Err(error) => format!("gave-up {error}"),
    }
}

/// The call and the answer of a line.
pub(crate) fn read_back(line: &str, calls: &[Call]) -> (Call, Answer) {
    let mut words = line.split(' ');
    let mut next = || words.next().expect("a word");
    let call = calls[next().parse::<usize>().expect("an index")].clone();
    let answer = match next() {
        "ok" => Ok(Receipt {
            status: ReceiptStatus::from_code(next()).expect("a status"),
            version: Some(next())
                .filter(|version| *version != "-")
                .map(Version::new),
            // A line doesn't tell it.
            chars: None,
            existed: next() == "true",
            replayed: next() == "true",
        }),
        "conflict" => Err(MutationError::OperationConflict),
        _ => Err(StoreError::Unavailable(line.to_owned()).into()),
    };
    (call, answer)
}

/// Checks what all processes were told against what is in the file.
fn check_all(file: &DatabaseFile, answers: &[String], calls: &[Call], told: Told) {
    let answers = answers.iter().map(|line| read_back(line, calls)).collect();
    block_on(async {
        let store = file.store().await;
        let mut connection = file.connection().await;
        let sound: String = sqlx::query_scalar("pragma integrity_check")
            .fetch_one(&mut connection)
            .await
            .expect("check");
        assert_eq!(sound, "ok");
        let rows = sqlx::query(ALL_RECEIPTS).fetch_all(&mut connection).await;
        let rows = rows.expect("receipts");
        let stored = rows.iter().map(|row| stored_receipt!(row, i64)).collect();
        check(&store, stored, answers, told).await;
    });
}

/// They open the file for the first time at the same time, too.
#[test]
fn several_processes_write_at_once_and_each_operation_takes_effect_once() {
    const OPERATIONS: usize = 800;
    if let Some(part) = part() {
        return play(&part);
    }
    let (file, seed) = (DatabaseFile::new(), seed());
    let parts = (0..PROCESSES).map(|process| share(&file, seed, OPERATIONS, process, 0));
    let parts: Vec<_> = parts.collect();
    let test = "sqlite_processes::\
                several_processes_write_at_once_and_each_operation_takes_effect_once";
    let processes: Vec<_> = parts
        .iter()
        .map(|part| Process::start(test, part))
        .collect();
    processes.into_iter().for_each(Process::end);
    let answers: Vec<_> = parts
        .iter()
        .flat_map(|part| lines(&answers_of(part)))
        .collect();
    let calls = calls(&mut StdRng::seed_from_u64(seed), OPERATIONS);
    assert_eq!(answers.len(), calls.len());
    check_all(&file, &answers, &calls, Told::Once);
}

fn answers_of(part: &Value) -> PathBuf {
    part["answers"].as_str().expect("a path").into()
}

/// Whoever comes after them makes all calls again, as Temporal does.
#[test]
fn what_processes_were_told_before_they_were_killed_is_there_and_nothing_is_there_twice() {
    const OPERATIONS: usize = 1_000;
    const KILLS: usize = 6;
    if let Some(part) = part() {
        return play(&part);
    }
    let test = "sqlite_processes::\
                what_processes_were_told_before_they_were_killed_is_there_and_nothing_is_there_twice";
    let (file, seed) = (DatabaseFile::new(), seed());
    let mut random = StdRng::seed_from_u64(seed);
    let calls = calls(&mut StdRng::seed_from_u64(seed), OPERATIONS);
    let mut answers = Vec::new();
    let mut killed_amid = 0;
    for run in 0..=KILLS {
        let parts = (0..PROCESSES).map(|process| share(&file, seed, OPERATIONS, process, run));
        let parts: Vec<_> = parts.collect();
        let heard = || parts.iter().flat_map(|part| lines(&answers_of(part)));
        let mut processes: Vec<_> = parts
            .iter()
            .map(|part| Process::start(test, part))
            .collect();
        if run < KILLS {
            // Each time somewhat later, in the middle of something that is new.
            let enough = calls.len() * (run + 1) / (KILLS + 2) + random.random_range(0..40);
            until("enough calls were answered", || heard().count() >= enough);
            let killed = processes.iter_mut().map(Process::kill);
            killed_amid += killed.filter(|killed| *killed).count();
        } else {
            processes.into_iter().for_each(Process::end);
            assert_eq!(heard().count(), calls.len());
        }
        answers.extend(heard());
    }
    // All of a run may be done before this process gets its turn on a busy machine, but not of each.
    assert!(killed_amid > 0, "none was killed amid its work");
    check_all(&file, &answers, &calls, Told::AtMostOnce);
}

/// SQLite's own way of waiting asks so rarely in the end that a turn can take seconds.
#[test]
fn processes_that_write_without_a_break_leave_others_their_turn() {
    const BUSY: usize = 3;
    if let Some(part) = part() {
        return write_without_a_break(&part);
    }
    let file = DatabaseFile::new();
    let test = "sqlite_processes::processes_that_write_without_a_break_leave_others_their_turn";
    let parts = (0..BUSY).map(|name| json!({"database": file.options.path, "name": name}));
    let mut busy: Vec<_> = parts.map(|part| Process::start(test, &part)).collect();
    block_on(async {
        // The time-out that programs have.
        let store = SqliteStore::open(&SqliteOptions::new(&file.options.path)).await;
        let store = store.expect("open");
        let started = Instant::now();
        for name in 0..BUSY {
            while text(&store, &scope("busy/main"), &busy_note(name, 0))
                .await
                .is_none()
            {
                assert!(started.elapsed() < PATIENCE, "process {name} doesn't write");
                tokio::task::yield_now().await;
            }
        }
        for number in 0..200 {
            let write = operation(&number.to_string(), "f");
            let appended = append(&store, &scope("own/main"), "a.md", "x", &write).await;
            assert!(!appended.expect("it gets its turn").replayed);
        }
    });
    assert!(
        busy.iter_mut().all(Process::kill),
        "they were busy until now"
    );
}

fn busy_note(process: usize, writer: usize) -> String {
    format!("p{process}-{writer}.md")
}

/// Until it is killed.
fn write_without_a_break(part: &Value) {
    let path = PathBuf::from(part["database"].as_str().expect("a path"));
    let process = usize::try_from(part["name"].as_u64().expect("a number")).expect("few");
    block_on(async {
        let store = &opened(&path).await;
        let scope = &scope("busy/main");
        let writers = (0..AT_A_TIME).map(async |writer| {
            let note = &name(&busy_note(process, writer));
            loop {
                let written = store
                    .write(scope, note, &WriteRequest::new("x", &Expected::Any), None)
                    .await;
                written.expect("write");
            }
        });
        join_all(writers).await;
    });
}
