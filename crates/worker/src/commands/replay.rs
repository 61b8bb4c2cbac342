//! `notekeeper replay`: replay recorded histories.

mod report;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Args;
use temporalio_client::Client;
use temporalio_common::protos::temporal::api::history::v1::History;

use self::report::{Outcome, Report, Subject};
use crate::{
    arguments::{OutputArgs, TemporalArgs},
    config::File,
    connection::TemporalTarget,
    histories::{
        ReplayOutcome, check, checks_identity, fetch_history, find_histories, load_history,
        replay_history, save_history,
    },
    output::UsageError,
};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  notekeeper replay tests/histories
  temporal workflow show --workflow-id agent-7 --output json > agent-7.json
  notekeeper replay agent-7.json
  notekeeper replay --workflow-id agent-7 --save tests/histories")]
pub(crate) struct ReplayArgs {
    /// History files, or directories of them: what `temporal workflow show --output json` prints,
    /// the web UI downloads, or the Rust SDK writes, as JSON or protobuf binary.
    #[arg(required_unless_present = "workflow_ids", value_name = "FILE|DIR")]
    pub(crate) paths: Vec<PathBuf>,

    /// Fetch the history of this workflow from the Temporal server, and replay it. May be given
    /// several times. Without it no server is needed, and none is asked.
    #[arg(long = "workflow-id", value_name = "ID")]
    pub(crate) workflow_ids: Vec<String>,

    /// Which run of the workflow [default: the newest].
    #[arg(long, value_name = "RUN", requires = "workflow_ids")]
    pub(crate) run_id: Option<String>,

    /// Also save what is fetched in this directory, as JSON like that of `temporal workflow show`.
    #[arg(long, value_name = "DIR", requires = "workflow_ids")]
    pub(crate) save: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) temporal: TemporalArgs,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

pub(crate) fn run(config: Option<&Path>, args: ReplayArgs) -> anyhow::Result<ExitCode> {
    if args.run_id.is_some() && args.workflow_ids.len() > 1 {
        let why = "--run-id names a run of one workflow, and several are given";
        return Err(UsageError(why.to_owned()).into());
    }
    let files = find_histories(&args.paths)?;
    super::block_on(async {
        let mut report = Report::new(args.output.json);
        for file in files {
            let outcome = match load_history(&file) {
                Ok(history) => replayed(history).await,
                Err(error) => unreadable(&error),
            };
            report.add(&Subject::File { file }, &outcome)?;
        }
        if !args.workflow_ids.is_empty() {
            let target = TemporalTarget::resolve(&File::read(config)?.temporal(&args.temporal))?;
            let client = target.reach().await?;
            for workflow_id in &args.workflow_ids {
                let (subject, outcome) = fetched(&client, workflow_id, &args).await?;
                report.add(&subject, &outcome)?;
            }
        }
        report.end()
    })
}

/// Fetches and replays one history. What can't be saved ends the command.
async fn fetched(
    client: &Client,
    workflow_id: &str,
    args: &ReplayArgs,
) -> anyhow::Result<(Subject, Outcome)> {
    let fetched = fetch_history(client, workflow_id, args.run_id.as_deref()).await;
    let (run_id, saved, outcome) = match fetched {
        Err(error) => (args.run_id.clone(), None, unreadable(&error)),
        Ok(fetched) => {
            let (run_id, history) = (fetched.run_id, fetched.history);
            match check(&history) {
                Err(error) => (Some(run_id), None, unreadable(&error)),
                Ok(()) => {
                    let saved = args.save.as_ref();
                    let saved = saved
                        .map(|directory| save_history(directory, workflow_id, &run_id, &history))
                        .transpose()?;
                    (Some(run_id), saved, replayed(history).await)
                }
            }
        }
    };
    let workflow_id = workflow_id.to_owned();
    let subject = Subject::Run {
        workflow_id,
        run_id,
        saved,
    };
    Ok((subject, outcome))
}

fn unreadable(error: &impl std::fmt::Display) -> Outcome {
    Outcome::Unreadable {
        reason: error.to_string(),
    }
}

async fn replayed(history: History) -> Outcome {
    let events = history.events.len();
    let compares_identities = checks_identity(&history);
    match replay_history(history).await {
        ReplayOutcome::Replayed => Outcome::Replayed {
            events,
            compares_identities,
        },
        ReplayOutcome::Refused(reason) => Outcome::Refused { events, reason },
    }
}
