//! `notekeeper messages clear`: remove all messages of a conversation.

use std::{
    io::{self, IsTerminal as _},
    path::Path,
    process::ExitCode,
};

use anyhow::Context as _;
use clap::Args;
use notekeeper_contract::ClearMessagesInput;

use crate::{
    commands::{
        access::{Changed, OperationArgs, Remedy, ScopeArgs, already, told_if_unsure},
        confirm::is_meant,
    },
    exit::Exit,
    output::{print, print_json, remark, shown_name},
};

use super::{check_conversation, messages, not_found, operations::asking, using};

#[derive(Debug, Args)]
#[command(after_help = "\
On a terminal it is asked whether that is meant. Facts and notes stay, and so does what is added \
later. Cleared messages can't be had back; `notekeeper messages show --jsonl` keeps them elsewhere. A \
conversation to which nothing was ever added is an error (exit code 1).

Examples:
  notekeeper messages clear travel --namespace customers/ada
  notekeeper messages clear travel --yes --namespace customers/ada --operation-id clean-up-7")]
pub(crate) struct ClearArgs {
    /// Id of the conversation.
    #[arg(value_name = "CONVERSATION")]
    conversation: String,

    /// Don't ask.
    #[arg(long, short)]
    yes: bool,

    #[command(flatten)]
    operation: OperationArgs,

    #[command(flatten)]
    pub(super) at: ScopeArgs,
}

pub(super) async fn run(config: Option<&Path>, args: ClearArgs) -> anyhow::Result<ExitCode> {
    check_conversation(&args.conversation)?;
    let id = args.conversation.clone();
    let operation = args.operation.operation();
    let input = ClearMessagesInput {
        store: args.at.store.clone(),
        workspace: None,
        scope: args.at.scope()?,
        conversation: id.clone(),
        operation: Some(operation.clone()),
    };
    let asks = !args.yes && io::stdin().is_terminal();
    let positions = asking(&args.at, &id, Some(0))?;
    let cleared = using(config, &args.at, async |memory| {
        let there = memory.messages(positions).await?;
        if there.next == 0 {
            return Err(not_found(&id).into());
        }
        let count = there.next.saturating_sub(there.oldest);
        let question = format!(
            "clear {} of `{id}`, which can't be had back?",
            messages(count)
        );
        if asks && !is_meant(&question).context("give --yes")? {
            return Ok(None);
        }
        memory.clear_messages(input).await.map(Some)
    })
    .await;
    let remedy = Remedy::Repeat(&operation);
    let Some(answer) = cleared.map_err(|error| told_if_unsure(error, remedy))? else {
        remark("nothing is cleared");
        return Ok(Exit::Done.into());
    };
    if args.at.output.json {
        print_json(&Changed { answer, operation })?;
    } else {
        let (count, again) = (messages(answer.cleared), already(answer.replayed));
        print(&format!("cleared {count} of {}{again}\n", shown_name(&id)))?;
    }
    Ok(Exit::Done.into())
}
