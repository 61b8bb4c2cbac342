//! Processes that change notes as files and die at any point.

use std::{
    os::unix::fs::PermissionsExt as _,
    sync::{
        Mutex,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use notekeeper_store::{
    Expected, FileStore, MutationError, NoteStore as _, ReceiptStatus, StoreError,
    fault_points::POINTS,
};
use rand::{Rng as _, SeedableRng as _, rngs::StdRng};
use serde_json::{Value, json};

use crate::{
    child::{Process, heard_without_rights, lines, part, say},
    database::{append, name, operation, scope, seed, text},
    file_processes::{answers_of, check_all, play, share},
    file_root::{FileRoot, JOURNAL},
    load::{Answer, Call, Told, calls, carry_out},
    sqlite_processes::{block_on, read_back},
};

/// Runs of the crash test, each with a seed of its own.
const SEEDS: u64 = 200;

/// Seeds at a time.
const AT_A_TIME: usize = 3;

/// Operations of one seed.
const OPERATIONS: usize = 14;

/// Processes at a time over one directory.
const PROCESSES: usize = 2;

/// How a process dies: at a named point, or after so many microseconds of its life.
fn death(random: &mut StdRng, part: &mut Value) {
    if random.random_bool(0.6) {
        part["point"] = json!(POINTS[random.random_range(0..POINTS.len())]);
        part["passes"] = json!(random.random_range(0..8));
    } else {
        part["lives_us"] = json!(random.random_range(0..40_000));
    }
}

/// Ends this process at a moment that nothing it does decides.
fn die_after(microseconds: u64) {
    std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_micros(microseconds));
        let _ =
            rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    });
}

/// One seed: two processes, twice, and then whoever comes after them makes all calls again, as
/// Temporal does. How many of the processes were killed.
fn one_seed(test: &str, seed: u64) -> usize {
    let root = FileRoot::new();
    let mut random = StdRng::seed_from_u64(seed);
    let mut killed = 0;
    let mut parts = Vec::new();
    for round in 0..random.random_range(1..=2) {
        let processes: Vec<_> = (0..PROCESSES)
            .map(|process| {
                let mut part = share(&root, seed, OPERATIONS, process, PROCESSES);
                part["answers"] = json!(root.beside(&format!("answers-{round}-{process}")));
                death(&mut random, &mut part);
                let started = Process::start(test, &part);
                parts.push(part);
                started
            })
            .collect();
        killed += processes
            .into_iter()
            .map(Process::was_killed)
            .filter(|killed| *killed)
            .count();
    }
    let all = calls(&mut StdRng::seed_from_u64(seed), OPERATIONS);
    let told = parts.iter().flat_map(|part| lines(&answers_of(part)));
    let answers: Vec<(Call, Answer)> = told.map(|line| read_back(&line, &all)).collect();
    block_on(async {
        let store = root.store().await;
        assert_eq!(root.prepared().await, 0, "opening sees to what was left");
        let answers = std::sync::Arc::new(Mutex::new(answers));
        let heard = std::sync::Arc::clone(&answers);
        let again = all.clone().into_iter().enumerate();
        carry_out(&store, again, 1, move |_, call, answer| {
            heard.lock().expect("no panic").push((call.clone(), answer));
        })
        .await;
        let answers = std::mem::take(&mut *answers.lock().expect("no panic"));
        check_all(&root, &store, answers, Told::AtMostOnce).await;
    });
    killed
}

#[test]
fn whoever_was_killed_wherever_nothing_is_lost_doubled_or_unreadable() {
    let test = "file_crashes::whoever_was_killed_wherever_nothing_is_lost_doubled_or_unreadable";
    if let Some(part) = part() {
        if let Some(microseconds) = part["lives_us"].as_u64() {
            die_after(microseconds);
        }
        return play(&part);
    }
    let first = seed();
    let (next, killed) = (AtomicU64::new(0), AtomicUsize::new(0));
    std::thread::scope(|threads| {
        for _ in 0..AT_A_TIME {
            threads.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= SEEDS {
                        return;
                    }
                    let seed = first.wrapping_add(index);
                    let done = std::panic::catch_unwind(|| one_seed(test, seed));
                    let done = done.unwrap_or_else(|_| {
                        panic!("seed {index} of those from {first}: NOTEKEEPER_SEED={seed} begins with it")
                    });
                    killed.fetch_add(done, Ordering::Relaxed);
                }
            });
        }
    });
    let killed = killed.into_inner();
    let least = usize::try_from(SEEDS).expect("few");
    println!("{killed} processes were killed");
    assert!(killed >= least, "{killed} processes were killed");
}

/// A part: one mutation of a note that has the text `old`, with a death at a point.
fn mutation(root: &FileRoot, kind: &str, point: &str) -> Value {
    json!({"root": root.options.root, "kind": kind, "point": point})
}

