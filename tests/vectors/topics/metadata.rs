//! Write metadata: what is accepted, where it may be set, and what tool calls leave.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use anyhow::anyhow;
use async_trait::async_trait;
use notekeeper_activities::{MetadataResolver, Notebook, ResolverError, WriteCall};
use notekeeper_contract::{FailureType, Outcome};
use notekeeper_domain::{InvalidMetadata, NoteName, OperationId, Scope, WriteMetadata};
use notekeeper_store::{Expected, WriteRequest};
use notekeeper_workflows::{MemorySettings, Session};
use serde_json::{Value, json};

use super::steps;
use crate::{
    bench::{Bench, CHARS_MAX, StoreKind},
    case::{Answer, Case, Fields, Stop},
    product,
    strings::holds_unencodable,
};

/// The name under which a case's callable is registered.
const CALLABLE: &str = "callable";

/// Whether a case needs a store that keeps metadata.
pub(super) fn is_about(case: &Case) -> bool {
    let steps = case.given["steps"].as_array();
    let mut steps = steps.into_iter().flatten();
    case.topic == "metadata"
        || steps.any(|step| step.get("metadata").is_some() || step["op"] == "write_with_metadata")
}

/// Runs a case of the topic.
pub(crate) async fn run(case: &Case, kind: StoreKind, bench: &Bench) -> Answer {
    match case.given["kind"].as_str() {
        Some("steps") => steps::steps(case, bench).await,
        Some("validate") => validate(case, bench).await,
        Some("config") => config(case, kind, bench).await,
        Some("tool") => tool(case, bench).await,
        _ => Err(case
            .fields()?
            .complain("kind", "is none that this runner knows")),
    }
}

/// Metadata as a case gives it; `Err` within says what is wrong with it.
pub(super) fn metadata(
    given: Option<&Value>,
) -> Result<Result<Option<WriteMetadata>, InvalidMetadata>, Stop> {
    let Some(given) = given.filter(|given| !given.is_null()) else {
        return Ok(Ok(None));
    };
    if let Some(text) = unencodable(given) {
        return Err(Stop::Unencodable(text.clone()));
    }
    Ok(WriteMetadata::from_json(&given.to_string()))
}

/// The first text in `value` that no string holds.
fn unencodable(value: &Value) -> Option<&Value> {
    match value {
        _ if !holds_unencodable(value) => None,
        Value::Array(items) => items.iter().find_map(unencodable),
        Value::Object(map) => map.values().find_map(unencodable).or(Some(value)),
        _ => None,
    }
}

/// What is wrong, in the words of the vectors.
pub(super) fn kind_of(error: &InvalidMetadata) -> &'static str {
    match error {
        InvalidMetadata::NotTexts => "metadata_type",
        InvalidMetadata::Nul { .. } => "metadata_nul",
        InvalidMetadata::TooLarge { .. } => "metadata_too_large",
    }
}

fn refused(error: &InvalidMetadata) -> Value {
    json!({ "error": kind_of(error) })
}

pub(super) fn shown(metadata: Option<&WriteMetadata>) -> Value {
    metadata.map_or(Value::Null, |metadata| json!(metadata.entries()))
}

fn main_note() -> Result<(Scope, NoteName), Stop> {
    Ok((Scope::parse("main")?, NoteName::main()))
}

async fn stored(bench: &Bench) -> Result<(Option<String>, Value), Stop> {
    let (scope, name) = main_note()?;
    let note = bench.store.read(&scope, &name, CHARS_MAX).await?;
    let metadata = shown(note.as_ref().and_then(|note| note.metadata.as_ref()));
    Ok((note.map(|note| note.content), metadata))
}

/// One write of a new note, through the store and as a workflow asks for it: both must come to the
/// same.
async fn validate(case: &Case, bench: &Bench) -> Answer {
    let given = case.fields()?;
    given.need("kind")?;
    let raw = given.get("metadata");
    given.done()?;
    let checked = metadata(raw)?;
    let mut source = json!({});
    if let Some(fixed) = raw.filter(|raw| !raw.is_null()) {
        source = json!({"write_metadata": {"fixed": fixed}});
    }
    let called = write(&bench.notebook, "call", "x", &source).await?;
    let (_, after_call) = stored(bench).await?;
    let answer = match checked {
        Err(error) => {
            if called != "invalid_argument" || stored(bench).await?.0.is_some() {
                return Err(anyhow!("a call with it came to {called}").into());
            }
            refused(&error)
        }
        Ok(metadata) => {
            put(bench, "x", metadata.as_ref()).await?;
            let (_, after_write) = stored(bench).await?;
            if called != "ok" || after_call != after_write {
                return Err(anyhow!("a call with it came to {called} and {after_call}").into());
            }
            json!({ "metadata": after_write })
        }
    };
    Ok(answer)
}

