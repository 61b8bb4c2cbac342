use std::{
    ffi::OsString,
    path::Path,
    process::{Command, ExitStatus},
};

use notekeeper_activities::{
    Failure,
    fault::{InvalidFault, arm},
};
use notekeeper_contract::FailureType;
use serde_json::json;

use crate::fixture::{Bench, bench, caller, done, input};

/// Set for the copy of this test that is to be killed: the marker file.
const VICTIM: &str = "NOTEKEEPER_TEST_VICTIM";

/// Runs this one test in a process of its own; fault points are armed for a whole process.
fn run_alone(test: &str, marker: &Path) -> ExitStatus {
    let this = std::env::current_exe().expect("a test knows its file");
    Command::new(this)
        .args(["--exact", &format!("fault_points::{test}"), "--nocapture"])
        .env(VICTIM, marker)
        .status()
        .expect("the file of this test can be run")
}

/// The marker file, in a process that [`run_alone`] started.
#[expect(
    clippy::disallowed_methods,
    reason = "the environment is how a test tells the copy of itself"
)]
fn victim() -> Option<OsString> {
    std::env::var_os(VICTIM)
}

#[tokio::test]
async fn a_process_is_killed_once_and_passes_from_then_on() {
    use std::os::unix::process::ExitStatusExt as _;
    const TEST: &str = "a_process_is_killed_once_and_passes_from_then_on";
    if let Some(marker) = victim() {
        arm(&format!(
            "write_memory.after_commit=kill-once:{}",
            Path::new(&marker).display()
        ))
        .unwrap();
        let bench = bench();
        let written = bench
            .notebook
            .write(input(json!({"content": "tea"})), &caller("1"))
            .await;
        assert_eq!(done(written.unwrap()).status, "created");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let marker = folder.path().join("killed: once=here");
    let status = run_alone(TEST, &marker);
    assert_eq!(status.signal(), Some(9), "{status:?}");
    assert!(marker.exists());
    assert!(run_alone(TEST, &marker).success());
}

#[tokio::test]
async fn a_point_fails_as_often_as_it_is_told() {
    const TEST: &str = "a_point_fails_as_often_as_it_is_told";
    if victim().is_none() {
        assert!(run_alone(TEST, Path::new("unused")).success());
        return;
    }
    arm("write_memory.after_commit=fail:1;delete_memory.after_commit=fail:1").unwrap();
    arm("write_memory.before_commit=fail:1; load_snapshot.after_read=fail:1").unwrap();
    let bench = bench();
    let write = async || {
        let fields = json!({"content": "tea", "file": "n"});
        bench.notebook.write(input(fields), &caller("1")).await
    };
    assert_eq!(write().await.unwrap_err().kind, FailureType::Unavailable);
    assert!(bench.store.take_calls().is_empty());
    assert_eq!(write().await.unwrap_err().kind, FailureType::Unavailable);
    assert_eq!(bench.store.take_calls(), ["edit"]);
    assert!(done(write().await.unwrap()).replayed);

    let delete = async || {
        let fields = json!({"file": "n"});
        bench.notebook.delete(input(fields), &caller("2")).await
    };
    assert_eq!(delete().await.unwrap_err().kind, FailureType::Unavailable);
    assert!(done(delete().await.unwrap()).replayed);

    let load = json!({"memories": [{"scope": {"agent_name": "main"}}]});
    let load = || {
        bench
            .notebook
            .load_snapshot(serde_json::from_value(load.clone()).unwrap())
    };
    assert_eq!(load().await.unwrap_err().kind, FailureType::Unavailable);
    load().await.unwrap();
}

#[tokio::test]
async fn a_change_of_messages_or_facts_that_fails_before_or_after_its_commit_takes_effect_once() {
    const TEST: &str =
        "a_change_of_messages_or_facts_that_fails_before_or_after_its_commit_takes_effect_once";
    if victim().is_none() {
        assert!(run_alone(TEST, Path::new("unused")).success());
        return;
    }
    let bench = bench();
    let caller = caller("1");
    let notebook = &bench.notebook;
    let add = async || {
        let fields = json!({"messages": [{"role": "user"}]});
        let added = notebook.add_messages(input(fields), &caller).await?;
        Ok((added.replayed, added.next))
    };
    let clear = async || {
        let fields = json!({"operation": {"id": "clear"}});
        let cleared = notebook.clear_messages(input(fields), &caller).await?;
        Ok((cleared.replayed, cleared.cleared))
    };
    let remember = async || {
        let fields = json!({"key": "tea", "value": "green", "operation": {"id": "remember"}});
        let kept = done(notebook.remember(input(fields), &caller).await?);
        Ok((kept.replayed, u64::from(kept.status == "created")))
    };
    let forget = async || {
        let fields = json!({"key": "tea", "operation": {"id": "forget"}});
        let forgotten = done(notebook.forget(input(fields), &caller).await?);
        Ok((forgotten.replayed, u64::from(forgotten.status == "deleted")))
    };
    fails_around_its_commit(&bench, "add_messages", add).await;
    fails_around_its_commit(&bench, "clear_messages", clear).await;
    fails_around_its_commit(&bench, "remember", remember).await;
    fails_around_its_commit(&bench, "forget", forget).await;
}

/// Fails before the commit, then after it; the third attempt gets the answer of the second.
async fn fails_around_its_commit(
    bench: &Bench,
    activity: &str,
    attempt: impl AsyncFn() -> Result<(bool, u64), Failure>,
) {
    arm(&format!(
        "{activity}.before_commit=fail:1;{activity}.after_commit=fail:1"
    ))
    .expect("the points exist");
    let failure = attempt().await.expect_err("the first attempt fails");
    assert_eq!(failure.kind, FailureType::Unavailable);
    assert!(bench.store.take_calls().is_empty());
    let failure = attempt().await.expect_err("the second attempt fails");
    assert_eq!(failure.kind, FailureType::Unavailable);
    assert_eq!(bench.store.take_calls(), [activity]);
    assert_eq!(attempt().await, Ok((true, 1)), "{activity}");
    bench.store.take_calls();
}

#[test]
fn what_cannot_be_armed_says_why() {
    for spec in [
        "",
        "write_memory.after_commit",
        "write_memory.after_commit=fail:x",
        "write_memory.after_commit=kill-once:",
    ] {
        assert_eq!(arm(spec), Err(InvalidFault::Syntax(spec.to_owned())));
    }
    let unknown = arm("write_memory.after_comit=fail:1")
        .unwrap_err()
        .to_string();
    assert!(
        unknown.contains("`write_memory.after_comit`")
            && unknown.contains("load_snapshot.after_read")
    );
}
