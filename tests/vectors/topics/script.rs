//! Tool calls that a case makes, read once for the product and for the model of the peer.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::case::{Answer, Case, Fields, Stop};

/// What is in the store, and which calls follow.
#[derive(Debug)]
pub(crate) struct Script {
    /// Storage path and text of each note beforehand.
    pub(crate) seeds: Vec<(String, Value)>,
    /// The calls, one after the other.
    pub(crate) calls: Vec<Call>,
}

/// One tool call.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    /// Which tool.
    pub(crate) tool: Tool,
    /// Namespace and agent name.
    pub(crate) scope: (String, String),
    /// What the operation id is derived from: run id, step, tool call id.
    pub(crate) identity: (String, u64, String),
    /// Arguments as the model gave them; texts may have lone surrogates.
    pub(crate) arguments: Map<String, Value>,
    /// Bound of one note in characters, where it isn't the default.
    pub(crate) note_chars_max: Option<usize>,
}

/// Which tool is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tool {
    Write,
    Read,
    Delete,
}

/// What a call came to.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Outcome {
    /// A mutation that took effect, now or earlier.
    Done {
        file: String,
        version: Option<String>,
        replayed: bool,
        status: String,
    },
    /// The text of a note; may have lone surrogates.
    Text { content: Value, truncated: bool },
    /// Nothing happened.
    Error {
        kind: String,
        disposition: &'static str,
    },
}

impl Outcome {
    /// An error that the model can act on.
    pub(crate) fn refused(kind: &str) -> Self {
        Self::Error {
            kind: kind.to_owned(),
            disposition: "model_retry",
        }
    }

    /// An error that ends the call.
    pub(crate) fn failed(kind: &str) -> Self {
        Self::Error {
            kind: kind.to_owned(),
            disposition: "fatal",
        }
    }

    fn error_value(&self) -> Option<Value> {
        match self {
            Self::Error { kind, disposition } => {
                Some(json!({"error": kind, "disposition": disposition}))
            }
            _ => None,
        }
    }
}

/// Notes by storage path; texts may have lone surrogates.
pub(crate) type Notes = Map<String, Value>;

/// Topics whose cases are tool calls, all of them or some.
pub(crate) const TOPICS: [&str; 6] = [
    "write_append",
    "write_replace",
    "write_limits",
    "delete",
    "read_bounded",
    "tool_replay_and_concurrency",
];

/// The script of a case, or `None` where the case is no series of tool calls.
pub(crate) fn script(case: &Case) -> Result<Option<Script>, Stop> {
    match case.topic.as_str() {
        "write_append" | "write_replace" | "write_limits" => writes(case).map(Some),
        "delete" => deletions(case).map(Some),
        "read_bounded" if case.given["via"] == "tool" => tool_read(case).map(Some),
        "tool_replay_and_concurrency" if case.given["kind"] == "replay" => {
            repetitions(case).map(Some)
        }
        _ => Ok(None),
    }
}

const MAIN_KEY: &str = "main/MEMORY.md";

fn seed(path: &str, text: Option<&Value>) -> Vec<(String, Value)> {
    text.map(|text| (path.to_owned(), text.clone()))
        .into_iter()
        .collect()
}

fn call(tool: Tool, run_id: &str, tool_call_id: &str) -> Call {
    Call {
        tool,
        scope: (String::new(), "main".to_owned()),
        identity: (run_id.to_owned(), 1, tool_call_id.to_owned()),
        arguments: Map::new(),
        note_chars_max: None,
    }
}

/// Copies arguments that are set; an absent `old_text` and a null one mean the same.
fn copy_arguments(call: &mut Call, fields: &Fields<'_>, keys: &[&str]) {
    for key in keys {
        if let Some(value) = fields.get_set(key) {
            call.arguments.insert((*key).to_owned(), value.clone());
        }
    }
}

fn writes(case: &Case) -> Result<Script, Stop> {
    let given = case.fields()?;
    if given.get("sequence").is_some() {
        return sequence(&given, case);
    }
    let mut write = call(Tool::Write, "run", "call");
    given.need("content")?;
    copy_arguments(&mut write, &given, &["content", "old_text", "file"]);
    write.note_chars_max = given.bound("max_memory_size")?;
    let seeds = seed(MAIN_KEY, given.get_set("existing"));
    given.done()?;
    Ok(Script {
        seeds,
        calls: vec![write],
    })
}

fn sequence(given: &Fields<'_>, case: &Case) -> Result<Script, Stop> {
    let calls = given
        .list("sequence")?
        .iter()
        .enumerate()
        .map(|(index, content)| {
            let mut write = call(Tool::Write, "run", &format!("call-{index}"));
            write
                .arguments
                .insert("content".to_owned(), content.clone());
            write
        })
        .collect();
    let known = ["sequence", "existing", "old_text"];
    let others = case.given.as_object().into_iter().flat_map(Map::keys);
    if let Some(key) = others
        .into_iter()
        .find(|key| !known.contains(&key.as_str()))
    {
        return Err(given.complain(key, "is not understood"));
    }
    Ok(Script {
        seeds: seed(MAIN_KEY, given.get_set("existing")),
        calls,
    })
}

fn deletions(case: &Case) -> Result<Script, Stop> {
    let given = case.fields()?;
    let agent = given.text_or_null("agent_name")?.unwrap_or("main");
    let script = Script {
        seeds: seeds(&given)?,
        calls: calls(&given, agent, "run-1", "c1")?,
    };
    given.done()?;
    Ok(script)
}

fn seeds(given: &Fields<'_>) -> Result<Vec<(String, Value)>, Stop> {
    let files = given.need("files")?.as_object();
    let files = files.ok_or_else(|| given.complain("files", "is no object"))?;
    Ok(files
        .iter()
        .map(|(path, text)| (path.clone(), text.clone()))
        .collect())
}

