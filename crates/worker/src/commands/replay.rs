//! `notekeeper replay`: replay recorded histories.

use std::{
    io::{Write as _, stdout},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Context as _;
use clap::Args;

use crate::histories::{
    ReplayOutcome, checks_identity, find_histories, load_history, replay_history,
};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  notekeeper replay tests/replay/histories/agent_workflow")]
pub(crate) struct ReplayArgs {
    /// History files (the SDK's JSON or protobuf binary), or directories of them.
    #[arg(required = true, value_name = "FILE|DIR")]
    pub(crate) paths: Vec<PathBuf>,
}

/// How many files came to what.
#[derive(Default)]
struct Tally {
    replayed: usize,
    refused: usize,
    unreadable: usize,
}

pub(crate) fn run(args: ReplayArgs) -> anyhow::Result<ExitCode> {
    let files = find_histories(&args.paths)?;
    super::block_on(async {
        let mut tally = Tally::default();
        for file in &files {
            say(&report(file, &mut tally).await)?;
        }
        let Tally {
            replayed,
            refused,
            unreadable,
        } = tally;
        say(&format!(
            "{replayed} replayed, {refused} refused, {unreadable} unreadable"
        ))?;
        Ok(if refused + unreadable == 0 {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        })
    })
}

/// Prints a line. Whoever reads may have gone: that is an error and no panic.
fn say(line: &str) -> anyhow::Result<()> {
    writeln!(stdout(), "{line}").context("can't write the report")
}

/// Replays one file and says in one line what came of it.
async fn report(file: &Path, tally: &mut Tally) -> String {
    let name = file.display();
    let history = match load_history(file) {
        Ok(history) => history,
        Err(error) => {
            tally.unreadable += 1;
            return format!("unreadable  {name}: {error}");
        }
    };
    let events = history.events.len();
    let checked = checks_identity(&history);
    match replay_history(history).await {
        ReplayOutcome::Replayed => {
            tally.replayed += 1;
            let unchecked = if checked {
                ""
            } else {
                "; recorded by an SDK that doesn't compare ids and types of activities"
            };
            format!("replayed    {name} ({events} events{unchecked})")
        }
        ReplayOutcome::Refused(why) => {
            tally.refused += 1;
            format!("refused     {name}: {why}")
        }
    }
}
