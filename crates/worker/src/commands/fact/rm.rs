//! `notekeeper fact rm`: remove a fact.

use std::{path::Path, process::ExitCode};

use clap::Args;
use notekeeper_contract::{ForgetInput, OperationRef, Outcome};

use crate::{
    commands::access::{Changed, OperationArgs, Remedy, ScopeArgs, already, told_if_unsure},
    exit::Exit,
    output::{CodedError, print, print_json, shown_name},
};

use super::{NOT_FOUND, not_found, refused, using};

#[derive(Debug, Args)]
#[command(after_help = "\
Nothing is asked, and a removed fact can't be had back. A fact that isn't there is an error (exit \
code 1), also where a removal is repeated that found none.

Examples:
  notekeeper fact rm food --namespace customers/ada
  notekeeper fact rm food --namespace customers/ada --operation-id clean-up-7")]
pub(crate) struct RmArgs {
    /// Key of the fact, as it was written.
    #[arg(value_name = "KEY")]
    key: String,

    #[command(flatten)]
    operation: OperationArgs,

    #[command(flatten)]
    pub(super) at: ScopeArgs,
}

pub(super) async fn run(config: Option<&Path>, args: RmArgs) -> anyhow::Result<ExitCode> {
    let RmArgs { key, operation, at } = args;
    let operation = operation.operation();
    let input = ForgetInput {
        store: at.store.clone(),
        workspace: None,
        scope: at.scope()?,
        key: key.clone(),
        operation: Some(operation.clone()),
    };
    let forgotten = using(config, &at, async |memory| memory.forget(input).await).await;
    let remedy = Remedy::Repeat(&operation);
    let answer = match forgotten.map_err(|error| told_if_unsure(error, remedy))? {
        Outcome::Ok(answer) if answer.status == "not_found" => {
            return Err(match answer.replayed {
                true => found_none_before(&key, &operation),
                false => not_found(&key),
            }
            .into());
        }
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

/// What a repetition is told of a removal that found no fact. There may be one by now.
fn found_none_before(key: &str, operation: &OperationRef) -> CodedError {
    CodedError {
        code: NOT_FOUND.to_owned(),
        message: format!(
            "operation `{}` took effect before and found no fact `{key}` then, and isn't done again; to \
             remove one that is there now leave `--operation-id` out, or give another id",
            operation.id
        ),
    }
}
