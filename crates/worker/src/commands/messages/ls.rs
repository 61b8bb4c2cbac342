//! `notekeeper messages ls`: list the conversations of a scope.

use std::{path::Path, process::ExitCode};

use clap::Args;
use notekeeper_contract::{ListConversationsInput, ListConversationsOutput};
use notekeeper_domain::LISTED_MAX;

use crate::{
    commands::access::{ScopeArgs, at_least_one},
    exit::Exit,
    output::{print, print_json, remark, table},
};

use super::using;

#[derive(Debug, Args)]
#[command(after_help = "\
Conversations are listed by id, compared by code point: capitals come first. The positions are those \
of the oldest message that is there and of the next one that is added; they never come back, also \
where a conversation is cleared.

Examples:
  notekeeper messages ls --namespace customers/ada
  notekeeper messages ls --namespace chat --via temporal
  notekeeper messages ls --namespace customers/ada --json | jq -r '.conversations[].conversation'")]
pub(crate) struct LsArgs {
    /// Most conversations to list.
    #[arg(long, default_value_t = LISTED_MAX, value_name = "CONVERSATIONS", value_parser = at_least_one())]
    limit: usize,

    /// List only conversations whose ids come after this one.
    #[arg(long, value_name = "CONVERSATION")]
    after: Option<String>,

    #[command(flatten)]
    pub(super) at: ScopeArgs,
}

pub(super) async fn run(config: Option<&Path>, args: LsArgs) -> anyhow::Result<ExitCode> {
    let at = args.at;
    let first = ListConversationsInput {
        store: at.store.clone(),
        workspace: None,
        scope: at.scope()?,
        after: args.after,
        limit: args.limit,
    };
    let listed = using(config, &at, async |memory| {
        memory.conversations_up_to(first).await
    })
    .await?;
    if at.output.json {
        print_json(&listed)?;
        return Ok(Exit::Done.into());
    }
    if listed.conversations.is_empty() {
        remark("no conversations");
        return Ok(Exit::Done.into());
    }
    print(&rendered(&listed))?;
    if listed.more {
        remark("there are more; list them with a higher --limit, or with --after and the last id");
    }
    Ok(Exit::Done.into())
}

fn rendered(listed: &ListConversationsOutput) -> String {
    let rows = listed.conversations.iter().map(|found| {
        let updated = found.updated_at.as_deref().unwrap_or("unknown");
        [
            found.conversation.clone(),
            found.next.saturating_sub(found.first).to_string(),
            found.first.to_string(),
            found.next.to_string(),
            updated.to_owned(),
        ]
    });
    table(
        ["CONVERSATION", "MESSAGES", "FIRST", "NEXT", "UPDATED"],
        &[1, 2, 3],
        rows,
    )
}
