//! Rendered blocks.
//!
//! Notices and headings are wording, so a block can't equal the peer's where something was left
//! out. There it must keep the promises that any rendering has to keep; where everything is shown,
//! it must show exactly the same.

mod parse;
mod promises;

use std::collections::BTreeMap;

use anyhow::Context as _;
use notekeeper_contract::{LoadSnapshotInput, SnapshotAnswer};
use notekeeper_domain::{
    CHARS_PER_TOKEN, MainPart, Notebook as View, RenderSettings, Scope, rendered_guidance,
};
use notekeeper_store::NotebookBounds;
use serde_json::{Map, Value, json};

use crate::{
    bench::Bench,
    case::{Answer, Case, Fields, Stop},
    oracle::text::shown_lines,
    product::decoded,
};
use parse::{Omitted, Shown, parse};
use promises::Rendering;

/// Stands in place of what a budget cuts off: how much fits depends on wording.
pub(crate) const AS_MUCH_AS_FITS: &str = "as much as fits";

/// Budget in which a heading must stand whatever else has to go.
const HEADING_BUDGET_CHARS: u64 = 400;

/// A budget that nothing in a case exceeds.
const TOKENS_AMPLE: usize = 1_000_000;
const LINES_AMPLE: usize = 1_000_000;

/// `escaping`: the lines of the main note inside a block.
pub(crate) async fn escaping(case: &Case, bench: &Bench) -> Answer {
    let given = case.fields()?;
    let content = given.need("content")?;
    given.need("tag_kind")?;
    given.done()?;
    bench.seed([("main/MEMORY.md", content)]).await?;
    let render = json!({"max_tokens": TOKENS_AMPLE, "max_lines": LINES_AMPLE});
    let answer = snapshot(bench, &Scope::parse("main")?, &render).await?;
    let SnapshotAnswer::Block {
        text: Some(text), ..
    } = answer
    else {
        return Ok(json!(format!("{answer:?}")));
    };
    match parse(&text, "") {
        Ok(Shown {
            lines: Some(lines), ..
        }) => Ok(json!({ "lines": lines })),
        other => Ok(json!(format!("{other:?}"))),
    }
}

async fn snapshot(bench: &Bench, scope: &Scope, render: &Value) -> Result<SnapshotAnswer, Stop> {
    let input = json!({"memories": [{
        "scope": {"namespace": scope.namespace(), "agent_name": scope.agent_name()},
        "render": render,
    }]});
    let input: LoadSnapshotInput = match decoded(&input)? {
        Ok(input) => input,
        Err(outcome) => return Err(anyhow::anyhow!("not read: {outcome:?}").into()),
    };
    let output = bench.notebook.load_snapshot(input).await;
    let output = output.map_err(|failure| anyhow::anyhow!("failed: {failure}"))?;
    Ok(output
        .snapshots
        .into_iter()
        .next()
        .context("one answer for one request")?)
}

/// Settings of a case.
#[derive(Debug)]
struct Config {
    settings: RenderSettings,
    note_chars_max: usize,
}

fn config(given: &Fields<'_>) -> Result<Config, Stop> {
    let config = given.object("config")?;
    let tokens_max = config.bound("max_tokens")?.unwrap_or(2_000);
    let heading = config
        .text_or_null("heading")?
        .unwrap_or_default()
        .to_owned();
    // Missing means none here; null means the text that the product has.
    let guidance = match config.get("guidance") {
        None => Some(""),
        Some(_) => config.text_or_null("guidance")?,
    };
    let settings = RenderSettings {
        tokens_max,
        guidance_chars: rendered_guidance(guidance, &heading, tokens_max * CHARS_PER_TOKEN)
            .map_or(0, |text| text.chars().count()),
        lines_max: config.bound("max_lines")?.unwrap_or(200),
        heading,
        reader: "read_memory".to_owned(),
        searcher: "search_memory".to_owned(),
        location: None,
        file_reader: None,
    };
    let note_chars_max = config.bound("max_memory_size")?.unwrap_or(65_536);
    config.done()?;
    Ok(Config {
        settings,
        note_chars_max,
    })
}