/// A write that isn't a model's.
async fn put(bench: &Bench, text: &str, metadata: Option<&WriteMetadata>) -> Result<(), Stop> {
    let (scope, name) = main_note()?;
    let request = WriteRequest {
        metadata,
        ..WriteRequest::new(text, &Expected::Any)
    };
    bench.store.write(&scope, &name, &request, None).await?;
    Ok(())
}

/// A model's write; what it came to.
async fn write(
    notebook: &Notebook,
    call: &str,
    content: &str,
    source: &Value,
) -> Result<String, Stop> {
    let (scope, _) = main_note()?;
    let id = OperationId::derive("run", 1, &scope, call)?;
    let mut input = json!({
        "scope": {"agent_name": "main"}, "content": content, "operation": {"id": id.as_str()},
    });
    if let Some(from) = source.get("write_metadata") {
        input["write_metadata"] = from.clone();
    }
    let Ok(input) = product::decoded(&input)? else {
        return Ok("invalid_argument".to_owned());
    };
    Ok(match notebook.write(input, &product::caller()).await {
        Ok(Outcome::Ok(_)) => "ok".to_owned(),
        Ok(Outcome::Refused(refused)) => refused.reason,
        Err(failure) => match failure.kind {
            FailureType::Unsupported => "configuration".to_owned(),
            FailureType::MetadataRefused => "metadata_refused".to_owned(),
            _ => product::failure_kind(&failure)?.to_owned(),
        },
    })
}

/// Setting metadata on a memory: the settings are checked when it is opened, the store by what it
/// says of itself.
async fn config(case: &Case, kind: StoreKind, bench: &Bench) -> Answer {
    let given = case.fields()?;
    given.need("kind")?;
    let store = given.text("store")?;
    let raw = given.get("write_metadata");
    given.done()?;
    // Which store it is, a resolver answers here when the memory is opened.
    let store = store.strip_prefix("resolver->").unwrap_or(store);
    let directory = tempfile::tempdir()?;
    let on = match store {
        _ if store == kind.name() => bench.clone(),
        "in_memory" => Bench::in_memory().await?,
        "sqlite" | "postgres" => bench.clone(),
        "file" => Bench::of_files(directory.path()).await?,
        _ => return Err(Stop::NotUnderstood(format!("there is no store `{store}`"))),
    };
    let source = match raw {
        None | Some(Value::Null) => Value::Null,
        Some(Value::String(callable)) if callable == CALLABLE => json!({"resolver": CALLABLE}),
        Some(fixed) => json!({ "fixed": fixed }),
    };
    if let Err(error) = opened(&source, raw)? {
        return Ok(refused(&error));
    }
    let counting = Arc::new(Counting::new(Answers::Nothing));
    let notebook = on.notebook.with_metadata_resolver(CALLABLE, counting);
    let source = json!({ "write_metadata": source });
    Ok(
        match write(&notebook, "call", "x", &source).await?.as_str() {
            "ok" => json!({"ok": true}),
            other => json!({ "error": other }),
        },
    )
}

/// Opens a memory with these settings, as a workflow does; what is wrong with the metadata, if it
/// can't be opened.
fn opened(source: &Value, raw: Option<&Value>) -> Result<Result<(), InvalidMetadata>, Stop> {
    let settings = json!({ "write_metadata": source });
    let open = |settings| Session::new().open(settings, &(), |()| String::new());
    let opened = match product::decoded::<MemorySettings>(&settings)? {
        Ok(settings) => open(settings).map(drop).map_err(|error| error.to_string()),
        Err(_) => Err("the settings can't be read".to_owned()),
    };
    let checked = match raw {
        Some(Value::String(_)) => Ok(None),
        raw => metadata(raw)?,
    };
    match (opened, checked) {
        (Ok(()), Ok(_)) => Ok(Ok(())),
        (Err(_), Err(error)) => Ok(Err(error)),
        (opened, checked) => Err(anyhow!("{opened:?}, but {checked:?}").into()),
    }
}

