//! `notekeeper replay`: replay recorded histories.

use std::process::ExitCode;

use anyhow::bail;

use crate::{
    cli::ReplayArgs,
    histories::{ReplayOutcome, checks_identity, find_histories, load_history, replay_history},
};

pub(crate) fn run(args: ReplayArgs) -> anyhow::Result<ExitCode> {
    let files = find_histories(&args.paths)?;
    if files.is_empty() {
        bail!(
            "there are no history files (`.json`, `.pb`, `.bin`, `.binpb`) in the given directories"
        );
    }
    super::block_on(async {
        let mut refused = 0;
        for file in &files {
            let history = match load_history(file) {
                Ok(history) => history,
                Err(error) => {
                    refused += 1;
                    println!("unreadable  {}: {error}", file.display());
                    continue;
                }
            };
            let events = history.events.len();
            let checked = checks_identity(&history);
            match replay_history(history).await {
                ReplayOutcome::Replayed if checked => {
                    println!("replayed    {} ({events} events)", file.display());
                }
                ReplayOutcome::Replayed => println!(
                    "replayed    {} ({events} events; recorded without checks of activity ids)",
                    file.display()
                ),
                ReplayOutcome::Refused(why) => {
                    refused += 1;
                    println!("refused     {}: {why}", file.display());
                }
            }
        }
        println!("{} replayed, {refused} refused", files.len() - refused);
        Ok(if refused == 0 {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        })
    })
}
