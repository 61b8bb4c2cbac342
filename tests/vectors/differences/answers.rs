//! Our answers to the cases that a rule covers by a predicate.

use notekeeper_domain::{CHARS_PER_TOKEN, canonical_json, rendered_guidance, snapshot_digest};
use serde_json::{Map, Value, json};

use crate::{
    bench::StoreKind,
    case::Case,
    oracle::text::{chars, is_space, shown_lines, tool_name},
    strings::{holds_nul, holds_unencodable},
    topics::{
        AS_MUCH_AS_FITS,
        script::{self, Labels},
    },
};

/// Characters of the shortest remark that stands for a notebook, `[not shown]`.
const REMARK_CHARS: usize = 11;

/// Characters of the heading of the main note and the empty line after it.
const MAIN_HEADING_CHARS: usize = 15;

/// More characters than one notice takes.
const NOTICE_CHARS_MAX: usize = 60;

fn error(kind: &str) -> Value {
    json!({ "error": kind })
}

fn failed(kind: &str) -> Value {
    json!({"error": kind, "disposition": "fatal"})
}

/// Texts that a case stores before anything is called.
fn seeds(case: &Case) -> Vec<&Value> {
    let given = &case.given;
    let mut seeds: Vec<&Value> = ["existing", "initial", "stored"]
        .iter()
        .filter_map(|key| given.get(key))
        .collect();
    seeds.extend(given["files"].as_object().into_iter().flat_map(Map::values));
    if case.topic == "escaping" {
        seeds.extend(given.get("content"));
    }
    seeds
}

/// The answer where text that no string holds would have to be passed.
pub(super) fn unencodable(case: &Case) -> Option<Value> {
    // The models of these cases know what becomes of single calls.
    let modelled = case.topic == "search" || script::TOPICS.contains(&case.topic.as_str());
    let covered = match modelled {
        true => seeds(case).into_iter().any(holds_unencodable),
        false => holds_unencodable(&case.given),
    };
    covered.then(|| failed("invalid_argument"))
}

pub(super) fn nul_in_seed(case: &Case) -> Option<Value> {
    let nul = seeds(case).into_iter().any(holds_nul);
    nul.then(|| json!({"seed_refused": "nul"}))
}

pub(super) fn nul_in_operation(case: &Case, _: StoreKind, answer: &Value) -> Option<Value> {
    let given = &case.given;
    let nul = [given.get("content"), given.get("old_text")]
        .into_iter()
        .flatten()
        .any(holds_nul);
    let covered = case.topic == "operation_identity" && nul && answer.get("error").is_none();
    covered.then(|| json!({"error": "nul", "disposition": "model_retry"}))
}

fn is_about_scopes(case: &Case) -> bool {
    ["namespace_validation", "scope_hash", "operation_identity"].contains(&case.topic.as_str())
}

fn invalid_scope(case: &Case) -> Value {
    match case.topic.as_str() {
        "operation_identity" => failed("invalid_namespace"),
        _ => error("invalid_namespace"),
    }
}

pub(super) fn agent_with_slash(case: &Case, _: StoreKind, answer: &Value) -> Option<Value> {
    let slash = case.given["agent_name"]
        .as_str()
        .is_some_and(|agent| agent.contains('/'));
    let covered = is_about_scopes(case) && slash && answer.get("error").is_none();
    covered.then(|| invalid_scope(case))
}

pub(super) fn scope_too_long(case: &Case, _: StoreKind, answer: &Value) -> Option<Value> {
    let length = |key: &str| case.given[key].as_str().map_or(0, chars);
    let long = length("namespace") + 1 + length("agent_name") > 2_000;
    let covered = is_about_scopes(case) && long && answer.get("error").is_none();
    covered.then(|| invalid_scope(case))
}

pub(super) fn normalised_fingerprint(case: &Case, _: StoreKind, answer: &Value) -> Option<Value> {
    let file = case.given["file"]
        .as_str()
        .filter(|_| case.topic == "operation_identity")?;
    let name = tool_name(file).filter(|name| name != file)?;
    let preimage = answer["fingerprint_preimage"].as_str()?;
    let field = |name: &str| format!("\"file\":{}", canonical_json(&json!(name)));
    let ours = preimage.replacen(&field(file), &field(&name), 1);
    let mut answer = answer.clone();
    answer["fingerprint"] = json!(snapshot_digest(&ours));
    answer["fingerprint_preimage"] = json!(ours);
    Some(answer)
}

