//! `notekeeper sources write`: give items to a source to keep.

use std::{
    io::{self, IsTerminal as _},
    path::Path,
    process::ExitCode,
};

use anyhow::{Context as _, bail};
use clap::Args;
use notekeeper_contract::{
    FailedSource, FailureType, WriteSource, WriteSourceInput, WriteSourceOutput, WrittenItem,
};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{
    commands::{
        access::{Changed, OperationArgs, Remedy, failed, nobody, told_if_unsure},
        given_text::{check_no_misspelt_flag, read},
    },
    exit::Exit,
    output::{UsageError, print, print_json, remark},
};

use super::{AtArgs, Way, object};

/// Most bytes of standard input: no write may have more.
const INPUT_BYTES_MAX: usize = 2 * 1024 * 1024;

#[derive(Debug, Args)]
#[command(after_help = "\
Without --text the items are read from standard input: a JSON array of objects, or one object, each with \
`content` and, if there is more to be known, `id` and `metadata`. `id`, which may stand in the metadata \
as well, is the item's id in its source, where an earlier item of that id is replaced. The exit code is 1 where a source of a composition \
failed, and where all refused.

Examples:
  notekeeper sources write handbook --text 'Refunds take 5 days.' -n acme --via temporal
  notekeeper sources write handbook -n acme --config notekeeper.toml < items.json
  notekeeper sources write kb --text new --metadata '{\"id\": \"7\"}' -n acme --operation-id order-17")]
pub(crate) struct WriteArgs {
    /// Name of the source.
    #[arg(value_name = "SOURCE")]
    source: String,

    /// Content of one item, in place of standard input.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    text: Option<String>,

    /// Metadata of that item: a JSON object.
    #[arg(long, value_name = "JSON", requires = "text")]
    metadata: Option<String>,

    #[command(flatten)]
    operation: OperationArgs,

    #[command(flatten)]
    pub(super) at: AtArgs,
}

/// What standard input may hold.
#[derive(Deserialize)]
#[serde(untagged)]
enum Given {
    Many(Vec<GivenItem>),
    One(GivenItem),
}

/// An item as a person writes it: a key that means nothing is a slip.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GivenItem {
    content: String,
    id: Option<String>,
    #[serde(default)]
    metadata: Map<String, Value>,
}

impl From<GivenItem> for WrittenItem {
    fn from(given: GivenItem) -> Self {
        Self {
            content: given.content,
            id: given.id,
            metadata: given.metadata,
        }
    }
}

pub(super) async fn run(config: Option<&Path>, args: WriteArgs) -> anyhow::Result<ExitCode> {
    let WriteArgs {
        source,
        text,
        metadata,
        operation,
        at,
    } = args;
    check_no_misspelt_flag(text.as_deref(), "notekeeper sources write")?;
    let operation = operation.operation();
    let scope = at.scope()?;
    let items = match text {
        Some(content) => vec![WrittenItem {
            content,
            metadata: object("--metadata", metadata.as_deref())?,
            ..WrittenItem::default()
        }],
        None => from_standard_input()?,
    };
    let input = WriteSourceInput {
        source: source.clone(),
        scope,
        workspace: at.workspace.clone(),
        items,
        operation: Some(operation.clone()),
    };
    let way = at.open(config, &source, true).await?;
    let kept = match &way {
        Way::Direct(direct) => {
            let kept = direct.notebook().write_source(input, &nobody()).await;
            kept.map_err(failed)
        }
        Way::Temporal(remote) => remote.call(WriteSource, input).await,
    };
    way.close().await;
    let answer = kept.map_err(|error| told_if_unsure(error, Remedy::Repeat(&operation)))?;
    let exit = exit_of(&answer);
    if at.made_of.output.json {
        print_json(&Changed { answer, operation })?;
        return Ok(exit.into());
    }
    print(&rendered(&answer))?;
    if !answer.scratchpad.is_empty() {
        remark("a scratchpad is the workflow's; nothing is kept of it here");
    }
    if may_be_kept_later(&answer) {
        remark(&format!(
            "repeat it with `--operation-id {}`: what was kept stays as it is",
            operation.id
        ));
    }
    Ok(exit.into())
}

/// Whether something is as it should be: a source that turned away all that there was has lost it.
fn exit_of(answer: &WriteSourceOutput) -> Exit {
    let is_lost = answer.accepted.is_empty() && !answer.refused.is_empty();
    match answer.failed.is_empty() && !is_lost {
        true => Exit::Done,
        false => Exit::Failed,
    }
}

