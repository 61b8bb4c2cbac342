//! One directory of notes in the hands of several processes.

use std::{
    fs::OpenOptions,
    io::Write as _,
    path::PathBuf,
    sync::{Arc, Mutex},
};

use notekeeper_store::{FileOptions, FileStore, fault_points};
use rand::{SeedableRng as _, rngs::StdRng};
use serde_json::{Value, json};

use crate::{
    child::{Process, lines, part},
    database::{PATIENCE, seed},
    file_root::FileRoot,
    load::{ALL_RECEIPTS, Answer, Call, Told, calls, carry_out, check, stored_receipt},
    sqlite_processes::{block_on, read_back, written},
};

const PROCESSES: usize = 4;

/// Calls at a time of one process.
const AT_A_TIME: usize = 4;

/// A part: a share of the calls that a seed makes.
pub(crate) fn share(
    root: &FileRoot,
    seed: u64,
    operations: usize,
    process: usize,
    of: usize,
) -> Value {
    json!({
        "root": root.options.root,
        "answers": root.beside(&format!("answers-{process}")),
        "seed": seed,
        "operations": operations,
        "process": process,
        "of": of,
    })
}

/// Where a part writes what it was answered.
pub(crate) fn answers_of(part: &Value) -> PathBuf {
    part["answers"].as_str().expect("a path").into()
}

/// Plays a part: makes the calls, and writes down each answer as soon as it is there.
pub(crate) fn play(part: &Value) {
    let number = |key: &str| part[key].as_u64().expect("a number");
    let small = |key: &str| usize::try_from(number(key)).expect("few");
    if let Some(point) = part["point"].as_str() {
        fault_points::arm(point, u32::try_from(number("passes")).expect("few"));
    }
    let (process, of) = (small("process"), small("of"));
    let calls = calls(
        &mut StdRng::seed_from_u64(number("seed")),
        small("operations"),
    );
    let share = calls
        .into_iter()
        .enumerate()
        .filter(move |(index, _)| index % of == process);
    let answers = OpenOptions::new()
        .create(true)
        .append(true)
        .open(answers_of(part));
    let answers = Arc::new(Mutex::new(answers.expect("a file")));
    block_on(async move {
        let mut options = FileOptions::new(part["root"].as_str().expect("a path"));
        options.busy_timeout = PATIENCE / 2;
        let store = FileStore::open(options).await.expect("open");
        carry_out(&store, share, AT_A_TIME, move |index, _, answer| {
            let line = format!("{index} {}\n", written(&answer));
            let mut answers = answers.lock().expect("never held over a panic");
            answers.write_all(line.as_bytes()).expect("write");
        })
        .await;
    });
}

/// Checks what all were told against what is in the directory.
pub(crate) async fn check_all(
    root: &FileRoot,
    store: &FileStore,
    answers: Vec<(Call, Answer)>,
    told: Told,
) {
    assert_eq!(root.prepared().await, 0, "nothing is left half done");
    let mut journal = root.journal().await;
    let rows = sqlx::query(ALL_RECEIPTS).fetch_all(&mut journal).await;
    let rows = rows.expect("receipts");
    let stored = rows
        .iter()
        .map(|row| stored_receipt!(row, String))
        .collect();
    check(store, stored, answers, told).await;
    let odd = root
        .files()
        .into_iter()
        .filter(|path| path.contains(".memory-"));
    assert_eq!(
        odd.collect::<Vec<_>>(),
        Vec::<String>::new(),
        "nothing lies about"
    );
}

/// They open the directory for the first time at the same time, too.
#[test]
fn several_processes_write_at_once_and_each_operation_takes_effect_once() {
    const OPERATIONS: usize = 400;
    if let Some(part) = part() {
        return play(&part);
    }
    let (root, seed) = (FileRoot::new(), seed());
    let parts = (0..PROCESSES).map(|process| share(&root, seed, OPERATIONS, process, PROCESSES));
    let parts: Vec<_> = parts.collect();
    let test =
        "file_processes::several_processes_write_at_once_and_each_operation_takes_effect_once";
    let processes: Vec<_> = parts
        .iter()
        .map(|part| Process::start(test, part))
        .collect();
    processes.into_iter().for_each(Process::end);
    let calls = calls(&mut StdRng::seed_from_u64(seed), OPERATIONS);
    let told = parts.iter().flat_map(|part| lines(&answers_of(part)));
    let answers: Vec<_> = told.map(|line| read_back(&line, &calls)).collect();
    assert_eq!(answers.len(), calls.len());
    block_on(async {
        let store = root.store().await;
        check_all(&root, &store, answers, Told::Once).await;
    });
}
