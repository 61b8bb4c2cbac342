//! Calls that compete for one note.

use std::{collections::BTreeSet, time::Duration};

use anyhow::{Context as _, anyhow};
use futures::future::try_join_all;
use serde_json::{Map, Value, json};
use tokio::{sync::Barrier, time::timeout};

use super::script::{Call, Outcome, Tool};
use crate::{
    bench::{Bench, StoreKind},
    case::{Answer, Case, Stop},
    product::call,
};

/// Longest that a race may take before it counts as hanging.
const PATIENCE: Duration = Duration::from_secs(60);

const MAIN_KEY: &str = "main/MEMORY.md";

/// `tool_replay_and_concurrency`, apart from plain repetitions.
pub(crate) async fn run(case: &Case, kind: StoreKind, bench: &Bench) -> Answer {
    let given = case.fields()?;
    match given.text("kind")? {
        "cas_retry" => {
            let tool = match given.text("op")? {
                "write" => Tool::Write,
                "delete" => Tool::Delete,
                _ => return Err(given.complain("op", "is neither write nor delete")),
            };
            let rivals = given.bound("conflicts_before_success")?;
            let rivals =
                rivals.ok_or_else(|| given.complain("conflicts_before_success", "is missing"))?;
            if given
                .text_or_null("store")?
                .is_some_and(|store| store != "in_memory")
            {
                return Err(given.complain("store", "is none that this case can mean"));
            }
            given.done()?;
            contended(tool, rivals, bench).await
        }
        "concurrent" => {
            let writers = given.bound("writers")?;
            let writers = writers.ok_or_else(|| given.complain("writers", "is missing"))?;
            let same = given.need("same_tool_call")?.as_bool();
            let same = same.ok_or_else(|| given.complain("same_tool_call", "is no flag"))?;
            let store = given.text("store")?;
            if StoreKind::ALL.iter().all(|known| known.name() != store) {
                return Err(given.complain("store", "is none that exists"));
            }
            given.done()?;
            concurrent(writers, same, bench)
                .await
                .map_err(|stop| in_store(stop, kind))
        }
        _ => Err(given.complain("kind", "is no kind that this runner knows")),
    }
}

fn in_store(stop: Stop, kind: StoreKind) -> Stop {
    match stop {
        Stop::Broken(error) => Stop::Broken(error.context(format!("in {kind}"))),
        other => other,
    }
}

/// An append of one line under a tool call id.
fn append(line: &str, tool_call_id: &str) -> Call {
    let arguments = [("content", json!(line)), ("file", json!("n.md"))];
    Call {
        tool: Tool::Write,
        scope: (String::new(), "main".to_owned()),
        identity: ("run".to_owned(), 1, tool_call_id.to_owned()),
        arguments: arguments
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value))
            .collect::<Map<_, _>>(),
        note_chars_max: None,
    }
}

/// Makes all calls at once.
async fn race(bench: &Bench, calls: &[Call]) -> Result<Vec<Outcome>, Stop> {
    let start = Barrier::new(calls.len());
    let racing = calls.iter().map(|one| async {
        start.wait().await;
        call(bench, one).await
    });
    timeout(PATIENCE, try_join_all(racing))
        .await
        .context("the calls did not end in time")?
}

async fn lines(bench: &Bench, path: &str) -> Result<Vec<String>, Stop> {
    let scope = notekeeper_domain::Scope::parse("main")?;
    let notes = bench.notes(&[scope]).await?;
    let text = notes.get(path).and_then(Value::as_str).unwrap_or_default();
    Ok(text.lines().map(str::to_owned).collect())
}

/// One call among as many rivals as the case has conflicts. Stores have no attempts that could be
/// counted from outside; that nobody gives up, and that no effect is lost, is what shows.
async fn contended(tool: Tool, rivals: usize, bench: &Bench) -> Answer {
    let note = json!("first\n");
    bench.seed([("main/n.md", &note)]).await?;
    let mut calls: Vec<Call> = (0..rivals)
        .map(|rival| append(&format!("rival {rival}"), &format!("rival-{rival}")))
        .collect();
    let mut tested = append("tested", "tested");
    if tool == Tool::Delete {
        tested.tool = tool;
        tested.arguments.remove("content");
    }
    calls.push(tested);
    let mut outcomes = race(bench, &calls).await?;
    let tested = outcomes.pop().context("nothing was called")?;
    for outcome in &outcomes {
        ensure_done(outcome)?;
    }
    let lines = lines(bench, "main/n.md").await?;
    let kept = (0..rivals).filter(|rival| lines.contains(&format!("rival {rival}")));
    if tool == Tool::Write && kept.count() < rivals {
        return Err(anyhow!("an append was lost: {lines:?}").into());
    }
    Ok(match tested {
        Outcome::Done { .. } => json!({"result": "ok"}),
        Outcome::Error { kind, disposition } => json!({"result": kind, "disposition": disposition}),
        Outcome::Text { .. } => json!({"result": "a text"}),
    })
}

fn ensure_done(outcome: &Outcome) -> Result<(), Stop> {
    match outcome {
        Outcome::Done { .. } => Ok(()),
        other => Err(anyhow!("a rival ended with {other:?}").into()),
    }
}

async fn concurrent(writers: usize, same: bool, bench: &Bench) -> Answer {
    let calls: Vec<Call> = (0..writers)
        .map(|writer| {
            let writer = if same { 0 } else { writer };
            let mut call = append(&format!("line {writer}"), &format!("writer-{writer}"));
            call.arguments.remove("file");
            call
        })
        .collect();
    let outcomes = race(bench, &calls).await?;
    let lines = lines(bench, MAIN_KEY).await?;
    let (mut versions, mut replays, mut errors, mut ok) = (BTreeSet::new(), 0, Vec::new(), 0);
    let mut every_line = true;
    for (call, outcome) in calls.iter().zip(&outcomes) {
        match outcome {
            Outcome::Done {
                version, replayed, ..
            } => {
                ok += 1;
                versions.insert(version.clone());
                replays += usize::from(*replayed);
                let line = call.arguments["content"].as_str().unwrap_or_default();
                every_line &= lines.iter().any(|other| other == line);
            }
            Outcome::Error { kind, .. } => errors.push(json!(kind)),
            Outcome::Text { .. } => errors.push(json!("a text")),
        }
    }
    Ok(json!({
        "ok": ok,
        "errors": errors,
        "distinct_versions": versions.len(),
        "replayed": replays,
        "line_count": lines.len(),
        "every_successful_line_present": every_line,
    }))
}
