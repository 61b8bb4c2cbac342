//! `notekeeper fact get`: print the value of a fact.

use std::{path::Path, process::ExitCode};

use clap::Args;
use notekeeper_contract::ListFactsInput;

use crate::{
    commands::access::ScopeArgs,
    exit::Exit,
    output::{print, print_foreign, print_json},
};

use super::{not_found, using};

#[derive(Debug, Args)]
#[command(after_help = "\
The value is printed as it is, with a line break after it; on a terminal with a replacement \
character for everything that would steer the terminal. A fact that isn't there is an error (exit \
code 1).

Examples:
  notekeeper fact get food --namespace customers/ada
  notekeeper fact get food --namespace customers/ada --json | jq -r .age_seconds")]
pub(crate) struct GetArgs {
    /// Key of the fact, as it was written.
    #[arg(value_name = "KEY")]
    key: String,

    #[command(flatten)]
    pub(super) at: ScopeArgs,
}

pub(super) async fn run(config: Option<&Path>, args: GetArgs) -> anyhow::Result<ExitCode> {
    let GetArgs { key, at } = args;
    let input = ListFactsInput {
        store: at.store.clone(),
        workspace: None,
        scope: at.scope()?,
        key: Some(key.clone()),
        after: None,
        limit: 1,
    };
    let found = using(config, &at, async |memory| memory.facts(input).await).await?;
    let Some(fact) = found.facts.into_iter().next() else {
        return Err(not_found(&key).into());
    };
    if at.output.json {
        print_json(&fact)?;
    } else {
        print_foreign(&fact.value)?;
        print("\n")?;
    }
    Ok(Exit::Done.into())
}
