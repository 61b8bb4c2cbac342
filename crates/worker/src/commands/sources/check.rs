//! `notekeeper sources check`: ask each source, and each that it stands in.

use std::{
    path::Path,
    process::ExitCode,
    sync::Arc,
    time::{Duration, Instant},
};

use clap::Args;
use notekeeper_activities::{Notebook, Sources, Stores};
use notekeeper_contract::{QuerySourceInput, QuerySourceOutput, ScopeRef};
use notekeeper_domain::AGENT_NAME_DEFAULT;
use notekeeper_recall::unreached_timeouts;
use serde::Serialize;
use serde_json::Map;

use crate::{
    commands::access::coded,
    config::File,
    connection::TemporalTarget,
    exit::Exit,
    output::{print, print_json, remark, table},
};

use super::{
    MadeOfArgs,
    direct::{Direct, built, check_there},
    scope,
    tree::{Leg, legs},
};

/// Longest wait for one leg.
const LEG_TIMEOUT: Duration = Duration::from_secs(15);

/// What is asked: words that do no harm to anything.
const QUERY: &str = "notekeeper sources check";

/// Whose items are asked for where nobody says: a namespace that is nobody's.
const NAMESPACE: &str = "notekeeper-check";

#[derive(Debug, Args)]
#[command(after_help = "\
Each source is asked one harmless question, and so is each leg of a composition and what a decorator \
decorates. Nothing is written by it, but a search tool is really called, and a model is really asked: \
once for the source itself and once more for each composition and decorator around it, which may cost \
money. A guard that lets no other namespace through needs --namespace. The exit \
code is 1 where one fails. A source that has more than one query looks through is marked, and \
has not failed.

Examples:
  notekeeper sources check --config notekeeper.toml
  notekeeper sources check kb --namespace acme --config notekeeper.toml
  notekeeper sources check --config notekeeper.toml --json | jq '.sources[] | select(.ok | not)'")]
pub(crate) struct CheckArgs {
    /// Source to check, with all that it is made of; all of them where none is named.
    #[arg(value_name = "NAME")]
    name: Option<String>,

    /// Whose items are asked for.
    #[arg(long, short, default_value = NAMESPACE, value_name = "NAMESPACE", help_heading = "Scope")]
    namespace: String,

    /// Agent whose items they are, inside the namespace.
    #[arg(long, default_value = AGENT_NAME_DEFAULT, value_name = "NAME", help_heading = "Scope")]
    agent_name: String,

    /// The workspace of the call, for a store that keeps its files in the run's.
    #[arg(long, value_name = "NAME", help_heading = "Scope")]
    workspace: Option<String>,

    #[command(flatten)]
    pub(super) made_of: MadeOfArgs,
}

/// What came of one leg.
#[derive(Serialize)]
struct Row {
    path: String,
    kind: &'static str,
    accepts_writes: bool,
    ok: bool,
    /// `ok`, `partial`, `timed out`, or the type of the failure.
    outcome: String,
    items: usize,
    milliseconds: u128,
    /// What went wrong and what to do about it, or which sources looked at a part alone; empty where there is
    /// nothing to tell.
    message: String,
}

pub(super) async fn run(config: Option<&Path>, args: CheckArgs) -> anyhow::Result<ExitCode> {
    let scope = scope(&args.namespace, &args.agent_name)?;
    let file = File::read(config)?;
    let target = TemporalTarget::resolve(&file.temporal(&args.made_of.temporal))?;
    let config = file.sources(&args.made_of.database, &args.made_of.models)?;
    let sources = built(&config, &Stores::new([]), &target)?;
    let names: Vec<String> = match args.name {
        Some(name) => {
            let known = sources.get(&name);
            known.map_err(|failure| coded(failure.kind.as_str(), failure.message))?;
            vec![name]
        }
        None => sources.all().map(|(name, _)| name.to_owned()).collect(),
    };
    let unreached = unreached_timeouts(&config.sources, names.iter().map(String::as_str));
    let looked_for = legs(&config.sources, &sources, names.clone());
    check_there(&config, &looked_for)?;
    let direct = Direct::open(&config, &looked_for, &target).await?;
    let legs = legs(&config.sources, &direct.sources, names);
    let notebook = direct.notebook_of(by_place(&legs));
    let mut rows = Vec::with_capacity(legs.len());
    for (place, leg) in legs.iter().enumerate() {
        let mut row = row(&notebook, place, leg, &scope, args.workspace.as_deref()).await;
        if row.ok
            && let Some(obstacle) = direct.obstacle(leg).await
        {
            row.ok = false;
            row.outcome = obstacle.kind.as_str().to_owned();
            row.message = obstacle.message;
        }
        rows.push(row);
    }
    direct.close().await;
    let ok = rows.iter().all(|row| row.ok);
    if args.made_of.output.json {
        let warnings: Vec<String> = unreached.iter().map(ToString::to_string).collect();
        print_json(&serde_json::json!({ "ok": ok, "sources": rows, "warnings": warnings }))?;
        return Ok(ended(ok));
    }
    for unreached in &unreached {
        remark(&format!("warning: {unreached}"));
    }
    if rows.is_empty() {
        remark("no sources; [sources.NAME] in the file of --config defines one");
    } else {
        print(&rendered(&rows))?;
    }
    Ok(ended(ok))
}