/// Whether a repetition can change anything.
fn may_be_kept_later(answer: &WriteSourceOutput) -> bool {
    let passing = |failed: &FailedSource| {
        FailureType::from_name(&failed.kind).is_some_and(FailureType::is_retryable)
    };
    answer.failed.iter().any(passing)
}

/// One line for each source.
fn rendered(answer: &WriteSourceOutput) -> String {
    let mut text = String::new();
    for name in &answer.accepted {
        text += &format!("accepted {name}\n");
    }
    for name in &answer.refused {
        text += &format!("refused {name} (read-only)\n");
    }
    for failed in &answer.failed {
        text += &format!("failed {}: {}\n", failed.source, failed.message);
    }
    if text.is_empty() {
        text += "nothing to keep\n";
    }
    text
}

fn from_standard_input() -> anyhow::Result<Vec<WrittenItem>> {
    if io::stdin().is_terminal() {
        bail!("there are no items; give one with --text, or JSON on standard input");
    }
    let text = read(io::stdin(), INPUT_BYTES_MAX, "write").context("can't use standard input")?;
    given(&text)
}

fn given(text: &str) -> anyhow::Result<Vec<WrittenItem>> {
    if text.trim().is_empty() {
        return Err(UsageError(
            "standard input is empty; give items as JSON there, or one with --text".to_owned(),
        )
        .into());
    }
    match serde_json::from_str(text) {
        Ok(Given::Many(items)) => Ok(items.into_iter().map(WrittenItem::from).collect()),
        Ok(Given::One(item)) => Ok(vec![item.into()]),
        // What was given isn't repeated.
        Err(_) => Err(UsageError(
            "standard input is no JSON array of items; each is an object with `content`, a text, perhaps \
             `id`, a text, and `metadata`, an object, and no other keys"
                .to_owned(),
        )
        .into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_come_as_an_array_or_as_one_object() {
        let contents = |text: &str| -> Vec<String> {
            let items = given(text).expect("items");
            items.into_iter().map(|item| item.content).collect()
        };
        assert_eq!(
            contents(r#"[{"content": "a"}, {"content": "b"}]"#),
            ["a", "b"]
        );
        assert_eq!(
            contents(r#" {"content": "a", "metadata": {"id": "1"}} "#),
            ["a"]
        );
        assert_eq!(contents("[]"), [""; 0]);
        let items = given(r#"[{"content": "a", "id": "7"}]"#).expect("items");
        assert_eq!(items[0].id.as_deref(), Some("7"));
        for text in [
            "",
            " \n",
            "hunter2",
            "[1]",
            r#"{"text": "hunter2"}"#,
            r#"[{"content": "a", "metdata": {"tier": "hunter2"}}]"#,
            r#"{"content": "a", "score": 1}"#,
        ] {
            let said = given(text).expect_err("no items").to_string();
            assert!(
                said.contains("content") || said.contains("--text"),
                "{said}"
            );
            assert!(!said.contains("hunter2"), "{said}");
        }
    }

    #[test]
    fn each_source_is_one_line() {
        let answer = WriteSourceOutput {
            accepted: vec!["notes".to_owned()],
            refused: vec!["registry".to_owned()],
            failed: vec![FailedSource {
                source: "index".to_owned(),
                kind: "Unavailable".to_owned(),
                message: "store is unavailable: away".to_owned(),
            }],
            ..WriteSourceOutput::default()
        };
        assert_eq!(
            rendered(&answer),
            "accepted notes\nrefused registry (read-only)\nfailed index: store is unavailable: away\n"
        );
        assert_eq!(rendered(&WriteSourceOutput::default()), "nothing to keep\n");
        assert_eq!(exit_of(&answer), Exit::Failed);
    }

    #[test]
    fn what_nobody_kept_is_not_done_and_a_repetition_is_advised_where_it_can_help() {
        let failed = |kind: FailureType| WriteSourceOutput {
            failed: vec![FailedSource {
                source: "index".to_owned(),
                kind: kind.as_str().to_owned(),
                message: "m".to_owned(),
            }],
            ..WriteSourceOutput::default()
        };
        assert!(may_be_kept_later(&failed(FailureType::Unavailable)));
        assert!(!may_be_kept_later(&failed(FailureType::OperationConflict)));
        let named = |accepted: &[&str], refused: &[&str]| WriteSourceOutput {
            accepted: accepted.iter().map(|name| (*name).to_owned()).collect(),
            refused: refused.iter().map(|name| (*name).to_owned()).collect(),
            ..WriteSourceOutput::default()
        };
        assert_eq!(exit_of(&named(&[], &["kb"])), Exit::Failed);
        assert_eq!(exit_of(&named(&["notes"], &["kb"])), Exit::Done);
        assert_eq!(exit_of(&named(&[], &[])), Exit::Done);
    }
}
