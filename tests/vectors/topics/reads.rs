//! Bounded reads through the store.

use notekeeper_contract::ReadMemoryInput;
use notekeeper_domain::{NoteName, Scope};
use serde_json::{Value, json};

use super::script::Outcome;
use crate::{
    bench::Bench,
    case::{Answer, Case},
    product::{decoded, settled},
};

/// `read_bounded` by way of the store: the first characters of a note.
pub(crate) async fn through_store(case: &Case, bench: &Bench) -> Answer {
    let given = case.fields()?;
    let stored = given.get_set("stored");
    let bound = given.integer("max_chars")?;
    if given.text("via")? != "store" {
        return Err(given.complain("via", "is neither tool nor store"));
    }
    given.done()?;
    bench.seed(stored.map(|text| ("main/a.md", text))).await?;
    let bound = match bound.map(usize::try_from) {
        Some(Ok(bound)) if bound > 0 => bound,
        // Such a bound is refused where it comes in, so no store ever sees it.
        _ => return refused_bound(bench, bound).await,
    };
    let part = bench
        .store
        .read(&Scope::parse("main")?, &NoteName::parse("a.md")?, bound)
        .await?;
    let result = part.map_or(
        Value::Null,
        |part| json!({"content": part.content, "truncated": part.truncated}),
    );
    Ok(json!({ "result": result }))
}

async fn refused_bound(bench: &Bench, bound: Option<i64>) -> Answer {
    let input = json!({"scope": {"agent_name": "main"}, "file": "a.md", "max_memory_size": bound});
    let outcome = match decoded::<ReadMemoryInput>(&input)? {
        Err(outcome) => outcome,
        Ok(input) => settled(bench.notebook.read(input).await, |read| Outcome::Text {
            content: Value::String(read.content),
            truncated: read.truncated,
        })?,
    };
    Ok(match outcome {
        Outcome::Error { kind, disposition } if kind == "invalid_argument" => {
            json!({"result": {"error": "value_error", "disposition": disposition}})
        }
        other => json!({"result": format!("{other:?}")}),
    })
}