pub(super) fn incomplete_identity(case: &Case, _: StoreKind, answer: &Value) -> Option<Value> {
    let incomplete = case.given["run_id"] == "" || case.given["tool_call_id"] == "";
    let covered = case.topic == "operation_identity" && incomplete && answer.get("error").is_some();
    covered.then(|| failed("invalid_operation"))
}

pub(super) fn labelled_versions(case: &Case, _: StoreKind, answer: &Value) -> Option<Value> {
    if case.topic != "version_hash" || case.given["store"] != "generation" {
        return None;
    }
    let mut labels = Labels::numbered();
    let versions = answer["versions"].as_array()?.iter().map(|version| {
        match version.as_str().filter(|text| text.parse::<u64>().is_ok()) {
            Some(number) => labels.of(Some(number)).unwrap_or_default(),
            None => version.clone(),
        }
    });
    Some(json!({"versions": versions.collect::<Vec<_>>()}))
}

pub(super) fn listing_of_one_scope(case: &Case, _: StoreKind, answer: &Value) -> Option<Value> {
    answer.get("paths")?;
    let prefix = case.given["prefix"].as_str()?;
    let scope = prefix.strip_suffix('/').unwrap_or(prefix);
    if scope.is_empty() {
        return Some(error("invalid_path"));
    }
    let stored = case.given["stored"]
        .as_array()?
        .iter()
        .filter_map(Value::as_str);
    let inside = |path: &&str| {
        path.rsplit_once('/')
            .is_some_and(|(parent, _)| parent == scope)
    };
    let mut paths: Vec<&str> = stored.filter(inside).collect();
    paths.sort_unstable();
    Some(json!({ "paths": paths }))
}

fn is_race(case: &Case, kind: &str) -> bool {
    case.topic == "tool_replay_and_concurrency" && case.given["kind"] == kind
}

/// Attempts after which the peer gives up.
const PEER_ATTEMPTS_MAX: u64 = 16;

pub(super) fn no_give_up(case: &Case, _: StoreKind, answer: &Value) -> Option<Value> {
    let conflicts = case.given["conflicts_before_success"].as_u64();
    let conflicts = conflicts.filter(|_| is_race(case, "cas_retry"))?;
    let attempts = (conflicts + 1).min(PEER_ATTEMPTS_MAX);
    let mut peers = json!({
        "result": "ok",
        "mutation_attempts": attempts,
        "reads": attempts,
        "receipt_lookups": 1,
    });
    if conflicts >= PEER_ATTEMPTS_MAX {
        peers["result"] = json!("conflict_exhausted");
        peers["disposition"] = json!("model_retry");
    }
    (*answer == peers).then(|| json!({"result": "ok"}))
}

pub(super) fn every_writer_succeeds(case: &Case, _: StoreKind, answer: &Value) -> Option<Value> {
    let writers = case.given["writers"]
        .as_u64()
        .filter(|_| is_race(case, "concurrent"))?;
    let given_up = answer["errors"].as_array()?;
    let gave_up = given_up.iter().all(|error| error == "conflict_exhausted");
    if given_up.is_empty() || !gave_up || answer["ok"] != writers - given_up.len() as u64 {
        return None;
    }
    let same = case.given["same_tool_call"] == true;
    let effects = if same { writers.min(1) } else { writers };
    Some(json!({
        "ok": writers,
        "errors": [],
        "distinct_versions": effects,
        "replayed": writers - effects,
        "line_count": effects,
        "every_successful_line_present": true,
    }))
}

pub(super) fn structured_read(case: &Case, _: StoreKind, answer: &Value) -> Option<Value> {
    let read = case.topic == "tool_schema" && case.given["tool"] == "read_memory";
    if !read || answer["result"] != "string" {
        return None;
    }
    let mut answer = answer.clone();
    answer["result"] = json!({
        "file": "string",
        "content": "string",
        "truncated": "bool",
        "version": "string",
    });
    Some(answer)
}

/// What a case of `render_snapshot` gives, with defaults filled in.
struct Notebook {
    main: String,
    /// How many other notes the scope has.
    names: usize,
    tokens: usize,
    lines_max: usize,
    chars_max: usize,
}

