//! `notekeeper fact set`: keep a fact.

use std::{
    io::{self, IsTerminal as _},
    path::Path,
    process::ExitCode,
};

use anyhow::{Context as _, bail};
use clap::Args;
use notekeeper_contract::{Outcome, RememberInput};
use notekeeper_domain::FACT_VALUE_CHARS_MAX;

use crate::{
    commands::{
        access::{
            Changed, OperationArgs, Place, Purpose, Remedy, ScopeArgs, already, told_if_unsure,
        },
        given_text::{check_no_misspelt_flag, read},
    },
    exit::Exit,
    output::{print, print_json, shown_name},
};

use super::refused;

/// No character has more bytes.
const VALUE_BYTES_MAX: usize = 4 * FACT_VALUE_CHARS_MAX;

#[derive(Debug, Args)]
#[command(after_help = "\
A fact with this key is replaced. Keys have 1 to 500 bytes and are compared as they are written; \
values have at most 16,384 characters. Of a value from standard input, one line break at its end is \
left out.

Examples:
  notekeeper fact set food 'no peanuts' --namespace customers/ada
  git log -1 --format=%s | notekeeper fact set last-commit - --namespace team
  notekeeper fact set plan gold --namespace customers/ada --operation-id order-17")]
pub(crate) struct SetArgs {
    /// Key that the fact is found and replaced by.
    #[arg(value_name = "KEY")]
    key: String,

    /// What to keep; `-`, or nothing where it is no terminal, for standard input.
    #[arg(value_name = "VALUE", allow_hyphen_values = true)]
    value: Option<String>,

    #[command(flatten)]
    operation: OperationArgs,

    #[command(flatten)]
    pub(super) at: ScopeArgs,
}

pub(super) async fn run(config: Option<&Path>, args: SetArgs) -> anyhow::Result<ExitCode> {
    let SetArgs {
        key,
        value,
        operation,
        at,
    } = args;
    check_no_misspelt_flag(value.as_deref(), "notekeeper fact set")?;
    let operation = operation.operation();
    let input = RememberInput {
        store: at.store.clone(),
        workspace: None,
        scope: at.scope()?,
        key: key.clone(),
        value: given(value)?,
        operation: Some(operation.clone()),
    };
    let kept = Place::of_transcripts_and_facts(&at, Purpose::Make)
        .with_access(config, async |memory| memory.remember(input).await)
        .await;
    let answer = match kept.map_err(|error| told_if_unsure(error, Remedy::Repeat(&operation)))? {
        Outcome::Ok(answer) => answer,
        Outcome::Refused(why) => return Err(refused(&key, why).into()),
    };
    if at.output.json {
        print_json(&Changed { answer, operation })?;
    } else {
        let again = already(answer.replayed);
        print(&format!(
            "{} {}{again}\n",
            answer.status,
            shown_name(&answer.key)
        ))?;
    }
    Ok(Exit::Done.into())
}

/// The value of the argument, or of standard input.
fn given(value: Option<String>) -> anyhow::Result<String> {
    match value {
        Some(value) if value != "-" => Ok(value),
        None if io::stdin().is_terminal() => {
            bail!("there is no value; give it as an argument, or `-` to type it")
        }
        given => {
            // Its line break comes with it.
            let read = read(io::stdin(), VALUE_BYTES_MAX + 2, "fact");
            let text = read.context("can't use standard input")?;
            if given.is_none() && text.is_empty() {
                // A forgotten value, in a script whose input is closed, would empty the fact.
                bail!(
                    "there is no value, and standard input is empty; give the value as an argument, \
                     or `-` where it may be empty"
                );
            }
            Ok(without_line_break(text))
        }
    }
}

fn without_line_break(mut text: String) -> String {
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_break_is_left_out_and_no_other() {
        for (given, kept) in [
            ("a", "a"),
            ("a\n", "a"),
            ("a\r\n", "a"),
            ("a\n\n", "a\n"),
            ("a \r", "a \r"),
            ("", ""),
        ] {
            assert_eq!(without_line_break(given.to_owned()), kept, "{given:?}");
        }
    }
}
