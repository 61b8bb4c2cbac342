//! `notekeeper sources ls`: list the sources.

use std::{path::Path, process::ExitCode};

use clap::Args;
use notekeeper_activities::Stores;
use serde::Serialize;

use crate::{
    config::File,
    connection::TemporalTarget,
    exit::Exit,
    output::{print, print_json, remark, table},
};

use super::{MadeOfArgs, direct::built, tree::legs};

#[derive(Debug, Args)]
#[command(after_help = "\
Nothing is opened or asked. Settings that make no source are told by their path, and the exit code is 1.

Examples:
  notekeeper sources ls --config notekeeper.toml
  notekeeper sources ls --config notekeeper.toml --json | jq -r '.sources[].name'")]
pub(crate) struct LsArgs {
    #[command(flatten)]
    pub(super) made_of: MadeOfArgs,
}

/// A source, as it is listed.
#[derive(Serialize)]
struct Row {
    name: String,
    kind: &'static str,
    accepts_writes: bool,
    /// What it is made of.
    members: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    store: Option<String>,
}

pub(super) fn run(config: Option<&Path>, args: LsArgs) -> anyhow::Result<ExitCode> {
    let file = File::read(config)?;
    let target = TemporalTarget::resolve(&file.temporal(&args.made_of.temporal))?;
    let config = file.sources(&args.made_of.database, &args.made_of.models)?;
    let sources = built(&config, &Stores::new([]), &target)?;
    let names = sources.all().map(|(name, _)| name.to_owned());
    let legs = legs(&config.sources, &sources, names);
    let named = legs.iter().filter(|leg| sources.get(&leg.path).is_ok());
    let mut rows: Vec<Row> = named
        .map(|leg| Row {
            name: leg.path.clone(),
            kind: leg.kind,
            accepts_writes: leg.source.accepts_writes(),
            members: leg.members.clone(),
            store: leg.store.clone(),
        })
        .collect();
    rows.sort_by(|one, other| one.name.cmp(&other.name));
    if args.made_of.output.json {
        print_json(&serde_json::json!({ "sources": rows }))?;
    } else if rows.is_empty() {
        remark("no sources; [sources.NAME] in the file of --config defines one");
    } else {
        print(&rendered(&rows))?;
    }
    Ok(Exit::Done.into())
}

fn rendered(rows: &[Row]) -> String {
    let rows = rows.iter().map(|row| {
        let made_of = match &row.store {
            Some(store) => format!("store {store}"),
            None => row.members.join(", "),
        };
        [
            row.name.clone(),
            row.kind.to_owned(),
            if row.accepts_writes { "yes" } else { "no" }.to_owned(),
            made_of,
        ]
    });
    table(["SOURCE", "KIND", "WRITES", "MADE OF"], &[], rows)
}