/// `render_snapshot`: the outcome, what was read, and what the block shows.
pub(crate) async fn render(case: &Case, bench: &Bench) -> Answer {
    let given = case.fields()?;
    let scope = Scope::parse(given.text("scope")?)?;
    let config = config(&given)?;
    let files = given.need("files")?.as_object();
    let files = files.ok_or_else(|| given.complain("files", "is no object"))?;
    given.done()?;
    // A file beside all scopes can't be stored, and belongs to no notebook.
    let in_scopes = files.iter().filter(|(path, _)| path.contains('/'));
    bench
        .seed(in_scopes.map(|(path, text)| (path.as_str(), text)))
        .await?;

    let settings = &config.settings;
    let bounds = NotebookBounds {
        main_chars_max: config.note_chars_max,
        names_max: settings.names_max(),
    };
    let view = bench.store.notebook(&scope, bounds).await?;
    let options = json!({
        "max_tokens": settings.tokens_max,
        "guidance_chars": settings.guidance_chars,
        "max_lines": settings.lines_max,
        "max_memory_size": config.note_chars_max,
        "heading": settings.heading,
    });
    let mut result = json!({"span": span(&view)});
    match snapshot(bench, &scope, &options).await? {
        SnapshotAnswer::Empty { budget_exhausted } => {
            result["outcome"] = json!(if budget_exhausted {
                "budget_exhausted"
            } else {
                "ok"
            });
            result["injected"] = json!(false);
        }
        SnapshotAnswer::Block {
            text: Some(text), ..
        } => {
            result["outcome"] = json!("ok");
            result["injected"] = json!(true);
            let stored = Stored::of(files, &scope)?;
            result["block"] = block(&text, &view, settings, &stored);
        }
        other => return Ok(json!(format!("{other:?}"))),
    }
    Ok(result)
}

/// What was read, in the numbers of the peer's span.
fn span(view: &View) -> Value {
    let main = view.main.as_ref();
    json!({
        "memory.main_chars": main.map_or(0, |main| main.content.chars().count()),
        "memory.files": view.names.len(),
        "memory.files_truncated": view.more_names,
        "memory.main_truncated": main.is_some_and(|main| main.part != MainPart::Whole),
    })
}

/// What a case put into the scope that is shown.
#[derive(Debug)]
struct Stored {
    main: Option<String>,
    /// Names of the other notes, ascending.
    names: Vec<String>,
}

impl Stored {
    fn of(files: &Map<String, Value>, scope: &Scope) -> Result<Self, Stop> {
        let inside: BTreeMap<&str, &Value> = files
            .iter()
            .filter_map(|(path, text)| {
                let (parent, name) = path.rsplit_once('/')?;
                (parent == scope.as_str()).then_some((name, text))
            })
            .collect();
        let main = inside.get("MEMORY.md").and_then(|text| text.as_str());
        let others = inside
            .keys()
            .filter(|name| name.ends_with(".md") && **name != "MEMORY.md");
        Ok(Self {
            main: main.map(str::to_owned),
            names: others.map(|name| (*name).to_owned()).collect(),
        })
    }
}

fn block(text: &str, view: &View, settings: &RenderSettings, stored: &Stored) -> Value {
    let shown = match parse(text, &settings.heading) {
        Ok(shown) => shown,
        Err(what) => return json!({"broken_promises": [format!("{what}: {text:?}")]}),
    };
    let broken = promises::broken(&Rendering {
        shown: &shown,
        text,
        view,
        settings,
        main: stored.main.as_deref(),
        names: &stored.names,
    });
    let main = shown.lines.as_ref().map(|lines| {
        json!({
            "lines": lines,
            "dropped_lines": shown.dropped,
            "notes_truncated_read": shown.says_partial,
        })
    });
    let files = shown.listed.as_ref().map(|listed| {
        let omitted = match shown.omitted {
            Omitted::None => Value::Null,
            Omitted::Some(count) => json!(count),
            Omitted::Unknown => json!("unknown"),
        };
        json!({"listed": listed, "omitted": omitted})
    });
    let total = settings.tokens_max * CHARS_PER_TOKEN;
    let delimiters = text.chars().count() - shown.body_chars;
    let mut block = json!({
        "main": main,
        "files": files,
        "cut_line": shown.cut,
        "budget_chars": {
            "total": total,
            "guidance": settings.guidance_chars,
            "delimiters": delimiters,
            "content": total.saturating_sub(settings.guidance_chars + delimiters),
        },
        "broken_promises": broken,
    });
    if let Some(heading) = &shown.heading {
        block["heading"] = json!(heading);
    }
    block
}

