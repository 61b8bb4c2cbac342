//! `notekeeper fact ls`: list the facts of a scope.

use std::{path::Path, process::ExitCode};

use clap::Args;
use notekeeper_contract::{ListFactsInput, ListFactsOutput};
use notekeeper_domain::LISTED_MAX;

use crate::{
    commands::access::{ScopeArgs, at_least_one},
    exit::Exit,
    output::{on_one_line, print, print_json, remark, shown_name, table},
};

use super::{age::age, using};

/// Longest value in a table, in characters.
const VALUE_CHARS_MAX: usize = 60;

#[derive(Debug, Args)]
#[command(after_help = "\
Facts are listed by key, compared by code point: capitals come first. The age counts from when a fact \
was set last.

Examples:
  notekeeper fact ls --namespace customers/ada
  notekeeper fact ls --namespace customers/ada --long
  notekeeper fact ls --namespace customers/ada --json | jq -r '.facts[].key'")]
pub(crate) struct LsArgs {
    /// Also show the values, as far as a line has room. --json has them whole.
    #[arg(long, short)]
    long: bool,

    /// Most facts to list.
    #[arg(long, default_value_t = LISTED_MAX, value_name = "FACTS", value_parser = at_least_one())]
    limit: usize,

    /// List only facts whose keys come after this one.
    #[arg(long, value_name = "KEY")]
    after: Option<String>,

    #[command(flatten)]
    pub(super) at: ScopeArgs,
}

pub(super) async fn run(config: Option<&Path>, args: LsArgs) -> anyhow::Result<ExitCode> {
    let at = args.at;
    let first = ListFactsInput {
        store: at.store.clone(),
        workspace: None,
        scope: at.scope()?,
        key: None,
        after: args.after,
        limit: args.limit,
    };
    let listed = using(config, &at, async |memory| memory.facts_up_to(first).await).await?;
    if at.output.json {
        print_json(&listed)?;
        return Ok(Exit::Done.into());
    }
    if listed.facts.is_empty() {
        remark("no facts");
        return Ok(Exit::Done.into());
    }
    print(&rendered(&listed, args.long))?;
    if listed.more {
        remark("there are more; list them with a higher --limit, or with --after and the last key");
    }
    Ok(Exit::Done.into())
}

fn rendered(listed: &ListFactsOutput, long: bool) -> String {
    if long {
        let rows = listed.facts.iter().map(|fact| {
            let value = on_one_line(&fact.value, VALUE_CHARS_MAX);
            [shown_name(&fact.key), age(fact.age_seconds), value]
        });
        return table(["KEY", "AGE", "VALUE"], &[1], rows);
    }
    let rows = listed
        .facts
        .iter()
        .map(|fact| [shown_name(&fact.key), age(fact.age_seconds)]);
    table(["KEY", "AGE"], &[1], rows)
}

#[cfg(test)]
mod tests {
    use notekeeper_contract::ListedFact;

    use super::*;

    #[test]
    fn each_fact_is_one_line_whatever_it_holds() {
        let fact = |key: &str, value: &str, age_seconds| ListedFact {
            key: key.to_owned(),
            value: value.to_owned(),
            age_seconds,
        };
        let listed = ListFactsOutput {
            facts: vec![
                fact("food\n\u{1b}[2J", "no\n\n  peanuts", 65),
                fact("long", &"x".repeat(100), 90_000),
            ],
            more: false,
        };
        assert_eq!(
            rendered(&listed, false),
            "KEY          AGE\nfood\u{fffd}\u{fffd}[2J  1 min\nlong         1 d\n"
        );
        let value = "x".repeat(VALUE_CHARS_MAX);
        assert_eq!(
            rendered(&listed, true),
            format!(
                "KEY          AGE  VALUE\nfood\u{fffd}\u{fffd}[2J  1 min  no peanuts\nlong         1 d  {value}…\n"
            )
        );
    }
}