async fn mutate(store: &FileStore, kind: &str) -> notekeeper_store::Receipt {
    let (scope, once) = (scope("m"), operation("once", "f"));
    let done = match kind {
        "create" => append(store, &scope, "b.md", "new", &once).await,
        "edit" => append(store, &scope, "a.md", "new", &once).await,
        _ => {
            store
                .delete(&scope, &name("a.md"), &Expected::Any, Some(&once))
                .await
        }
    };
    done.expect("it is done")
}

/// Kills a process in a mutation of a note `a.md`, `old`.
fn killed_in(test: &str, kind: &str, point: &str) -> FileRoot {
    let root = FileRoot::new();
    block_on(async {
        let store = root.store().await;
        append(&store, &scope("m"), "a.md", "old", &operation("0", "f"))
            .await
            .expect("append");
    });
    assert!(
        Process::start(test, &mutation(&root, kind, point)).was_killed(),
        "{kind} {point}"
    );
    root
}

fn play_mutation(part: &Value) {
    let text = |key: &str| part[key].as_str().expect("a text");
    block_on(async {
        let options = notekeeper_store::FileOptions::new(text("root"));
        let store = FileStore::open(options).await.expect("open");
        notekeeper_store::fault_points::arm(text("point"), 0);
        mutate(&store, text("kind")).await;
    });
}

fn file_of(kind: &str) -> &'static str {
    if kind == "create" { "b.md" } else { "a.md" }
}

/// The text of a note before and after a mutation.
fn texts(kind: &str) -> (Option<&'static str>, Option<&'static str>) {
    match kind {
        "create" => (None, Some("new\n")),
        "edit" => (Some("old\n"), Some("old\nnew\n")),
        _ => (Some("old\n"), None),
    }
}

const KINDS: [&str; 3] = ["create", "edit", "delete"];

/// Points at which there is no way back.
const DONE: [&str; 2] = ["replaced", "finished"];

#[test]
fn an_operation_that_was_killed_at_a_point_has_happened_or_has_not() {
    let test = "file_crashes::an_operation_that_was_killed_at_a_point_has_happened_or_has_not";
    if let Some(part) = part() {
        return play_mutation(&part);
    }
    for kind in KINDS {
        for point in POINTS {
            // Nothing is written beside a note that is deleted.
            if (kind, point) == ("delete", "written") {
                continue;
            }
            let root = killed_in(test, kind, point);
            let (before, after) = texts(kind);
            let done = DONE.contains(&point);
            block_on(async {
                // Whoever reads first finds it settled, also without opening the store anew.
                let (store, file) = (root.store().await, file_of(kind));
                let right = if done { after } else { before };
                assert_eq!(
                    text(&store, &scope("m"), file).await.as_deref(),
                    right,
                    "{kind} {point}"
                );
                let receipt = store.receipt(&scope("m"), &operation("once", "f")).await;
                assert_eq!(receipt.expect("answers").is_some(), done, "{kind} {point}");
                let note = store.read(&scope("m"), &name(file), 9).await.expect("read");
                let receipt = mutate(&store, kind).await;
                assert_eq!(receipt.replayed, done, "{kind} {point}");
                assert_eq!(text(&store, &scope("m"), file).await.as_deref(), after);
                if let (true, Some(note)) = (done, note) {
                    assert_eq!(Some(note.version), receipt.version);
                    assert_eq!(note.operation_id.as_deref(), Some("once"));
                }
                assert_eq!(root.prepared().await, 0);
            });
            assert!(!root.path("m/.memory-tmp-next").exists(), "{kind} {point}");
        }
    }
}

/// The store was open before, and is the one that goes on.
#[test]
fn a_store_that_is_open_sees_to_what_another_process_left() {
    let test = "file_crashes::a_store_that_is_open_sees_to_what_another_process_left";
    if let Some(part) = part() {
        return play_mutation(&part);
    }
    let root = FileRoot::new();
    let store = block_on(async {
        let store = root.store().await;
        append(&store, &scope("m"), "a.md", "old", &operation("0", "f"))
            .await
            .expect("append");
        store
    });
    assert!(Process::start(test, &mutation(&root, "edit", "replaced")).was_killed());
    block_on(async {
        let note = store
            .read(&scope("m"), &name("a.md"), 99)
            .await
            .expect("read")
            .expect("there");
        assert_eq!(
            (note.content.as_str(), note.operation_id.as_deref()),
            ("old\nnew\n", Some("once"))
        );
        assert_eq!(root.prepared().await, 0);
        let receipt = store
            .receipt(&scope("m"), &operation("once", "f"))
            .await
            .expect("answers");
        assert_eq!(receipt.expect("there").version, Some(note.version));
    });
}

