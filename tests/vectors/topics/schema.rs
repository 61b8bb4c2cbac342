//! What the model sees of the tools, and what they return.

use std::collections::BTreeSet;

use notekeeper_contract::{
    DeleteMemoryInput, Outcome as Settled, ReadMemoryInput, SearchMemoryInput, WriteMemoryInput,
};
use notekeeper_domain::memory_tools;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

use crate::{
    bench::Bench,
    case::{Answer, Case, Stop},
    product::{caller, decoded},
};

/// `tool_schema`.
pub(crate) async fn tool(case: &Case, bench: &Bench) -> Answer {
    let given = case.fields()?;
    let Some(tool) = given.text_or_null("tool")? else {
        let config = given.object("config")?;
        // Definitions don't depend on whether blocks are placed.
        config.need("inject_memory")?;
        config.done()?;
        given.done()?;
        let names: BTreeSet<String> = memory_tools("").into_iter().map(|tool| tool.name).collect();
        return Ok(json!({ "tools": names }));
    };
    given.done()?;
    let definition = memory_tools("")
        .into_iter()
        .find(|known| known.name == tool);
    let definition =
        definition.ok_or_else(|| Stop::NotUnderstood(format!("there is no tool `{tool}`")))?;
    Ok(json!({
        "parameters": without_wording(definition.parameters),
        "result": described(&results(tool, bench).await?),
    }))
}

/// A schema without titles and descriptions, which are wording.
fn without_wording(schema: Value) -> Value {
    match schema {
        Value::Object(map) => {
            let kept = map.into_iter().filter(|(key, value)| {
                !(matches!(key.as_str(), "description" | "title") && value.is_string())
            });
            Value::Object(
                kept.map(|(key, value)| (key, without_wording(value)))
                    .collect(),
            )
        }
        Value::Array(items) => items.into_iter().map(without_wording).collect(),
        plain => plain,
    }
}

/// Results of the tool in every way in which it can end well.
async fn results(tool: &str, bench: &Bench) -> Result<Vec<Value>, Stop> {
    let (notebook, caller) = (&bench.notebook, caller());
    let mut results = Vec::new();
    let mut id = 0;
    let mut input = |mut fields: Value| {
        id += 1;
        fields["scope"] = json!({"agent_name": "main"});
        fields["operation"] = json!({"id": format!("schema-{id}")});
        fields
    };
    let writes = [
        json!({"content": "a word", "file": "n"}),
        json!({"content": "more", "file": "n"}),
        json!({"content": "text", "old_text": "more", "file": "n"}),
    ];
    for fields in writes {
        let written = notebook
            .write(read::<WriteMemoryInput>(input(fields))?, &caller)
            .await;
        push_if(tool == "write_memory", &mut results, written)?;
    }
    let found = notebook
        .read(read::<ReadMemoryInput>(input(json!({"file": "n"})))?)
        .await;
    push_if(tool == "read_memory", &mut results, found)?;
    let found = notebook
        .search(read::<SearchMemoryInput>(input(json!({"query": "word"})))?)
        .await;
    push_if(tool == "search_memory", &mut results, found)?;
    for _ in 0..2 {
        let deletion = read::<DeleteMemoryInput>(input(json!({"file": "n"})))?;
        push_if(
            tool == "delete_memory",
            &mut results,
            notebook.delete(deletion, &caller).await,
        )?;
    }
    Ok(results)
}

fn read<T: DeserializeOwned + 'static>(input: Value) -> Result<T, Stop> {
    decoded(&input)?.map_err(|outcome| anyhow::anyhow!("not read: {outcome:?}").into())
}

fn push_if<T: Serialize>(
    wanted: bool,
    results: &mut Vec<Value>,
    result: Result<Settled<T>, notekeeper_activities::Failure>,
) -> Result<(), Stop> {
    match result {
        Ok(Settled::Ok(value)) if wanted => results.push(serde_json::to_value(value)?),
        Ok(Settled::Ok(_)) => {}
        Ok(Settled::Refused(refused)) => {
            return Err(anyhow::anyhow!("refused: {}", refused.message).into());
        }
        Err(failure) => return Err(anyhow::anyhow!("failed: {failure}").into()),
    }
    Ok(())
}

/// The fields of some results with the kinds of their values; of `status`, the values themselves.
fn described(results: &[Value]) -> Value {
    let Some(Value::Object(first)) = results.first() else {
        return results.first().map_or(Value::Null, kind);
    };
    let fields = first.iter().map(|(key, value)| {
        let described = if key == "status" {
            results.iter().map(|result| result[key].clone()).collect()
        } else {
            kind(value)
        };
        (key.clone(), described)
    });
    Value::Object(fields.collect::<Map<_, _>>())
}

fn kind(value: &Value) -> Value {
    match value {
        Value::Null => json!("null"),
        Value::Bool(_) => json!("bool"),
        Value::Number(number) if number.is_f64() => json!("float"),
        Value::Number(_) => json!("int"),
        Value::String(_) => json!("string"),
        Value::Array(items) => Value::Array(items.first().map(kind).into_iter().collect()),
        Value::Object(map) => map
            .iter()
            .map(|(key, value)| (key.clone(), kind(value)))
            .collect(),
    }
}
