//! `notekeeper messages show`: print the messages of a conversation, page by page.

use std::{path::Path, process::ExitCode};

use clap::Args;
use notekeeper_contract::{FailureType, GetMessagesInput, GetMessagesOutput};
use notekeeper_domain::CONVERSATION_DEFAULT;
use serde_json::Value;

use crate::{
    commands::access::{Access, ScopeArgs},
    exit::Exit,
    output::{CodedError, inert_json, print, print_json, remark},
};

use super::{
    check_conversation, not_found,
    operations::asking,
    rendered::{Length, rendered},
    using,
};

#[derive(Debug, Args)]
#[command(after_help = "\
Each message is printed with its position and its role; tool calls with `·` and their results with \
`↳`. Long ones are shortened unless --full is given. The messages are read and printed page by \
page, however many there are. --jsonl prints them as they were added, which `notekeeper messages \
add` takes again. A conversation to which nothing was ever added is an error (exit code 1), and so \
is one that is cleared meanwhile, of which the beginning is printed then.

Examples:
  notekeeper messages show --namespace customers/ada
  notekeeper messages show travel --last 4 --full --namespace customers/ada
  notekeeper messages show chat --namespace chat --via temporal
  notekeeper messages show travel --jsonl --namespace customers/ada | jq -r .role")]
pub(crate) struct ShowArgs {
    /// Id of the conversation.
    #[arg(value_name = "CONVERSATION", default_value = CONVERSATION_DEFAULT)]
    conversation: String,

    /// Only the last so many messages.
    #[arg(long, value_name = "MESSAGES", value_parser = clap::value_parser!(u64).range(1..))]
    last: Option<u64>,

    /// Shorten nothing.
    #[arg(long)]
    full: bool,

    /// Print each message as JSON on a line of its own, and an error as JSON.
    #[arg(long, conflicts_with = "json", help_heading = "Output")]
    jsonl: bool,

    #[command(flatten)]
    at: ScopeArgs,
}

impl ShowArgs {
    /// Whether results and errors are for programs.
    pub(super) fn json(&self) -> bool {
        self.jsonl || self.at.output.json
    }
}

/// How the messages are printed.
#[derive(Clone, Copy)]
enum Form {
    /// For people.
    Text(Length),
    /// One object.
    Json,
    /// Each on a line.
    JsonLines,
}

pub(super) async fn run(config: Option<&Path>, args: ShowArgs) -> anyhow::Result<ExitCode> {
    check_conversation(&args.conversation)?;
    let form = match (args.jsonl, args.at.output.json, args.full) {
        (true, ..) => Form::JsonLines,
        (false, true, _) => Form::Json,
        (false, false, true) => Form::Text(Length::Full),
        (false, false, false) => Form::Text(Length::Short),
    };
    let input = asking(&args.at, &args.conversation, args.last)?;
    using(config, &args.at, async |memory| {
        show(memory, input, form).await
    })
    .await?;
    Ok(Exit::Done.into())
}

async fn show(memory: &Access, mut input: GetMessagesInput, form: Form) -> anyhow::Result<()> {
    let mut page = memory.messages(input.clone()).await?;
    if page.next == 0 {
        return Err(not_found(&input.conversation).into());
    }
    if page.messages.is_empty() && matches!(form, Form::Text(_)) {
        remark("no messages: the conversation was cleared");
        return Ok(());
    }
    begin(form, &input.conversation, &page)?;
    let mut is_first = true;
    loop {
        let GetMessagesOutput {
            messages,
            first,
            cursor,
            ..
        } = page;
        for (position, message) in (first..).zip(messages) {
            print_message(form, position, message, is_first)?;
            is_first = false;
        }
        let Some(cursor) = cursor else {
            return end(form);
        };
        input.cursor = Some(cursor);
        let next = memory.messages(input.clone()).await;
        page = next.map_err(|error| cut_short(error, &input.conversation))?;
    }
}

/// Where one page was given and the next is refused, the messages of the next are there no more.
fn cut_short(error: anyhow::Error, conversation: &str) -> anyhow::Error {
    let coded: Option<&CodedError> = error.downcast_ref();
    if coded.is_none_or(|it| it.code != FailureType::InvalidArgument.as_str()) {
        return error;
    }
    anyhow::Error::new(CodedError {
        code: "cleared".to_owned(),
        message: format!(
            "conversation `{conversation}` was cleared while it was printed; what is printed is its \
             beginning"
        ),
    })
}

fn begin(form: Form, conversation: &str, page: &GetMessagesOutput) -> anyhow::Result<()> {
    let Form::Json = form else {
        return Ok(());
    };
    let head = serde_json::json!({
        "conversation": conversation,
        "first": page.first,
        "next": page.next,
    });
    let head = inert_json(&head.to_string());
    // The messages are its last field, and end it.
    print(&format!("{},\"messages\":[", head.trim_end_matches('}')))
}

fn print_message(form: Form, position: u64, message: Value, is_first: bool) -> anyhow::Result<()> {
    match form {
        Form::JsonLines => print_json(&message),
        Form::Json => {
            let comma = if is_first { "" } else { "," };
            print(&format!("{comma}{}", inert_json(&message.to_string())))
        }
        Form::Text(length) => {
            let blank = if is_first { "" } else { "\n" };
            print(&format!("{blank}{}", rendered(position, message, length)))
        }
    }
}

fn end(form: Form) -> anyhow::Result<()> {
    match form {
        Form::Json => print("]}\n"),
        Form::Text(_) | Form::JsonLines => Ok(()),
    }
}
