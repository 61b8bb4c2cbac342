//! `notekeeper sources query`: ask a source for items.

use std::{path::Path, process::ExitCode};

use clap::Args;
use notekeeper_contract::{QuerySource, QuerySourceInput, QuerySourceOutput};
use notekeeper_domain::SOURCE_LIMIT_DEFAULT;

use crate::{
    commands::access::failed,
    exit::Exit,
    output::{on_one_line, print, print_json, remark, shown_name, table},
};

use super::{AtArgs, Way, object};

/// Longest content in a table, in characters.
const CONTENT_CHARS_MAX: usize = 80;

#[derive(Debug, Args)]
#[command(after_help = "\
Best items come first; what the score means is the source's own measure. A condition of --where is met \
by an equal value under its key, a list by a list that has all of its values; nothing in it is a \
pattern. Of long items the table shows the beginning, and --json all. No item is no error. Where a \
source of a composition was late or failed, what the others found is printed all the same, and the exit \
code is 1. Where a source has more than one query looks through, a line on stderr says so.

Examples:
  notekeeper sources query handbook 'how long do refunds take' -n acme --config notekeeper.toml
  notekeeper sources query kb refunds -k 3 --where '{\"tier\": \"public\"}' -n acme --via temporal
  notekeeper sources query hybrid refunds -n acme --sqlite notes.db --json | jq '.items[].content'")]
pub(crate) struct QueryArgs {
    /// Name of the source.
    #[arg(value_name = "SOURCE")]
    source: String,

    /// What to look for; nothing in it is syntax.
    #[arg(value_name = "TEXT")]
    text: Vec<String>,

    /// Most items, 1 to 100.
    #[arg(long, short, default_value_t = SOURCE_LIMIT_DEFAULT, value_name = "ITEMS")]
    k: usize,

    /// What the metadata of the items must be: a JSON object.
    #[arg(long = "where", value_name = "JSON")]
    condition: Option<String>,

    /// What the scratchpad of the call holds, for a source that looks there: a JSON object.
    #[arg(long, value_name = "JSON")]
    scratchpad: Option<String>,

    #[command(flatten)]
    pub(super) at: AtArgs,
}

pub(super) async fn run(config: Option<&Path>, args: QueryArgs) -> anyhow::Result<ExitCode> {
    let at = &args.at;
    let input = QuerySourceInput {
        source: args.source.clone(),
        scope: at.scope()?,
        workspace: at.workspace.clone(),
        query: args.text.join(" "),
        k: args.k,
        condition: object("--where", args.condition.as_deref())?,
        scratchpad: object("--scratchpad", args.scratchpad.as_deref())?,
        chars_max: None,
    };
    let way = at.open(config, &args.source, false).await?;
    let answer = match &way {
        Way::Direct(direct) => direct.notebook().query_source(input).await.map_err(failed),
        Way::Temporal(remote) => remote.call(QuerySource, input).await,
    };
    way.close().await;
    let answer = answer?;
    if at.made_of.output.json {
        print_json(&answer)?;
        return Ok(exit(&answer).into());
    }
    if answer.items.is_empty() {
        remark("no items");
    } else {
        print(&rendered(&answer))?;
    }
    for name in &answer.timed_out {
        remark(&format!(
            "source `{name}` was late; what it would have found later is left out"
        ));
    }
    for failed in &answer.failed {
        remark(&format!(
            "source `{}` failed and is left out: {}",
            failed.source, failed.message
        ));
    }
    if let Some(told) = looked_in_part(&answer) {
        remark(&told);
    }
    if answer.truncated {
        remark(&left_out(&answer));
    }
    Ok(exit(&answer).into())
}

/// What came of a query: one that not all were heard for isn't done.
fn exit(answer: &QuerySourceOutput) -> Exit {
    match answer.timed_out.is_empty() && answer.failed.is_empty() {
        true => Exit::Done,
        false => Exit::Failed,
    }
}

/// Which sources have more than they looked at.
fn looked_in_part(answer: &QuerySourceOutput) -> Option<String> {
    let names = answer.incomplete.iter().map(|name| format!("`{name}`"));
    let names: Vec<String> = names.collect();
    match names.as_slice() {
        [] => None,
        [name] => Some(format!(
            "source {name} has more than one query looks through; there may be more to find"
        )),
        names => Some(format!(
            "sources {} have more than one query looks through; there may be more to find",
            names.join(", ")
        )),
    }
}

fn left_out(answer: &QuerySourceOutput) -> String {
    match answer.omitted {
        0 => "the ends of long items were left out".to_owned(),
        omitted => {
            format!(
                "{omitted} more were left out because one result can't carry them; ask for fewer"
            )
        }
    }
}

fn rendered(answer: &QuerySourceOutput) -> String {
    let rows = answer.items.iter().map(|item| {
        let score = item.score.map(|score| format!("{score:.3}"));
        [
            shown_name(&item.source),
            score.unwrap_or_default(),
            shown_name(item.id.as_deref().unwrap_or_default()),
            on_one_line(&item.content, CONTENT_CHARS_MAX),
        ]
    });
    table(["SOURCE", "SCORE", "ID", "CONTENT"], &[1], rows)
}

#[cfg(test)]
mod tests {
    use notekeeper_contract::{FailedSource, FoundItem};

    use super::*;

    #[test]
    fn a_query_for_which_not_all_were_heard_is_not_done() {
        let whole = QuerySourceOutput::default();
        assert!(matches!(exit(&whole), Exit::Done));
        let late = QuerySourceOutput {
            timed_out: vec!["web".to_owned()],
            ..whole.clone()
        };
        let failed = QuerySourceOutput {
            failed: vec![FailedSource {
                source: "web".to_owned(),
                kind: "Unavailable".to_owned(),
                message: "away".to_owned(),
            }],
            ..whole
        };
        assert!(matches!(
            (exit(&late), exit(&failed)),
            (Exit::Failed, Exit::Failed)
        ));
    }

    #[test]
    fn one_line_says_which_sources_looked_at_a_part_and_the_query_is_done() {
        let answer = |names: &[&str]| QuerySourceOutput {
            incomplete: names.iter().map(|name| (*name).to_owned()).collect(),
            ..QuerySourceOutput::default()
        };
        assert_eq!(looked_in_part(&answer(&[])), None);
        for (names, begins) in [
            (&["notes"][..], "source `notes` has more than one query"),
            (&["notes", "said"], "sources `notes`, `said` have more than"),
        ] {
            let answer = answer(names);
            let told = looked_in_part(&answer).expect("a line");
            assert!(told.starts_with(begins) && !told.contains('\n'), "{told}");
            assert!(matches!(exit(&answer), Exit::Done));
        }
    }

    #[test]
    fn each_item_is_one_line_whatever_it_holds() {
        let item = |content: &str, score| FoundItem {
            content: content.to_owned(),
            source: "kb".to_owned(),
            id: Some("a\n1".to_owned()),
            score,
            ..FoundItem::default()
        };
        let answer = QuerySourceOutput {
            items: vec![
                item("Refunds\n\n take \u{1b}[2J5 days", Some(0.16903)),
                item(&"x".repeat(100), None),
            ],
            ..QuerySourceOutput::default()
        };
        let long = "x".repeat(CONTENT_CHARS_MAX);
        assert_eq!(
            rendered(&answer),
            format!(
                "SOURCE  SCORE  ID   CONTENT\n\
                 kb      0.169  a\u{fffd}1  Refunds take \u{fffd}[2J5 days\n\
                 kb             a\u{fffd}1  {long}…\n"
            )
        );
    }
}
