//! Settings of memories: bounds, two of them on one agent, and options that can be written down.

use std::{io::Write as _, process::Command};

use anyhow::{Context as _, anyhow};
use notekeeper_workflows::{MemorySettings, OpenError, Session};
use serde_json::{Map, Value, json};

use crate::case::{Answer, Case, Fields, Stop};

/// Options that say where notes are kept. They belong in the worker's file.
const PLACES: [&str; 2] = ["directory", "database"];

/// Runs a case.
pub(crate) fn configuration(case: &Case) -> Answer {
    let given = case.fields()?;
    match given.text("kind")? {
        "bounds" => {
            let options = options(&given)?;
            given.done()?;
            bounds(&options)
        }
        "combine" => combine(given),
        "spec" => spec(given),
        _ => Err(given.complain("kind", "is none of bounds, combine, spec")),
    }
}

/// What is given of the settings of a memory.
pub(crate) fn options(given: &Fields<'_>) -> Result<Map<String, Value>, Stop> {
    let known = serde_json::to_value(MemorySettings::default())?;
    let known = known.as_object().context("settings are an object")?;
    let also = ["backend", "namespace", "write_metadata"];
    let keys = known.keys().map(String::as_str).chain(also);
    let mut options: Map<String, Value> = keys
        .filter_map(|key| Some((key.to_owned(), given.get(key)?.clone())))
        .collect();
    if let Some(fixed) = options.get_mut("write_metadata") {
        *fixed = json!({ "fixed": fixed });
    }
    Ok(options)
}

fn settings(options: &Map<String, Value>) -> Result<MemorySettings, String> {
    MemorySettings::from_spec(Value::Object(options.clone())).map_err(|error| error.to_string())
}

fn bounds(options: &Map<String, Value>) -> Answer {
    let settings = match settings(options) {
        Ok(settings) => settings,
        Err(_) => return Ok(json!({"error": "value_error"})),
    };
    if !options.is_empty() {
        return Ok(json!({"ok": true}));
    }
    let default = serde_json::to_value(&settings)?;
    // Settings without a namespace leave it to the workflow's resolver; its input has this one.
    let namespace = notekeeper_workflows::AgentInput::default().namespace;
    let mut shown = json!({ "namespace": settings.namespace.unwrap_or(namespace) });
    for key in [
        "agent_name",
        "heading",
        "inject_memory",
        "max_tokens",
        "max_lines",
        "max_memory_size",
        "max_search_results",
        "max_search_result_chars",
        "max_search_files",
        "injection_errors",
        "id",
    ] {
        shown[key] = default[key].clone();
    }
    Ok(shown)
}

fn combine(given: Fields<'_>) -> Answer {
    let [first, second] = ["first", "second"].map(|key| {
        let fields = given.object(key)?;
        let options = options(&fields)?;
        fields.done()?;
        settings(&options).map_err(|error| Stop::from(anyhow!("{key}: {error}")))
    });
    let (first, mut second) = (first?, second?);
    let same_store = given.need("same_store")?;
    given.done()?;
    if same_store != &json!(true) {
        second.store = "other".to_owned();
    }
    match open_all(&[first.clone(), second.clone()]) {
        Ok(_) => Ok(json!({"ok": true})),
        Err(OpenError::Disagreement { setting, .. }) => {
            let [first, second] = [first, second].map(serde_json::to_value);
            let (first, second) = (first?, second?);
            if first.get(&setting) == second.get(&setting) {
                return Err(anyhow!("they don't differ in `{setting}`").into());
            }
            Ok(json!({"error": "configuration"}))
        }
        Err(_) => Ok(json!({"error": "configuration"})),
    }
}

/// Opens memories on one agent, each on the namespace of its settings.
pub(crate) fn open_all(
    settings: &[MemorySettings],
) -> Result<Vec<notekeeper_workflows::Memory>, OpenError> {
    let session = Session::new();
    let open = |settings: &MemorySettings| {
        session.open(settings.clone(), settings, |settings| {
            settings.namespace.clone().unwrap_or_default()
        })
    };
    settings.iter().map(open).collect()
}

fn spec(given: Fields<'_>) -> Answer {
    let mut options = options(&given)?;
    let places: Vec<(&str, String)> = PLACES
        .iter()
        .filter_map(|place| Some((*place, given.text_or_null(place).transpose()?)))
        .map(|(place, text)| Ok((place, text?.to_owned())))
        .collect::<Result<_, Stop>>()?;
    given.done()?;
    let backend = options.get("backend").cloned();
    let fits = settings(&options).is_ok()
        && (backend.is_none() && places.is_empty() || stored(backend.as_ref(), &places)?);
    for (place, text) in &places {
        options.insert((*place).to_owned(), json!(text));
        let said = settings(&options).err().unwrap_or_default();
        if !said.contains("belongs in the worker's configuration") {
            return Err(anyhow!("`{place}` in the options of a memory: `{said}`").into());
        }
        options.remove(*place);
    }
    Ok(match fits {
        true => json!({"ok": true}),
        false => json!({"error": "value_error"}),
    })
}

/// Whether the worker takes a store of this kind in this place.
fn stored(backend: Option<&Value>, places: &[(&str, String)]) -> Result<bool, Stop> {
    let kind = match backend.and_then(Value::as_str) {
        None | Some("memory") => "in_memory",
        Some(kind) => kind,
    };
    let mut section = toml_line("kind", kind);
    let own_place = if kind == "file" {
        "directory"
    } else {
        "database"
    };
    if kind != "in_memory" && !places.iter().any(|(place, _)| *place == own_place) {
        section += &toml_line(place_key(own_place), "notes");
    }
    for (place, text) in places {
        section += &toml_line(place_key(place), text);
    }
    let mut file = tempfile::NamedTempFile::new()?;
    // A directory that isn't absolute is seen from a workspace's root.
    let root = toml_line("root", &std::env::temp_dir().to_string_lossy());
    write!(
        file,
        "[workspaces.project]\n{root}[stores.notes]\n{section}"
    )?;
    let checked = Command::new(env!("CARGO_BIN_EXE_notekeeper"))
        .env_clear()
        .args(["config", "check", "--config"])
        .arg(file.path())
        .output()?;
    Ok(checked.status.success())
}

/// What the worker's file calls the place of a store.
fn place_key(place: &str) -> &str {
    match place {
        "database" => "path",
        other => other,
    }
}

fn toml_line(key: &str, value: &str) -> String {
    // A JSON string without control characters is a TOML string.
    format!("{key} = {}\n", json!(value))
}