#[test]
fn an_edit_by_hand_after_a_death_is_kept_whatever_had_happened() {
    let test = "file_crashes::an_edit_by_hand_after_a_death_is_kept_whatever_had_happened";
    if let Some(part) = part() {
        return play_mutation(&part);
    }
    for kind in KINDS {
        for point in ["prepared", "replaced"] {
            let root = killed_in(test, kind, point);
            let file = file_of(kind);
            root.write(&format!("m/{file}"), "by hand\n");
            block_on(async {
                let store = root.store().await;
                assert_eq!(
                    text(&store, &scope("m"), file).await.as_deref(),
                    Some("by hand\n")
                );
                let receipt = mutate(&store, kind).await;
                // A note was to go, and another has its place: which of the two went can't be told.
                let done = point == "replaced" || kind == "delete";
                assert_eq!(receipt.replayed, done, "{kind} {point}");
                let right = if done { "by hand\n" } else { "by hand\nnew\n" };
                assert_eq!(
                    text(&store, &scope("m"), file).await.as_deref(),
                    Some(right),
                    "{kind} {point}"
                );
                if kind == "delete" {
                    assert_eq!(receipt.status, ReceiptStatus::Deleted);
                }
            });
        }
    }
}

/// A copy of a root, as of a backup: every file has another inode.
fn copied(root: &FileRoot, with_next: bool) -> FileRoot {
    let copy = FileRoot::new();
    std::fs::create_dir(&copy.options.root).expect("make");
    let mut files = root.files();
    for end in ["", "-journal"] {
        files.push(format!("{JOURNAL}{end}"));
    }
    for file in files {
        let (from, to) = (root.path(&file), copy.path(&file));
        if from.is_dir() {
            std::fs::create_dir(&to).expect("make");
        } else if from.exists() && (with_next || !file.ends_with(".memory-tmp-next")) {
            std::fs::copy(&from, &to).expect("copy");
        }
    }
    copy
}

#[test]
fn in_a_copy_of_the_directory_too_an_operation_has_happened_or_has_not() {
    let test = "file_crashes::in_a_copy_of_the_directory_too_an_operation_has_happened_or_has_not";
    if let Some(part) = part() {
        return play_mutation(&part);
    }
    for kind in KINDS {
        for (point, with_next) in [("prepared", true), ("prepared", false), ("replaced", true)] {
            let what = format!("{kind} {point} {with_next}");
            let root = copied(&killed_in(test, kind, point), with_next);
            let (before, after) = texts(kind);
            let done = DONE.contains(&point);
            block_on(async {
                let (store, file) = (root.store().await, file_of(kind));
                let right = if done { after } else { before };
                let found = text(&store, &scope("m"), file).await;
                assert_eq!(found.as_deref(), right, "{what}");
                let receipt = mutate(&store, kind).await;
                assert_eq!(receipt.replayed, done, "{what}");
                let found = text(&store, &scope("m"), file).await;
                assert_eq!(found.as_deref(), after, "{what}");
                assert_eq!(root.prepared().await, 0);
            });
        }
    }
}

/// What a user without rights hears of three appends, as a line.
async fn tried(root: &str) -> String {
    let options = notekeeper_store::FileOptions::new(root);
    let store = FileStore::open(options).await.expect("open");
    let mut said = Vec::new();
    for (path, id) in [("other", "1"), ("m", "2"), ("m", "once")] {
        let edit = append(&store, &scope(path), "c.md", "new", &operation(id, "f")).await;
        said.push(match edit {
            Ok(_) => "done",
            Err(MutationError::Store(StoreError::Unavailable(_))) => "unavailable",
            Err(_) => "another error",
        });
    }
    said.join(", ")
}

#[test]
fn what_cannot_be_seen_to_the_end_keeps_nobody_else_from_writing() {
    let test = "file_crashes::what_cannot_be_seen_to_the_end_keeps_nobody_else_from_writing";
    if let Some(part) = part() {
        if part["kind"].is_null() {
            let root = part["root"].as_str().expect("a path");
            return say(&block_on(tried(root)));
        }
        return play_mutation(&part);
    }
    let root = killed_in(test, "edit", "prepared");
    let mode = |path: &str, mode| {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(root.path(path), mode).expect("a mode");
    };
    for path in ["", "m"] {
        mode(path, 0o777);
    }
    for path in [JOURNAL, ".memory-store.sqlite3-journal"] {
        mode(path, 0o666);
    }
    let above = root.options.root.parent().expect("there");
    std::fs::set_permissions(above, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    mode("m/a.md", 0o200);
    let part = json!({"root": root.options.root});
    let said = heard_without_rights(test, &part, &root.options.root);
    assert_eq!(said, "done, unavailable, unavailable");
    mode("m/a.md", 0o600);
    block_on(async {
        let store = root.store().await;
        assert_eq!(root.prepared().await, 0);
        assert!(!mutate(&store, "edit").await.replayed);
        let found = text(&store, &scope("m"), "a.md").await;
        assert_eq!(found.as_deref(), Some("old\nnew\n"));
    });
}
