//! Transcripts, facts and vectors in the hands of two processes, which may die at any moment.

use std::{
    fs::OpenOptions,
    io::Write as _,
    path::{Path, PathBuf},
};

use futures::{StreamExt as _, future::join_all, stream};
use notekeeper_domain::{Operation, StoredMessage};
use notekeeper_store::{
    FactStore, MessageSelection as Selection, PostgresOptions, PostgresStore, SqliteOptions,
    SqliteStore, Store, TranscriptBounds,
};
use rand::{Rng as _, SeedableRng as _, rngs::StdRng};
use serde_json::{Value, json};

use crate::{
    child::{Process, lines, part, until},
    database::{Database, PATIENCE, operation, scope, seed},
    database_file::{DatabaseFile, directory},
    interleavings::assert_terms_belong,
    messages::{conversation, message},
    script::{Step, outcome, right},
    sqlite_processes::block_on,
    vectors::{chunk, collection, nearest},
};

const PROCESSES: usize = 2;

/// Where the processes find their store.
fn of_postgres(database: &Database) -> Value {
    json!({"url": database.options.url, "schema": database.options.schema})
}

fn of_sqlite(file: &DatabaseFile) -> Value {
    json!({"file": file.options.path})
}

async fn opened(store: &Value) -> Box<dyn Store> {
    let Some(file) = store["file"].as_str() else {
        let mut options = PostgresOptions::new(store["url"].as_str().expect("a URL"));
        options.schema = store["schema"].as_str().expect("a schema").to_owned();
        options.acquire_timeout = PATIENCE / 2;
        options.statement_timeout = PATIENCE / 2;
        return Box::new(PostgresStore::connect_lazy(&options).expect("valid options"));
    };
    let mut options = SqliteOptions::new(file);
    options.busy_timeout = PATIENCE / 2;
    Box::new(SqliteStore::open(&options).await.expect("open"))
}

fn path(part: &Value, key: &str) -> PathBuf {
    part[key].as_str().expect("a path").into()
}

fn number(part: &Value, key: &str) -> usize {
    usize::try_from(part[key].as_u64().expect("a number")).expect("few")
}

/// Writes down what is said, line by line.
fn diary(part: &Value) -> impl FnMut(&str) {
    let file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(path(part, "diary"));
    let mut file = file.expect("a file");
    move |line| {
        file.write_all(format!("{line}\n").as_bytes())
            .expect("write");
    }
}

const BATCHES: usize = 40;
const RACERS: usize = 20;

fn batch(process: usize, number: usize) -> Vec<StoredMessage> {
    let texts = (0..1 + number % 4).map(|n| format!("{process} {number} {n}"));
    texts.map(|text| message(&text)).collect()
}

/// Makes all calls of one process, each twice at the same time, as an attempt that overlaps another
/// does. Batches follow each other; those of the other process come between.
fn race(part: &Value) {
    let (store, process) = (&part["store"], number(part, "process"));
    let mut say = diary(part);
    block_on(async {
        let store = opened(store).await;
        say("ready");
        let go = path(part, "go");
        until("all are ready", || go.exists());
        let (scope, id) = (scope("race/main"), conversation("main"));
        let facts = store.facts().expect("it keeps facts");
        let kept = join_all((0..RACERS).map(async |racer| {
            // An operation of both processes, and then one of this one alone.
            let shared = operation(&format!("shared {racer}"), "f");
            let shared = remember_twice(facts, &format!("shared {racer}"), &shared).await;
            let own = operation(&format!("own {process} {racer}"), "f");
            let own = remember_twice(facts, &format!("own {process} {racer}"), &own).await;
            (racer, shared, own)
        }));
        for (racer, shared, own) in kept.await {
            say(&format!("shared {racer} {shared}"));
            say(&format!("own {racer} {own}"));
        }
        keep_at_once(&*store, process, &mut say).await;
        let transcripts = store.transcripts().expect("it keeps transcripts");
        for number in 0..BATCHES {
            let messages = batch(process, number);
            let add = operation(&format!("batch {process} {number}"), "f");
            let add = || transcripts.add_messages(&scope, &id, &messages, Some(&add));
            let (one, other) = tokio::join!(add(), add());
            let (one, other) = (one.expect("add"), other.expect("add"));
            assert!(one.replayed != other.replayed, "{one:?} {other:?}");
            assert_eq!((one.first, one.next), (other.first, other.next));
            say(&format!("batch {number} {} {}", one.first, one.next));
        }
    });
}