impl Notebook {
    fn of(case: &Case) -> Option<Self> {
        if case.topic != "render_snapshot" {
            return None;
        }
        let scope = case.given["scope"].as_str()?;
        let files = case.given["files"].as_object()?;
        let others = files
            .keys()
            .filter_map(|path| path.rsplit_once('/'))
            .filter(|(parent, name)| {
                *parent == scope && name.ends_with(".md") && *name != "MEMORY.md"
            });
        let config = &case.given["config"];
        let number =
            |key: &str, default: u64| usize::try_from(config[key].as_u64().unwrap_or(default)).ok();
        let main = files
            .get(&format!("{scope}/MEMORY.md"))
            .and_then(Value::as_str);
        Some(Self {
            main: main.unwrap_or_default().to_owned(),
            names: others.count(),
            tokens: number("max_tokens", 2_000)?,
            lines_max: number("max_lines", 200)?,
            chars_max: number("max_memory_size", 65_536)?,
        })
    }

    fn is_blank(&self) -> bool {
        self.main.chars().all(is_space)
    }

    fn total(&self) -> usize {
        self.tokens * CHARS_PER_TOKEN
    }
}

fn content_budget(answer: &Value) -> Option<usize> {
    usize::try_from(answer["block"]["budget_chars"]["content"].as_u64()?).ok()
}

fn not_injected(answer: &Value, outcome: &str) -> Value {
    json!({"outcome": outcome, "injected": false, "span": answer["span"]})
}

pub(super) fn own_guidance(case: &Case, _: StoreKind, answer: &Value) -> Option<Value> {
    let notebook = Notebook::of(case)?;
    case.given["config"]
        .get("guidance")
        .filter(|guidance| guidance.is_null())?;
    let heading = case.given["config"]["heading"].as_str().unwrap_or_default();
    let guidance = rendered_guidance(None, heading, notebook.total());
    let guidance = guidance.map_or(0, |text| chars(&text));
    let mut ours = answer.clone();
    let delimiters = 19;
    let content = notebook.total().saturating_sub(guidance + delimiters);
    if answer["outcome"] == "budget_exhausted" && content >= REMARK_CHARS {
        ours["outcome"] = json!("ok");
        ours["injected"] = json!(true);
        ours["block"] = json!({"main": AS_MUCH_AS_FITS, "files": AS_MUCH_AS_FITS});
    }
    let block = ours.get_mut("block")?;
    block["budget_chars"] = json!({
        "total": notebook.total(),
        "guidance": guidance,
        "delimiters": delimiters,
        "content": content,
    });
    Some(ours)
}

pub(super) fn newest_part(case: &Case, _: StoreKind, answer: &Value) -> Option<Value> {
    let notebook = Notebook::of(case)?;
    let unread = chars(&notebook.main)
        .checked_sub(notebook.chars_max)
        .filter(|&n| n > 0)?;
    let room = content_budget(answer)?;
    let tail: String = notebook.main.chars().skip(unread).collect();
    let all = shown_lines(&tail);
    let dropped = all.len().saturating_sub(notebook.lines_max);
    let shown = &all[dropped..];
    let takes: usize = shown.iter().map(|line| chars(line) + 1).sum();
    let mut ours = answer.clone();
    ours["block"]["main"] = if takes + 4 * NOTICE_CHARS_MAX <= room {
        json!({"lines": shown, "dropped_lines": dropped, "notes_truncated_read": true})
    } else {
        json!(AS_MUCH_AS_FITS)
    };
    Some(ours)
}

pub(super) fn cut_line(case: &Case, _: StoreKind, answer: &Value) -> Option<Value> {
    let notebook = Notebook::of(case)?;
    let room = content_budget(answer)?;
    let nothing_shown = answer["block"]["main"]["lines"]
        .as_array()
        .is_none_or(Vec::is_empty);
    let all = shown_lines(&notebook.main);
    let last = all
        .last()
        .filter(|_| nothing_shown && notebook.lines_max > 0)?;
    let notices = 1 + usize::from(all.len() > 1) + usize::from(notebook.names > 0);
    let too_long = MAIN_HEADING_CHARS + chars(last) > room;
    // Below this, what must be said can leave too little for even a part of the line.
    let worth_it = room >= MAIN_HEADING_CHARS + notices * NOTICE_CHARS_MAX;
    if !too_long || !worth_it {
        return None;
    }
    let mut ours = answer.clone();
    ours["block"]["main"] = json!(AS_MUCH_AS_FITS);
    ours["block"]["cut_line"] = json!(true);
    Some(ours)
}