/// Tool calls with `write_metadata` set, and a person's writes between them.
async fn tool(case: &Case, bench: &Bench) -> Answer {
    let given = case.fields()?;
    given.need("kind")?;
    let raw = given.get_set("write_metadata");
    let calls = given.list("calls")?;
    let counting = match raw.and_then(Value::as_str) {
        Some(callable) => Some(Arc::new(Counting::new(Answers::of(callable, &given)?))),
        None => None,
    };
    given.done()?;
    let mut notebook = bench.notebook.clone();
    let source = match (&counting, raw) {
        (Some(counting), _) => {
            notebook = notebook.with_metadata_resolver(CALLABLE, Arc::clone(counting) as _);
            json!({"write_metadata": {"resolver": CALLABLE}})
        }
        (None, Some(fixed)) => json!({"write_metadata": {"fixed": fixed}}),
        (None, None) => json!({}),
    };
    let mut results = Vec::new();
    for call in calls {
        results.push(match call.as_array().map(Vec::as_slice) {
            Some([Value::String(op), Value::String(id), Value::String(content)]) if op == "w" => {
                let result = write(&notebook, id, content, &source).await?;
                let refused = counting.as_ref().and_then(|counting| counting.refused());
                match (result.as_str(), refused) {
                    ("metadata_refused", Some(error)) => kind_of(&error).to_owned(),
                    _ => result,
                }
            }
            Some([Value::String(op), Value::String(text), by]) if op == "ui" => {
                match metadata(Some(by))? {
                    Ok(by) => put(bench, text, by.as_ref())
                        .await
                        .map(|()| "ok".to_owned())?,
                    Err(error) => kind_of(&error).to_owned(),
                }
            }
            _ => return Err(Stop::NotUnderstood(format!("{call} is no call"))),
        });
    }
    let (content, metadata) = stored(bench).await?;
    let mut answer = json!({
        "results": results, "metadata_after": metadata, "content_after": content,
    });
    if let Some(counting) = counting {
        answer["callable_calls"] = json!(counting.calls.load(Ordering::SeqCst));
    }
    Ok(answer)
}

/// What a callable of a case answers.
#[derive(Debug)]
enum Answers {
    /// The number of the call.
    Number,
    /// Nothing.
    Nothing,
    /// This JSON.
    Json(String),
}

impl Answers {
    fn of(callable: &str, given: &Fields<'_>) -> Result<Self, Stop> {
        let answers = match callable {
            "callable: n-th call returns {n: str(n)}" => Some(Self::Number),
            "callable returning null" | "callable returning None" | CALLABLE => Some(Self::Nothing),
            other => other
                .strip_prefix("callable returning ")
                .filter(|json| serde_json::from_str::<Value>(json).is_ok())
                .map(|json| Self::Json(json.to_owned())),
        };
        answers.ok_or_else(|| given.complain("write_metadata", "is no callable that is known"))
    }
}

/// A resolver that counts its calls.
#[derive(Debug)]
struct Counting {
    answers: Answers,
    calls: AtomicUsize,
    refused: Mutex<Option<InvalidMetadata>>,
}

impl Counting {
    fn new(answers: Answers) -> Self {
        Self {
            answers,
            calls: AtomicUsize::new(0),
            refused: Mutex::default(),
        }
    }

    /// Why the last answer was none.
    fn refused(&self) -> Option<InvalidMetadata> {
        let refused = self.refused.lock();
        refused.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[async_trait]
impl MetadataResolver for Counting {
    async fn resolve(&self, _: &WriteCall<'_>) -> Result<Option<WriteMetadata>, ResolverError> {
        let number = self.calls.fetch_add(1, Ordering::SeqCst) + 1;
        let answer = match &self.answers {
            Answers::Number => {
                WriteMetadata::from_json(&json!({"n": number.to_string()}).to_string())
            }
            Answers::Nothing => Ok(None),
            Answers::Json(json) => WriteMetadata::from_json(json),
        };
        let refused = answer.as_ref().err().cloned();
        *self.refused.lock().unwrap_or_else(PoisonError::into_inner) = refused;
        Ok(answer?)
    }
}
