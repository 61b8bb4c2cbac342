//! The spans that calls and snapshots leave.

mod failing;
mod recorder;

use std::{collections::BTreeSet, sync::Arc};

use notekeeper_activities::{Failure, Notebook, Stores};
use notekeeper_contract::{
    DEFAULT_STORE, FailureType, LoadSnapshotInput, Outcome as Settled, Refused, SnapshotAnswer,
};
use notekeeper_domain::{CHARS_PER_TOKEN, OperationId, Scope, rendered_guidance};
use notekeeper_store::Store;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use self::{
    failing::{FAILING, Failing},
    recorder::recorded,
};
use crate::{
    bench::Bench,
    case::{Answer, Case, Fields, Stop},
    product::{caller, decoded},
};

/// Stands in place of a number that depends on the wording of notices and headings.
pub(crate) const SOME_NUMBER: &str = "<number>";

/// Attribute that counts the characters of a block.
pub(crate) const INJECTED: &str = "memory.injected_chars";

/// Limits that stand in a case beside its calls, and that each tool has.
const LIMITS: [(&str, &[&str]); 4] = [
    ("max_memory_size", &["write", "read", "search"]),
    ("max_search_results", &["search"]),
    ("max_search_result_chars", &["search"]),
    ("max_search_files", &["search"]),
];

/// `telemetry`: calls with their spans, or one snapshot with its own.
pub(crate) async fn run(case: &Case, bench: &Bench) -> Answer {
    let given = case.fields()?;
    let files = given.need("files")?.as_object();
    let files = files.ok_or_else(|| given.complain("files", "is no object"))?;
    let failing = failing(&given)?;
    bench
        .seed(files.iter().map(|(path, text)| (path.as_str(), text)))
        .await?;
    match given.get("config") {
        Some(_) => inject(given, &failing, bench).await,
        None => calls(given, &failing, bench).await,
    }
}

/// The methods of the store that fail.
fn failing(given: &Fields<'_>) -> Result<BTreeSet<String>, Stop> {
    let named = given.get("failing").and_then(Value::as_array);
    let named = named.into_iter().flatten();
    named
        .map(|name| match name.as_str() {
            Some(name) if FAILING.contains(&name) => Ok(name.to_owned()),
            _ => Err(given.complain("failing", "names no method of a store")),
        })
        .collect()
}

/// A notebook over the bench's store, of which some methods fail.
fn notebook(bench: &Bench, failing: &BTreeSet<String>) -> Notebook {
    if failing.is_empty() {
        return bench.notebook.clone();
    }
    let store = Arc::new(Failing::new(Arc::clone(&bench.store), failing.clone()));
    let stores: [(String, Arc<dyn Store>); 1] = [(DEFAULT_STORE.to_owned(), store)];
    Notebook::new(Stores::new(stores))
}

async fn calls(given: Fields<'_>, failing: &BTreeSet<String>, bench: &Bench) -> Answer {
    let mut limits = Vec::new();
    for (limit, tools) in LIMITS {
        if let Some(bound) = given.bound(limit)? {
            limits.push((limit, tools, bound));
        }
    }
    let mut inputs = Vec::new();
    for call in given.list("calls")? {
        let call = Fields::of("calls", call)?;
        let tool = call.text("op")?;
        let mut input = json!({"scope": {"agent_name": "main"}});
        for argument in ["content", "file", "old_text", "query"] {
            if let Some(value) = call.get_set(argument) {
                input[argument] = value.clone();
            }
        }
        call.done()?;
        for (limit, tools, bound) in &limits {
            if tools.contains(&tool) {
                input[*limit] = json!(bound);
            }
        }
        inputs.push((tool, input));
    }
    given.done()?;
    let mut answers = Vec::new();
    for (tool, input) in inputs {
        answers.push(one(tool, input, failing, bench).await?);
    }
    Ok(json!({ "calls": answers }))
}

