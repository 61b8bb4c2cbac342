//! `notekeeper replay`, as a process that knows of no server and no store.

use std::{
    path::Path,
    process::{Command, Output},
};

use prost::Message as _;
use tempfile::TempDir;
use temporalio_common::protos::temporal::api::history::v1::{History, history_event::Attributes};

use crate::{malformed::DESCRIBED, recorded};

#[test]
fn all_recorded_conversations_replay() {
    let conversations = recorded::all()
        .into_iter()
        .filter(|recorded| recorded.name.starts_with("agent_workflow/"))
        .count();
    let output = replay(&recorded::directory(), &["agent_workflow"]);
    let report = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{report}");
    let last = format!("{conversations} replayed, 0 refused, 0 unreadable");
    assert_eq!(report.lines().last(), Some(last.as_str()), "{report}");
    assert_eq!(report.lines().count(), conversations + 1, "{report}");
}

#[test]
fn the_report_says_what_became_of_each_file() {
    let directory = TempDir::new().unwrap();
    let put =
        |name: &str, bytes: &[u8]| std::fs::write(directory.path().join(name), bytes).unwrap();
    let good = recorded::named("agent_workflow/killed_worker.json").history;
    let json = serde_json::to_vec(&good).unwrap();
    put("good.binpb", &good.encode_to_vec());
    put("good.json", &json);
    put(
        "another_type.json",
        &serde_json::to_vec(&recorded::named("note_taker/two_memories.json").history).unwrap(),
    );
    put("renamed.binpb", &edited(&good, renamed).encode_to_vec());
    put("moved.pb", &edited(&good, moved).encode_to_vec());
    put(
        "unchecked.bin",
        &edited(&edited(&good, renamed), unchecked).encode_to_vec(),
    );
    put("cut_off.json", &json[..1000]);
    put("empty.json", b"");
    put("described.json", DESCRIBED.as_bytes());
    put("README.md", b"not a history, and not looked at");

    let output = replay(directory.path(), &["."]);

    assert_eq!(output.status.code(), Some(1));
    insta::assert_snapshot!(without_event_counts(&stdout(&output)));
}

#[test]
fn one_bad_file_among_good_ones_fails() {
    let directory = TempDir::new().unwrap();
    let empty = directory.path().join("empty.json");
    std::fs::write(&empty, b"").unwrap();
    let output = replay(
        &recorded::directory(),
        &["agent_workflow/killed_worker.json", empty.to_str().unwrap()],
    );
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).contains("1 replayed, 0 refused, 1 unreadable"));
}

#[test]
fn what_a_damaged_history_holds_gets_neither_into_the_report_nor_into_the_log() {
    let directory = TempDir::new().unwrap();
    let good = recorded::named("agent_workflow/killed_worker.json").history;
    for place in 1..good.events.len() {
        let mut damaged = good.clone();
        damaged.events.remove(place);
        for (event, id) in damaged.events.iter_mut().zip(1..) {
            event.event_id = id;
        }
        let file = directory.path().join(format!("{place:03}.binpb"));
        std::fs::write(file, damaged.encode_to_vec()).unwrap();
    }

    let output = replay(directory.path(), &["."]);

    let log = String::from_utf8(output.stderr.clone()).unwrap();
    let report = stdout(&output);
    assert!(report.contains("HistoryEvent { event_id: "), "{report}");
    for said in [&report, &log] {
        assert!(!said.contains("payloads: ["), "{said}");
        assert!(!said.contains("Attributes {"), "{said}");
    }
}

#[test]
fn a_check_of_nothing_fails() {
    let directory = TempDir::new().unwrap();
    std::fs::create_dir(directory.path().join("histories")).unwrap();
    for (path, why) in [
        ("histories", "there are no history files"),
        ("nowhere", "`nowhere` can't be opened"),
    ] {
        let output = replay(directory.path(), &[path]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains(why), "{said}");
    }
}

/// Runs the command where no variable says where a server or a database is.
fn replay(directory: &Path, paths: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_notekeeper"))
        .arg("replay")
        .args(paths)
        .current_dir(directory)
        .env_clear()
        .output()
        .expect("run notekeeper")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

/// Histories that are recorded anew may have an event more or less.
fn without_event_counts(report: &str) -> String {
    let lines = report.lines().map(|line| match line.split_once(" events") {
        Some((before, after)) => {
            let before = before.trim_end_matches(|c: char| c.is_ascii_digit());
            format!("{before}N events{after}")
        }
        None => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn edited(history: &History, edit: fn(&mut Attributes)) -> History {
    let mut history = history.clone();
    history
        .events
        .iter_mut()
        .filter_map(|event| event.attributes.as_mut())
        .for_each(edit);
    history
}

/// As code would have recorded it in which `write_memory` was called otherwise.
fn renamed(attributes: &mut Attributes) {
    if let Attributes::ActivityTaskScheduledEventAttributes(scheduled) = attributes
        && let Some(kind) = scheduled.activity_type.as_mut()
        && kind.name == "write_memory"
    {
        kind.name = "store_memory".to_owned();
    }
}

/// As code would have recorded it whose resolver answered otherwise.
fn moved(attributes: &mut Attributes) {
    if let Attributes::ActivityTaskScheduledEventAttributes(scheduled) = attributes {
        let (_, number) = scheduled.activity_id.rsplit_once('.').expect("`nk.hash.n`");
        scheduled.activity_id = format!("nk.0123456789abcdef.{number}");
    }
}

/// As an SDK would have recorded it that doesn't compare ids and types.
fn unchecked(attributes: &mut Attributes) {
    if let Attributes::WorkflowTaskCompletedEventAttributes(completed) = attributes {
        completed.sdk_metadata = None;
    }
}
