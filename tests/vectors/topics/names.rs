//! Namespaces, agent names, file names and storage paths.

use notekeeper_contract::ScopeRef;
use notekeeper_domain::{NoteName, Scope, check_store_path, check_store_prefix};
use serde_json::{Map, Value, json};

use super::script::{Call, Outcome, Tool};
use crate::{
    bench::Bench,
    case::{Answer, Case, Fields, Stop},
    product::{call, decoded},
};

/// `namespace_validation`: a namespace and an agent name make a scope, or don't.
pub(crate) fn namespace(case: &Case) -> Answer {
    let given = case.fields()?;
    let scope = match scope_of(&given)? {
        Ok(scope) => scope,
        Err(outcome) => return Ok(outcome),
    };
    given.done()?;
    Ok(match scope {
        Some(scope) => json!({
            "scope": scope.as_str(),
            "main_key": scope.key(&NoteName::main()),
        }),
        None => json!({"error": "invalid_namespace"}),
    })
}

/// `scope_hash`.
pub(crate) fn scope_hash(case: &Case) -> Answer {
    let given = case.fields()?;
    let scope = match scope_of(&given)? {
        Ok(scope) => scope,
        Err(outcome) => return Ok(outcome),
    };
    given.done()?;
    Ok(match scope {
        Some(scope) => json!({"scope": scope.as_str(), "scope_hash": scope.hash()}),
        None => json!({"error": "invalid_namespace"}),
    })
}

/// The scope, read from JSON as payloads carry it; `None` where it is invalid.
fn scope_of(given: &Fields<'_>) -> Result<Result<Option<Scope>, Value>, Stop> {
    let payload = json!({
        "namespace": given.need("namespace")?,
        "agent_name": given.need("agent_name")?,
    });
    Ok(match decoded::<ScopeRef>(&payload)? {
        Ok(scope) => Ok(scope.resolve().ok()),
        Err(_) => Err(json!({"error": "invalid_argument", "disposition": "fatal"})),
    })
}

/// `path_validation`.
pub(crate) async fn path(case: &Case, bench: &Bench) -> Answer {
    let given = case.fields()?;
    match given.text("kind")? {
        "file" => {
            let argument = given.need("file")?;
            given.done()?;
            file(argument, bench).await
        }
        "store_path" => {
            let path = given.text("path")?;
            given.done()?;
            Ok(match check_store_path(path) {
                Ok(()) => json!({"valid": true}),
                Err(_) => json!({"error": "invalid_path"}),
            })
        }
        "store_prefix" => {
            let prefix = given.text("prefix")?;
            let stored = given.list("stored")?;
            given.done()?;
            listing(prefix, stored, bench).await
        }
        _ => Err(given.complain("kind", "is none of file, store_path, store_prefix")),
    }
}

/// Which name a tool's `file` argument addresses: writes there, and looks what is stored.
async fn file(argument: &Value, bench: &Bench) -> Answer {
    let arguments = [("content", json!("x")), ("file", argument.clone())];
    let write = Call {
        tool: Tool::Write,
        scope: (String::new(), "main".to_owned()),
        identity: ("run".to_owned(), 1, "call".to_owned()),
        arguments: arguments
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value))
            .collect::<Map<_, _>>(),
        note_chars_max: None,
    };
    match call(bench, &write).await? {
        Outcome::Done { file, .. } => {
            let notes = bench.notes(&[Scope::parse("main")?]).await?;
            let keys: Vec<&String> = notes.keys().collect();
            Ok(json!({"name": file, "key": keys.first()}))
        }
        Outcome::Error { kind, disposition } => {
            Ok(json!({"error": kind, "disposition": disposition}))
        }
        Outcome::Text { .. } => Err(Stop::NotUnderstood("a write returned a text".to_owned())),
    }
}

/// What a listing under a prefix shows.
async fn listing(prefix: &str, stored: &[Value], bench: &Bench) -> Answer {
    let text = json!("x");
    let paths: Option<Vec<&str>> = stored.iter().map(Value::as_str).collect();
    let paths = paths
        .ok_or_else(|| Stop::NotUnderstood("`given.stored` holds what is no path".to_owned()))?;
    bench
        .seed(paths.into_iter().map(|path| (path, &text)))
        .await?;
    Ok(match listed(bench, prefix, usize::MAX).await? {
        Some(paths) => json!({"paths": paths}),
        None => json!({"error": "invalid_path"}),
    })
}

/// Storage paths of the scope that a prefix names; `None` where it names none.
pub(crate) async fn listed(
    bench: &Bench,
    prefix: &str,
    limit: usize,
) -> Result<Option<Vec<String>>, Stop> {
    if check_store_prefix(prefix).is_err() {
        return Ok(None);
    }
    let Ok(scope) = Scope::parse(prefix.strip_suffix('/').unwrap_or(prefix)) else {
        return Ok(None);
    };
    // Stores count in 32 bits with a sign; what callers give is cut before it gets there.
    let names = bench.store.names(&scope, limit.min(100_000)).await?.names;
    Ok(Some(names.iter().map(|name| scope.key(name)).collect()))
}