fn repetitions(case: &Case) -> Result<Script, Stop> {
    let given = case.fields()?;
    given.need("kind")?;
    let script = Script {
        seeds: seed(MAIN_KEY, given.get_set("initial")),
        calls: calls(&given, "main", "r1", "c1")?,
    };
    given.done()?;
    Ok(script)
}

fn calls(
    given: &Fields<'_>,
    agent: &str,
    run_id: &str,
    tool_call_id: &str,
) -> Result<Vec<Call>, Stop> {
    let calls = given.list("calls")?.iter().enumerate();
    calls
        .map(|(index, value)| {
            let fields = Fields::of(&format!("given.calls[{index}]"), value)?;
            let tool = match fields.text("op")? {
                "write" => Tool::Write,
                "read" => Tool::Read,
                "delete" => Tool::Delete,
                _ => return Err(fields.complain("op", "names no tool")),
            };
            let mut call = call(
                tool,
                fields.text_or_null("run_id")?.unwrap_or(run_id),
                fields.text_or_null("tool_call_id")?.unwrap_or(tool_call_id),
            );
            call.scope = (
                fields
                    .text_or_null("namespace")?
                    .unwrap_or_default()
                    .to_owned(),
                fields.text_or_null("agent")?.unwrap_or(agent).to_owned(),
            );
            if let Some(step) = fields.bound("run_step")? {
                call.identity.1 = step as u64;
            }
            let keys: &[&str] = match tool {
                Tool::Write => &["content", "old_text", "file"],
                Tool::Read | Tool::Delete => &["file"],
            };
            copy_arguments(&mut call, &fields, keys);
            fields.done()?;
            Ok(call)
        })
        .collect()
}

fn tool_read(case: &Case) -> Result<Script, Stop> {
    let given = case.fields()?;
    given.need("via")?;
    let mut read = call(Tool::Read, "run", "call");
    copy_arguments(&mut read, &given, &["file"]);
    read.note_chars_max = given.bound("max_memory_size")?;
    let stored = given.get_set("stored");
    given.done()?;
    let path = match given_name(case) {
        Some(name) => format!("main/{name}"),
        None => "main/a.md".to_owned(),
    };
    Ok(Script {
        seeds: seed(&path, stored),
        calls: vec![read],
    })
}

/// The name that a read addresses: that is where the text is stored.
fn given_name(case: &Case) -> Option<String> {
    crate::oracle::text::tool_name(case.given["file"].as_str()?)
}

/// Puts what the calls came to, and the notes afterwards, into the form of the expectation.
pub(crate) fn shape(case: &Case, outcomes: &[Outcome], notes: &Notes) -> Answer {
    let last = || {
        outcomes
            .last()
            .ok_or_else(|| Stop::NotUnderstood("the case calls nothing".to_owned()))
    };
    Ok(match case.topic.as_str() {
        "read_bounded" => match last()? {
            Outcome::Text { content, truncated } => {
                json!({"prefix": content, "truncated": truncated})
            }
            other => other.error_value().unwrap_or_default(),
        },
        "delete" => json!({
            "results": outcomes.iter().map(|outcome| result(outcome, &mut Labels::Set)).collect::<Vec<_>>(),
            "files_after": notes.keys().collect::<BTreeSet<_>>(),
        }),
        "tool_replay_and_concurrency" => {
            let mut labels = Labels::numbered();
            json!({
                "results": outcomes.iter().map(|outcome| result(outcome, &mut labels)).collect::<Vec<_>>(),
                "files_after": notes,
            })
        }
        _ if case.given.get("sequence").is_some() => json!({
            "statuses": outcomes.iter().map(status_or_error).collect::<Vec<_>>(),
            "content_after": notes.get(MAIN_KEY),
        }),
        _ => {
            let mut answer = result(last()?, &mut Labels::Dropped);
            answer["content_after"] = notes.get(MAIN_KEY).cloned().unwrap_or_default();
            answer
        }
    })
}

fn status_or_error(outcome: &Outcome) -> Value {
    match outcome {
        Outcome::Done { status, .. } => json!(status),
        Outcome::Error { kind, .. } => json!(kind),
        Outcome::Text { content, .. } => content.clone(),
    }
}

fn result(outcome: &Outcome, labels: &mut Labels) -> Value {
    match outcome {
        Outcome::Done {
            file,
            version,
            replayed,
            status,
        } => {
            let mut value = json!({"file": file, "replayed": replayed, "status": status});
            if let Some(label) = labels.of(version.as_deref()) {
                value["version"] = label;
            }
            value
        }
        Outcome::Text { content, .. } => content.clone(),
        error => error.error_value().unwrap_or_default(),
    }
}

/// How versions, which are opaque, stand in an answer.
#[derive(Debug)]
pub(crate) enum Labels {
    /// `v1`, `v2`, … by first appearance.
    Numbered(Vec<String>),
    /// `set`, or null.
    Set,
    /// Not at all.
    Dropped,
}

impl Labels {
    /// Labels by first appearance.
    pub(crate) fn numbered() -> Self {
        Self::Numbered(Vec::new())
    }

    /// The label of a version.
    pub(crate) fn of(&mut self, version: Option<&str>) -> Option<Value> {
        match (self, version) {
            (Self::Dropped, _) => None,
            (_, None) => Some(Value::Null),
            (Self::Set, Some(_)) => Some(json!("set")),
            (Self::Numbered(seen), Some(version)) => {
                let known = seen.iter().position(|earlier| earlier == version);
                let index = known.unwrap_or_else(|| {
                    seen.push(version.to_owned());
                    seen.len() - 1
                });
                Some(json!(format!("v{}", index + 1)))
            }
        }
    }
}