/// Brings an expectation and an answer of `render_snapshot` into forms that can be compared: drops
/// what depends on the peer's wording, and puts [`AS_MUCH_AS_FITS`] for what the budget cut.
pub(crate) fn settle_budget(case: &Case, expected: &mut Value, actual: &mut Value) {
    let Some(block) = expected.get_mut("block").and_then(Value::as_object_mut) else {
        return;
    };
    for key in ["total_chars", "body_chars", "payload_chars", "degenerate"] {
        block.remove(key);
    }
    if let Some(budget) = block.get_mut("budget_chars").and_then(Value::as_object_mut) {
        // The peer counts a part of its budget in whole tokens.
        budget.remove("body_limit");
    }
    block.entry("cut_line").or_insert(json!(false));
    block.insert("broken_promises".to_owned(), json!([]));
    if shows_everything(case, block) || !adds_up(case, block) {
        return;
    }
    let may_be_cut = block["cut_line"] != json!(true);
    let content = block
        .get("budget_chars")
        .and_then(|budget| budget["content"].as_u64());
    let heading_may_go = content.is_none_or(|content| content < HEADING_BUDGET_CHARS);
    for side in [
        Some(block),
        actual.get_mut("block").and_then(Value::as_object_mut),
    ] {
        let Some(side) = side else { continue };
        side.insert("main".to_owned(), json!(AS_MUCH_AS_FITS));
        side.insert("files".to_owned(), json!(AS_MUCH_AS_FITS));
        if may_be_cut {
            side.remove("cut_line");
        }
        if heading_may_go {
            side.remove("heading");
        }
    }
}

/// Whether the budget cut nothing off: only then the same must be shown.
fn shows_everything(case: &Case, block: &Map<String, Value>) -> bool {
    let (main, files) = (&block["main"], &block["files"]);
    if main == AS_MUCH_AS_FITS || files == AS_MUCH_AS_FITS {
        return false;
    }
    let lines_max = case.given["config"]["max_lines"].as_u64().unwrap_or(200);
    let lines = main["lines"].as_array().map_or(0, Vec::len) as u64;
    let every_line = match main {
        Value::Null => !has_main(case),
        main => main["dropped_lines"] == 0 || lines == lines_max,
    };
    let every_name = match files {
        Value::Null => other_notes(case) == 0,
        files => files["omitted"].is_null(),
    };
    every_line && every_name
}

/// Whether what the block shows and what it leaves out make up what is stored. A block that doesn't
/// add up isn't one that a budget cut.
fn adds_up(case: &Case, block: &Map<String, Value>) -> bool {
    let count = |value: &Value| value.as_array().map(|items| items.len() as u64);
    let (main, files) = (&block["main"], &block["files"]);
    let every_line = match (count(&main["lines"]), main["dropped_lines"].as_u64()) {
        (Some(lines), Some(dropped)) => lines_stored(case).contains(&(lines + dropped)),
        _ => main.is_null() || main == AS_MUCH_AS_FITS,
    };
    let every_name = match (count(&files["listed"]), &files["omitted"]) {
        (Some(_), Value::String(text)) => text == "unknown",
        (Some(listed), omitted) => {
            let omitted = if omitted.is_null() {
                Some(0)
            } else {
                omitted.as_u64()
            };
            omitted.is_some_and(|omitted| listed + omitted == other_notes(case) as u64)
        }
        _ => files.is_null() || files == AS_MUCH_AS_FITS,
    };
    every_line && every_name
}

/// Lines of the main note: of its first part, and of its last, where it is over the bound.
fn lines_stored(case: &Case) -> [u64; 2] {
    let bound = case.given["config"]["max_memory_size"]
        .as_u64()
        .unwrap_or(65_536);
    let bound = usize::try_from(bound).unwrap_or(usize::MAX);
    let text = main_of(case);
    let unread = text.chars().count().saturating_sub(bound);
    let parts: [String; 2] = [
        text.chars().take(bound).collect(),
        text.chars().skip(unread).collect(),
    ];
    parts.map(|part| shown_lines(&part).len() as u64)
}

fn scope_of(case: &Case) -> &str {
    case.given["scope"].as_str().unwrap_or_default()
}

fn main_of(case: &Case) -> &str {
    let main = &case.given["files"][format!("{}/MEMORY.md", scope_of(case))];
    main.as_str().unwrap_or_default()
}

fn has_main(case: &Case) -> bool {
    !shown_lines(main_of(case)).is_empty()
}

/// How many other notes the scope has.
fn other_notes(case: &Case) -> usize {
    let files = case.given["files"].as_object();
    let paths = files
        .into_iter()
        .flat_map(Map::keys)
        .filter_map(|path| path.rsplit_once('/'));
    paths
        .filter(|(parent, name)| {
            *parent == scope_of(case) && name.ends_with(".md") && *name != "MEMORY.md"
        })
        .count()
}
