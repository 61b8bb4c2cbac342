//! Search.

use notekeeper_domain::Scope;
use serde_json::{Value, json};

use crate::{
    bench::Bench,
    case::{Answer, Case},
    product::{decoded, failure_kind},
};
use notekeeper_contract::{Outcome, SearchMemoryInput};

/// `search`: the matches of a query, in order.
pub(crate) async fn search(case: &Case, bench: &Bench) -> Answer {
    let given = case.fields()?;
    let scope = Scope::parse(given.text_or_null("scope")?.unwrap_or("main"))?;
    let mut input = json!({
        "scope": {"namespace": scope.namespace(), "agent_name": scope.agent_name()},
        "query": given.need("query")?,
    });
    if given.get_set("limits").is_some() {
        let limits = given.object("limits")?;
        let keys = [
            "max_search_results",
            "max_search_result_chars",
            "max_search_files",
            "max_memory_size",
        ];
        for key in keys {
            if let Some(limit) = limits.get_set(key) {
                input[key] = limit.clone();
            }
        }
        limits.done()?;
    }
    let files = given.need("files")?.as_object();
    let files = files.ok_or_else(|| given.complain("files", "is no object"))?;
    given.done()?;
    // A file beside all scopes can't be stored, and belongs to no search.
    let in_scopes = files.iter().filter(|(path, _)| path.contains('/'));
    bench
        .seed(in_scopes.map(|(path, text)| (path.as_str(), text)))
        .await?;

    let input: SearchMemoryInput = match decoded(&input)? {
        Ok(input) => input,
        Err(_) => return Ok(error("invalid_argument", "fatal")),
    };
    Ok(match bench.notebook.search(input).await {
        Ok(Outcome::Ok(found)) => json!({
            "matches": found.matches,
            "scanned": found.scanned,
            "truncated": found.truncated,
        }),
        Ok(Outcome::Refused(refused)) => error(&refused.reason, "model_retry"),
        Err(failure) => error(failure_kind(&failure)?, "fatal"),
    })
}

fn error(kind: &str, disposition: &str) -> Value {
    json!({"error": kind, "disposition": disposition})
}
