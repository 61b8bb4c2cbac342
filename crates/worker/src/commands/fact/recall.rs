//! `notekeeper fact recall`: search the facts of a scope.

use std::{path::Path, process::ExitCode};

use clap::Args;
use notekeeper_contract::{RecallForm, RecallInput, RecalledFact};
use notekeeper_domain::RECALL_LIMIT_DEFAULT;

use crate::{
    commands::access::ScopeArgs,
    exit::Exit,
    output::{print, print_json, remark, shown, shown_name},
};

use super::{age::age, using};

#[derive(Debug, Args)]
#[command(after_help = "\
Keys and values are searched for the words, in any case of letters, and for words that begin so; \
nothing in them is syntax, and those that begin with a dash come behind `--`. Best matches come \
first, each with its score and its age. Without words the facts come that were set last. No match \
is no error: nothing is printed, and the exit code is 0.

Examples:
  notekeeper fact recall peanuts --namespace customers/ada
  notekeeper fact recall 'what may she eat?' --limit 3 --namespace customers/ada
  notekeeper fact recall --namespace team -- rm -rf
  notekeeper fact recall --namespace customers/ada --json | jq -r '.facts[].value'")]
pub(crate) struct RecallArgs {
    /// What to look for.
    #[arg(value_name = "QUERY")]
    query: Vec<String>,

    /// Most facts to print, 1 to 1,000.
    #[arg(long, default_value_t = RECALL_LIMIT_DEFAULT, value_name = "FACTS")]
    limit: usize,

    #[command(flatten)]
    pub(super) at: ScopeArgs,
}

pub(super) async fn run(config: Option<&Path>, args: RecallArgs) -> anyhow::Result<ExitCode> {
    let at = args.at;
    let input = RecallInput {
        store: at.store.clone(),
        workspace: None,
        scope: at.scope()?,
        query: args.query.join(" "),
        limit: args.limit,
        form: RecallForm::Facts,
    };
    let found = using(config, &at, async |memory| memory.recall(input).await).await?;
    if at.output.json {
        print_json(&serde_json::json!({
            "facts": found.facts,
            "truncated": found.truncated,
        }))?;
        return Ok(Exit::Done.into());
    }
    print(&rendered(&found.facts))?;
    if found.facts.is_empty() {
        remark("no match");
    }
    if found.truncated {
        remark("some were left out because one result can't carry them; ask for fewer");
    }
    Ok(Exit::Done.into())
}

/// Each value under its key.
fn rendered(facts: &[RecalledFact]) -> String {
    let mut text = String::new();
    for fact in facts {
        if !text.is_empty() {
            text.push('\n');
        }
        let key = shown_name(&fact.key);
        let (score, age) = (fact.score, age(fact.age_seconds));
        text.push_str(&format!("{key} (score {score:.2}, {age} ago)\n"));
        for line in shown(&fact.value.replace("\r\n", "\n")).lines() {
            text.push_str(format!("  {line}").trim_end());
            text.push('\n');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_stands_under_its_key_with_score_and_age() {
        let fact = |key: &str, value: &str, score| RecalledFact {
            key: key.to_owned(),
            value: value.to_owned(),
            score,
            age_seconds: 200,
        };
        let facts = [
            fact("food\nlist", "no peanuts\r\n\nno \u{1b}[31mmilk", 0.8333),
            fact("empty", "", 0.0),
        ];
        assert_eq!(
            rendered(&facts),
            "food\u{fffd}list (score 0.83, 3 min ago)\n  no peanuts\n\n  no \u{fffd}[31mmilk\n\n\
             empty (score 0.00, 3 min ago)\n"
        );
    }
}