pub(super) fn tiny_budget(case: &Case, _: StoreKind, answer: &Value) -> Option<Value> {
    let notebook = Notebook::of(case)?;
    let room = content_budget(answer)?;
    let block = &answer["block"];
    let nothing = block["main"].is_null() && block["files"].is_null();
    let stored = !notebook.is_blank() || notebook.names > 0;
    if !stored || !(nothing || block["degenerate"] == true) {
        return None;
    }
    if room < REMARK_CHARS {
        return Some(not_injected(answer, "budget_exhausted"));
    }
    let mut ours = answer.clone();
    ours["block"]["main"] = json!(AS_MUCH_AS_FITS);
    ours["block"]["files"] = json!(AS_MUCH_AS_FITS);
    Some(ours)
}

pub(super) fn blank_notebook(case: &Case, _: StoreKind, answer: &Value) -> Option<Value> {
    let notebook = Notebook::of(case)?;
    let unread = chars(&notebook.main) > notebook.chars_max;
    let covered = notebook.is_blank() && notebook.names == 0 && !unread;
    (covered && answer["injected"] == true).then(|| not_injected(answer, "ok"))
}

pub(super) fn files_of_the_scope(case: &Case, _: StoreKind, answer: &Value) -> Option<Value> {
    let notebook = Notebook::of(case)?;
    let names_max = (notebook.total() / 6).max(1);
    let known = notebook.names.min(names_max);
    let more = notebook.names > names_max;
    // The peer lists what begins like the scope, nested scopes and all, up to two paths more than
    // names that it wants, and takes as many for a sign that there are more.
    let prefix = format!("{}/", case.given["scope"].as_str()?);
    let mut paths: Vec<&str> = case.given["files"]
        .as_object()?
        .keys()
        .map(String::as_str)
        .collect();
    paths.sort_unstable();
    paths.retain(|path| path.starts_with(&prefix));
    paths.truncate(names_max + 2);
    let names = paths.iter().filter(|path| {
        let name = &path[prefix.len()..];
        !name.contains('/') && name.ends_with(".md") && name != "MEMORY.md"
    });
    let seen = names.count();
    let peer_more = seen > names_max || paths.len() >= names_max + 2;
    let span = &answer["span"];
    let as_documented =
        span["memory.files"] == seen.min(names_max) && span["memory.files_truncated"] == peer_more;
    if !as_documented || (seen.min(names_max) == known && peer_more == more) {
        return None;
    }
    let mut ours = answer.clone();
    ours["span"]["memory.files"] = json!(known);
    ours["span"]["memory.files_truncated"] = json!(more);
    if notebook.is_blank() && notebook.names == 0 {
        return Some(not_injected(&ours, "ok"));
    }
    if let Some(block) = ours.get_mut("block") {
        block["files"] = json!(AS_MUCH_AS_FITS);
    }
    Some(ours)
}

/// What tells two memories of one agent apart, beside their ids.
struct Memory<'a> {
    id: &'a str,
    prefix: &'a str,
    scope: (&'a str, &'a str),
    is_elsewhere: bool,
}

/// The memories of an agent that has several.
fn memories(case: &Case) -> Vec<Memory<'_>> {
    let given = &case.given;
    let several: Vec<&Value> = match case.topic.as_str() {
        "configuration" if given["kind"] == "combine" => vec![&given["first"], &given["second"]],
        "message_placement" => given["memories"].as_array().into_iter().flatten().collect(),
        _ => Vec::new(),
    };
    let memories = several.into_iter().enumerate().map(|(index, memory)| {
        let text = |key: &str, default: &'static str| memory[key].as_str().unwrap_or(default);
        Memory {
            id: text("id", "memory"),
            prefix: text("prefix", ""),
            scope: (text("namespace", ""), text("agent_name", "main")),
            is_elsewhere: index > 0 && given["same_store"] == false,
        }
    });
    memories.collect()
}

/// Whether two memories under different ids stand in each other's way like this.
fn clash(case: &Case, clashes: fn(&Memory<'_>, &Memory<'_>) -> bool) -> Option<Value> {
    let memories = memories(case);
    let clash = memories.iter().enumerate().any(|(index, one)| {
        let mut others = memories[..index].iter();
        others.any(|other| one.id != other.id && clashes(one, other))
    });
    clash.then(|| error("configuration"))
}

pub(super) fn shared_scope(case: &Case, _: StoreKind, _: &Value) -> Option<Value> {
    clash(case, |one, other| {
        one.scope == other.scope && one.is_elsewhere == other.is_elsewhere
    })
}

pub(super) fn clashing_tools(case: &Case, _: StoreKind, _: &Value) -> Option<Value> {
    clash(case, |one, other| one.prefix == other.prefix)
}