/// Makes one call. All calls of a case are the same operation, as the peer's were.
async fn one(tool: &str, mut input: Value, failing: &BTreeSet<String>, bench: &Bench) -> Answer {
    let scope = Scope::parse("main")?;
    if ["write", "delete"].contains(&tool) {
        let id = OperationId::derive("run", 1, &scope, "call")?;
        input["operation"] = json!({"id": id.as_str()});
    }
    let failing = match tool {
        // A search is one method of the peer's stores, and several of ours.
        "search" if failing.contains("search") => failing::of_search(),
        "search" => BTreeSet::new(),
        _ => failing.clone(),
    };
    let (notebook, caller) = (notebook(bench, &failing), caller());
    let (result, spans) = match tool {
        "write" => recorded(notebook.write(read(&input)?, &caller))
            .await
            .map(result),
        "delete" => recorded(notebook.delete(read(&input)?, &caller))
            .await
            .map(result),
        "read" => recorded(notebook.read(read(&input)?)).await.map(result),
        "search" => recorded(notebook.search(read(&input)?)).await.map(result),
        other => return Err(Stop::NotUnderstood(format!("no tool is called `{other}`"))),
    }
    .into_parts();
    Ok(json!({"result": result, "spans": spans}))
}

fn read<T: DeserializeOwned + 'static>(input: &Value) -> Result<T, Stop> {
    decoded(input)?.map_err(|outcome| anyhow::anyhow!("not read: {outcome:?}").into())
}

/// What a call came to, in the words of the vectors.
fn result<T>(result: Result<Settled<T>, Failure>) -> String {
    match result {
        Ok(Settled::Ok(_)) => "ok".to_owned(),
        Ok(Settled::Refused(Refused { reason, .. })) => reason,
        Err(failure) if failure.kind == FailureType::OperationConflict => {
            "operation_conflict".to_owned()
        }
        Err(_) => "exception".to_owned(),
    }
}

async fn inject(given: Fields<'_>, failing: &BTreeSet<String>, bench: &Bench) -> Answer {
    let config = given.object("config")?;
    let is_on = config.get("inject_memory") != Some(&Value::Bool(false));
    let raises = config.text_or_null("injection_errors")? == Some("raise");
    let input = load(&config)?;
    config.done()?;
    given.done()?;
    if !is_on {
        // Workflow code schedules no load, so there is no activity that could leave a span.
        return Ok(json!({"run": "continues", "injected": false, "spans": []}));
    }
    let notebook = notebook(bench, failing);
    let (output, mut spans) = recorded(notebook.load_snapshot(read(&input)?))
        .await
        .into_parts();
    let answer = output.map(|output| output.snapshots.into_iter().next());
    let (run, injected) = match &answer {
        Ok(Some(SnapshotAnswer::Block { text, .. })) => {
            let text = text.as_deref().unwrap_or_default();
            settle_chars(&mut spans, text.chars().count());
            ("continues", true)
        }
        Ok(Some(SnapshotAnswer::Empty { .. })) => ("continues", false),
        Ok(Some(SnapshotAnswer::Error { .. })) if raises => ("fails", false),
        Ok(Some(SnapshotAnswer::Error { .. })) => ("continues", false),
        other => return Ok(json!(format!("{other:?}"))),
    };
    let mut answer = json!({"run": run, "spans": spans});
    if run == "continues" {
        answer["injected"] = json!(injected);
    }
    Ok(answer)
}

/// The input of a load with the settings of a case.
fn load(config: &Fields<'_>) -> Result<Value, Stop> {
    let tokens_max = config.bound("max_tokens")?.unwrap_or(2_000);
    let heading = config.text_or_null("heading")?.unwrap_or_default();
    let guidance = match config.get("guidance") {
        None => Some(""),
        Some(_) => config.text_or_null("guidance")?,
    };
    let guidance = rendered_guidance(guidance, heading, tokens_max * CHARS_PER_TOKEN);
    let mut render = json!({
        "max_tokens": tokens_max,
        "heading": heading,
        "guidance_chars": guidance.map_or(0, |text| text.chars().count()),
    });
    for bound in ["max_lines", "max_memory_size"] {
        if let Some(given) = config.bound(bound)? {
            render[bound] = json!(given);
        }
    }
    let memory = json!({"scope": {"agent_name": "main"}, "render": render});
    let input = json!({"memories": [memory]});
    // The settings must be what a load takes, whether one is made or not.
    let _: LoadSnapshotInput = read(&input)?;
    Ok(input)
}

/// Puts [`SOME_NUMBER`] in place of the characters of a block, where they are those of its text.
fn settle_chars(spans: &mut Value, chars: usize) {
    for span in spans.as_array_mut().into_iter().flatten() {
        let counted = &mut span["attributes"][INJECTED];
        if *counted == json!(chars) {
            *counted = json!(SOME_NUMBER);
        }
    }
}