/// Keeps chunks, those of the other process among them, forwards here and backwards there.
async fn keep_at_once(store: &dyn Store, process: usize, say: &mut impl FnMut(&str)) {
    let vectors = store.vectors().expect("it keeps vectors");
    let (scope, main) = (&scope("race/main"), &collection("main"));
    let kept = join_all((0..RACERS).map(async |racer| {
        let mut chunks: Vec<_> = (0..10)
            .map(|n| chunk(&format!("{n}"), &[1.0, racer as f32]))
            .collect();
        if process > 0 {
            chunks.reverse();
        }
        let shared = operation(&format!("chunks {racer}"), "f");
        let keep = || vectors.keep_chunks(scope, main, &chunks, Some(&shared));
        let (one, other) = tokio::join!(keep(), keep());
        let new = [one, other].map(|kept| !kept.expect("keep").replayed);
        new.into_iter().filter(|new| *new).count()
    }));
    for (racer, times) in kept.await.into_iter().enumerate() {
        say(&format!("chunks {racer} {times}"));
    }
}

/// How often it took effect in this process.
async fn remember_twice(facts: &dyn FactStore, value: &str, by: &Operation) -> usize {
    let scope = scope("race/main");
    let fact = notekeeper_domain::Fact::new("key", value).expect("a fact");
    let call = || facts.remember(&scope, &fact, Some(by));
    let (one, other) = tokio::join!(call(), call());
    [one, other]
        .into_iter()
        .filter(|kept| !kept.as_ref().expect("remember").replayed)
        .count()
}

/// Starts the processes of a race at once, and returns what each says.
fn raced(test: &str, store: &Value, place: &Path) -> Vec<Vec<String>> {
    let parts = (0..PROCESSES).map(|process| {
        json!({
            "store": store,
            "process": process,
            "diary": place.join(format!("diary {process}")),
            "go": place.join("go"),
        })
    });
    let parts: Vec<Value> = parts.collect();
    let processes: Vec<_> = parts
        .iter()
        .map(|part| Process::start(test, part))
        .collect();
    let said = |part: &Value| lines(&path(part, "diary"));
    until("all are ready", || {
        parts.iter().all(|part| !said(part).is_empty())
    });
    std::fs::write(place.join("go"), "").expect("write");
    processes.into_iter().for_each(Process::end);
    parts.iter().map(said).collect()
}

/// Checks what the processes of a race were told against what is there.
async fn check_race(store: &dyn Store, said: &[Vec<String>]) {
    let count = |what: &str| -> usize {
        let all = said.iter().flatten();
        let told = all.filter_map(|line| line.strip_prefix(what)?.rsplit(' ').next());
        told.map(|times| times.parse::<usize>().expect("a number"))
            .sum()
    };
    for racer in 0..RACERS {
        assert_eq!(count(&format!("shared {racer} ")), 1, "in both together");
    }
    assert_eq!(count("own "), PROCESSES * RACERS);
    for racer in 0..RACERS {
        assert_eq!(count(&format!("chunks {racer} ")), 1, "in both together");
    }
    let vectors = store.vectors().expect("it keeps vectors");
    let found = nearest(vectors, &scope("race/main"), &[1.0, 0.0], 100).await;
    let found = found.expect("found");
    assert_eq!(found.len(), 10, "one row of an id, whatever races");
    let near = found[0].similarity;
    assert!(
        found
            .iter()
            .all(|found| (found.similarity - near).abs() < 1e-6),
        "all of one operation or of another: {found:?}"
    );
    let mut batches: Vec<(u64, u64, usize, usize)> = Vec::new();
    for (process, lines) in said.iter().enumerate() {
        let mut last = 0;
        for line in lines.iter().filter_map(|line| line.strip_prefix("batch ")) {
            let mut numbers = line.split(' ').map(|word| word.parse().expect("a number"));
            let mut next = || numbers.next().expect("three");
            let (number, first, next) = (next(), next(), next());
            assert!(first >= last, "one that was added later comes later");
            last = next;
            let number = usize::try_from(number).expect("few");
            batches.push((first, next, process, number));
        }
    }
    assert_eq!(batches.len(), PROCESSES * BATCHES);
    batches.sort_unstable();
    let (scope, id) = (scope("race/main"), conversation("main"));
    let transcripts = store.transcripts().expect("it keeps transcripts");
    let all = transcripts.messages(&scope, &id, Selection::All, 10_000_000);
    let all = all.await.expect("read");
    let mut position = 0;
    let mut right = Vec::new();
    for (first, next, process, number) in batches {
        assert_eq!(first, position, "no gap, and nothing twice");
        position = next;
        right.extend(batch(process, number));
    }
    assert_eq!(all.messages, right);
    let bounds = TranscriptBounds {
        first: 0,
        next: position,
    };
    assert_eq!(all.bounds, bounds);
    let facts = store.facts().expect("it keeps facts");
    let listed = facts.facts(&scope, None, 10).await.expect("list").facts;
    assert_eq!(listed.len(), 1, "one row, whatever races");
}

