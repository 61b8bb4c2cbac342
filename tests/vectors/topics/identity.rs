//! Operation ids and fingerprints.

use notekeeper_domain::{
    Fingerprint, NoteName, Operation, OperationId, Scope, canonical_json, snapshot_digest,
};
use serde_json::{Map, Value, json};

use super::script::{Call, Outcome, Tool};
use crate::{
    bench::Bench,
    case::{Answer, Case},
    product::call,
};

/// `operation_identity`: the operation of a call, and the texts that its digests are made of.
///
/// The call is really made. Where it takes effect, the store must hold a receipt under this very id
/// and fingerprint.
pub(crate) async fn operation(case: &Case, bench: &Bench) -> Answer {
    let given = case.fields()?;
    let (namespace, agent) = (given.text("namespace")?, given.text("agent_name")?);
    let (run_id, tool_call_id) = (given.text("run_id")?, given.text("tool_call_id")?);
    let step = given.bound("run_step")?;
    let step = step.ok_or_else(|| given.complain("run_step", "is missing"))? as u64;
    let (tool, keys): (_, &[&str]) = match given.text("kind")? {
        "write" => (Tool::Write, &["file", "content", "old_text"]),
        "delete" => (Tool::Delete, &["file"]),
        _ => return Err(given.complain("kind", "is neither write nor delete")),
    };
    let mut arguments = Map::new();
    for key in keys {
        if let Some(value) = given.get_set(key) {
            arguments.insert((*key).to_owned(), value.clone());
        }
    }
    given.done()?;

    // A passage that is to be replaced must be there for the call to take effect; an empty one
    // needs a note all the same to be looked for in.
    let old_text = arguments
        .get("old_text")
        .filter(|text| text.as_str().is_some_and(|text| !text.contains('\0')));
    let name = arguments
        .get("file")
        .and_then(Value::as_str)
        .map(NoteName::from_tool);
    let scope = Scope::resolve(namespace, agent);
    if let (Some(text), Some(Ok(name)), Ok(scope)) = (old_text, &name, &scope) {
        bench.seed([(scope.key(name).as_str(), text)]).await?;
    }
    let made = Call {
        tool,
        scope: (namespace.to_owned(), agent.to_owned()),
        identity: (run_id.to_owned(), step, tool_call_id.to_owned()),
        arguments,
        note_chars_max: None,
    };
    let outcome = call(bench, &made).await?;
    let missing_passage = Outcome::refused("old_text_not_found");
    if let Outcome::Error { kind, disposition } = &outcome
        && outcome != missing_passage
    {
        return Ok(json!({"error": kind, "disposition": disposition}));
    }
    let (Some(Ok(name)), Ok(scope)) = (name, scope) else {
        return Err(anyhow::anyhow!("the call took effect without a name or scope").into());
    };
    let (answer, operation) = identity(&made, &scope, &name)?;
    if outcome != missing_passage && bench.store.receipt(&scope, &operation).await?.is_none() {
        return Ok(json!("the store has no receipt of this operation"));
    }
    Ok(answer)
}

/// The operation as the domain makes it, and its digests beside what they are digests of.
fn identity(
    made: &Call,
    scope: &Scope,
    name: &NoteName,
) -> Result<(Value, Operation), crate::case::Stop> {
    let (run_id, step, tool_call_id) = &made.identity;
    let text = |key: &str| made.arguments.get(key).and_then(Value::as_str);
    let content = text("content").unwrap_or_default();
    let id = OperationId::derive(run_id, *step, scope, tool_call_id)?;
    let id_preimage = canonical_json(&json!({
        "run_id": run_id,
        "run_step": step,
        "scope": scope.as_str(),
        "tool_call_id": tool_call_id,
    }));
    let (fingerprint, kind, arguments) = match made.tool {
        Tool::Delete => (
            Fingerprint::of_delete(scope, name),
            "delete",
            json!({"file": name.as_str()}),
        ),
        _ => (
            Fingerprint::of_write(scope, name, content, text("old_text")),
            "write",
            json!({"content": content, "file": name.as_str(), "old_text": text("old_text")}),
        ),
    };
    let fingerprint_preimage = canonical_json(&json!({
        "kind": kind,
        "model_args": arguments,
        "path": scope.key(name),
    }));
    let checked = |digest: &str, preimage: &str| match snapshot_digest(preimage) == digest {
        true => json!(preimage),
        false => json!("not the text that the digest is made of"),
    };
    let answer = json!({
        "operation_id": id.as_str(),
        "operation_id_preimage": checked(id.as_str(), &id_preimage),
        "fingerprint": fingerprint.as_str(),
        "fingerprint_preimage": checked(fingerprint.as_str(), &fingerprint_preimage),
    });
    Ok((answer, Operation { id, fingerprint }))
}