fn ended(ok: bool) -> ExitCode {
    if ok { Exit::Done } else { Exit::Failed }.into()
}

/// The legs, each under its place in the list: a source may be called as another one's leg is.
fn by_place(legs: &[Leg]) -> Sources {
    let legs = legs.iter().enumerate();
    Sources::new(legs.map(|(place, leg)| (place.to_string(), Arc::clone(&leg.source))))
}

/// Asks one leg.
async fn row(
    notebook: &Notebook,
    place: usize,
    leg: &Leg,
    scope: &ScopeRef,
    workspace: Option<&str>,
) -> Row {
    let input = QuerySourceInput {
        source: place.to_string(),
        scope: scope.clone(),
        workspace: workspace.map(str::to_owned),
        query: QUERY.to_owned(),
        k: 1,
        condition: Map::new(),
        scratchpad: Map::new(),
        chars_max: None,
    };
    let begun = Instant::now();
    let asked = notebook.query_source(input);
    let answered = tokio::time::timeout(LEG_TIMEOUT, asked).await;
    let milliseconds = begun.elapsed().as_millis();
    let (outcome, items, message) = match answered {
        Err(_) => {
            let message = format!("no answer within {LEG_TIMEOUT:?}");
            ("timed out".to_owned(), 0, message)
        }
        Ok(Err(failure)) => (failure.kind.as_str().to_owned(), 0, failure.message),
        Ok(Ok(output)) => match unheard(&output) {
            None => ("ok".to_owned(), output.items.len(), in_part(&output)),
            Some(why) => ("partial".to_owned(), output.items.len(), why),
        },
    };
    Row {
        path: leg.path.clone(),
        kind: leg.kind,
        accepts_writes: leg.source.accepts_writes(),
        ok: outcome == "ok",
        outcome,
        items,
        milliseconds,
        message,
    }
}

/// Which sources have more than one query looks through: no failure, but somebody may miss what is there.
fn in_part(output: &QuerySourceOutput) -> String {
    match output.incomplete.as_slice() {
        [] => String::new(),
        names => format!("{}: more than one query looks through", names.join(", ")),
    }
}

/// Which legs of a composition didn't answer.
fn unheard(output: &QuerySourceOutput) -> Option<String> {
    let late = output.timed_out.iter().map(|name| format!("{name}: late"));
    let failed = output.failed.iter();
    let failed = failed.map(|failed| format!("{}: {}", failed.source, failed.kind));
    let told: Vec<String> = late.chain(failed).collect();
    (!told.is_empty()).then(|| told.join("; "))
}

fn rendered(rows: &[Row]) -> String {
    let rows = rows.iter().map(|row| {
        [
            row.path.clone(),
            row.kind.to_owned(),
            if row.accepts_writes { "yes" } else { "no" }.to_owned(),
            row.outcome.clone(),
            row.items.to_string(),
            format!("{} ms", row.milliseconds),
            row.message.clone(),
        ]
    });
    table(
        ["SOURCE", "KIND", "WRITES", "OUTCOME", "ITEMS", "TIME", ""],
        &[4, 5],
        rows,
    )
}

#[cfg(test)]
mod tests {
    use notekeeper_recall::ScratchpadSource;

    use super::*;

    #[test]
    fn a_source_that_is_called_as_the_leg_of_another_hides_none() {
        let leg = |name: &str| Leg {
            path: "kb.inner".to_owned(),
            kind: "scratchpad",
            members: Vec::new(),
            store: None,
            ends_with_process: false,
            source: Arc::new(ScratchpadSource::new(name)),
        };
        let sources = by_place(&[leg("one"), leg("other")]);
        let named = ["0", "1"].map(|place| sources.get(place).expect("a leg").name().to_owned());
        assert_eq!(named, ["one", "other"]);
    }
}