#[test]
fn two_processes_add_and_remember_at_once_and_each_operation_takes_effect_once_in_postgres() {
    if let Some(part) = part() {
        return race(&part);
    }
    let test = "kept_processes::two_processes_add_and_remember_at_once_and_each_operation_takes_effect_once_in_postgres";
    let (place, database) = (directory(), block_on(Database::migrated()));
    let said = raced(test, &of_postgres(&database), place.path());
    block_on(async {
        check_race(&database.store(), &said).await;
        let mut behind = database.connection().await;
        assert_terms_belong(&mut behind).await;
        let receipts: i64 = sqlx::query_scalar("select count(*) from receipts")
            .fetch_one(&mut behind)
            .await
            .expect("count");
        let right = RACERS + RACERS + PROCESSES * (RACERS + BATCHES);
        assert_eq!(usize::try_from(receipts), Ok(right));
    });
}

#[test]
fn two_processes_add_and_remember_at_once_and_each_operation_takes_effect_once_in_sqlite() {
    if let Some(part) = part() {
        return race(&part);
    }
    let test = "kept_processes::two_processes_add_and_remember_at_once_and_each_operation_takes_effect_once_in_sqlite";
    let (place, file) = (directory(), DatabaseFile::new());
    let said = raced(test, &of_sqlite(&file), place.path());
    block_on(async { check_race(&file.store().await, &said).await });
}

/// Operations of one process, one after the other, all with an id of their own.
fn operations(seed: u64, process: usize) -> Vec<Step> {
    let random = &mut StdRng::seed_from_u64(seed ^ process as u64);
    (0..200)
        .map(|number| {
            let by = Some(format!("{process} {number}"));
            let id = format!("c{}", random.random_range(0..2));
            let key = format!("k{}", random.random_range(0..4));
            let texts = (0..random.random_range(1..5)).map(|n| format!("{number} {n}"));
            match random.random_range(0..14) {
                0..=4 => Step::Add(id, texts.collect(), by),
                5 => Step::Clear(id, by),
                6..=8 => Step::Remember(key, format!("value {number}"), by),
                9 => Step::Forget(key, by),
                _ => {
                    let ids = (0..5).map(|_| format!("chunk {}", random.random_range(0..20)));
                    Step::Keep(ids.collect(), by)
                }
            }
        })
        .collect()
}

/// Makes all operations of a process, and writes down what each came to as soon as it is known.
fn work(part: &Value) {
    let (seed, process) = (
        part["seed"].as_u64().expect("a seed"),
        number(part, "process"),
    );
    let mut say = diary(part);
    block_on(async {
        let store = opened(&part["store"]).await;
        let scope = scope(&format!("worker{process}/main"));
        for step in operations(seed, process) {
            say(&told(&outcome(&*store, &scope, &step).await));
        }
    });
}

