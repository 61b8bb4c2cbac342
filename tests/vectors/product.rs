//! Tool calls as another program makes them: JSON in, an outcome out.

use std::collections::{BTreeSet, HashMap};

use anyhow::{Context as _, anyhow};
use notekeeper_activities::{Caller, Failure};
use notekeeper_contract::{Argument, FailureType, Outcome as Settled, Refused};
use notekeeper_domain::{OperationId, Scope};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use temporalio_common::{
    data_converters::{
        PayloadConverter, SerializationContext, SerializationContextData,
        TemporalDeserializable as _,
    },
    protos::temporal::api::common::v1::Payload,
};

use crate::{
    bench::{Bench, address},
    case::Stop,
    strings::json_text,
    topics::script::{Call, Notes, Outcome, Script, Tool},
};

/// Seeds the store, makes the calls, and reads the notes of all scopes that are named.
pub(crate) async fn run(script: &Script, bench: &Bench) -> Result<(Vec<Outcome>, Notes), Stop> {
    let seeds = script
        .seeds
        .iter()
        .map(|(path, text)| (path.as_str(), text));
    bench.seed(seeds).await?;
    let mut outcomes = Vec::new();
    for one in &script.calls {
        outcomes.push(call(bench, one).await?);
    }
    let of_seeds = script
        .seeds
        .iter()
        .filter_map(|(path, _)| Some(address(path)?.0));
    let of_calls = script.calls.iter().filter_map(|call| scope(call).ok());
    let scopes: BTreeSet<Scope> = of_seeds.chain(of_calls).collect();
    let notes = bench.notes(&scopes.into_iter().collect::<Vec<_>>()).await?;
    Ok((outcomes, notes))
}

/// Makes one call.
pub(crate) async fn call(bench: &Bench, call: &Call) -> Result<Outcome, Stop> {
    let mut input = json!({
        "scope": {"namespace": call.scope.0, "agent_name": call.scope.1},
    });
    for (key, value) in &call.arguments {
        input[key] = value.clone();
    }
    if let Some(bound) = call.note_chars_max.filter(|_| call.tool != Tool::Delete) {
        input["max_memory_size"] = json!(bound);
    }
    if let (true, Ok(scope)) = (call.tool != Tool::Read, scope(call)) {
        let (run_id, step, tool_call_id) = &call.identity;
        match OperationId::derive(run_id, *step, &scope, tool_call_id) {
            Ok(id) => input["operation"] = json!({"id": id.as_str()}),
            Err(_) => return Ok(Outcome::failed("invalid_operation")),
        }
    }
    let caller = caller();
    match call.tool {
        Tool::Write => match decoded(&input)? {
            Err(refused) => Ok(refused),
            Ok(input) => settled(bench.notebook.write(input, &caller).await, |done| {
                mutation(done.file, Some(done.version), done.replayed, done.status)
            }),
        },
        Tool::Delete => match decoded(&input)? {
            Err(refused) => Ok(refused),
            Ok(input) => settled(bench.notebook.delete(input, &caller).await, |done| {
                mutation(done.file, done.version, done.replayed, done.status)
            }),
        },
        Tool::Read => match decoded(&input)? {
            Err(refused) => Ok(refused),
            Ok(input) => settled(bench.notebook.read(input).await, |read| Outcome::Text {
                content: Value::String(read.content),
                truncated: read.truncated,
            }),
        },
    }
}

/// Who calls. Every mutation has an operation of its own, so it decides nothing.
pub(crate) fn caller() -> Caller {
    Caller {
        temporal_namespace: "default".to_owned(),
        workflow_id: Some("vectors".to_owned()),
        run_id: "run".to_owned(),
        activity_id: "1".to_owned(),
        activity_type: "vectors".to_owned(),
        is_local: false,
    }
}

fn scope(call: &Call) -> Result<Scope, notekeeper_domain::InvalidScope> {
    Scope::resolve(&call.scope.0, &call.scope.1)
}

fn mutation(file: String, version: Option<String>, replayed: bool, status: String) -> Outcome {
    Outcome::Done {
        file,
        version,
        replayed,
        status,
    }
}

/// Reads an input as an activity does. What can't be read is an outcome.
pub(crate) fn decoded<T: DeserializeOwned + 'static>(
    input: &Value,
) -> Result<Result<T, Outcome>, Stop> {
    let metadata = HashMap::from([("encoding".to_owned(), b"json/plain".to_vec())]);
    let payload = Payload {
        metadata,
        data: json_text(input)?.into_bytes(),
        ..Payload::default()
    };
    let converter = PayloadConverter::serde_json();
    let context = SerializationContext::new(&SerializationContextData::None, &converter);
    let argument = Argument::<T>::from_payload(&context, payload)
        .map_err(|error| anyhow!("an argument must take any payload: {error}"))?;
    Ok(argument
        .decoded()
        .map_err(|_| Outcome::failed("invalid_argument")))
}

/// What a call came to, in the words of the vectors.
pub(crate) fn settled<T>(
    result: Result<Settled<T>, Failure>,
    done: impl FnOnce(T) -> Outcome,
) -> Result<Outcome, Stop> {
    match result {
        Ok(Settled::Ok(value)) => Ok(done(value)),
        Ok(Settled::Refused(Refused { reason, .. })) => Ok(Outcome::refused(&reason)),
        Err(failure) => failure_kind(&failure).map(Outcome::failed),
    }
}

/// The kind of error that a failure is.
pub(crate) fn failure_kind(failure: &Failure) -> Result<&'static str, Stop> {
    let kind = match failure.kind {
        FailureType::InvalidArgument => Some("invalid_argument"),
        FailureType::InvalidScope => Some("invalid_namespace"),
        FailureType::OperationConflict => Some("operation_conflict"),
        FailureType::VersionConflict => Some("conflict"),
        _ => None,
    };
    Ok(kind.with_context(|| format!("the call failed as {}: {failure}", failure.kind))?)
}