/// What a caller is told, whether it comes from a receipt or not.
fn told(outcome: &str) -> String {
    outcome
        .replace("replayed: true", "replayed: _")
        .replace("replayed: false", "replayed: _")
}

/// What all of a scope is afterwards.
async fn all_of(store: &dyn Store, process: usize, operations: &[Step]) -> Vec<String> {
    let scope = scope(&format!("worker{process}/main"));
    let mut steps = vec![Step::List(None, 10), Step::Facts(None, 10)];
    steps.extend([Step::Marks, Step::Nearest([1.0, 0.1], 100)]);
    for id in ["c0", "c1"] {
        steps.push(Step::Read(id.to_owned(), Selection::All, 10_000_000));
    }
    let ids = operations.len();
    let found = stream::iter(&steps).then(|step| outcome(store, &scope, step));
    let mut found: Vec<String> = found.collect().await;
    found.push(format!("{ids} operations"));
    found
}

/// Kills the processes again and again in the middle of something that is new; those who come after
/// them make all operations from the start, as Temporal does.
fn killed_and_repeated(test: &str, store: &Value, place: &Path) {
    const KILLS: usize = 6;
    let seed = seed();
    let rights: Vec<Vec<String>> = (0..PROCESSES)
        .map(|process| {
            let scope = scope(&format!("worker{process}/main"));
            let right = block_on(right(&scope, &operations(seed, process)));
            right.iter().map(|outcome| told(outcome)).collect()
        })
        .collect();
    let random = &mut StdRng::seed_from_u64(seed);
    let mut killed_amid = 0;
    for run in 0..=KILLS {
        let parts = (0..PROCESSES).map(|process| {
            json!({
                "store": store,
                "process": process,
                "seed": seed,
                "diary": place.join(format!("diary {process} {run}")),
            })
        });
        let parts: Vec<Value> = parts.collect();
        let heard = |process: usize| lines(&path(&parts[process], "diary"));
        let mut processes: Vec<_> = parts
            .iter()
            .map(|part| Process::start(test, part))
            .collect();
        if run < KILLS {
            let enough = 200 * (run + 1) / (KILLS + 2) + random.random_range(0..20);
            until("enough was done", || heard(run % PROCESSES).len() >= enough);
            let killed = processes.iter_mut().map(Process::kill);
            killed_amid += killed.filter(|killed| *killed).count();
        } else {
            processes.into_iter().for_each(Process::end);
        }
        for (process, right) in rights.iter().enumerate() {
            let heard = heard(process);
            assert_eq!(
                heard,
                right[..heard.len()],
                "run {run} of process {process}"
            );
            assert!(run < KILLS || heard.len() == right.len());
        }
    }
    // All of a run may be done before this process gets its turn on a busy machine, but not of each.
    assert!(killed_amid > 0, "none was killed amid its work");
    block_on(async {
        let store = opened(store).await;
        for process in 0..PROCESSES {
            let operations = operations(seed, process);
            let specification = notekeeper_store::InMemoryStore::default();
            let scope = scope(&format!("worker{process}/main"));
            for step in &operations {
                outcome(&specification, &scope, step).await;
            }
            assert_eq!(
                all_of(&*store, process, &operations).await,
                all_of(&specification, process, &operations).await
            );
        }
    });
}

#[test]
fn what_killed_processes_were_told_is_there_once_in_postgres() {
    if let Some(part) = part() {
        return work(&part);
    }
    let test = "kept_processes::what_killed_processes_were_told_is_there_once_in_postgres";
    let (place, database) = (directory(), block_on(Database::migrated()));
    killed_and_repeated(test, &of_postgres(&database), place.path());
    block_on(async { assert_terms_belong(&mut database.connection().await).await });
}

#[test]
fn what_killed_processes_were_told_is_there_once_in_sqlite() {
    if let Some(part) = part() {
        return work(&part);
    }
    let test = "kept_processes::what_killed_processes_were_told_is_there_once_in_sqlite";
    let (place, file) = (directory(), DatabaseFile::new());
    killed_and_repeated(test, &of_sqlite(&file), place.path());
}
